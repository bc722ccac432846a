"""Resolves unique prefixes of ids, for every kind of id. A whole id is returned unchanged, whether
or not it exists. A prefix names the only visible id that starts with it; the caller supplies the
visible ids, so that neither an answer nor an error reveals others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice, takewhile
from typing import TypeVar

from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.ids import ID_BYTES, StableId

Id = TypeVar("Id", bound=StableId)
DIGITS_MIN = 4
CANDIDATES_SHOWN_MAX = 4
_BEGINNING = f"[0-9a-f]{{{DIGITS_MIN},{2 * ID_BYTES - 1}}}"


def is_prefix(text: str) -> bool:
    """Returns whether a text has the form of a prefix of an id, but not of a whole id."""
    return re.fullmatch(_BEGINNING, text) is not None


def resolve_prefix(
    text: str,
    whole: Callable[[str], Id],
    ids_from: Callable[[bytes], Iterable[Id]],
    *,
    noun: str = "node",
    where: str = "at this revision",
) -> Id:
    """Returns the id that a text names, as a whole id or as a unique prefix.

    Args:
        text: 4 to 32 hexadecimal digits.
        whole: parses a whole id.
        ids_from: yields the visible ids from the given 16 bytes on, ascending.
        noun: the kind of thing that has these ids.
        where: the scope of the search, for the error message.

    Raises:
        InvalidInputError: the text is something else.
        NotFoundError: no id has this prefix; kind `ambiguous`: several have, listed in the message.
    """
    if isinstance(text, str) and len(text) == 2 * ID_BYTES:
        return whole(text)
    if not isinstance(text, str) or not is_prefix(text):
        raise InvalidInputError(
            f"{noun}: got {text!r:.80}, expected {DIGITS_MIN} to {2 * ID_BYTES} lower-case "
            "hexadecimal digits"
        )
    first = bytes.fromhex(text.ljust(2 * ID_BYTES, "0"))
    begin_so = takewhile(lambda one: str(one).startswith(text), ids_from(first))
    found = list(islice(begin_so, CANDIDATES_SHOWN_MAX + 1))
    if not found:
        raise NotFoundError(
            f"no {noun} {where} has an id that begins {text!r}",
            hint="look for it where it is, or give its whole id",
        )
    if len(found) > 1:
        shown = ", ".join(map(str, found[:CANDIDATES_SHOWN_MAX]))
        more = " and more" if len(found) > CANDIDATES_SHOWN_MAX else ""
        raise NotFoundError(
            f"{noun} {text!r}: the ids {shown}{more} begin with it",
            kind=ErrorKind.AMBIGUOUS,
            hint="give more digits",
        )
    return found[0]


def sorted_from(ids: Iterable[Id]) -> Callable[[bytes], Iterable[Id]]:
    """Returns `ids_from` of `resolve_prefix` for some ids in any order."""
    return lambda first: sorted({one for one in ids if one.raw >= first}, key=lambda one: one.raw)
