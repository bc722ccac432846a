"""Questions to a server: options in JSON, answered for the viewer of the token.

The body is an object of the options of the method and of `at`, the revision. The viewer is not
among them: the token decides it. Neither is what only this machine has, such as a model or a file.
The answer is what `to_json` of the library's answer to that viewer gives, byte for byte.

Spec: trust 7.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ibidem.objects.block_json import json_default
from ibidem.objects.errors import IbidemError, InvalidInputError, NotFoundError
from ibidem.repo.questions import Questions
from ibidem.repo.revspec import HEAD, time_of
from ibidem.repo.sync import wire
from ibidem.retrieve.access.policy import ALL
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.query.options import TIMES_OF_RECORDS
from ibidem.serve.exchange import Answer, Call, failed, is_cid

if TYPE_CHECKING:
    from ibidem.retrieve.context.prompt import Prompt

RETRIEVE = "/v1/retrieve"
LINES = "application/x-ndjson"
"""JSON values, one on each line."""
NOT_SERVED: Final = frozenset(
    (
        *("viewer", "packs", "records", "history", "moment"),
        *("model", "embedder", "estimator", "imagine", "reword"),
        *("rerank", "rerank_text", "rerank_depth", "rerank_timeout"),
    )
)
"""Options that a client cannot give: the viewer is the token's, packs and records have methods of
their own, the history and the moment are resolved from times, and the others name files, models or
objects of this machine.
"""


@cache
def served(method: str) -> tuple[str, ...]:
    """Returns the options of a method that a client can give, by name."""
    parameters = inspect.signature(getattr(Questions, method)).parameters
    return tuple(sorted(parameters.keys() - NOT_SERVED - {"self"}))


def retrieve(call: Call) -> Answer:
    """Answers a question with items."""
    options = read_object(call.body, ("at", *served("retrieve")))
    result = call.revision(options.pop("at", HEAD)).retrieve(**options)
    call.subject.query = result.query
    return Answer(result.to_json().encode(), tag=str(result.cid))


def packs(call: Call) -> Answer:
    """Answers a question with packs: whole, or one by one in lines of JSON for a client that
    accepts `application/x-ndjson`."""
    options = read_object(call.body, ("at", *served("packs")))
    revision = call.revision(options.pop("at", HEAD))
    if _is_accepted(LINES, call.headers.get("accept", "")):
        stream = revision.stream_packs(**options)
        call.subject.query = stream.query
        lines = stream.lines()
        # Read before the answer begins, so an error in it has its status.
        return Answer(_streamed(next(lines), lines), LINES, is_live=True)
    result = revision.packs(**options)
    call.subject.query = result.query
    return Answer(result.to_json().encode(), tag=str(result.cid))


def _is_accepted(kind: str, accept: str) -> bool:
    """Returns whether a header names a content type, with or without parameters."""
    return any(one.partition(";")[0].strip().lower() == kind for one in accept.split(","))


def _streamed(first: Mapping[str, Any], rest: Iterator[Mapping[str, Any]]) -> Iterator[bytes]:
    """Yields the lines of a stream; an error after the first of them is the last line."""
    line: Mapping[str, Any] | None = first
    while line is not None:
        yield written(line) + b"\n"
        try:
            line = next(rest, None)
        except Exception as error:
            known = error if isinstance(error, IbidemError) else failed(error)
            line = {"error": json.loads(wire.write_problem(known, wire.status_of(known)))}
            rest = iter(())


def prompt(call: Call) -> Answer:
    """Answers a question with a prompt of packs."""
    return _prompt(call, "prompt")


def context(call: Call) -> Answer:
    """Answers a question with a prompt of documents, facts and messages."""
    return _prompt(call, "context")


def _prompt(call: Call, method: str) -> Answer:
    options = read_object(call.body, ("at", *served(method)), required=("text",))
    found: Prompt = getattr(call.revision(options.pop("at", HEAD)), method)(**options)
    if found.receipt is not None:
        call.subject.query = found.receipt.query
    return Answer(found.to_json().encode())


def compare(call: Call) -> Answer:
    """Asks one question at two revisions, and returns what differs and why."""
    from ibidem.repo.history.diff_json import comparison_json

    names = ("before", "after", *served("retrieve"))
    options = read_object(call.body, names, required=("before",))
    found = call.served.repository.history.compare(**options, viewer=ALL)
    call.subject.root, call.subject.query = found.after.root, found.after.query
    return Answer(written(comparison_json(found)))


def replay(call: Call) -> Answer:
    """Recomputes the answer of a receipt, which is the same to the byte or an error."""
    call.options()
    receipt, repository = call.path["receipt"], call.served.repository
    found: Receipt | str = receipt
    if not call.token.viewer.everything:
        found = _own_receipt(call, receipt)
    result = repository.receipts.replay(found)
    call.subject.root, call.subject.query = result.root, result.query
    body = result.to_json().encode()
    return Answer(body, tag=str(result.cid), is_immutable=is_cid(receipt))


def work(call: Call) -> Answer:
    """Answers a part of a question of another process, which merges it with others."""
    call.options()
    return Answer(call.served.repository.work(call.body), wire.PART)


def _own_receipt(call: Call, text: str) -> Receipt:
    """Returns a receipt of the viewer's own answers; any other is as if it were not there."""
    missing = NotFoundError("receipt: there is none of that CID")
    if not is_cid(text):
        raise missing
    try:
        _, found = call.served.repository.receipts.find(text)
    except NotFoundError as error:
        raise missing from error
    if not isinstance(found, Receipt) or found.query.viewer != call.token.viewer:
        raise missing
    return found


def written(value: Mapping[str, Any]) -> bytes:
    """Returns plain data as JSON, with links and bytes as in DAG-JSON."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=json_default)
    return text.encode("utf-8", "replace")


def read_object(
    message: bytes, names: tuple[str, ...], *, required: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Returns the options in a message.

    Raises:
        InvalidInputError: it is not an object of these names.
    """
    found = parsed("body", message)
    if not isinstance(found, dict):
        raise InvalidInputError(f"body: got {type(found).__name__}, expected an object of options")
    for name in found:
        if name not in names:
            raise InvalidInputError(
                f"{name:.80}: got an option that is not served, expected {', '.join(names)}"
            )
    for name in required:
        if name not in found:
            raise InvalidInputError(f"{name}: got nothing, expected it in the body")
    return {
        name: _READERS[name](value) if name in _READERS and value is not None else value
        for name, value in found.items()
    }


def parsed(name: str, message: bytes, *, hint: str | None = None) -> Any:
    """Returns a value in JSON; raises `InvalidInputError` if it is none, or has a name twice."""
    try:
        return json.loads(
            message.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_object
        )
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{name}: it is not JSON in UTF-8", hint=hint) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidInputError("body: got a name twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise InvalidInputError(f"body: got {name}, expected a finite number")


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _queries(value: Any) -> Any:
    """Returns further questions with tuples for vectors; other forms are refused where they are
    resolved."""
    if not isinstance(value, list):
        return value
    return [
        {name: _tuple(part) for name, part in one.items()} if isinstance(one, dict) else one
        for one in value
    ]


def _sources(value: Any) -> Any:
    if not isinstance(value, dict) or "as_of" not in value:
        return value
    return {**value, "as_of": _moment("sources.as_of", value["as_of"])}


def _moment(name: str, value: Any) -> Any:
    return time_of(value, name) if isinstance(value, str) else value


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "vector": _tuple,
    "sparse": _tuple,
    "queries": _queries,
    "order_by": _tuple,
    "sources": _sources,
    **{name: partial(_moment, name) for name in ("as_of", *TIMES_OF_RECORDS)},
}
"""What JSON has no type for."""
