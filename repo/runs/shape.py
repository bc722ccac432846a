"""The required shapes of the values in a step, by action. Steps are checked here when they are
read, so other code can rely on them.

A step may come from anywhere, with any request and answer. The recorder, the checks of `import` and
`push`, and `repo fsck` all read a step with `read_step`, so all of them accept the same steps.
Actions that this version does not know may have any values.

Spec: format 5.12, replay 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import Cid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import CorruptError, FormatError
from ibidem.objects.ids import ID_BYTES
from ibidem.objects.record import record
from ibidem.objects.step import Step
from ibidem.objects.verify import read_foreign
from ibidem.repo.runs.payload import ERROR, VALUE, is_failed, unpack

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source

_Check = tuple[str, Callable[[Any], bool]]
"""The expectation, as text and as a test."""

_ANY: _Check = ("any value", lambda value: True)
_TEXT: _Check = ("text", lambda value: type(value) is str)
_SOME_TEXT: _Check = ("text or null", lambda value: value is None or type(value) is str)
_SOME_TIME: _Check = ("an integer or null", lambda value: value is None or type(value) is int)
_MAP: _Check = ("a map", lambda value: type(value) is dict)
_ID: _Check = (
    f"{ID_BYTES} bytes",
    lambda value: type(value) is bytes and len(value) == ID_BYTES,
)
_LINK: _Check = ("a link to a commit", lambda value: isinstance(value, Cid) and not value.is_raw)
_LINKS: _Check = (
    "a map of links to commits",
    lambda value: type(value) is dict and all(map(_LINK[1], value.values())),
)
_TIME: _Check = ("an integer", lambda value: type(value) is int)
_ERROR_ROW: _Check = (
    "[class, message], or these with kind and hint",
    lambda row: (
        type(row) is list
        and len(row) in (2, 4)
        and all(type(one) is str for one in row[:3])
        and (row[-1] is None or type(row[-1]) is str)
        and type(row[1]) is str
    ),
)
_OUTCOME: _Check = (
    f"a map with {VALUE!r} or {ERROR!r} alone",
    lambda value: type(value) is dict and set(value) in ({VALUE}, {ERROR}),
)
_COMMITTED: _Check = (
    "nothing, an error, or the heads of notes",
    lambda value: (
        value is None or is_failed(value) or (_OUTCOME[1](value) and _LINKS[1](value[VALUE]))
    ),
)
_NOTHING_OR_ERROR: _Check = ("nothing or an error", lambda value: value is None or is_failed(value))

_REQUESTS: Mapping[str, Mapping[str, _Check]] = {
    "begin": {"agent": _SOME_TEXT, "task": _SOME_TEXT, "author": _TEXT},
    "read": {"at": _TEXT},
    "retrieve": {"at": _TEXT, "text": _ANY},
    "transaction": {
        "author": _TEXT,
        "message": _TEXT,
        "branch": _SOME_TEXT,
        "time": _SOME_TIME,
        "agent": _SOME_TEXT,
        "task": _SOME_TEXT,
    },
    "call": {},
}
"""The required fields of a request, by action; for other actions it is any value."""
_ANSWERS: Mapping[str, _Check] = {
    "read": _NOTHING_OR_ERROR,
    "retrieve": _NOTHING_OR_ERROR,
    "transaction": _NOTHING_OR_ERROR,
    "commit": _COMMITTED,
    "random": _ID,
    "event": ("nothing or " + _OUTCOME[0], lambda value: value is None or _OUTCOME[1](value)),
    "call": _OUTCOME,
    "end": _OUTCOME,
}
_CALLS: Mapping[str, _Check] = {
    "now": _TIME,
    "current_branch": _TEXT,
    "branch": _LINK,
    "tag": _LINK,
    "branches": _LINKS,
    "tags": _LINKS,
}
"""The required result of a successful call, by method; for other methods it is any value."""


@record
class ReadStep:
    """A step with its values, each of the shape that its action requires."""

    step: Step
    request: Any
    answer: Any
    commit: Commit | None


def read_step(source: Source, step: Step) -> ReadStep:
    """Returns a step with its values.

    Raises:
        CorruptError: kind `non-canonical` or `limit-exceeded`: bytes that are not a value;
            otherwise a value of another shape; the message names the step and the field.
        FormatError: its commit is of a version that this program does not know.
        NotFoundError: a raw block of the step is missing.
    """
    where = f"step {step.index}, {step.action!r:.40}"
    request = unpack(source, step.request, f"{where}: request")
    answer = unpack(source, step.answer, f"{where}: answer")
    wanted = _REQUESTS.get(step.action)
    if wanted is not None:
        _require(f"{where}: request", request, _MAP)
        for name, check in wanted.items():
            if name not in request:
                raise CorruptError(f"{where}: request.{name}: got nothing, expected {check[0]}")
            _require(f"{where}: request.{name}", request[name], check)
    _require(f"{where}: answer", answer, _ANSWERS.get(step.action, _ANY))
    if is_failed(answer):
        _require(f"{where}: answer.{ERROR}", answer[ERROR], _ERROR_ROW)
    elif step.action == "call":
        _require(f"{where}: answer.{VALUE}", answer[VALUE], _CALLS.get(step.name, _ANY))
    return ReadStep(step, request, answer, _commit(where, step))


def _commit(where: str, step: Step) -> Commit | None:
    if step.commit is None:
        return None
    try:
        found = read_foreign(step.commit)
    except FormatError:
        raise
    except CorruptError as error:
        raise CorruptError(f"{where}: commit: {error}", kind=error.kind) from error
    if not isinstance(found, Commit):
        kind = "a tree or result" if found is None else f"a {found.KIND}"
        raise CorruptError(f"{where}: commit: got {kind}, expected a commit")
    return found


def _require(where: str, value: object, check: _Check) -> None:
    expected, is_well = check
    if not is_well(value):
        raise CorruptError(f"{where}: got {value!r:.80}, expected {expected}")
