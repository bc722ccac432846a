"""Every published version of the rules that decide an answer, and the code that still runs it.

A query names the version that answers it, and a receipt keeps the query. When rules change, the
version goes up, the code of the one before is kept as it is under a name of its own and registered
here, and its golden vectors stay: a receipt of any release can be replayed by every later one.

Spec: retrieval 10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from ibidem.objects.errors import ErrorKind, FormatError

MODULES: Mapping[int, str] = MappingProxyType({1: "ibidem.retrieve.engine"})
"""By version, the module whose `execute` answers by its rules; versions are never taken out."""


@cache
def engine(version: int) -> Callable[..., Any]:
    """Returns what answers by the rules of a version: called as `answer.execute` is.

    Raises:
        FormatError: kind `unsupported-semantics`: a version that this program does not have.
    """
    module = MODULES.get(version)
    if module is None:
        raise FormatError(
            f"semantics: got version {version}, expected one of {sorted(MODULES)}",
            kind=ErrorKind.UNSUPPORTED_SEMANTICS,
            hint="replay it with a release that knows the version",
        )
    execute: Callable[..., Any] = import_module(module).execute
    return execute
