"""What to do next after an error, for a model: it has tools, and neither a shell nor Python."""

from __future__ import annotations

import re

import ibidem
from ibidem.adapters.mcp.resources import STATUS

_FOR_PEOPLE = re.compile(
    r"\brepo [a-z]|--[a-z]|\bpip install|\b(?:repo|tx|ibidem)\.[a-z]|\b[a-z_]+="
)
"""A command, an option, an installation, or a call of the library and its arguments."""


def hint_of(error: ibidem.IbidemError) -> str | None:
    """Returns the hint of an error in terms of the protocol; None if it has none."""
    if error.hint is None or not _FOR_PEOPLE.search(error.hint):
        return error.hint
    if error.kind is ibidem.ErrorKind.REVISION_NOT_FOUND:
        return f"the resource {STATUS} lists the branches and tags; HEAD is the newest state"
    return f"ask the person who runs this server, who can do this: {error.hint}"
