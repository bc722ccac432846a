"""Parses option values: properties, filters, vectors, times, paths and files. A value that is a
valid JSON number, boolean, string, list or object is read as JSON; anything else is plain text. So
`year=2024` is a number and `lang=en` is text; `code='"7"'` is the text 7.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibidem.objects.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np

_COMPARISON = r"(?s)^(?P<name>[^=<>!?]+)(?P<operator>!=|>=|<=|=|>|<)(?P<value>.*)$"
_OPERATORS = {"=": "eq", "!=": "ne", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
_EXISTS = r"^(?P<name>[^=<>!?]+)\?$"


def value(text: str) -> Any:
    """Returns the value written as `text`."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text


def properties(texts: Iterable[str]) -> dict[str, Any]:
    """Returns the properties written as `name=value`.

    Raises:
        InvalidInputError: one has no `=` or no name, or a name comes twice.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, written = text.partition("=")
        if not equals or not name:
            raise InvalidInputError(f"--prop: got {text!r}, expected NAME=VALUE")
        if name in found:
            raise InvalidInputError(
                f"--prop: {name!r} is given twice, expected once; a list is NAME=[1,2]"
            )
        found[name] = value(written)
    return found


def conditions(texts: Iterable[str]) -> dict[str, Any] | None:
    """Returns the filters written as `name=value`, `name>=value` or `name?`; all must hold.

    Raises:
        InvalidInputError: one is not of that form.
    """
    parts = [_condition(text) for text in texts]
    if not parts:
        return None
    merged: dict[str, Any] = {}
    for name, operator, wanted in parts:
        merged.setdefault(name, {})[operator] = wanted
    if sum(map(len, merged.values())) == len(parts):
        return merged
    # Both must hold, which a list property can satisfy.
    return {"and": [{name: {operator: wanted}} for name, operator, wanted in parts]}


def _condition(text: str) -> tuple[str, str, Any]:
    if match := re.match(_EXISTS, text):
        return match["name"].strip(), "exists", True
    if match := re.match(_COMPARISON, text):
        written = match["value"].strip()
        return match["name"].strip(), _OPERATORS[match["operator"]], value(written)
    raise InvalidInputError(
        f"--where: got {text!r}, expected NAME=VALUE, NAME!=VALUE, NAME<VALUE, NAME<=VALUE, "
        "NAME>VALUE, NAME>=VALUE, or NAME? for a property that only has to exist"
    )


def vector(text: str) -> tuple[str, np.ndarray[Any, Any]]:
    """Returns the model and the (d,) float32 array of `MODEL=FILE.npy`.

    Raises:
        InvalidInputError: it has another form, or the file does not contain one vector of numbers.
    """
    model, equals, name = text.rpartition("=")
    if not equals or not model or not name:
        raise InvalidInputError(f"--vector: got {text!r}, expected MODEL=FILE.npy")
    import numpy as np

    try:
        array = np.load(name, allow_pickle=False)
    except FileNotFoundError as error:
        raise InvalidInputError(f"--vector: there is no file {name!r}") from error
    except (ValueError, EOFError) as error:
        raise InvalidInputError(
            f"--vector: {name!r} is not an array that numpy.save wrote without pickling"
        ) from error
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "fiu":
        shape = getattr(array, "shape", None)
        raise InvalidInputError(
            f"--vector: {name!r} has shape {shape}, expected one vector of numbers"
        )
    return model, array.astype(np.float32)


def sparse(text: str) -> tuple[str, list[int], list[float]]:
    """Returns the vocabulary, tokens and weights of `VOCABULARY=FILE.json`, an object of weights by
    token.

    Raises:
        InvalidInputError: it has another form, or the file does not contain such an object.
    """
    vocabulary, equals, name = text.rpartition("=")
    if not equals or not vocabulary or not name:
        raise InvalidInputError(
            f"--sparse: got {text!r}, expected VOCABULARY=FILE.json or tei:NAME"
        )
    try:
        found = json.loads(Path(name).read_text("utf-8"), parse_constant=_no_constant)
        pairs = [(int(token), weight) for token, weight in found.items()]
    except OSError as error:
        raise InvalidInputError(f"--sparse: cannot read {name!r}: {error.strerror}") from error
    except (ValueError, AttributeError, RecursionError) as error:
        raise InvalidInputError(
            f'--sparse: {name!r} is not a JSON object such as {{"17": 0.5, "204": 1.25}}'
        ) from error
    return vocabulary, [token for token, _ in pairs], [weight for _, weight in pairs]


def weights(texts: Iterable[str]) -> dict[str, float]:
    """Returns the weights written as `lane=number`.

    Raises:
        InvalidInputError: one is not of that form, or a lane comes twice.
    """
    found: dict[str, float] = {}
    for text in texts:
        lane, equals, written = text.partition("=")
        try:
            number = float(written)
        except ValueError:
            number = None
        if not equals or not lane or number is None:
            raise InvalidInputError(f"--weight: got {text!r}, expected LANE=NUMBER")
        if lane in found:
            raise InvalidInputError(f"--weight: {lane!r} is given twice, expected once")
        found[lane] = number
    return found


def moment(text: str | None, name: str) -> int | None:
    """Returns a time written as a date, as ISO 8601 with an offset, or as microseconds since 1970
    UTC; None for None.

    Raises:
        InvalidInputError: it is neither; the message begins with `name`.
    """
    if text is None:
        return None
    if re.fullmatch(r"-?[0-9]{1,19}", text):
        from ibidem.repo.retrieval.given_time import given_time

        return given_time(int(text), name)
    from ibidem.repo.revspec import time_of

    return time_of(text, name)


def steps(text: str) -> list[tuple[str, str]]:
    """Returns the steps of a path written as `out:cites,in:author`; `*` is any edge type.

    A comma in an edge type is written with a backslash before it.

    Raises:
        InvalidInputError: a step has no direction, or no type.
    """
    found = []
    for part in re.split(r"(?<!\\),", text):
        direction, colon, etype = part.replace("\\,", ",").strip().partition(":")
        if not colon or not etype or direction not in ("out", "in", "both"):
            raise InvalidInputError(
                f"--path: got the step {part!r}, expected out:TYPE, in:TYPE or both:TYPE"
            )
        found.append((etype, direction))
    return found


def text_or_file(text: str | None) -> bytes | None:
    """Returns the bytes of `text`, of the file in `@FILE`, or of standard input for `@-`."""
    if text is None or not text.startswith("@"):
        return None if text is None else text.encode("utf-8", "surrogateescape")
    if text == "@-":
        return sys.stdin.buffer.read()
    try:
        return Path(text[1:]).read_bytes()
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"--content: cannot read {text[1:]!r}: {error}") from error


def _no_constant(text: str) -> Any:
    raise ValueError(text)
