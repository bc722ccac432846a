"""Transactions: records, or messages of a thread, that become one commit, or nothing.

The records are those of JSON lines (`ingest/record.py`), so whatever a file can say a request can.
The messages are those of `Conversations.append`. `If-Match` names the commit that the branch must
be at; `Idempotency-Key` makes a request that is sent again answer with the commit that it made.

Spec: trust 7.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ibidem.ingest.ndjson import ingest_records
from ibidem.ingest.report import IngestReport
from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.errors import ConflictError, ErrorKind, IbidemError, InvalidInputError
from ibidem.repo.arguments import check_no_request
from ibidem.serve.exchange import Answer, Call
from ibidem.serve.question import read_object, written

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository
    from ibidem.repo.transaction.transaction import Transaction
    from ibidem.serve.request_keys import RequestKey

TRANSACTIONS = "/v1/transactions"
MESSAGES = "/v1/messages"
RECORDS_MAX = 100_000
_TEXTS = ("author", "message", "agent", "task", "branch")
Change = Callable[["Transaction"], object]


def transaction(call: Call) -> Answer:
    """Commits records to a branch."""
    body = _body(call, "records")
    lines = b"\n".join(json.dumps(one).encode() for one in body.pop("records"))

    def change(tx: Transaction) -> None:
        report = IngestReport()
        ingest_records(tx, BytesIO(lines), "records", report, strict=True, is_in_order=True)

    return _changed(call, body, change)


def messages(call: Call) -> Answer:
    """Appends messages to a thread; those whose id it already has are skipped."""
    from ibidem.memory.conversation.conversations import Conversations

    body = _body(call, "messages", "thread")
    thread, given = body.pop("thread"), body.pop("messages")
    body.setdefault("message", f"messages of {thread}")
    return _changed(call, body, lambda tx: Conversations(tx).append(thread, given))


def _body(call: Call, items: str, *texts: str) -> dict[str, Any]:
    """Returns the body of a request, with the fields of a commit, a list and required texts."""
    call.options()
    body = read_object(call.body, (*_TEXTS, items, *texts), required=(items, *texts))
    for name in (*_TEXTS, *texts):
        if not isinstance(body.get(name, ""), str):
            raise InvalidInputError(f"{name}: got {body[name]!r:.80}, expected text")
    if not isinstance(body[items], list) or len(body[items]) > RECORDS_MAX:
        raise InvalidInputError(f"{items}: expected a list of up to {RECORDS_MAX} objects")
    return body


def _changed(call: Call, body: dict[str, Any], change: Change) -> Answer:
    """Commits a change to a branch, or answers with the commit that the same request has made."""
    check_no_request(body.get("message", ""))
    repository, keys = call.served.repository, call.served.keys
    branch = body.get("branch") or repository.current_branch
    text = call.headers.get("idempotency-key")
    key = None if text is None else keys.read(text, call.token.name, call.body)

    def made() -> CommitCid | None:
        """Returns the commit that the same request has made, if any."""
        return None if key is None else keys.find(key, repository.branches().get(branch))

    with nullcontext() if key is None else keys.claim(key):
        found = made()
        if found is None:
            body.setdefault("author", call.token.name)
            try:
                commit = _committed(repository, branch, change, call, body, key)
            except IbidemError:  # the change may be refused because it is made already
                found = made()  # by another server, since
                if found is None:
                    raise
            else:
                return _answer(repository, branch, commit)
        return _answer(repository, branch, found, is_repeated=True)


def _committed(
    repository: Repository,
    branch: str,
    change: Change,
    call: Call,
    fields: dict[str, Any],
    key: RequestKey | None,
) -> CommitCid | None:
    is_conditional, expected = _expected(call)
    choice = "unmoved" if is_conditional else "record"
    with repository.transaction(**fields, on_conflict=choice) as tx:
        if is_conditional and repository.branches().get(branch) != expected:
            raise ConflictError(
                f"{branch}: the branch is not at the commit of the condition",
                kind=ErrorKind.HEAD_MOVED,
                hint="read the newer state, and send the change for it",
            )
        change(tx)
        if key is not None:
            check = partial(call.served.keys.check_unused, key)
            tx.add_trailers([key.trailer], check_head=check)
    return None if tx.commit is None else tx.commit.cid


def _expected(call: Call) -> tuple[bool, CommitCid | None]:
    """Returns whether a request has a condition, and the commit of the branch that it names; None
    for a branch without one.
    """
    given, absent = call.headers.get("if-match"), call.headers.get("if-none-match")
    if absent is not None:
        if absent != "*" or given is not None:
            raise InvalidInputError("if-none-match: expected *, and no if-match with it")
        return True, None
    if given is None:
        return False, None
    try:
        return True, CommitCid(Cid.parse(given.strip().strip('"')).raw)
    except IbidemError as error:
        raise InvalidInputError(
            f'if-match: got {given!r:.80}, expected "CID", the commit of the branch'
        ) from error


def _answer(
    repository: Repository, branch: str, commit: CommitCid | None, *, is_repeated: bool = False
) -> Answer:
    body = {
        "branch": branch,
        "commit": None if commit is None else str(commit),
        "root": None if commit is None else str(repository.commit_at(commit).root),
    }
    headers = {"idempotency-replayed": "true"} if is_repeated else {}
    tag = None if commit is None else str(commit)
    return Answer(written(body), tag=tag, headers=headers)
