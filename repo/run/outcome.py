"""What came of a recorded call: a value, or an error that a replay raises again."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from ibidem.objects import errors
from ibidem.objects.errors import ErrorKind, IbidemError, ReplayError

VALUE, ERROR = "value", "error"


class RecordedError(ReplayError):
    """A tool failed when the run was recorded, with an error whose class is not known here."""


def failed(error: Exception) -> dict[str, Any]:
    """Returns an error as it is recorded: class, message, and the kind and hint of ours."""
    kind = type(error)
    row: list[Any] = [f"{kind.__module__}.{kind.__qualname__}", str(error)]
    if isinstance(error, IbidemError):
        row += [str(error.kind), error.hint]
    return {ERROR: row}


def is_failed(outcome: Any) -> bool:
    """Tells whether an answer is a recorded error."""
    return isinstance(outcome, dict) and set(outcome) == {ERROR}


def raised(outcome: Any, known: Iterable[type[Exception]] = ()) -> Exception:
    """Returns the error of an outcome, ready to be raised again.

    Args:
        known: classes beside those of Python and of this project.
    """
    name, message, *ours = outcome[ERROR]
    for cls in known:
        if f"{cls.__module__}.{cls.__qualname__}" == name:
            return cls(message)
    module, _, short = name.rpartition(".")
    # A kind that this version does not know has a class that it does not know either.
    own = getattr(errors, short, None) if ours and ours[0] in tuple(ErrorKind) else None
    if isinstance(own, type) and issubclass(own, IbidemError):
        return own(message, kind=ErrorKind(ours[0]), hint=ours[1])
    plain = getattr(builtins, short, None) if module == "builtins" else None
    if isinstance(plain, type) and issubclass(plain, Exception):
        # Some, such as UnicodeDecodeError, cannot be made of a message alone.
        with suppress(TypeError):
            return plain(message)
    return RecordedError(
        f"the call failed when the run was recorded: {name}: {message}",
        hint="name the class in errors= of run.tool, and a replay raises it",
    )


def summary(outcome: Any) -> str:
    """Returns a recorded error for a person."""
    name, message = outcome[ERROR][:2]
    return f"{name.removeprefix('builtins.')}: {message}"
