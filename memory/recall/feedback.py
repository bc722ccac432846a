"""Feedback on answers: votes on nodes, and nodes that did not help, each bound to one answer.

What is said becomes an event on the notes, with the actor, the answer's CID and digests of the
question's words, never the words. It moves later answers only where these ask for `feedback` and
are asked something alike; old answers are repeated as they were.

Spec: recall 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.repo.notes import SPACE_DEFAULT
from ibidem.repo.opinions import not_useful_event, vote_detail

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository
    from ibidem.retrieve.query import Query


class Item(Protocol):
    """A returned node."""

    @property
    def id(self) -> NodeId:
        """Its id."""


class Answer(Protocol):
    """An answer, or its receipt."""

    @property
    def query(self) -> Query:
        """What was asked."""

    @property
    def items(self) -> tuple[Item, ...]:
        """What was returned."""


def vote(
    repository: Repository,
    answer: Answer,
    node: NodeId,
    value: int,
    *,
    actor: str,
    space: str = SPACE_DEFAULT,
    time: int | datetime | None = None,
) -> CommitCid:
    """Says that a node of an answer was right, 1, or wrong, -1; returns the new notes head.

    A later vote of the same actor on the same node for a question of the same words takes the
    place of this one.

    Raises:
        InvalidInputError: the node is not in the answer, the value is another, or nobody votes.
    """
    text = _asked(answer)
    _check_returned(answer, [node])
    return repository.notes(space).vote(
        node, value, actor=actor, about=_cid(answer), detail=vote_detail(text, node), time=time
    )


def not_useful(
    repository: Repository,
    answer: Answer,
    nodes: Iterable[NodeId] | None = None,
    *,
    useful: Iterable[NodeId] | None = None,
    actor: str,
    space: str = SPACE_DEFAULT,
    time: int | datetime | None = None,
) -> CommitCid:
    """Says which nodes of an answer did not help, in one commit; returns the new notes head.

    Args:
        nodes: those that did not, or
        useful: those that did, one or more; all others of the answer did not.

    Raises:
        InvalidInputError: neither or both are given, none is left, one is not in the answer, or
            nobody says it.
    """
    text, returned = _asked(answer), [item.id for item in answer.items]
    if (nodes is None) == (useful is None):
        given = "none" if nodes is None else "both"
        raise InvalidInputError(
            f"nodes: got {given}, expected those that did not help, or as useful those that did"
        )
    named = list(nodes if nodes is not None else useful or ())
    if not named:
        raise InvalidInputError("nodes: got none, expected one or more of the answer")
    if not actor:
        raise InvalidInputError("actor: got nothing, expected who says it")
    _check_returned(answer, named)
    chosen = named if nodes is not None else [node for node in returned if node not in named]
    if not chosen:
        raise InvalidInputError("useful: got every node of the answer, expected one left over")
    about = _cid(answer)
    events = [not_useful_event(text, node, actor, about) for node in dict.fromkeys(chosen)]
    return repository.notes(space).add(events, author=actor, time=time)


def _asked(answer: Answer) -> str:
    if answer.query.text is None:
        raise InvalidInputError("answer: got one without a text, expected one asked in words")
    return answer.query.text


def _check_returned(answer: Answer, nodes: Iterable[NodeId]) -> None:
    returned = {item.id for item in answer.items}
    for node in nodes:
        if node not in returned:
            raise InvalidInputError(f"nodes: got {node}, expected nodes of the answer")


def _cid(answer: Answer) -> Cid:
    """Returns the CID of the answer, which a receipt names."""
    found = getattr(answer, "result", None)
    return found if isinstance(found, Cid) else answer.cid  # type: ignore[attr-defined]
