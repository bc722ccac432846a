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
from typing import TYPE_CHECKING

from ibidem.objects.cid import NodeCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import NotFoundError
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.repo.history.compare import Cause, Comparison, Move, MoveKind
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
        viewer: the caller of both answers.
    """
    is_restricted = viewer is not None and not viewer.everything
    different = [move for move in moves if move.kind is not MoveKind.SAME]
    same = [move for move in moves if move.kind is MoveKind.SAME]
    listed = {move.id for move in (*different, *same)[:ITEMS_LISTED_MAX]}
    shown = () if is_restricted else tuple(causes)
    viewer_facts = (
        [("viewer", _viewer_line(viewer))] if is_restricted and viewer is not None else []
    )
    return AnswerChange(
        question=question or "",
        before=before,
        after=after,
        moves=tuple(move for move in moves if move.id in listed),
        counts={kind: sum(move.kind is kind for move in moves) for kind in MoveKind},
        texts=tuple(_text_changes(source, different)),
        facts=tuple(
            (name, _cut(value, FACT_CHARACTERS)) for name, value in (*facts, *viewer_facts)
        ),
        causes=shown,
        lines={one: change_line(source, one) for cause in shown for one in cause.changes},
        caused_by=tuple(cause.commit for cause in causes),
        note=note,
    )


def compared(
    source: Source, found: Comparison, *, before: str, after: str, viewer: Viewer | None = None
) -> AnswerChange:
    """Returns the change that a comparison of two revisions found; see `answer_change`."""
    note = None
    if not found.is_related:
        note = "the revisions have no common commit, so no cause can be named"
    elif not found.causes:
        note = "no commit between them changed the answer"
    return answer_change(
        source,
        found.moves,
        question=found.before.query.text,
        before=before,
        after=after,
        causes=found.causes,
        facts=answer_facts(found.before, found.after),
        note=note,
        viewer=viewer,
    )


def answer_facts(before: Answer[Item], after: Answer[Item]) -> list[tuple[str, str]]:
    """Returns the values of two answers that a reader may want to compare or to look up."""
    pairs = [
        ("tokens", f"{before.tokens_used:,}", f"{after.tokens_used:,}"),
        ("receipt", _receipt(before), _receipt(after)),
        ("root", str(before.root), str(after.root)),
    ]
    return [(name, one if one == other else f"{one} → {other}") for name, one, other in pairs]


def _viewer_line(viewer: Viewer) -> str:
    scopes = viewer.scopes if isinstance(viewer.scopes, str) else ", ".join(viewer.scopes)
    anonymous = "" if viewer.authenticated else ", not authenticated"
    return f"level {viewer.level}, {f'scopes {scopes}' if scopes else 'no scope'}{anonymous}"


def _receipt(answer: Answer[Item]) -> str:
    return "none" if answer.receipt is None else str(answer.receipt.cid)


def _text_changes(source: Source, different: Sequence[Move]) -> list[TextChange]:
    """Returns the texts of items that entered, left or were edited."""
    found: list[TextChange] = []
    for move in different:
        cids = [None if one is None else one.cid for one in (move.before, move.after)]
        if len(found) < TEXTS_LISTED_MAX and cids[0] != cids[1]:
            found.append(TextChange(move, *(_text(source, cid) for cid in cids)))
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
