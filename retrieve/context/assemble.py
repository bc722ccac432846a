"""Executes a query for packs: candidates are ranked as for nodes, then grouped, read, and fitted.

    candidates -> order -> groups -> texts -> limit and budget -> answer

All candidates are grouped, whatever the limit: the first pack of an answer is the same however many
follow, and hits that a pack covers are attributed to it even if they ranked far below.

Spec: packs.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ibidem.index.analysis import home_of
from ibidem.objects.block import EMPTY
from ibidem.objects.cid import NodeCid, RootCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import document_of
from ibidem.objects.node import Node
from ibidem.objects.text import node_text
from ibidem.retrieve.access.restricted_snapshot import restrict
from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.answer.drops import (
    DROPS_LISTED_MAX,
    Drop,
    DropReason,
    Drops,
    zero_counts,
)
from ibidem.retrieve.answer.lane_score import LaneScores
from ibidem.retrieve.answer.render import render
from ibidem.retrieve.answer.staleness import count_stale
from ibidem.retrieve.answer.warning import AnswerWarning, WarningCode
from ibidem.retrieve.context.clip import cut_to_fit, nearest_first
from ibidem.retrieve.context.excerpt import focus_of
from ibidem.retrieve.context.fitting import Fitting, Parts
from ibidem.retrieve.context.group import Found, Group, grouped, ids_of, in_order, measured_first
from ibidem.retrieve.context.option import EDGES, NEIGHBORS, PackOptions
from ibidem.retrieve.context.pack import BETWEEN, MESSAGE_SCOPE, Hit, Member, Pack, pack_cid
from ibidem.retrieve.context.sequence import Sequences, ThreadSequence, sequences_of
from ibidem.retrieve.context.source_option import CONVERSATION, DOCUMENTS, FACTS
from ibidem.retrieve.context.sources import (
    MESSAGE,
    Source,
    SourceOrder,
    conversation_order,
    documents_of,
    sources_of,
    with_beside,
)
from ibidem.retrieve.context.spans import Matcher, Span
from ibidem.retrieve.deduplication import Key, KeyIndex, folded, key_of
from ibidem.retrieve.filter import matches
from ibidem.retrieve.heading import containers_of
from ibidem.retrieve.lexical.words import query_symbols
from ibidem.retrieve.node_source import Content, NodeSource
from ibidem.retrieve.numbers import rank
from ibidem.retrieve.pipeline import Ranked, count_conflicted, coverage_warning, origins, ranked
from ibidem.retrieve.protocol import Snapshot
from ibidem.retrieve.query.dedupe import SAME_TEXT, Dedupe
from ibidem.retrieve.query.options import DROP, EXCERPT
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.ranking import SnapshotRanking
from ibidem.retrieve.recall.factors import Opinions
from ibidem.retrieve.rerank import Reranker, RerankRecord
from ibidem.retrieve.subquery_lane import RunLanes
from ibidem.retrieve.titles import (
    message_heading,
    name_of,
    title_of_message,
    title_of_node,
    title_of_part,
)
from ibidem.retrieve.tokens import check_estimator


def execute_packs(
    snapshot: Snapshot, query: Query, nodes: NodeSource, **options: Any
) -> Answer[Pack]:
    """Returns the packs that answer a query; the arguments and errors are those of `execute`.

    Raises:
        InvalidInputError: also if the query has no pack options.
    """
    steps = stream_packs(snapshot, query, nodes, **options)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            answer: Answer[Pack] = end.value
            return answer


def stream_packs(
    snapshot: Snapshot,
    query: Query,
    nodes: NodeSource,
    *,
    reranker: Reranker | RerankRecord | None = None,
    lanes: RunLanes | None = None,
    opinions: Opinions = EMPTY,
) -> Generator[Pack, None, Answer[Pack]]:
    """Yields each pack of the answer as soon as it is certain, and returns the answer; else as
    `execute_packs`. Where packs are cut to a budget, that is after all were read that may fit."""
    options = query.packs
    if options is None:
        raise InvalidInputError("packs: got none, expected the options of packs")
    if not query.has_ranker and not query.is_narrowed:
        check_estimator(query, nodes.estimator)
        return _empty(snapshot, query)
    snapshot = restrict(snapshot, query.viewer, nodes.load)
    makings = []
    for source in sources_of(snapshot, query, options, nodes.load):
        scorer = reranker if source.query.rerank is not None else None
        found = ranked(
            snapshot, source.query, nodes, reranker=scorer, lanes=lanes, opinions=opinions
        )
        makings.append(_Making(found.scope.view.snapshot, source, options, found))
    if not makings:
        return _empty(snapshot, query)
    order = SourceOrder(
        [one.source.share for one in makings],
        [len(one.groups) for one in makings],
        lambda source, position: makings[source].packs(position).tokens,
    )

    def cut(index: int, tokens: int) -> tuple[Pack, int] | None:
        source, position = order[index]
        part = makings[source].part(position, tokens, is_first=not index)
        return None if part is None else (part, part.tokens)

    parts = Parts(cut)
    fitting = Fitting(
        order.count,
        order.cost,
        parts,
        limit=query.limit,
        budget=query.token_budget,
        around=query.framed.answer,
        overflow=options.overflow,
        fill=options.fill,
        enough=options.enough,
        slack=options.slack,
    )
    packs: list[Pack] = []
    left: list[tuple[int, str, int | None]] = []
    by_source: list[list[int]] = [[] for _ in makings]
    for index, reason, tokens, room in fitting.decisions():
        if reason is not None:
            left.append((index, reason, tokens))
            continue
        number, position = order[index]
        by_source[number].append(position)
        whole = makings[number].packs
        packs.append(whole(position) if room is None else parts.part(index, room))
        yield packs[-1]
    order.end()
    counts = zero_counts()
    for _, reason, _ in left:
        counts[reason] += 1
    first = makings[0].found
    answer = first.answer(
        tuple(packs),
        _drops(makings, order, left[:DROPS_LISTED_MAX]),
        MappingProxyType(counts),
        first.warnings(
            sum(one.stale(mine) for one, mine in zip(makings, by_source, strict=True)),
            sum(one.conflicted(mine) for one, mine in zip(makings, by_source, strict=True)),
            [pack.text for pack in packs],
            [
                AnswerWarning(WarningCode.OUTSIDE_WINDOW, "thread_window", thread, count)
                for one in makings
                if (count := one.source.unsearched) and options.sources is not None
                if (thread := options.sources.thread) is not None
            ],
        ),
    )
    return replace(
        answer,
        query=query,
        candidates_seen=sum(len(one.found.ranking) for one in makings),
    )


def shown_text(node: Node, fields: Sequence[str], content: Content) -> str:
    """Returns the text of a node in a pack: its indexed text, or its rendering if it has none.

    Spec: packs 6.
    """
    read = content(node) if "content" in fields else None
    return node_text(node, fields, read) or render(node, "")


def _empty(snapshot: Snapshot, query: Query) -> Answer[Pack]:
    """Returns the answer to a blank text, or without any source; it has no items."""
    counts = MappingProxyType(zero_counts())
    warnings = tuple(coverage_warning(query, ()))
    return Answer(snapshot.root, query, (), 0, 0, Drops(), counts, warnings, MappingProxyType({}))


def _drops(
    makings: Sequence[_Making], order: SourceOrder, dropped: Sequence[tuple[int, str, int | None]]
) -> Drops:
    """Returns the drops for the packs that are left out, each represented by its best hit.

    The last ones were not counted and share one reason; they are kept as columns.
    """
    counted = max((at for at, one in enumerate(dropped, 1) if one[2] is not None), default=0)
    entries = []
    for index, _, _ in dropped:
        source, position = order[index]
        making = makings[source]
        entries.append(making.best(making.groups[position]))
    ordinals = np.array([hit.ordinal for hit in entries], np.uint32)
    ids = makings[0].found.scope.view.snapshot.node_ids(ordinals)
    first = [
        Drop(NodeId(ids[at].tobytes()), DropReason(reason), tokens, entries[at].score)
        for at, (_, reason, tokens) in enumerate(dropped[:counted])
    ]
    reason = DropReason(dropped[-1][1]) if counted < len(dropped) else DropReason.LIMIT
    scores = np.array([hit.score for hit in entries[counted:]], np.float64)
    return Drops(first, reason, ids[counted:], scores)


def _conversation(found: Ranked, thread: ThreadSequence, source: Source) -> Ranked:
    """Returns the candidates of a conversation with its newest messages among them; those that the
    question does not find have a score of 0."""
    snapshot, ranking = found.scope.view.snapshot, found.ranking
    scores = {
        one: ranking.score(position) for position, one in enumerate(ranking.ordinals.tolist())
    }
    if source.options.beside:
        scores = with_beside(scores, thread.beside)
        ordinals = np.array(list(scores), np.uint32)
        values = np.array(list(scores.values()), np.float64)
        best = ordinals[rank(values, snapshot.node_ids(ordinals))].tolist()
    else:
        best = list(scores)
    order = conversation_order(best, thread.newest_first[: source.recent])
    values = np.array([scores.get(one, 0.0) for one in order], np.float64)
    made = SnapshotRanking(snapshot, np.array(order, np.uint32), values)
    return replace(found, ranking=made)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


_OF_TEXTS = Dedupe(SAME_TEXT)


class _Making:
    """The packs of one source, built when they are needed."""

    def __init__(
        self, snapshot: Snapshot, source: Source, whole: PackOptions, found: Ranked
    ) -> None:
        """Takes a source, and the options of all sources together."""
        query, options = source.query, source.options
        self.source = source
        self.found = found
        self._snapshot = snapshot
        self._query = query
        self._options = options
        self._whole = whole
        self._policy = whole.policy()
        self._nodes: dict[int, tuple[NodeCid, Node]] = {}
        self._texts: dict[int, str] = {}
        self._made: dict[int, Pack] = {}
        self._uncut: dict[int, Pack] = {}
        self._matcher = Matcher(query) if options.spans else None
        view, valid = found.scope.view, query.valid
        visible = view.members
        if valid is not None:
            visible = visible & matches(snapshot, valid.condition())
        if source.name == DOCUMENTS:
            visible = documents_of(snapshot, visible)
        self._visible = visible
        sequences: Sequences | None
        if source.name == CONVERSATION:
            messages = found.scope.nodes.members & snapshot.label(MESSAGE)
            sequences = thread = ThreadSequence(snapshot, visible, messages)
            self.found = found = _conversation(found, thread, source)
        elif options.expand == EDGES or source.name == FACTS:
            sequences = None
        elif valid is not None:
            sequences = Sequences(snapshot, visible)
        else:
            sequences = sequences_of(view, visible, source.name or "")
        ranking = found.ranking
        ordered = in_order(
            snapshot,
            ranking.ordinals,
            [score for _, score in ranking.span(0, len(ranking))],
            sequences,
            options,
            is_moved=query.rerank is not None
            or query.mmr is not None
            or source.name == CONVERSATION,
        )
        if options.headings == DROP and sequences is not None:
            ordered = self._with_text(ordered, sequences)
        self.hits = ordered
        self._read(measured_first(ordered, options))
        groups = grouped(
            snapshot,
            visible,
            ordered,
            options,
            self._heading,
            lambda one: len(self._shown(one)),
            as_of=query.as_of,
        )
        self.groups = self._without_copies(groups)

    def _with_text(self, found: list[Found], sequences: Sequences) -> list[Found]:
        """Returns the hits without those documents and sections of ingest below which there is no
        passage: their text is a heading."""
        containers = containers_of(self.found.scope.view)
        ordinals = [one.ordinal for one in found if one.ordinal in containers]
        empty = [one for one in ordinals if sequences.find(one) is None]
        self._read(empty)
        dropped = {one for one in empty if document_of(self._node(one)[1]) is not None}
        return [one for one in found if one.ordinal not in dropped]

    def _without_copies(self, groups: list[Group]) -> list[Group]:
        """Returns the groups without those that are left out, by the rule of the options for
        documents and by equal texts for facts and messages."""
        dedupe = None if self.source.name in (FACTS, CONVERSATION) else self._options.dedupe
        if dedupe is None and self._options.expand != NEIGHBORS:
            return groups
        keys = KeyIndex((dedupe or _OF_TEXTS).percent)
        found: list[Group] = []
        for group in groups:
            key = self._key(group, dedupe)
            earlier = keys.find(key)
            if earlier is None:
                keys.add(key)
                found.append(group)
            else:
                found[earlier].join(group)
        return found

    def _key(self, group: Group, dedupe: Dedupe | None) -> Key | None:
        if dedupe is None and group.sequence is None:
            return None
        best = self.best(group)
        return key_of(
            dedupe or _OF_TEXTS,
            best.ordinal,
            best.spot,
            lambda: folded(map(self._shown, group.members)),
            lambda one: self._node(one)[1],
            self._snapshot.label("Section"),
        )

    def best(self, group: Group) -> Found:
        """Returns the best hit of a group."""
        return self.hits[group.hits[0]]

    def packs(self, position: int) -> Pack:
        """Returns a pack, built on first use. One that exceeds the budget on its own is cached only
        where it is cut, because it cannot be taken whole and its text may be large."""
        found = self._made.get(position)
        if found is None:
            found = self._pack(self.groups[position])
            budget = self._query.items_budget
            if budget is None or found.tokens <= budget:
                self._made[position] = found
        return found

    def part(self, position: int, tokens: int, *, is_first: bool) -> Pack | None:
        """Returns a part of a pack of at most that number of tokens; None if nothing fits, and if
        it is not the first one, if less fits than the options request."""
        if position not in self._uncut:
            self._uncut[position] = self.packs(position)
        return cut_to_fit(
            self._uncut[position],
            self._whole,
            self.found.reader.counter,
            lambda pack: pack.tokens <= tokens,
            is_first=is_first,
        )

    def stale(self, taken: Sequence[int]) -> int:
        """Returns the number of hits of some packs whose vector is missing or stale."""
        if self._query.vector is None:
            return 0
        ranked = [self.hits[rank] for position in taken for rank in self.groups[position].hits]
        nodes = [self._node(hit.ordinal)[1] for hit in ranked]
        ordinals = self.found.ranking.ordinals[[hit.place for hit in ranked]]
        return count_stale(self._snapshot, self._query, ordinals, nodes, self.found.reader.content)

    def conflicted(self, taken: Sequence[int]) -> int:
        """Returns the number of hits of some packs that are in conflict."""
        ranks = [rank for position in taken for rank in self.groups[position].hits]
        ordinals = np.array([self.hits[rank].ordinal for rank in ranks], np.uint32)
        return count_conflicted(self._snapshot, ordinals)

    def _pack(self, group: Group) -> Pack:
        path, members, text = self._members(group)
        shown = dict(zip(group.members, members, strict=True))
        hits = self._group_hits(group, shown)
        sequence = group.sequence
        document = None if sequence is None else sequence.document
        scope, alias = self._name(group, members, hits[0])
        source, headings = self._title(group, path)
        found = Pack(
            id=pack_cid(self._policy, document, [member.cid for member in members]),
            alias=alias,
            scope=scope,
            document=document,
            source=source,
            section=None if group.section is None else self._id(group.section),
            heading_path=headings,
            hits=hits,
            members=members,
            score=hits[0].score,
            text=text,
            tokens=0,
            fallback=group.fallback,
            root=self._root(group.members[0]),
        )
        if self._options.overflow == EXCERPT and self._query.token_budget is not None:
            nearest = nearest_first(found)[0]
            _, node = self._node(group.members[nearest])
            symbols = query_symbols(self._query)
            focus = focus_of(
                members[nearest].text,
                self._query.text or "",
                self._home(node),
                symbols,
                sentences=self._options.sentences,
                accents=self._query.match.accents,
            )
            found = replace(found, focus=focus)
        return replace(found, tokens=self.found.reader.counter.cost(found.rendered))

    def _members(self, group: Group) -> tuple[tuple[str, ...], tuple[Member, ...], str]:
        """Returns the headings above all members of a group, the members, and their texts with the
        headings between them."""
        sequence = group.sequence
        positions = None if sequence is None else sequence.places
        chains: list[tuple[int, ...]] = [() for _ in group.members]
        if sequence is not None and positions is not None:
            chains = [sequence.chain(positions[one]) for one in group.members]
        above = [one for chain in chains for one in chain]
        documents = [] if sequence is None or self.source.name != DOCUMENTS else [sequence.top]
        self._read([*group.members, *self._sections(above), *documents])
        shared = min(_shared(chains[0], chain) for chain in chains)
        before = chains[0][:shared]
        members: list[Member] = []
        pieces: list[str] = []
        for ordinal, chain in zip(group.members, chains, strict=True):
            fresh = self._headings(chain[_shared(before, chain) :])
            pieces += [f"# {' '.join(heading.split())}" for heading in fresh]
            before = chain
            cid, node = self._node(ordinal)
            text = self._shown(ordinal)
            position = None if positions is None else positions[ordinal]
            at = sum(map(len, pieces)) + len(BETWEEN) * len(pieces)
            members.append(Member(node.id, cid, position, text, at))
            pieces.append(text)
        return tuple(self._headings(chains[0][:shared])), tuple(members), BETWEEN.join(pieces)

    def _sections(self, containers: Iterable[int]) -> list[int]:
        sections = self._snapshot.label("Section")
        return [one for one in containers if one in sections]

    def _headings(self, containers: Sequence[int]) -> list[str]:
        """Returns the headings of those of some containers that are sections."""
        return [text for one in self._sections(containers) if (text := self._heading(one))]

    def _group_hits(self, group: Group, shown: Mapping[int, Member]) -> tuple[Hit, ...]:
        found = [self.hits[rank] for rank in group.hits]
        nodes = [self._node(hit.ordinal) for hit in found]
        ordinals = self.found.ranking.ordinals[[hit.place for hit in found]]
        lanes = self.found.lane_scores(ordinals)
        return tuple(
            Hit(
                node.id,
                cid,
                None if (at := hit.spot) is None else at.index,
                hit.score,
                LaneScores(said),
                self._spans(shown.get(hit.ordinal), node),
                self._root(hit.ordinal),
                self.found.mentions_of(hit.ordinal),
            )
            for hit, (cid, node), said in zip(found, nodes, lanes, strict=True)
        )

    def _home(self, node: Node) -> str:
        return home_of(node.props, self._snapshot.config.analyser)

    def _spans(self, member: Member | None, node: Node) -> tuple[Span, ...]:
        """Returns the ranges where a displayed hit matches, if the query requests spans."""
        if self._matcher is None or member is None:
            return ()
        return self._matcher.spans(member.text, self._home(node))

    def _name(self, group: Group, members: Sequence[Member], entry: Hit) -> tuple[str, str]:
        """Returns the scope of a pack and its name for people."""
        if self._options.expand == EDGES:
            return EDGES, f"e:{entry.id}"
        if self.source.name == CONVERSATION:
            return MESSAGE_SCOPE, f"m:{members[0].id}"
        if group.sequence is None:
            return "node", f"n:{entry.id}"
        if group.section is not None:
            return "section", f"s:{self._id(group.section)}"
        return "neighbors", f"o:{members[0].ord}-{members[-1].ord}"

    def _title(self, group: Group, path: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
        """Returns the source of a pack and its headings: the path of a document and the headings
        above the members; the thread of a message and what it is there; or the type of another node
        and what it is about."""
        first = self._node(group.members[0])[1]
        if self.source.name == CONVERSATION:
            return _text(first.props.get("thread")), (message_heading(first.props),)
        is_one, own = len(group.members) == 1, None
        if group.sequence is None:
            if not self._whole.titles:
                return first.ntype, path
            if is_one:
                own = title_of_part(
                    self._snapshot, self._visible, group.members[0], lambda one: self._node(one)[1]
                )
            return own or title_of_node(first) or (first.ntype, path)
        top = self._node(group.sequence.top)[1]
        source = _text(top.props.get("source"))
        if source or not self._whole.titles:
            return source, path
        if is_one:
            own = title_of_message(first)
        return own or (name_of(top), path[top.ntype == "Section" :])

    def _heading(self, ordinal: int) -> str:
        return self._node(ordinal)[1].summary or ""

    def _shown(self, ordinal: int) -> str:
        """Returns the text of a node, read once."""
        if ordinal not in self._texts:
            self._texts[ordinal] = shown_text(
                self._node(ordinal)[1], self._snapshot.config.fields, self.found.reader.content
            )
        return self._texts[ordinal]

    def _root(self, ordinal: int) -> RootCid | None:
        """Returns the root of a node in an answer over several, None in one over one root."""
        return origins(self._snapshot, self._query, np.array([ordinal], np.uint32))[0]

    def _node(self, ordinal: int) -> tuple[NodeCid, Node]:
        if ordinal not in self._nodes:
            self._read([ordinal])
        return self._nodes[ordinal]

    def _read(self, ordinals: Sequence[int]) -> None:
        """Loads the nodes that are not loaded yet, all at once."""
        wanted = [ordinal for ordinal in dict.fromkeys(ordinals) if ordinal not in self._nodes]
        cids = self._snapshot.node_cids(np.array(wanted, np.uint32))
        nodes = self.found.reader.load_all(cids)
        self._nodes.update(zip(wanted, zip(cids, nodes, strict=True), strict=True))

    def _id(self, ordinal: int) -> NodeId:
        return NodeId(ids_of(self._snapshot, [ordinal]))


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Returns how many containers two chains share at their beginning."""
    same = [a == b for a, b in zip(one, other, strict=False)]
    return same.index(False) if False in same else len(same)
