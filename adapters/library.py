"""The libraries of other programs: extras that are loaded when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ibidem import ErrorKind, InvalidInputError


def library(name: str, extra: str) -> Any:
    """Returns a module of a library.

    Raises:
        InvalidInputError: kind `missing-package`; the hint has the command that installs it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise InvalidInputError(
            f"{name.partition('.')[0]}: not installed, and needed for this format",
            kind=ErrorKind.MISSING_PACKAGE,
            hint=f"pip install 'ibidem[{extra}]'",
        ) from error
