"""Executes a query for packs: candidates are ranked as for nodes, then grouped, read, and fitted.

    candidates -> order -> groups -> texts -> limit and budget -> answer

All candidates are grouped, whatever the limit: the first pack of an answer is the same however many
follow, and hits that a pack covers are attributed to it even if they ranked far below.

Spec: packs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ibidem.objects.block import EMPTY
from ibidem.objects.cid import NodeCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.text import node_text
from ibidem.retrieve.access.restricted_snapshot import restrict
from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.answer.drops import DROPS_LISTED_MAX, Drop, DropReason, Drops
from ibidem.retrieve.answer.lane_score import LaneScore, LaneScores
from ibidem.retrieve.answer.render import render
from ibidem.retrieve.answer.staleness import count_stale
from ibidem.retrieve.context.clip import cut_to_fit
from ibidem.retrieve.context.group import Group, grouped, ids_of, in_order
from ibidem.retrieve.context.option import EDGES, NEIGHBORS, PackOptions
from ibidem.retrieve.context.pack import BETWEEN, Hit, Member, Pack, pack_cid
from ibidem.retrieve.context.sequence import Sequences
from ibidem.retrieve.context.spans import Matcher, Span
from ibidem.retrieve.context.window import fitting
from ibidem.retrieve.filter import matches
from ibidem.retrieve.lane import LaneTop
from ibidem.retrieve.node_source import Content, NodeSource
from ibidem.retrieve.pipeline import Ranked, count_conflicted, ranked
from ibidem.retrieve.protocol import Snapshot
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.recall.factors import Opinions
from ibidem.retrieve.rerank import Reranker, RerankRecord
from ibidem.retrieve.tokens import check_estimator


def execute_packs(
    snapshot: Snapshot,
    query: Query,
    nodes: NodeSource,
    *,
    reranker: Reranker | RerankRecord | None = None,
    dense: LaneTop | None = None,
    opinions: Opinions = EMPTY,
) -> Answer[Pack]:
    """Returns the packs that answer a query; the arguments and errors are those of `execute`.

    Raises:
        InvalidInputError: also if the query has no pack options.
    """
    options = query.packs
    if options is None:
        raise InvalidInputError("packs: got none, expected the options of packs")
    if not query.has_ranker and not query.is_narrowed:
        check_estimator(query, nodes.estimator)
        return _empty(snapshot, query)
    snapshot = restrict(snapshot, query.viewer, nodes.load)
    found = ranked(snapshot, query, nodes, reranker=reranker, dense=dense, opinions=opinions)
    making = _Making(found.scope.view.snapshot, query, options, found)
    packs = making.packs
    taken, left = fitting(
        len(making.groups),
        lambda position: packs(position).tokens,
        limit=query.limit,
        budget=query.token_budget,
        overflow=options.overflow,
        cut=making.cut,
    )
    counts = {str(reason): 0 for reason in DropReason}
    for _, reason, _ in left:
        counts[reason] += 1
    chosen = tuple(packs(position) for position in taken)
    return found.answer(
        chosen,
        making.drops(left[:DROPS_LISTED_MAX]),
        MappingProxyType(counts),
        found.warnings(making.stale(taken), making.conflicted(taken)),
    )


def shown_text(node: Node, fields: Sequence[str], content: Content) -> str:
    """Returns the text of a node in a pack: its indexed text, or its rendering if it has none.

    Spec: packs 6.
    """
    read = content(node) if "content" in fields else None
    return node_text(node, fields, read) or render(node).rstrip("\n")


def _empty(snapshot: Snapshot, query: Query) -> Answer[Pack]:
    """Returns the answer to a blank text, which has no items."""
    counts = MappingProxyType({str(reason): 0 for reason in DropReason})
    return Answer(snapshot.root, query, (), 0, 0, Drops(), counts, (), MappingProxyType({}))


class _Said(NamedTuple):
    """A hit and its results in the lanes."""

    node: Node
    lanes: Mapping[str, LaneScore]


class _Making:
    """The packs of one answer, built when they are needed."""

    def __init__(
        self, snapshot: Snapshot, query: Query, options: PackOptions, found: Ranked
    ) -> None:
        self._snapshot = snapshot
        self._query = query
        self._options = options
        self._found = found
        self._nodes: dict[int, tuple[NodeCid, Node]] = {}
        self._texts: dict[int, str] = {}
        self._made: dict[int, Pack] = {}
        self._matcher = Matcher(query, snapshot.config.analyser) if options.spans else None
        view, valid = found.scope.view, query.valid
        visible = view.members
        if valid is not None:
            visible = visible & matches(snapshot, valid.condition())
        if options.expand == EDGES:
            sequences = None
        elif valid is not None:
            sequences = Sequences(snapshot, visible)
        else:
            sequences = view.remembered("sequences", lambda: Sequences(snapshot, visible))
        ranking = found.ranking
        self._hits = in_order(
            snapshot,
            ranking.ordinals,
            [score for _, score in ranking.span(0, len(ranking))],
            sequences,
            options,
            is_moved=query.rerank is not None or query.mmr is not None,
        )
        groups = grouped(
            snapshot, visible, self._hits, options, self._heading, lambda one: len(self._shown(one))
        )
        self.groups = groups if options.expand != NEIGHBORS else self._without_copies(groups)

    def _without_copies(self, groups: Sequence[Group]) -> list[Group]:
        """Returns the groups without those whose texts an earlier one has, case
        and white space apart; their hits go to it."""
        first: dict[str, Group] = {}
        found: list[Group] = []
        for group in groups:
            text = " ".join(" ".join(map(self._shown, group.members)).casefold().split())
            earlier = first.setdefault(text, group) if group.sequence is not None else group
            if earlier is group:
                found.append(group)
            else:
                earlier.join(group)
        return found

    def packs(self, position: int) -> Pack:
        """Returns a pack, built on first use, or what was cut of it. A pack that exceeds the budget
        on its own is not kept, because it cannot be taken whole and its text may be large."""
        found = self._made.get(position)
        if found is None:
            found = self._pack(self.groups[position])
            budget = self._query.token_budget
            if budget is None or found.tokens <= budget:
                self._made[position] = found
        return found

    def cut(self, position: int, tokens: int) -> bool:
        """Cuts a pack to at most so many tokens; returns whether that is enough for any text."""
        found = cut_to_fit(
            self.packs(position),
            self._options.policy(),
            self._found.reader.estimator,
            lambda pack: pack.tokens <= tokens,
        )
        if found is not None:
            self._made[position] = found
        return found is not None

    def drops(self, left: Sequence[tuple[int, str, int | None]]) -> Drops:
        """Returns the drops for the packs that are left out, each represented by its best hit.

        The last ones were not counted and share one reason; they are kept as columns.
        """
        seen = max((at for at, one in enumerate(left, 1) if one[2] is not None), default=0)
        entries = [self._hits[self.groups[position].hits[0]] for position, _, _ in left]
        ids = self._snapshot.node_ids(np.array([hit.ordinal for hit in entries], np.uint32))
        first = [
            Drop(NodeId(ids[at].tobytes()), DropReason(reason), tokens, entries[at].score)
            for at, (_, reason, tokens) in enumerate(left[:seen])
        ]
        reason = DropReason(left[-1][1]) if seen < len(left) else DropReason.LIMIT
        scores = np.array([hit.score for hit in entries[seen:]], np.float64)
        return Drops(first, reason, ids[seen:], scores)

    def stale(self, taken: Sequence[int]) -> int:
        """Returns the number of hits of some packs that were ranked by a stale vector."""
        if self._query.vector is None:
            return 0
        ranked = [self._hits[rank] for position in taken for rank in self.groups[position].hits]
        nodes = [self._node(hit.ordinal)[1] for hit in ranked]
        ordinals = self._found.ranking.ordinals[[hit.place for hit in ranked]]
        lanes = self._found.lane_scores(ordinals, [node.id for node in nodes])
        return count_stale(
            self._snapshot,
            self._query,
            ordinals,
            [_Said(node, said) for node, said in zip(nodes, lanes, strict=True)],
            self._found.reader.content,
        )

    def conflicted(self, taken: Sequence[int]) -> int:
        """Returns the number of hits of some packs that are in conflict."""
        ranks = [rank for position in taken for rank in self.groups[position].hits]
        ids = [self._id(self._hits[rank].ordinal) for rank in ranks]
        return count_conflicted(self._snapshot, ids)

    def _pack(self, group: Group) -> Pack:
        path, members, text = self._members(group)
        shown = {member.id: member for member in members}
        hits = self._group_hits(group, shown)
        sequence = group.sequence
        document = None if sequence is None else sequence.document
        scope, alias = self._name(group, members, hits[0])
        found = Pack(
            id=pack_cid(self._options.policy(), document, [member.cid for member in members]),
            alias=alias,
            scope=scope,
            document=document,
            source=self._source(group),
            section=None if group.section is None else self._id(group.section),
            heading_path=path,
            hits=hits,
            members=members,
            score=hits[0].score,
            text=text,
            tokens=0,
            fallback=group.fallback,
        )
        return replace(found, tokens=self._found.reader.estimator.estimate(found.rendered))

    def _members(self, group: Group) -> tuple[tuple[str, ...], tuple[Member, ...], str]:
        """Returns the headings above all members of a group, the members, and their texts with the
        headings between them."""
        self._read(group.members)
        sequence = group.sequence
        positions = None if sequence is None else sequence.places
        chains: list[tuple[int, ...]] = [() for _ in group.members]
        if sequence is not None and positions is not None:
            chains = [sequence.chain(positions[one]) for one in group.members]
        above = min(_shared(chains[0], chain) for chain in chains)
        before = chains[0][:above]
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
        return tuple(self._headings(chains[0][:above])), tuple(members), BETWEEN.join(pieces)

    def _headings(self, containers: Sequence[int]) -> list[str]:
        """Returns the headings of those of some containers that are sections."""
        sections = self._snapshot.label("Section")
        return [text for one in containers if one in sections and (text := self._heading(one))]

    def _group_hits(self, group: Group, shown: Mapping[NodeId, Member]) -> tuple[Hit, ...]:
        found = [self._hits[rank] for rank in group.hits]
        nodes = [self._node(hit.ordinal) for hit in found]
        ordinals = self._found.ranking.ordinals[[hit.place for hit in found]]
        lanes = self._found.lane_scores(ordinals, [node.id for _, node in nodes])
        return tuple(
            Hit(
                node.id,
                cid,
                None if hit.spot is None else hit.spot.place,
                hit.score,
                LaneScores(said),
                self._spans(shown.get(node.id)),
            )
            for hit, (cid, node), said in zip(found, nodes, lanes, strict=True)
        )

    def _spans(self, member: Member | None) -> tuple[Span, ...]:
        """Returns the ranges where a displayed hit matches, if the query requests spans."""
        if self._matcher is None or member is None:
            return ()
        return self._matcher.spans(member.text)

    def _name(self, group: Group, members: Sequence[Member], entry: Hit) -> tuple[str, str]:
        """Returns the scope of a pack and its name for people."""
        if self._options.expand == EDGES:
            return EDGES, f"e:{entry.id}"
        if group.sequence is None:
            return "node", f"n:{entry.id}"
        if group.section is not None:
            return "section", f"s:{self._id(group.section)}"
        return "neighbors", f"o:{members[0].ord}-{members[-1].ord}"

    def _source(self, group: Group) -> str | None:
        if group.sequence is None:
            return None
        top = group.sequence.containers[0].ordinal
        source = self._node(top)[1].props.get("source")
        return source if isinstance(source, str) else None

    def _heading(self, ordinal: int) -> str:
        return self._node(ordinal)[1].summary or ""

    def _shown(self, ordinal: int) -> str:
        """Returns the text of a node, read once."""
        if ordinal not in self._texts:
            self._texts[ordinal] = shown_text(
                self._node(ordinal)[1], self._snapshot.config.fields, self._found.reader.content
            )
        return self._texts[ordinal]

    def _node(self, ordinal: int) -> tuple[NodeCid, Node]:
        if ordinal not in self._nodes:
            self._read([ordinal])
        return self._nodes[ordinal]

    def _read(self, ordinals: Sequence[int]) -> None:
        """Loads the nodes that are not loaded yet, all their CIDs at once."""
        wanted = [ordinal for ordinal in ordinals if ordinal not in self._nodes]
        cids = self._snapshot.node_cids(np.array(wanted, np.uint32))
        for ordinal, cid in zip(wanted, cids, strict=True):
            self._nodes[ordinal] = cid, self._found.reader.load(cid)

    def _id(self, ordinal: int) -> NodeId:
        return NodeId(ids_of(self._snapshot, [ordinal]))


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Returns how many containers two chains share at their beginning."""
    same = [a == b for a, b in zip(one, other, strict=False)]
    return same.index(False) if False in same else len(same)
