"""Stable identifiers: 16 bytes that name a node or an edge through all its edits.

Ids are derived: from an explicit key, or from the content at creation. Derivation needs the codec
and lives in `objects/derive.py`.

Spec: format 3.
"""

from __future__ import annotations

from typing import Self

from ibidem.objects.errors import InvalidInputError

ID_BYTES = 16


class StableId:
    """Sixteen bytes, `raw`; 32 hexadecimal digits as text. Never equals plain `bytes`."""

    __slots__ = ("raw",)
    raw: bytes

    def __init__(self, raw: bytes) -> None:
        if not isinstance(raw, bytes) or len(raw) != ID_BYTES:
            raise InvalidInputError(f"{type(self).__name__}: got {raw!r}, expected 16 bytes")
        self.raw = raw

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

    def __str__(self) -> str:
        return self.raw.hex()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.raw == other.raw

    def __lt__(self, other: Self) -> bool:
        return self.raw < other.raw

    def __hash__(self) -> int:
        return hash(self.raw)


class NodeId(StableId):
    """Names a node."""

    __slots__ = ()


class EdgeId(StableId):
    """Names an edge."""

    __slots__ = ()
