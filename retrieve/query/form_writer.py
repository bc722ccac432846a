"""The canonical bytes of a query, written field by field.

A receipt needs these bytes for each question, and most fields of most questions have their
defaults, whose bytes are constants. Fields that follow from the configuration are the same objects
in one question after another, so the bytes of the last object are kept. What remains is written by
the codec. The bytes are those of `codec.encode` for the whole form; tests compare the two.

Spec: format 4, retrieval 3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from ibidem.objects import codec
from ibidem.retrieve.answer.cbor_writer import head_of, ordered, text_of
from ibidem.retrieve.identity_cache import IdentityCache


class _Row(NamedTuple):
    key: bytes
    """What precedes the value: the field's name, after the constant fields before it."""
    default: Any
    written: bytes
    """What is written for the default, with `key`."""
    write: Callable[[Any], bytes]
    added: int
    """The number of map entries that another value than the default adds."""


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

    def __call__(self, given: object) -> bytes:
        """Returns the canonical bytes of an object, of any length.

        Raises:
            InvalidInputError, UnicodeEncodeError: a value has no canonical bytes; the message does
                not name its field.
        """
        parts, count = [b""], self._count
        for row, value in zip(self._rows, self._values(given), strict=True):
            key, default, written, write, added = row
            if value is default:
                parts.append(written)
            else:
                parts += (key, write(value))
                count += added
        parts[0] = head_of(5, count)
        return b"".join(parts)
