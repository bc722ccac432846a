"""Messages as programs exchange them with models: `{"role": …, "content": …}`.

The content is a text, or a list of parts, each with a `type`: texts, images, calls of tools and
their results, reasoning. Calls may also stand beside the content (`tool_calls`), and a result may
be a message of its own (`role` `tool`, `tool_call_id`). Nothing is dropped: what is more than a
role and a text is stored as given, and `Stored.to_message` gives it back. What is ranked is its
text: the texts and results, or if there are none, the calls. Reasoning is stored, and not ranked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ibidem.objects import codec
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks

TEXTS = ("text", "input_text", "output_text")
"""Types of parts that are text."""
CALL, RESULT = "tool_use", "tool_result"
_TOOL = "tool"

_IS_TEXT: tuple[str, Callable[[object], bool]] = ("a text", lambda value: isinstance(value, str))
_IS_NAME: tuple[str, Callable[[object], bool]] = (
    "a text that is not empty",
    lambda value: isinstance(value, str) and bool(value),
)
_IS_MAP: tuple[str, Callable[[object], bool]] = (
    "a map",
    lambda value: isinstance(value, Mapping),
)
_PARTS = {
    **{type_: {"text": _IS_TEXT} for type_ in TEXTS},
    CALL: {"id": _IS_NAME, "name": _IS_NAME, "input": _IS_MAP},
    RESULT: {"tool_use_id": _IS_NAME},
    "image": {"source": _IS_MAP},
    "image_url": {"image_url": _IS_MAP},
    "thinking": {"thinking": _IS_TEXT},
}
"""Required fields by the type of a part; parts of other types may have any."""


@record
class Wire:
    """What a message says, apart from its form."""

    text: str
    calls: tuple[str, ...]
    """Ids of the calls that it makes."""
    results: tuple[str, ...]
    """Ids of the calls that it answers."""
    raw: Mapping[str, Any] | None
    """The message as given; None if it is a role and a text."""


def read(message: Mapping[str, Any]) -> Wire:
    """Returns what a message says.

    Raises:
        InvalidInputError: a field is of another form; the message begins with its path.
    """
    role, content = message.get("role"), message.get("content")
    _require("role", role, _IS_NAME)
    listed = message.get("tool_calls")
    calls = [] if listed is None else list(_calls(listed))
    if content is None and not calls and message.keys() <= {"role", "content"}:
        raise InvalidInputError("content: got nothing, expected a text or a list of parts")
    parts = list(_parts("content", content))
    results = [part["tool_use_id"] for part in parts if part["type"] == RESULT]
    if role == _TOOL:
        _require("tool_call_id", message.get("tool_call_id"), _IS_NAME)
        results.append(message["tool_call_id"])
    used = [(part["name"], part["input"]) for part in parts if part["type"] == CALL]
    used += [(call["function"]["name"], call["function"].get("arguments", "")) for call in calls]
    ids = [part["id"] for part in parts if part["type"] == CALL] + [call["id"] for call in calls]
    is_plain = isinstance(content, str) and message.keys() == {"role", "content"}
    raw = None if is_plain else _stored(message)
    text = _text_of(content) or "\n".join(_shown(name, given) for name, given in used)
    return Wire(text, tuple(ids), tuple(results), raw)


def _calls(listed: object) -> Iterator[Mapping[str, Any]]:
    if not isinstance(listed, list | tuple):
        raise _wrong("tool_calls", listed, "a list of calls")
    for position, call in enumerate(listed):
        where = f"tool_calls[{position}]"
        _require(where, call, _IS_MAP)
        _require(f"{where}.id", call.get("id"), _IS_NAME)
        _require(f"{where}.function", call.get("function"), _IS_MAP)
        _require(f"{where}.function.name", call["function"].get("name"), _IS_NAME)
        yield call


def _parts(where: str, content: object) -> Iterator[Mapping[str, Any]]:
    """Yields the parts of a content; none for a text."""
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list | tuple):
        raise _wrong(where, content, "a text or a list of parts")
    for position, part in enumerate(content):
        path = f"{where}[{position}]"
        _require(path, part, _IS_MAP)
        _require(f"{path}.type", part.get("type"), _IS_NAME)
        for name, check in _PARTS.get(part["type"], {}).items():
            _require(f"{path}.{name}", part.get(name), check)
        if part["type"] == RESULT:
            list(_parts(f"{path}.content", part.get("content")))
        yield part


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    texts = (
        part["text"] if part["type"] in TEXTS else _text_of(part.get("content"))
        for part in content
        if part["type"] in (*TEXTS, RESULT)
    )
    return "\n".join(text for text in texts if text)


def _shown(name: str, arguments: object) -> str:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"{name}({given})"


def _stored(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the message as it is read back: a copy, with lists for tuples."""
    found = codec.decode(codec.encode(dict(message)))
    assert isinstance(found, dict), "BUG: a map was encoded"
    return found


def _require(where: str, value: object, check: tuple[str, Callable[[object], bool]]) -> None:
    expected, is_well = check
    if not is_well(value):
        raise _wrong(where, value, expected)


def _wrong(where: str, value: object, expected: str) -> InvalidInputError:
    return InvalidInputError(f"{where}: got {checks.show(value)}, expected {expected}")
