"""The canonical bytes of a query, written field by field.

A receipt needs these bytes for each question, and most fields of most questions have their
defaults, whose bytes are constants. The questions of a program differ from the defaults in few
combinations of fields, so the constants between these fields are kept joined. Fields that follow
from the configuration are the same objects in one question after another, so the bytes of the last
object are kept. What remains is written by the codec. The bytes are those of `codec.encode` for the
whole form; tests compare the two.

Spec: format 4, retrieval 3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from operator import attrgetter, is_not
from typing import Any, NamedTuple

from ibidem.objects import codec
from ibidem.retrieve.answer.cbor_writer import head_of, ordered, text_of
from ibidem.retrieve.identity_cache import IdentityCache

_PLANS_MAX = 256
"""Combinations of fields for which the constants are kept."""


class _Row(NamedTuple):
    key: bytes
    """What precedes the value: the field's name, after the constant fields before it."""
    default: Any
    written: bytes
    """What is written for the default, with `key`."""
    write: Callable[[Any], bytes]
    added: int
    """The number of map entries that another value than the default adds."""


class _Plan(NamedTuple):
    """What is written where some fields do not have their defaults."""

    head: bytes
    """Everything before the value of the first of them."""
    values: tuple[tuple[int, Callable[[Any], bytes], bytes], ...]
    """Of each: its row, what writes it, and the bytes from there to the value of the next."""


class FormWriter:
    """Writes the fields of objects of one class as a map in canonical order."""

    def __init__(
        self,
        form: Callable[[Any], Any],
        *,
        constants: Mapping[str, Any],
        required: Mapping[str, Any],
        optional: Collection[str],
        settled: Collection[str],
    ) -> None:
        """Writes the constants and the defaults.

        Args:
            form: returns the canonical form of a field's value.
            constants: fields that are the same in every object.
            required: the default of each field that is always written.
            optional: fields that are written unless they are None.
            settled: fields whose value is usually the same object as in the object before.
        """

        def written(value: Any) -> bytes:
            # In a list, the value is as deep as in the map, and the list's head is one byte.
            return text_of(value) if type(value) is str else codec.encode([form(value)])[1:]

        rows: dict[str, _Row] = {}
        prefix = b""
        for key, name in ordered((*constants, *required, *optional)):
            if name in constants:
                prefix += key + written(constants[name])
                continue
            default = required.get(name)
            rows[name] = _Row(
                prefix + key,
                default,
                prefix if name in optional else prefix + key + written(default),
                IdentityCache(written) if name in settled else written,
                int(name in optional),
            )
            prefix = b""
        assert not prefix, "BUG: the last field is a constant"
        self._count = len(constants) + len(required)
        self._rows = tuple(rows.values())
        self._values = attrgetter(*rows)
        self._defaults = tuple(row.default for row in self._rows)
        self._plan = lru_cache(_PLANS_MAX)(self._planned)

    def __call__(self, given: object) -> bytes:
        """Returns the canonical bytes of an object, of any length.

        Raises:
            InvalidInputError, UnicodeEncodeError: a value has no canonical bytes; the message does
                not name its field.
        """
        values = self._values(given)
        head, chosen = self._plan(bytes(map(is_not, values, self._defaults)))
        parts = [head]
        for at, write, constants in chosen:
            parts += (write(values[at]), constants)
        return b"".join(parts)

    def _planned(self, changed: bytes) -> _Plan:
        """Returns the plan for objects whose fields differ from the defaults where this is 1."""
        rows = list(zip(self._rows, changed, strict=True))
        constants = [head_of(5, self._count + sum(row.added for row, differs in rows if differs))]
        chosen: list[tuple[int, Callable[[Any], bytes]]] = []
        for at, (row, differs) in enumerate(rows):
            constants[-1] += row.key if differs else row.written
            if differs:
                chosen.append((at, row.write))
                constants.append(b"")
        head, *following = constants
        return _Plan(head, tuple((*one, rest) for one, rest in zip(chosen, following, strict=True)))
