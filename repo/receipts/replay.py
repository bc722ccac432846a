"""Replays a receipt: runs the same query on the same root and compares the bytes.

Either the answer is the same to the byte, or the error names the item, lane and number that
changed, and why: another root, a missing block or model, erased data, rules of another version.

Spec: replay 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ibidem.objects.cid import Cid, ReceiptCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import (
    ErrorKind,
    FormatError,
    IbidemError,
    InvalidInputError,
    NotFoundError,
    ReplayError,
)
from ibidem.repo.graph import Graph
from ibidem.repo.receipts import kept
from ibidem.repo.retrieval.retrieve import PreparedQuery, execute_query
from ibidem.repo.retrieval.token_estimators import estimator_of
from ibidem.retrieve.answer.answer import receipt_of
from ibidem.retrieve.answer.receipt import Receipt, ReceiptItem
from ibidem.retrieve.answer.sealed import SealedReceipt, read_receipt
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.semantics import check_version

if TYPE_CHECKING:
    from ibidem.objects.config import Config
    from ibidem.repo.core import Core
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.answer.lane_score import LaneScore
    from ibidem.retrieve.query.union import RootSet
    from ibidem.retrieve.tokens import TokenEstimator

T = TypeVar("T")
_NAMED_MAX = 8


def replay(
    repository: Core,
    receipt: Receipt | SealedReceipt | Cid | str | None,
    *,
    estimator: str | TokenEstimator | None = None,
    text: str | None = None,
    key: bytes | None = None,
    at: object = None,
) -> Answer[Item]:
    """Runs the query of a receipt again and returns the answer if it is the same.

    The receipt contains the reranker's scores and the query's vector, so no model is called.

    Args:
        receipt: the receipt, its CID, or a unique prefix of 8 characters or more.
        estimator: the one that counted tokens, if the recorded name does not resolve.
        text: the query text, if the receipt is sealed.
        key: the key that it was sealed with.
        at: another revision to query instead; a different answer is then the error.

    Raises:
        NotFoundError: there is no such receipt here.
        ReplayError: kind `replay-mismatch`, naming what changed; `not-found`: the root is not in
            this repository; `block-not-found`: a block of it is missing; `erased`; `unknown-model`.
        FormatError: kind `unsupported-semantics`: its rules are of a version that this program does
            not have.
    """
    recorded = opened(found_receipt(repository, receipt), text, key)
    check_roots(recorded.query, None)
    revision = _revision(repository, recorded, at)
    result = replayed(repository, revision, recorded, estimator)
    # The digests of models are in the root's config, so they are checked against it.
    check_same(repository, recorded, result, repository.graph(result.root).config)
    return replace(result, receipt=recorded)


def replayed(
    repository: Core, revision: Graph, recorded: Receipt, estimator: str | TokenEstimator | None
) -> Answer[Item]:
    """Returns the answer to the question of a receipt, which may differ from the recorded one."""
    check_version(recorded.semantics, "receipt.semantics")
    counter = _estimator_of(recorded.query, estimator)
    result: Answer[Item] = ask_again(
        repository, revision, PreparedQuery(recorded.query, counter, recorded.rerank)
    )
    return result


def retrieve_at(repository: Core, recorded: Receipt, at: object) -> Receipt:
    """Returns the receipt of a recorded question asked at another revision, without a model.

    Raises:
        ReplayError: it cannot be answered there.
        NotFoundError: there is no such revision.
    """
    revision = repository.graph(at)
    counter = _estimator_of(recorded.query, None)
    prepared = PreparedQuery(recorded.query, counter, recorded.rerank)
    answer = ask_again(repository, revision, prepared)
    return receipt_of(answer, commit=revision.commit_cid, notes_head=recorded.notes_head)


def opened(
    receipt: Receipt | SealedReceipt, text: str | None = None, key: bytes | None = None
) -> Receipt:
    """Returns a receipt with its query; a sealed one is opened with its text and key.

    Raises:
        InvalidInputError: it is sealed and text or key is missing, or it is not sealed and one was
            given.
        ReplayError: the text or the key is wrong.
    """
    if isinstance(receipt, SealedReceipt):
        if text is None or key is None:
            raise InvalidInputError(
                "receipt: it is sealed: it has only a keyed digest of the text that was asked",
                hint="give the text, and the key that it was sealed with",
            )
        return receipt.open(text, key)
    if key is not None or text is not None:
        if text is not None and key is None and text == receipt.query.text:
            return receipt
        raise InvalidInputError("receipt: got a text or key for one that says what was asked")
    return receipt


def ask_again(repository: Core, revision: Graph, prepared: PreparedQuery) -> Any:
    """Returns the answer to a query without calling a model; raises as `explained` and
    `check_roots` do."""
    check_roots(prepared.query, revision.union)
    return explained(lambda: execute_query(repository, revision, prepared))


def check_roots(query: Query, union: RootSet | None) -> None:
    """Raises `ReplayError`, kind `not-found`, unless a query is of the roots of a union, or of one
    root where there is none."""
    if query.union != union:
        raise ReplayError(
            f"receipt: it is of {_roots(query.union)}, and was to be replayed at {_roots(union)}",
            kind=ErrorKind.NOT_FOUND,
            hint="replay it with `ibidem.union` over its roots, or `repo replay --with`",
        )


def _roots(union: RootSet | None) -> str:
    return "one root" if union is None else "the roots " + ", ".join(map(str, union.roots))


def check_same(repository: Core, recorded: Receipt, result: Answer[Item], config: Config) -> None:
    """Raises `ReplayError` unless an answer's receipt equals the recorded one to the byte, and the
    configuration has the models that it names."""
    found = receipt_of(result, commit=recorded.commit, notes_head=recorded.notes_head)
    models = {
        name: config.models[name].digest if name in config.models else None
        for name in recorded.models
    }
    moved = list(differences(recorded, found))
    moved += [
        f"model {name!r:.60}: the root has another than the receipt names"
        for name, digest in models.items()
        if digest != recorded.models[name]
    ]
    if recorded.commit is not None and repository.store.has(recorded.commit):
        root = Commit.decode(repository.store.get(recorded.commit)).root
        if root != recorded.root:
            moved.append(f"commit {recorded.commit}: its root is {root}, not the receipt's")
    if moved:
        raise mismatch(recorded, found, moved)


def mismatch(recorded: Receipt, found: Receipt, moved: list[str]) -> ReplayError:
    """Returns the error for answers that differ: what changed, and the possible reason."""
    lines = moved[:_NAMED_MAX]
    if len(moved) > _NAMED_MAX:
        lines.append(f"and {len(moved) - _NAMED_MAX} more")
    if found.root != recorded.root:
        why = f"another root: {found.root} was asked, the receipt is of {recorded.root}"
        hint = "compare them with 'repo diff --query', which names the commits"
    else:
        why = "same root and question, so the receipt or a file of this repository was changed"
        hint = "run 'repo doctor --full', and replay again after 'repo index build'"
    return ReplayError("receipt: the answer is another: " + "; ".join([*lines, why]), hint=hint)


def differences(before: Receipt, after: Receipt) -> Iterator[str]:
    """Yields, as text, each item, lane and number in which two receipts differ."""
    if before.query != after.query:
        yield "the question is another"
    for index in range(max(len(before.items), len(after.items))):
        one = before.items[index] if index < len(before.items) else None
        other = after.items[index] if index < len(after.items) else None
        if one != other:
            yield from _item_differences(index + 1, one, other)
    if before.rerank != after.rerank:
        yield "what the reranker said is another"
    if before.result != after.result and before.items == after.items:
        yield (
            "the items agree, but what was left out, counted or warned about does not: "
            f"result {after.result}, expected {before.result}"
        )


def explained(ask: Callable[[], T]) -> T:
    """Returns the result of `ask`; an error that prevents the query becomes a `ReplayError`.

    Raises:
        ReplayError: kind `block-not-found`, `erased`, `unknown-model` or `not-found`.
    """
    try:
        return ask()
    except (ReplayError, FormatError):
        raise
    except IbidemError as error:
        reasons = {
            ErrorKind.BLOCK_NOT_FOUND: "a block of its root is missing",
            ErrorKind.ERASED: "something that it read has been erased",
            ErrorKind.UNKNOWN_MODEL: "a model that it asked for is not in the root",
            ErrorKind.NOT_FOUND: "something that it needs is missing",
        }
        if error.kind not in reasons:
            raise
        raise ReplayError(
            f"receipt: {reasons[error.kind]}: {error}",
            kind=error.kind,
            hint=error.hint or "fetch the history that it belongs to, or run 'repo fsck'",
        ) from error


def _item_differences(
    rank: int, one: ReceiptItem | None, other: ReceiptItem | None
) -> Iterator[str]:
    if one is None or other is None:
        item = one or other
        assert item is not None, "BUG: neither answer has the item"
        yield f"item {rank}: {item.id} {'entered' if one is None else 'left'}"
        return
    if one.id != other.id:
        yield f"item {rank}: {other.id} with {other.score!r}, expected {one.id} with {one.score!r}"
        return
    position = f"item {rank}, {one.id}"
    if one.cid != other.cid:
        yield f"{position}: the node is another version, {other.cid}, expected {one.cid}"
    if one.digest != other.digest:
        yield f"{position}: its rendered text is another"
    if one.score != other.score:
        yield f"{position}: score {other.score!r}, expected {one.score!r}"
    for lane in sorted({*one.lanes, *other.lanes}):
        yield from _lane_differences(position, lane, one.lanes.get(lane), other.lanes.get(lane))


def _lane_differences(
    position: str, lane: str, one: LaneScore | None, other: LaneScore | None
) -> Iterator[str]:
    if one is None or other is None:
        if one is not other:
            yield f"{position}: lane {lane} {'ranks it now' if one is None else 'ranked it before'}"
        return
    for name, was, now in zip(("rank", "score", "contribution"), one, other, strict=True):
        if was != now:
            yield f"{position}: lane {lane}, {name} {now!r}, expected {was!r}"


def _revision(repository: Core, recorded: Receipt, at: object) -> Graph:
    if at is not None:
        return repository.graph(at)
    try:
        return Graph(repository, recorded.root, None)
    except NotFoundError as error:
        raise ReplayError(
            f"receipt: its root {recorded.root} is not in this repository",
            kind=ErrorKind.NOT_FOUND,
            hint="fetch the history that it belongs to",
        ) from error


def _estimator_of(query: Query, given: str | TokenEstimator | None) -> TokenEstimator:
    """Returns the estimator of a query, given or found by its recorded name."""
    if given is not None:
        return estimator_of(given)
    try:
        return estimator_of(query.estimator)
    except InvalidInputError as error:
        raise ReplayError(
            f"receipt: its estimator {query.estimator!r} is not found by its name",
            kind=ErrorKind.NOT_FOUND,
            hint="pass estimator=, the one that counted",
        ) from error


def found_receipt(repository: Core, receipt: Any) -> Receipt | SealedReceipt:
    """Returns a receipt that is given, or found by its CID or a unique prefix."""
    kept.check_receipt(receipt)
    if isinstance(receipt, (Receipt, SealedReceipt)):
        return receipt
    if isinstance(receipt, Cid):
        receipt = str(ReceiptCid(receipt.raw))
    return read_receipt(kept.find(repository, receipt))
