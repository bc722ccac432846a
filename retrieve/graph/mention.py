"""The lane "mentions": a graph that text makes by itself, walked one step from the best nodes.

Problem: an answer of two steps has its second half in a passage that shares no word with the
question, only a name with the first half, and nobody wrote an edge. Idea: a name (a capitalised
phrase or an identifier, `index/analysis/names.py`) leads from a text that has it to the few other
nodes that have it, and most of all to those that begin with it, because a passage is about the name
that it begins with. The texts are the question and the best nodes of the first fusion.

The nodes of a name are those with the phrase of its terms, from the posting lists and positions
that the lexical lane reads. So there is nothing to store, to merge or to update, a caller's view
decides what is counted, and a restricted caller learns nothing from names of hidden nodes.

All sums are integers, in units of 2^-20. Cost: the analysis of the beginning of a few texts, and
one intersection of posting lists for each name; a name whose terms are all frequent is not
followed.

Spec: retrieval 5.6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np
from pyroaring import BitMap

from ibidem.index.analysis import analyse, home_of
from ibidem.index.analysis.names import NAMED_CHARS, Name, names_of
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.objects.text import node_text
from ibidem.retrieve.answer.mention import Mention
from ibidem.retrieve.filter import Universe
from ibidem.retrieve.graph.lane import seeds_of
from ibidem.retrieve.graph.option import Mentions
from ibidem.retrieve.heading import containers_of, first_passage
from ibidem.retrieve.lane import LaneTop, best
from ibidem.retrieve.lexical.phrase import with_phrase
from ibidem.retrieve.lexical.statistics import Statistics, statistics_of
from ibidem.retrieve.lexical.view import LexicalView, lexical_view_of
from ibidem.retrieve.node_source import Content, Load
from ibidem.retrieve.protocol import Snapshot

MENTIONS = "mentions"
UNIT = 1 << 20
TITLED, NAMED = UNIT, UNIT >> 1
"""What a name gives to all nodes that begin with it together, and to all that have it."""
RAREST_NODES_MAX = 4096
"""A name is not followed if each of its terms is in more nodes than this."""
SHOWN_MAX = 3
"""The most names that explain one item."""
CACHED_MAX = 2048
"""The number of nodes whose names are cached with a snapshot."""
_FLOOR = 0.0


@record
class MentionTop:
    """The top of the lane, and the names that led to its nodes."""

    top: LaneTop
    _found: Mapping[int, Sequence[tuple[int, Mention]]]
    """By ordinal, the units and the name."""

    def mentions(self, ordinal: int) -> tuple[Mention, ...]:
        """Returns the names that gave a node most, in that order; none for a seed."""
        found = sorted(self._found.get(ordinal, ()), key=lambda pair: -pair[0])
        return tuple(mention for _, mention in found[:SHOWN_MAX])


def run_mentions(
    scope: Universe, tops: Sequence[LaneTop], load: Load, content: Content
) -> MentionTop | None:
    """Returns the top of the lane, None if the query does not have it or no name leads anywhere.

    Args:
        scope: the view in which names are counted, and the universe that is ranked.
        tops: the lanes that rank by themselves.
        load: reads a node as the caller sees it.
        content: reads the content of a node.
    """
    options = scope.query.mentions
    if options is None or not tops:
        return None
    seeds = seeds_of(scope, tops, options.seeds).tolist()
    walk = _Walk(_Names.of(scope), options)
    _follow(scope, walk, seeds, load, content)
    members = scope.nodes.members
    scores = {
        node: min(UNIT, units)
        for node, units in walk.units.items()
        if units and node in members and node not in seeds
    }
    if not scores:
        return None
    scores |= {seed: UNIT + len(seeds) - rank for rank, seed in enumerate(seeds)}
    nodes, values = best(
        scope.view.snapshot,
        [np.array(list(scores), np.uint32)],
        [np.array(list(scores.values()), np.float64) / float(UNIT)],
        scope.query.depth,
    )
    held = {node: found for node, found in walk.found.items() if node not in seeds}
    return MentionTop(LaneTop(MENTIONS, nodes, values, floor=_FLOOR), held)


def _follow(
    scope: Universe, walk: _Walk, seeds: Sequence[int], load: Load, content: Content
) -> None:
    """Follows the names of the question, then those of the seeds that the question does not
    have."""
    snapshot, text = scope.view.snapshot, scope.query.text or ""
    walk.follow(names_of(text, snapshot.config.analyser), strength=UNIT)
    found = [_names_of_node(snapshot, seed, load, content) for seed in seeds]
    known = {home: frozenset(analyse(text, home)) for home, names in found if names}
    if not known:
        return
    ids = snapshot.node_ids(np.array(seeds, np.uint32))
    for rank, (home, names) in enumerate(found):
        walk.follow(
            [name for name in names if not known[home].issuperset(name.terms)],
            strength=UNIT // (rank + 1),
            seed=(seeds[rank], NodeId(ids[rank].tobytes())),
        )


def _names_of_node(
    snapshot: Snapshot, ordinal: int, load: Load, content: Content
) -> tuple[str, Sequence[Name]]:
    """Returns the home analyser of a node's text, and its names by that. Those of some nodes are
    cached with the snapshot, because the same nodes answer many questions."""
    cached: dict[int, tuple[str, Sequence[Name]]] = snapshot.cache.setdefault(("names",), {})
    found = cached.get(ordinal)
    if found is None:
        (cid,) = snapshot.node_cids(np.array([ordinal], np.uint32))
        node, fields = load(cid), snapshot.config.fields
        own = content(node) if "content" in fields else None
        home = home_of(node.props, snapshot.config.analyser)
        found = home, names_of(node_text(node, fields, own)[:NAMED_CHARS], home)
        for old in list(cached)[: max(0, len(cached) + 1 - CACHED_MAX)]:
            cached.pop(old, None)
        cached[ordinal] = found
    return found


@record
class _Walk:
    """What names gave to nodes so far."""

    names: _Names
    options: Mentions
    units: Counter[int] = field(default_factory=Counter)
    found: dict[int, list[tuple[int, Mention]]] = field(default_factory=dict)

    def follow(
        self, names: Sequence[Name], *, strength: int, seed: tuple[int, NodeId] | None = None
    ) -> None:
        """Adds what the names of one text give, at most `strength` to each node."""
        own, source = (None, None) if seed is None else seed
        total: Counter[int] = Counter()
        for name in names:
            having, titled = self.names.nodes(name, self.options.max_nodes, own)
            given: Counter[int] = Counter()
            for nodes, share in ((having, NAMED), (titled, TITLED)):
                for node in nodes:
                    given[self.names.shown(node)] += share // len(nodes)
            titles = {self.names.shown(node) for node in titled}
            for node, units in given.items():
                mention = Mention(name.text, source, len(having), node in titles)
                self.found.setdefault(node, []).append(((strength * units) >> 20, mention))
            total.update(given)
        for node, units in total.items():
            self.units[node] += (strength * min(UNIT, units)) >> 20


@record
class _Names:
    """Finds the nodes of a view that have a name."""

    scope: Universe
    statistics: Statistics
    lexical_view: LexicalView
    containers: BitMap

    @classmethod
    def of(cls, scope: Universe) -> _Names:
        """Returns what finds the nodes of a query's view."""
        view, flag = scope.view, scope.query.include_tombstoned
        statistics = statistics_of(view, include_tombstoned=flag)
        lexical_view = lexical_view_of(view, statistics, include_tombstoned=flag)
        return cls(scope, statistics, lexical_view, containers_of(view))

    def nodes(self, name: Name, most: int, own: int | None) -> tuple[list[int], list[int]]:
        """Returns the nodes that have a name, and those that begin with it, none if more than
        `most` have it; `own` does not count."""
        query, view = self.scope.query, self.lexical_view
        terms = [
            view.term(text, self.statistics, query.k1, query.b) for text in sorted(set(name.terms))
        ]
        terms.sort(key=lambda term: term.frequency)
        if not 0 < terms[0].frequency <= RAREST_NODES_MAX:
            return [], []
        having = view.visible(terms[0].slots)
        for term in terms[1:]:
            having = having[term.contains(having)]
        if own is not None:
            having = having[view.ordinals[having] != own]
        if len(name.terms) > 1:
            having = with_phrase(view, having, name.terms)
        if having.shape[0] > most:
            return [], []
        titled = with_phrase(view, having, name.terms, at_start=True)
        return view.ordinals[having].tolist(), view.ordinals[titled].tolist()

    def shown(self, node: int) -> int:
        """Returns the first passage below a document or section, or else the node itself."""
        if node not in self.containers:
            return node
        found = first_passage(self.scope.view, self.containers, node)
        return node if found is None else found
