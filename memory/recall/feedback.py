"""Feedback on answers: votes on nodes, and nodes that did not help, each bound to one answer.

Feedback is recorded as events in the notes, with the author, the answer's CID and digests of the
question's words, never the words themselves. It affects only later answers to similar questions
that use the option `feedback`; earlier answers replay unchanged.

Spec: recall 3.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, cast

from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.repo.argument_checks import check_id, check_ids
from ibidem.repo.event_log import SPACE_DEFAULT
from ibidem.repo.events import REASON, outcome_event, penalize_event, reinforce_event, vote_event
from ibidem.repo.retrieval.feedback import not_useful_event, vote_detail
from ibidem.repo.transaction.writing import writing
from ibidem.repo.viewer.exposure import guarded_methods
from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.answer.item import AnswerItem
from ibidem.retrieve.answer.protocol import AnswerProtocol
from ibidem.retrieve.answer.receipt import Receipt

if TYPE_CHECKING:
    from ibidem.repo.events import Event
    from ibidem.repo.repository import Repository
    from ibidem.repo.transaction.transaction import Transaction
    from ibidem.repo.viewer.repository import ViewerRepository

Ranked = Answer[AnswerItem] | Receipt
Voted = Ranked | AnswerProtocol
"""An answer of nodes or of packs, the receipt of one, or what was made from one: a context, a
selection of messages, a prompt, a recollection.
"""


@guarded_methods
class Feedback:
    """Feedback on the answers of a repository, in one space of notes. Over an open transaction, it
    is published with the commit, in one step.
    """

    def __init__(
        self,
        repository: Repository | ViewerRepository | Transaction,
        *,
        space: str = SPACE_DEFAULT,
        author: str = "",
    ) -> None:
        """Works on a space of notes. `author` is that of feedback without one, by default that of
        the transaction or of the viewer.
        """
        # A viewer refuses by itself what he may not.
        self.repository = cast("Repository", repository)
        self.space = space
        self.author = author or getattr(repository, "author", "")

    def vote(
        self,
        answer: Voted,
        node: NodeId | str,
        value: int,
        *,
        reason: str = "",
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid | None:
        """Records that a node of an answer was right, 1, or wrong, -1.

        In an answer of packs, only hits can be voted on: the text around them was not ranked.

        A later vote of the same author on the same node, for a question with the same words,
        replaces this one.

        Args:
            reason: why, for the readers of the notes; no answer depends on it.

        Returns:
            The new notes head; None in an open transaction.

        Raises:
            InvalidInputError: the node is not in the answer, the value is neither 1 nor -1, or
                there is no author.
        """
        found = _ranked(answer)
        text = _question_of(found)
        node = check_id("node", node, NodeId)
        _check_returned(found, [node])
        detail = {**vote_detail(text, node), **_reason(reason)}
        by = self._by(author)
        return self._note([vote_event(node, value, by, _cid(found), detail)], by, time)

    def not_useful(
        self,
        answer: Voted,
        nodes: Iterable[NodeId | str] | None = None,
        *,
        useful: Iterable[NodeId | str] | None = None,
        reason: str = "",
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid | None:
        """Records which nodes of an answer did not help, in one commit.

        Exactly one of `nodes` and `useful` is given.

        Args:
            nodes: the nodes that did not help.
            useful: the nodes that did help, at least one; all others of the answer did not. In an
                answer of packs, "all others" are the best hits of the packs without a useful hit.
            reason: why, for the readers of the notes; no answer depends on it.

        Returns:
            The new notes head; None in an open transaction.

        Raises:
            InvalidInputError: neither or both are given, no node is left, a node is not in the
                answer, or there is no author.
        """
        found = _ranked(answer)
        text = _question_of(found)
        if (nodes is None) == (useful is None):
            given = "none" if nodes is None else "both"
            raise InvalidInputError(
                f"nodes: got {given}, expected those that did not help, or as useful those that did"
            )
        named = check_ids("nodes", nodes if nodes is not None else useful or ())
        if not named:
            raise InvalidInputError("nodes: got none, expected one or more of the answer")
        by = self._by(author)
        _check_returned(found, named)
        others = [group[0] for group in _returned(found) if not set(group) & set(named)]
        chosen = named if nodes is not None else others
        if not chosen:
            raise InvalidInputError("useful: got every node of the answer, expected one left over")
        about = _cid(found)
        why = _reason(reason)
        events = [not_useful_event(text, node, by, about, why) for node in dict.fromkeys(chosen)]
        return self._note(events, by, time)

    def outcome(
        self, node: NodeId | str, ok: bool, *, author: str = "", time: int | datetime | None = None
    ) -> CommitCid | None:
        """Records that following a node's content succeeded or failed; the notes head as `vote`."""
        by = author or self.author
        return self._note([outcome_event(check_id("node", node, NodeId), ok, by)], by, time)

    def reinforce(
        self,
        node: NodeId | str,
        *,
        gain: float | None = None,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid | None:
        """Records that a record was useful; the notes head as `vote`. As `Notes.reinforce`."""
        by = author or self.author
        return self._note([reinforce_event(check_id("node", node, NodeId), gain, by)], by, time)

    def penalize(
        self,
        node: NodeId | str,
        amount: float,
        *,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid | None:
        """Records that a record should have less weight; the notes head as `vote`."""
        by = author or self.author
        return self._note([penalize_event(check_id("node", node, NodeId), amount, by)], by, time)

    def _by(self, author: str) -> str:
        found = author or self.author
        if not found:
            raise InvalidInputError("author: got nothing, expected who says it")
        return found

    def _note(
        self, events: list[Event], author: str, time: int | datetime | None
    ) -> CommitCid | None:
        with writing(self.repository, author=author, message="", time=time) as tx:
            tx.note(self.space, events)
        return tx.noted.get(self.space)


def _reason(reason: object) -> dict[str, str]:
    if not isinstance(reason, str):
        raise InvalidInputError(f"reason: got {reason!r:.80}, expected text")
    return {REASON: reason} if reason else {}


def _ranked(answer: Voted) -> Ranked:
    """Returns the ranked answer that another one was made from: a context's selection, a prompt's
    packs, a recollection's answer.
    """
    found: object = answer
    while not isinstance(found, (Answer, Receipt)):
        parts = (getattr(found, name, None) for name in ("selection", "result", "packs"))
        inner = next((part for part in parts if part is not None), None)
        if inner is None:
            raise InvalidInputError(
                f"answer: got {type(answer).__name__}, expected one of ranked nodes or packs"
            )
        found = inner
    return found


def _question_of(answer: Ranked) -> str:
    if answer.query.text is None:
        raise InvalidInputError("answer: got one without a text, expected one asked in words")
    return answer.query.text


def _returned(answer: Ranked) -> list[tuple[NodeId, ...]]:
    """Returns the nodes of an answer in groups: one node each, or a pack's hits, best first."""
    if isinstance(answer, Receipt):
        return [(item.id,) for item in answer.items]
    return [tuple(hit.id for hit in item.hits) for item in answer.items]


def _check_returned(answer: Ranked, nodes: Iterable[NodeId]) -> None:
    known = {node for group in _returned(answer) for node in group}
    for node in nodes:
        if node not in known:
            raise InvalidInputError(f"nodes: got {node}, expected nodes of the answer")


def _cid(answer: Ranked) -> Cid:
    """Returns the CID of the answer, which a receipt names."""
    return answer.result if isinstance(answer, Receipt) else answer.cid
