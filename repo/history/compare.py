"""What changed between two answers, and which commits changed it.

Two answers to one question are compared item by item: entered, left, moved, another score, another
version. The commits in between are searched by bisection: if the answers at both ends of a range
agree, no commit inside is queried, so a change that was reverted within the range goes unnoticed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import CommitCid, NodeCid
from ibidem.objects.commit import Commit
from ibidem.objects.edge import Edge
from ibidem.objects.ids import NodeId
from ibidem.objects.notebook import Drawn
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.repo.history import log
from ibidem.repo.history.ancestry import first_parents, read_commit, read_ends
from ibidem.repo.history.log import Change
from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.answer.lane_score import LaneScore
from ibidem.retrieve.context.pack import Pack

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph

EVALUATIONS_MAX = 64
"""Maximal number of commits queried in search of those that changed an answer."""
CHANGES_LISTED_MAX = 20
"""Maximal number of listed changes of one commit; those of moved nodes come first."""

_WORK = "asking at a commit"
Ask = Callable[["Graph"], Answer[Any]]


class MoveKind(StrEnum):
    """How an item differs; the strongest of these that applies."""

    ENTERED = "entered"
    LEFT = "left"
    MOVED = "moved"
    RESCORED = "rescored"
    EDITED = "edited"
    SAME = "same"


@record
class Placed:
    """One item of an answer with its rank, and without its node."""

    id: NodeId
    rank: int
    """1 for the best."""
    cid: NodeCid
    score: float
    tokens: int
    label: str
    """The type of the node, or the scope of the pack."""
    title: str
    """The first line of its text."""
    lanes: Mapping[str, LaneScore]
    location: str = ""
    """Path, lines and headings, or the thread of a message; empty for another node of no document,
    and where nobody looked it up."""


@record
class Move:
    """One item in two answers; `before` is None where it entered, `after` where it left."""

    id: NodeId
    before: Placed | None
    after: Placed | None

    @property
    def kind(self) -> MoveKind:
        """How the item differs."""
        before, after = self.before, self.after
        if before is None:
            return MoveKind.ENTERED
        if after is None:
            return MoveKind.LEFT
        if before.rank != after.rank:
            return MoveKind.MOVED
        if before.score != after.score or dict(before.lanes) != dict(after.lanes):
            return MoveKind.RESCORED
        is_same = (before.cid, before.tokens) == (after.cid, after.tokens)
        return MoveKind.SAME if is_same else MoveKind.EDITED


@record
class Cause:
    """A commit that changed the answer, or a range of commits of which at least one did."""

    commit: Commit
    """The last commit of the range."""
    before: Commit
    """The commit before the range."""
    commits_count: int
    """Number of commits in the range; 1 if the search found a single commit."""
    moves: tuple[Move, ...]
    """The items that differ."""
    changes: tuple[Change, ...]
    """Its changes of the graph: those of the moved nodes, else any."""
    changes_count: int
    """Number of all its changes, listed or not."""


@record
class Comparison(Drawn):
    """One question at two revisions."""

    before: Answer[Any]
    after: Answer[Any]
    moves: tuple[Move, ...]
    """All items of either answer, in rank order."""
    causes: tuple[Cause, ...] = ()
    """Oldest first."""
    evaluations_count: int = 0
    """Number of commits queried in search of the causes, excluding the two ends."""
    is_related: bool = True
    """Whether the two revisions have a common ancestor; without one, no causes can be found."""
    is_linear: bool = False
    """Whether the causes lead from one revision to the other, and not from a third one to both."""


def placed(result: Answer[Any], *, is_located: bool = False) -> tuple[Placed, ...]:
    """Returns the items of an answer with their ranks, and with their locations for a person. A
    pack has the id, the CID and the lanes of the node for which it was found, as no other has."""
    locations = result.titles() if is_located else [""] * len(result.items)
    return tuple(
        _placed(rank, item, location)
        for rank, (item, location) in enumerate(zip(result.items, locations, strict=True), 1)
    )


def _placed(rank: int, item: Any, location: str) -> Placed:
    if isinstance(item, Pack):
        node, label, text = item.entry, item.scope, item.text
    else:
        node, label, text = item, item.node.ntype, item.node.summary or ""
    return Placed(
        id=node.id,
        rank=rank,
        cid=node.cid,
        score=item.score,
        tokens=item.tokens,
        label=label,
        title=text.strip().partition("\n")[0],
        lanes=node.lanes,
        location=location,
    )


def compare(before: Sequence[Placed], after: Sequence[Placed]) -> tuple[Move, ...]:
    """Returns each item of either answer once, by rank; an item that left precedes the one now at
    its rank.
    """
    old, new = {item.id: item for item in before}, {item.id: item for item in after}
    moves = [Move(id_, old.get(id_), new.get(id_)) for id_ in {**old, **new}]

    def place(move: Move) -> tuple[int, bool, NodeId]:
        at = move.after or move.before
        assert at is not None, "BUG: an item of neither answer"
        return at.rank, move.after is not None, move.id

    return tuple(sorted(moves, key=place))


def compare_revisions(
    repository: Core,
    before: object,
    after: object,
    ask: Ask,
    *,
    evaluations_max: int = EVALUATIONS_MAX,
) -> Comparison:
    """Returns how an answer differs between two revisions, and the commits that changed it.

    Args:
        repository: contains both revisions.
        before: a revision.
        after: a revision; it may be older or newer than `before`.
        ask: returns the answer at a revision; must run the same query each time.
        evaluations_max: maximal number of commits to query in search of the causes, in addition to
            the two.
    """
    ends = repository.graph(before), repository.graph(after)
    old, new = ask(ends[0]), ask(ends[1])
    moves = compare(placed(old, is_located=True), placed(new, is_located=True))
    comparison = Comparison(old, new, moves)
    one, other = (end.commit for end in ends)
    if all(move.kind is MoveKind.SAME for move in moves) or one is None or other is None:
        return comparison
    lines = _up_to_common(repository.store, one.cid, other.cid)
    if lines is None:
        return Comparison(old, new, moves, is_related=False)
    answers = Answers(repository, ask, {lines[0][0]: old, lines[1][0]: new})
    is_ranking = _ranking(old) != _ranking(new)
    causes = [
        cause
        for line in lines
        for cause in _causes(answers, line[::-1], evaluations_max, is_ranking=is_ranking)
    ]
    is_linear = min(map(len, lines)) == 1
    count = answers.evaluations_count
    return Comparison(old, new, moves, tuple(causes), count, is_linear=is_linear)


def _up_to_common(
    source: Source, before: CommitCid, after: CommitCid
) -> tuple[list[CommitCid], list[CommitCid]] | None:
    """Returns two commits, each with its first parents up to the first common one; None where
    there is none."""
    read = partial(read_ends, source)
    lines: tuple[dict[CommitCid, int], dict[CommitCid, int]] = ({}, {})
    for pair in zip_longest(first_parents(read, before), first_parents(read, after)):
        for step, line, other in zip(pair, lines, lines[::-1], strict=True):
            if step is None:
                continue
            line[step[0]] = len(line)
            if step[0] in other:
                left, right = (list(each)[: each[step[0]] + 1] for each in lines)
                return left, right
    return None


class Answers:
    """The answers to one question by commit; each commit is queried once."""

    def __init__(
        self, repository: Core, ask: Ask, known: Mapping[CommitCid, Answer[Any]] | None = None
    ) -> None:
        self.repository = repository
        self._ask = ask
        self._answers = dict(known or {})
        self.evaluations_count = 0

    def at(self, commit: CommitCid) -> Answer[Any]:
        """Returns the answer at a commit."""
        found = self._answers.get(commit)
        if found is None:
            self.evaluations_count += 1
            self.repository.progress(_WORK, 0, 1)
            found = self._answers[commit] = self._ask(self.repository.graph(commit))
            self.repository.progress(_WORK, 1, 1)
        return found

    def cause(self, before: CommitCid, after: CommitCid, *, commits_count: int = 1) -> Cause:
        """Returns how a commit, or a range of commits, changed the answer and the graph.

        Args:
            before: the parent of the commit or of the first one of the range.
            after: the commit, or the last of them.
        """
        source = self.repository.store
        one, other = read_commit(source, before), read_commit(source, after)
        moves = compare(placed(self.at(before)), placed(self.at(after)))
        return _cause(source, one, other, commits_count, moves)


def _causes(
    answers: Answers, span: Sequence[CommitCid], evaluations_max: int, *, is_ranking: bool
) -> Iterator[Cause]:
    """Yields the causes in a range of commits, oldest first, each the parent of the next.

    Args:
        is_ranking: whether to compare only the items and their order, not their scores.
    """

    def key(commit: CommitCid) -> object:
        answer = answers.at(commit)
        return _ranking(answer) if is_ranking else placed(answer)

    waiting, found = deque([(0, len(span) - 1)]), []
    while waiting:
        start, stop = waiting.popleft()
        if start == stop or key(span[start]) == key(span[stop]):
            continue
        if stop - start == 1 or answers.evaluations_count >= evaluations_max:
            found.append((start, stop))
            continue
        middle = (start + stop) // 2
        waiting.extend(((start, middle), (middle, stop)))
    for start, stop in sorted(found):
        yield answers.cause(span[start], span[stop], commits_count=stop - start)


def _ranking(result: Answer[Any]) -> tuple[NodeId, ...]:
    return tuple(item.node.id for item in result.items)


def _cause(
    source: Source, before: Commit, after: Commit, count: int, moves: Sequence[Move]
) -> Cause:
    moved = tuple(move for move in moves if move.kind is not MoveKind.SAME)
    strong = {move.id for move in moved if not is_score_change(move)}
    near: list[Change] = []
    rest: list[Change] = []
    total = 0
    old, new = (Root.decode(source.get(commit.root)) for commit in (before, after))
    for change in log.changes(source, old, new):
        total += 1
        if _touches(source, change, strong):
            near.append(change)
        elif len(rest) < CHANGES_LISTED_MAX:
            rest.append(change)
    listed = tuple((near or rest)[:CHANGES_LISTED_MAX])
    return Cause(after, before, count, moved, listed, total)


def is_score_change(move: Move) -> bool:
    """Returns whether an item is the same at the same rank, and only its score differs."""
    if move.before is None or move.after is None:
        return False
    return move.kind is MoveKind.RESCORED and move.before.cid == move.after.cid


def _touches(source: Source, change: Change, ids: set[NodeId]) -> bool:
    if isinstance(change.id, NodeId):
        return change.id in ids
    cid = change.after or change.before
    assert cid is not None, "BUG: a change with neither side"
    edge = Edge.decode(source.get(cid))
    return edge.src in ids or edge.dst in ids
