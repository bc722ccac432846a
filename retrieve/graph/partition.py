"""Communities of everything that a caller sees: what a collection is about, part by part.

Nodes are linked by edges, by the parts of documents and by names. A name is a node of the graph
beside those that have it, so that a name of many costs as much as it has nodes, and the communities
come with the names that hold them together. Everything is counted over one view, so a restricted
caller gets the communities of what they may see.

An edge with a weight above zero and a part weigh EDGE each; all nodes of a name share EDGE, so a
rare name joins more than a frequent one.

Spec: retrieval 14.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from io import BytesIO
from typing import Any, Self

import numpy as np

from ibidem.index.analysis.names import NAMED_CHARS, names_of
from ibidem.objects import codec
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.objects.text import node_text
from ibidem.retrieve.access.policy import TrustPolicy, policy_of
from ibidem.retrieve.answer.summary import CENTROID, MMR, Sentence, Summary, summary_of
from ibidem.retrieve.filter import NodeSet
from ibidem.retrieve.graph.leiden import Resolution, WeightedGraph, communities, graph_of
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.query import checks
from ibidem.retrieve.tokens import HEURISTIC

VERSION = 2
"""Of the bytes that a partition is kept as, and of everything that decides on it."""
_SIZE_BYTES = 4
SUMMARY = "CommunitySummary"
"""The label of stored summaries, which are in no community themselves."""
EDGE = 64
"""The weight of an edge, and of all arcs of a name together."""
NAMED_MAX = 64
"""A name that more nodes have joins none of them."""
LEVELS_MAX = 5
PARTS_MAX = 1000
"""The greatest numerator and denominator of a resolution."""
NAMES_SHOWN = 5
NAMES_TITLED = 3
"""Names of a community in a line with a title."""
TITLE_CHARS = 80
MEMBERS_READ = 50
"""The most central members, whose text makes a summary."""
_DOCUMENT = "Document"
_BATCH = 1000

Edge = tuple[int, int, int]
Texts = Callable[[Sequence[NodeId]], list[str]]


@record
class Community:
    """Nodes that are linked to each other more than to others."""

    level: int
    number: int
    """From 0, the largest first within its level; ties by the id of the most central member."""
    parent: int | None
    """The number of the community, one level above, that it is a part of; None at level 0."""
    members: tuple[NodeId, ...]
    """The most central first: by the weight that joins them to the others, ties by id."""
    title: str
    """How the most central document begins; without one empty if there are names, or else how the
    most central member begins; of a given group its name."""
    names: tuple[str, ...]
    """What its members name most, and others least."""

    def __len__(self) -> int:
        return len(self.members)

    @property
    def heading(self) -> str:
        """A line with the title, the names and the number of nodes."""
        names = ", ".join(self.names[: NAMES_TITLED if self.title else None])
        return f"{self.title}{': ' if self.title and names else ''}{names} ({len(self)} nodes)"

    def to_dict(self) -> dict[str, Any]:
        """Returns the community as plain data."""
        return {
            "level": self.level,
            "number": self.number,
            "parent": self.parent,
            "title": self.title,
            "names": list(self.names),
            "members": [str(one) for one in self.members],
        }


@record
class Communities:
    """The communities of a view, by level: each is a part of one in the level above."""

    levels: tuple[tuple[Community, ...], ...]
    node_count: int
    """The nodes of the view."""
    _texts: Texts = field(repr=False, compare=False)
    _labels: tuple[Mapping[str, Any], ...] = field(default=(), repr=False, compare=False)
    """The properties with level and scope that nodes of the view have, each combination once."""

    def __iter__(self) -> Iterator[Community]:
        return iter(self.levels[0])

    def __len__(self) -> int:
        return len(self.levels[0])

    @property
    def labels(self) -> tuple[Mapping[str, Any], ...]:
        """The properties with level and scope of the nodes of the view, each combination once:
        those of everything that decided on the communities."""
        return self._labels

    @property
    def alone(self) -> int:
        """How many nodes are in no community, because nothing joins them to another node."""
        return self.node_count - sum(map(len, self.levels[0]))

    def summary(
        self,
        community: Community,
        *,
        sentences: int = 3,
        method: str = CENTROID,
        question: str = "",
    ) -> Summary:
        """Returns sentences of the most central members, word for word.

        Args:
            community: one of these.
            sentences: the most to take, 1 to 100.
            method: see `summary_of`.
            question: what the sentences should be about; needed by the method "query".
        """
        texts = self._texts(community.members[:MEMBERS_READ])
        return summary_of(texts, question, sentences, method=method)

    def overview(
        self,
        *,
        token_budget: int = 1000,
        level: int = 0,
        method: str = MMR,
        question: str = "",
    ) -> str:
        """Returns a text of what the collection is about: title and names of each community and
        sentences of its members, each once, the largest first, as far as the budget goes.

        Half of the budget is for titles and names. Each community that is shown gets a first
        sentence before any gets a second one.

        Args:
            token_budget: of the whole text, by the heuristic estimator, 1 to 1,000,000.
            level: of the communities that are shown.
            method: see `summary_of`.
            question: what the sentences should be about.
        """
        checks.count("token_budget", token_budget, low=1, high=1_000_000)
        shown = self.at_level(level)
        lines: list[list[str]] = []
        rest = token_budget
        for one in shown:
            line = one.heading
            cost = HEURISTIC.estimate(f"{line}\n")
            if rest - cost < (token_budget // 2 if lines else 0):
                break
            rest -= cost
            lines.append([line])
        known: set[str] = set()
        found: list[list[Sentence]] = []
        for one in shown[: len(lines)]:
            quotes = self.summary(one, method=method, question=question).sentences
            known.add(one.title)
            found.append([quote for quote in quotes if quote.text not in known])
            known.update(quote.text for quote in quotes)
        for step in range(max(map(len, found), default=0)):
            for own, texts in zip(lines, found, strict=True):
                if step >= len(texts) or len(own) <= step:
                    continue
                cost = HEURISTIC.estimate(f"- {texts[step].text}\n")
                if cost <= rest:
                    rest -= cost
                    own.append(f"- {texts[step].text}")
        return "\n".join(line for own in lines for line in own)

    def at_level(self, level: int) -> tuple[Community, ...]:
        """Returns the communities of a level, from 0.

        Raises:
            InvalidInputError: there is no such level.
        """
        checks.count("level", level, high=len(self.levels) - 1)
        return self.levels[level]

    def encode(self) -> bytes:
        """Returns the communities as bytes, without the texts: blocks of DAG-CBOR, each after its
        size, for the whole, each combination of labels and each community; then all members."""
        every = [one for level in self.levels for one in level]
        head = [self.node_count, len(self._labels), [len(level) for level in self.levels]]
        rows = [[one.parent, one.title, list(one.names), len(one)] for one in every]
        blocks = [codec.encode(value) for value in (head, *map(dict, self._labels), *rows)]
        sized = [len(block).to_bytes(_SIZE_BYTES, "little") + block for block in blocks]
        return b"".join([*sized, *(member.raw for one in every for member in one.members)])

    @classmethod
    def decode(cls, data: bytes, texts: Texts) -> Self:
        """Returns the communities in such bytes.

        Args:
            data: what `encode` of this version returned.
            texts: reads the texts of nodes.
        """
        file = BytesIO(data)
        node_count, label_count, counts = _next_block(file)
        labels = tuple(_next_block(file) for _ in range(label_count))
        rows = [[_next_block(file) for _ in range(count)] for count in counts]
        levels = tuple(
            tuple(
                Community(at, number, parent, _next_ids(file, size), title, tuple(names))
                for number, (parent, title, names, size) in enumerate(level)
            )
            for at, level in enumerate(rows)
        )
        return cls(levels, node_count, texts, labels)

    def to_dict(self) -> dict[str, Any]:
        """Returns all levels as plain data."""
        return {
            "node_count": self.node_count,
            "alone": self.alone,
            "levels": [[one.to_dict() for one in level] for level in self.levels],
        }


def _next_block(file: BytesIO) -> Any:
    return codec.decode(file.read(int.from_bytes(file.read(_SIZE_BYTES), "little")))


def _next_ids(file: BytesIO, count: int) -> tuple[NodeId, ...]:
    return tuple(NodeId(file.read(ID_BYTES)) for _ in range(count))


def partition(
    view: NodeSet,
    source: NodeSource,
    *,
    resolution: Resolution,
    levels: int = 1,
    groups: Mapping[str, Iterable[NodeId]] | None = None,
) -> Communities:
    """Returns the communities of a view.

    Args:
        source: reads the nodes.
        resolution: how small the communities are.
        levels: how often communities are divided again, 1 to LEVELS_MAX.
        groups: communities to take instead, by name; nodes that are not in the view are left out.

    Raises:
        InvalidInputError: a number is out of its range, or `groups` come with levels.
    """
    checks.count("levels", levels, low=1, high=LEVELS_MAX)
    for part in ("numerator", "denominator"):
        checks.count(f"resolution.{part}", getattr(resolution, part), low=1, high=PARTS_MAX)
    if groups is not None and levels > 1:
        raise InvalidInputError(f"levels: got {levels}, expected 1 with groups")
    linked = _Linked.of(view, source)
    rest = (len(linked.ids), texts_of(view, source), linked.labels)
    if groups is not None:
        return Communities((_given(linked, groups),), *rest)
    found: list[tuple[Community, ...]] = []
    parts: list[tuple[int | None, Sequence[int]]] = [
        (None, part) for part in _divided(linked, range(linked.count), resolution)
    ]
    for level in range(levels):
        made = _ordered(linked, level, parts)
        found.append(tuple(one for one, _ in made))
        parts = []
        for one, nodes in made:
            inner = _divided(linked, nodes, resolution) if level + 1 < levels else []
            inner = [part for part in inner if linked.size(part) > 1]
            parts += [(one.number, part) for part in (inner if len(inner) > 1 else [nodes])]
        if len(parts) == len(made):
            break  # nothing was divided
    return Communities(tuple(found), *rest)


@record
class _Linked:
    """The graph of a view: its nodes by id, then the names."""

    ids: Sequence[bytes]
    names: Sequence[str]
    graph: WeightedGraph
    named: Sequence[int]
    """By name, how many nodes have it."""
    titles: Sequence[str]
    """How the text of each node begins."""
    documents: frozenset[int]
    labels: tuple[Mapping[str, Any], ...]
    """See `Communities`."""

    def size(self, part: Sequence[int]) -> int:
        """Returns how many of the nodes of a part are no names."""
        return sum(node < len(self.ids) for node in part)

    @property
    def count(self) -> int:
        """The number of nodes and names."""
        return len(self.ids) + len(self.names)

    @classmethod
    def of(cls, view: NodeSet, source: NodeSource) -> _Linked:
        """Reads the nodes of a view."""
        snapshot = view.snapshot
        members = np.array(view.members - snapshot.label(SUMMARY), np.uint32)
        raw = snapshot.node_ids(members)
        order = sorted(range(len(members)), key=lambda at: raw[at].tobytes())
        ordinals = members[order]
        number = {int(ordinal): at for at, ordinal in enumerate(ordinals)}
        having: dict[tuple[str, ...], list[int]] = {}
        wording: dict[tuple[str, ...], str] = {}
        labels: dict[tuple[Any, ...], Mapping[str, Any]] = {}
        documents, titles = set(), []
        policy = policy_of(snapshot.config) or TrustPolicy()
        labelled = policy.level, policy.scope
        for at, (value, text) in enumerate(_read(view, source, ordinals)):
            if value.ntype == _DOCUMENT:
                documents.add(at)
            titles.append(text.lstrip()[:TITLE_CHARS].split("\n")[0])
            label = {key: value.props[key] for key in labelled if key in value.props}
            labels.setdefault(tuple(map(repr, sorted(label.items()))), label)
            for name in names_of(text[:NAMED_CHARS], snapshot.config.analyser):
                having.setdefault(name.terms, []).append(at)
                wording.setdefault(name.terms, name.text)
        shared = sorted(terms for terms, own in having.items() if 2 <= len(own) <= NAMED_MAX)
        edges = list(_arcs(view, ordinals, number))
        for node, terms in enumerate(shared, len(ordinals)):
            own = having[terms]
            edges += [(at, node, EDGE // len(own)) for at in own]
        graph = graph_of(len(ordinals) + len(shared), edges)
        ids = [raw[at].tobytes() for at in order]
        return cls(
            ids,
            [wording[terms] for terms in shared],
            graph,
            [len(having[terms]) for terms in shared],
            titles,
            frozenset(documents),
            tuple(labels.values()),
        )


def _arcs(view: NodeSet, ordinals: np.ndarray, number: Mapping[int, int]) -> Iterator[Edge]:
    """Yields the edges of a view, and the parts of its nodes."""
    for segment in view.snapshot.edges:
        arcs = segment.arcs(ordinals, outgoing=True)
        for at, other, weight in zip(
            arcs.places.tolist(), arcs.neighbours.tolist(), arcs.weights.tolist(), strict=True
        ):
            if other in number and weight > 0:
                yield at, number[other], EDGE
    for at in np.flatnonzero(view.snapshot.child_counts(ordinals)).tolist():
        for child in view.snapshot.children(int(ordinals[at])).ordinals.tolist():
            if child in number:
                yield at, number[child], EDGE


def _divided(linked: _Linked, nodes: Sequence[int], resolution: Resolution) -> list[list[int]]:
    """Returns the communities among some nodes, as they are linked to each other."""
    graph = linked.graph
    if len(nodes) < linked.count:
        number = {node: at for at, node in enumerate(nodes)}
        inner = [
            (at, number[other], weight)
            for at, node in enumerate(nodes)
            for other, weight in graph.arcs(node)
            if node < other and other in number
        ]
        graph = graph_of(len(nodes), inner)
    parts: dict[int, list[int]] = {}
    for at, label in enumerate(communities(graph, resolution)):
        parts.setdefault(label, []).append(nodes[at])
    return list(parts.values())


def _ordered(
    linked: _Linked, level: int, parts: Iterable[tuple[int | None, Sequence[int]]]
) -> list[tuple[Community, Sequence[int]]]:
    """Returns communities of two nodes or more, with the nodes and names of each."""
    found = [
        (parent, part, _central(linked, part)) for parent, part in parts if linked.size(part) > 1
    ]
    found.sort(key=lambda one: (-len(one[2]), one[2][0]))
    made = []
    for number, (parent, part, members) in enumerate(found):
        names = _distinctive(linked, part)
        title = _title(linked, members, names)
        one = Community(level, number, parent, _ids(linked, members), title, names)
        made.append((one, part))
    return made


def _ids(linked: _Linked, members: Iterable[int]) -> tuple[NodeId, ...]:
    return tuple(NodeId(linked.ids[node]) for node in members)


def _title(linked: _Linked, members: Sequence[int], names: Sequence[str]) -> str:
    for node in members:
        if node in linked.documents:
            return linked.titles[node]
    return "" if names else linked.titles[members[0]]


def _central(linked: _Linked, part: Sequence[int]) -> list[int]:
    """Returns the nodes of a part, those first that most weight joins to the others."""
    inside = set(part)
    weights = {
        node: sum(weight for other, weight in linked.graph.arcs(node) if other in inside)
        for node in part
        if node < len(linked.ids)
    }
    return sorted(weights, key=lambda node: (-weights[node], node))


def _distinctive(linked: _Linked, part: Sequence[int]) -> tuple[str, ...]:
    """Returns the names that most nodes of a part have, and fewest others."""
    inside = set(part)
    found = []
    for node in {
        other for one in part for other, _ in linked.graph.arcs(one) if other >= len(linked.ids)
    }:
        own = sum(other in inside for other, _ in linked.graph.arcs(node))
        named = linked.named[node - len(linked.ids)]
        found.append((-(own * own * EDGE // named), linked.names[node - len(linked.ids)], own))
    return tuple(name for _, name, own in sorted(found) if own > 1)[:NAMES_SHOWN]


def _given(linked: _Linked, groups: Mapping[str, Iterable[NodeId]]) -> tuple[Community, ...]:
    """Returns the communities that a caller named."""
    number = {raw: at for at, raw in enumerate(linked.ids)}
    found = []
    for name, ids in groups.items():
        part = sorted({number[one.raw] for one in ids if one.raw in number})
        if part:
            found.append((name, _ids(linked, _central(linked, part)), _distinctive(linked, part)))
    found.sort(key=lambda one: (-len(one[1]), one[0]))
    return tuple(
        Community(0, at, None, members, name, names)
        for at, (name, members, names) in enumerate(found)
    )


def _read(view: NodeSet, source: NodeSource, ordinals: np.ndarray) -> Iterator[tuple[Node, str]]:
    """Yields some nodes with their searchable texts."""
    snapshot = view.snapshot
    fields = snapshot.config.fields
    for start in range(0, len(ordinals), _BATCH):
        cids = snapshot.node_cids(ordinals[start : start + _BATCH])
        many = source.load_many
        nodes = [source.load(cid) for cid in cids] if many is None else many(cids)
        for node in nodes:
            own = source.content(node) if "content" in fields else None
            yield node, node_text(node, fields, own)


def texts_of(view: NodeSet, source: NodeSource) -> Texts:
    """Returns what reads the texts of nodes of a view."""

    def texts(ids: Sequence[NodeId]) -> list[str]:
        found = [view.snapshot.ordinal(one) for one in ids]
        present = np.array([one for one in found if one is not None], np.uint32)
        return [text for _, text in _read(view, source, present)]

    return texts
