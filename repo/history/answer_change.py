"""How the answer to one question changed, with every text that a report of it shows.

A comparison names nodes and commits by their CIDs; this reads what a person wants to see of them,
so that a report is a pure function of the result. Sizes are bounded here: a report may have many
questions.

A caller who may not see everything gets the items of both answers, which are those that he may
see, and the CIDs of the commits; the message of a commit and its other changes may name more.

Spec: trust 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from ibidem.objects.cid import NodeCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.repo.history.compare import Cause, Comparison, Move, MoveKind, Placed
from ibidem.repo.history.diff_format import change_line
from ibidem.repo.history.log import Change

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item

ITEMS_LISTED_MAX = 50
"""Items of both answers, those that differ first."""
TEXTS_LISTED_MAX = 20
"""Items that differ of which the texts are listed."""
TEXT_CHARACTERS = 2000
"""Of each text; a longer one ends with an ellipsis."""
FACT_CHARACTERS = 300


@record
class TextChange:
    """The text of an item that differs; None where it is not in that answer, or was erased."""

    move: Move
    before: str | None
    after: str | None


@record
class Ranking:
    """An answer on the way from the older state to the newer one."""

    name: str
    """Of the first state, for people; empty for the others."""
    cause: Cause | None
    """What led to it; None for the first state."""
    items: tuple[Placed, ...]
    """In rank order."""
    kinds: Mapping[NodeId, MoveKind]
    """Of the items that differ from the ranking before, how."""


@record
class AnswerChange:
    """One question and its answers at two states."""

    question: str
    before: str
    """The name of the older state, for people."""
    after: str
    moves: tuple[Move, ...]
    """In rank order; ITEMS_LISTED_MAX at most."""
    counts: Mapping[MoveKind, int]
    """Of all items, by how they differ; every kind is present."""
    texts: tuple[TextChange, ...]
    facts: tuple[tuple[str, str], ...]
    """Further values with their names, such as the roots."""
    causes: tuple[Cause, ...]
    """Oldest first; none for a caller who may not see everything."""
    lines: Mapping[Change, str]
    """The changes of the causes in words."""
    caused_by: tuple[Commit, ...]
    """The commits of the causes."""
    rankings: tuple[Ranking, ...] = ()
    """The answers from one state to the other, oldest first: the first, and that after each cause.
    None if the causes lead to both states, as on two branches."""
    note: str | None = None
    """Why no cause is named, or how it was found."""

    @property
    def is_different(self) -> bool:
        """Whether any item differs."""
        return any(count for kind, count in self.counts.items() if kind is not MoveKind.SAME)

    @property
    def summary(self) -> str:
        """How many items differ and how, such as `1 entered, 2 moved`."""
        parts = [
            f"{self.counts[kind]} {kind}"
            for kind in MoveKind
            if kind is not MoveKind.SAME and self.counts[kind]
        ]
        return ", ".join(parts) or "no item differs"


def answer_change(
    source: Source,
    moves: Sequence[Move],
    *,
    question: str | None,
    before: str,
    after: str,
    causes: Sequence[Cause] = (),
    facts: Sequence[tuple[str, str]] = (),
    note: str | None = None,
    viewer: Viewer | None = None,
    has_older_texts: bool = True,
) -> AnswerChange:
    """Returns the items of two answers with their texts, and the commits that changed them.

    Args:
        source: has the nodes; the text of one that it lacks is None.
        moves: the items of both answers, in rank order.
        question: the text of the question; None if it had none.
        before: the name of the older state.
        after: the name of the newer state.
        causes: the commits that changed the answer.
        facts: further values with their names.
        note: why no cause is named, or how it was found.
        viewer: the caller of the newer answer.
        has_older_texts: whether the texts of items of the older answer may be shown; not if it was
            given to another caller, who may have seen more.
    """
    is_cut = is_restricted(viewer)
    different = [move for move in moves if move.kind is not MoveKind.SAME]
    same = [move for move in moves if move.kind is MoveKind.SAME]
    listed = {move.id for move in (*different, *same)[:ITEMS_LISTED_MAX]}
    shown = () if is_cut else tuple(causes)
    viewer_facts = [("viewer", _viewer_line(viewer))] if viewer is not None and is_cut else []
    return AnswerChange(
        question=question or "",
        before=before,
        after=after,
        moves=tuple(move for move in moves if move.id in listed),
        counts={kind: sum(move.kind is kind for move in moves) for kind in MoveKind},
        texts=tuple(_text_changes(source, different, has_older_texts)),
        facts=tuple(
            (name, _cut(value, FACT_CHARACTERS)) for name, value in (*facts, *viewer_facts)
        ),
        causes=shown,
        lines={one: change_line(source, one) for cause in shown for one in cause.changes},
        caused_by=tuple(cause.commit for cause in causes),
        note=note,
    )


def compared(source: Source, found: Comparison, *, before: str, after: str) -> AnswerChange:
    """Returns the change that a comparison of two revisions found; see `answer_change`."""
    viewers = (one.query.viewer for one in (found.after, found.before))
    note = None
    if not found.is_related:
        note = "the revisions have no common commit, so no cause can be named"
    elif not found.causes:
        note = "no commit between them changed the answer"
    change = answer_change(
        source,
        found.moves,
        question=found.before.query.text,
        before=before,
        after=after,
        causes=found.causes,
        facts=answer_facts(found.before, found.after),
        note=note,
        viewer=next((one for one in viewers if is_restricted(one)), None),
    )
    shown = replace(found, causes=change.causes)
    return replace(change, rankings=rankings(shown, before=before, after=after))


def answer_facts(before: Answer[Item], after: Answer[Item]) -> list[tuple[str, str]]:
    """Returns the values of two answers that a reader may want to compare or to look up."""
    pairs = [
        ("tokens", f"{before.tokens_used:,}", f"{after.tokens_used:,}"),
        ("receipt", _receipt(before), _receipt(after)),
        ("root", str(before.root), str(after.root)),
    ]
    return [(name, one if one == other else f"{one} → {other}") for name, one, other in pairs]


def rankings(found: Comparison, *, before: str, after: str) -> tuple[Ranking, ...]:
    """Returns the answers from one state to the other, in the direction in which causes lead; none
    if they are on two branches, or do not lead there.
    """
    if not found.is_linear:
        return ()
    moves, causes = found.moves, found.causes
    old, new = (
        {move.id: one for move in moves if (one := side(move)) is not None}
        for side in (attrgetter("before"), attrgetter("after"))
    )
    return _led(old, new, causes, before) or _led(new, old, causes, after)


def _led(
    start: dict[NodeId, Placed], stop: dict[NodeId, Placed], causes: Sequence[Cause], name: str
) -> tuple[Ranking, ...]:
    """Returns the answer at the start and after each cause; none if they lead to another one.

    Only ranks are compared: commits between the causes may have changed scores.
    """
    items, found = dict(start), [_ranking(start, None, name)]
    for cause in causes:
        for move in cause.moves:
            known = items.pop(move.id, None)
            if _rank(known) != _rank(move.before):
                return ()
            if move.after is not None:
                items[move.id] = move.after
        found.append(_ranking(items, cause))
    is_reached = {id_: item.rank for id_, item in items.items()} == {
        id_: item.rank for id_, item in stop.items()
    }
    return tuple(found) if causes and is_reached else ()


def _rank(item: Placed | None) -> int | None:
    return None if item is None else item.rank


def _ranking(items: Mapping[NodeId, Placed], cause: Cause | None, name: str = "") -> Ranking:
    moves = () if cause is None else cause.moves
    ordered = sorted(items.values(), key=lambda item: item.rank)
    return Ranking(name, cause, tuple(ordered), {move.id: move.kind for move in moves})


def is_restricted(viewer: Viewer | None) -> bool:
    """Returns whether a caller may not see everything."""
    return viewer is not None and not viewer.everything


def _viewer_line(viewer: Viewer) -> str:
    scopes = viewer.scopes if isinstance(viewer.scopes, str) else ", ".join(viewer.scopes)
    anonymous = "" if viewer.authenticated else ", not authenticated"
    return f"level {viewer.level}, {f'scopes {scopes}' if scopes else 'no scope'}{anonymous}"


def _receipt(answer: Answer[Item]) -> str:
    return "none" if answer.receipt is None else str(answer.receipt.cid)


def _text_changes(
    source: Source, different: Sequence[Move], has_older_texts: bool
) -> list[TextChange]:
    """Returns the texts of items that entered, left or were edited."""
    found: list[TextChange] = []
    for move in different:
        cids = [None if one is None else one.cid for one in (move.before, move.after)]
        if len(found) < TEXTS_LISTED_MAX and cids[0] != cids[1]:
            before = _text(source, cids[0]) if has_older_texts else None
            found.append(TextChange(move, before, _text(source, cids[1])))
    return found


def _text(source: Source, cid: NodeCid | None) -> str | None:
    if cid is None:
        return None
    try:
        return _cut(Node.decode(source.get(cid)).summary or "", TEXT_CHARACTERS)
    except NotFoundError:
        return None


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1] + "…"
