"""Questions to a server: options in JSON, answered for the viewer of the token.

The body is an object of the options of `retrieve` and of `at`, the revision. The viewer is not
among them: the token decides it. Neither is what only this machine has, such as a model or a file.
The answer is what `to_json` of the library's answer to that viewer gives, byte for byte.

Spec: trust 7.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ibidem.objects.errors import IbidemError, InvalidInputError
from ibidem.repo.revspec import HEAD, time_of
from ibidem.retrieve.access.policy import ALL
from ibidem.retrieve.answer.protocol import json_text
from ibidem.retrieve.query.options import OF_PACKS, OPTIONS

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository
    from ibidem.repo.revision import Revision
    from ibidem.repo.viewer.revision import ViewerRevision
    from ibidem.serve.read_log import Subject
    from ibidem.serve.tokens import Token

RETRIEVE = "/v1/retrieve"
JSON = "application/json"
NOT_SERVED: Final = frozenset(
    (
        *("viewer", "packs", "records"),
        *("model", "embedder", "estimator"),
        *("rerank", "rerank_text", "rerank_depth", "rerank_timeout"),
    )
)
"""Options that a client cannot give: the viewer is the token's, packs and records have methods of
their own, and the others name files, models or objects of this machine.
"""
SERVED: Final = tuple(
    sorted(
        name
        for name in OPTIONS
        if "." not in name and name not in OF_PACKS and name not in NOT_SERVED
    )
)
"""The options that a client can give."""


def answered(repository: Repository, token: Token, message: bytes, subject: Subject) -> bytes:
    """Returns the answer to a question as JSON, for the viewer of a token.

    Args:
        repository: the whole one.
        token: says for whom it is answered.
        message: an object of `SERVED` and `at`.
        subject: is told what the question was about.

    Raises:
        IbidemError: as `retrieve`, and for a message of another form.
    """
    options = _options(message)
    at = options.pop("at", HEAD)
    if token.viewer.everything:
        revision: Revision | ViewerRevision = repository.at(at, viewer=ALL)
    else:
        revision = repository.as_viewer(token.viewer, author=token.name).at(at)
    subject.root = revision.root_cid
    result = revision.retrieve(**options)
    subject.query = result.query
    return result.to_json().encode()


def failed(error: IbidemError) -> bytes:
    """Returns an error as JSON: the object that `repo --json` prints."""
    body = {
        "schema": "ibidem/error/1",
        "kind": error.kind.value,
        "message": str(error),
        "hint": error.hint,
    }
    return json_text(body).encode("utf-8", "replace")


def _options(message: bytes) -> dict[str, Any]:
    try:
        found = json.loads(
            message.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_object
        )
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError("body: it is not JSON in UTF-8") from error
    if not isinstance(found, dict):
        raise InvalidInputError(f"body: got {type(found).__name__}, expected an object of options")
    for name in found:
        if name != "at" and name not in SERVED:
            raise InvalidInputError(
                f"{name:.80}: got an option that is not served, expected at, {', '.join(SERVED)}"
            )
    return {
        name: _READERS[name](value) if name in _READERS and value is not None else value
        for name, value in found.items()
    }


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidInputError("body: got a name twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise InvalidInputError(f"body: got {name}, expected a finite number")


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _moment(value: Any) -> Any:
    return time_of(value) if isinstance(value, str) else value


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "vector": _tuple,
    "sparse": _tuple,
    "valid_at": _moment,
    "as_of": _moment,
}
"""What JSON has no type for."""
