"""Stable identifiers: 16 bytes that name a node or an edge through all its edits.

Ids are derived: from an explicit key, or from the content at creation. Derivation needs the codec
and lives in `objects/derive.py`.

Spec: format 3.
"""

from __future__ import annotations

from typing import Self

from ibidem.objects.errors import InvalidInputError

ID_BYTES = 16


class StableId(str):
    """Sixteen bytes, `raw`; as text 32 hexadecimal digits, which it is where a text is expected.

    It equals its text, and never equals plain `bytes` or an id of another class. Ids are ordered by
    their bytes, which is the order of their texts.

    >>> NodeId(bytes(16)) == "00000000000000000000000000000000"
    True
    """

    __slots__ = ("raw",)
    raw: bytes

    def __new__(cls, value: bytes | str) -> Self:
        """Returns the id of 16 bytes, or of their 32 hexadecimal digits."""
        if isinstance(value, str):
            return cls.parse(value)
        if type(value) is not bytes or len(value) != ID_BYTES:
            raise InvalidInputError(f"{cls.__name__}: got {value!r}, expected 16 bytes")
        found = str.__new__(cls, value.hex())
        found.raw = value
        return found

    @classmethod
    def parse(cls, text: str) -> Self:
        """Returns the id written as 32 hexadecimal digits.

        Raises:
            InvalidInputError: `text` is something else.
        """
        try:
            if len(text) == 2 * ID_BYTES and text == text.lower():
                return cls(bytes.fromhex(text))
        except ValueError:
            pass
        raise InvalidInputError(
            f"{cls.__name__}: got {text!r}, expected 32 lower-case hexadecimal digits"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StableId):
            return type(other) is type(self) and self.raw == other.raw
        return str.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class NodeId(StableId):
    """Names a node."""

    __slots__ = ()


class EdgeId(StableId):
    """Names an edge."""

    __slots__ = ()
