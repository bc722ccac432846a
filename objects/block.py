"""What all block values share: a `kind` and a version on the wire, and identity by bytes.

A value is a frozen dataclass. Two values are equal when their blocks are equal, so `True`, `1` and
`1.0` in a property make different nodes. A field that equals its default is omitted from the block,
and a block that contains a default explicitly is rejected, so each value has exactly one form.
Fields that this version does not know are kept in `extra` and written back.

Ownership: mappings are copied at the top level and read-only; lists and maps nested in them belong
to the value from then on and must not be changed.

Spec: format 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from ibidem.objects import codec
from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.constants import FORMAT_VERSION
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    FormatError,
    InvalidInputError,
    unknown_version,
)
from ibidem.objects.ids import ID_BYTES, StableId
from ibidem.objects.record import Check, record
from ibidem.objects.table import HEADER, Table

AnyId = TypeVar("AnyId", bound=StableId)
Class = TypeVar("Class", bound="type[Block]")
Map = dict[str, Any]
EMPTY: Mapping[str, Any] = MappingProxyType({})
_CLASSES: dict[tuple[str, int], type[Block]] = {}
"""Value class by kind and version. The class of a version other than FORMAT_VERSION is a subclass
of the FORMAT_VERSION class, with the same attributes and its own table."""


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def block_of(table: Table) -> Callable[[Class], Class]:
    """Turns a class into the record for a table; the class declares the table's fields and
    `extra`."""
    checks = table.checks
    checks["extra"] = Check(partial(_frozen_extra, table))

    def make(defined: Class) -> Class:
        made = record(eq=False, checks=checks)(defined)
        made.TABLE, made.KIND, made.OPTIONAL = table, table.kind, table.optional
        _CLASSES[table.kind, table.version] = made
        return made

    return make


class Block:
    """Base class of block values; a subclass has the fields of its table and `extra`."""

    __slots__ = ()
    TABLE: ClassVar[Table]
    KIND: ClassVar[str]
    OPTIONAL: ClassVar[frozenset[str]]
    """Fields that are omitted when empty; a reader rejects a block that contains one empty."""
    CID: ClassVar[type[Cid]] = Cid

    extra: Mapping[str, Any]

    @classmethod
    def _read(cls, fields: Map) -> Self:
        """Returns the value built from the fields of a block without its header; takes ownership of
        them."""
        return cls(**cls.TABLE.read(fields))

    def to_map(self) -> Map:
        """Returns the block as a map, in canonical order unless there is `extra`."""
        fields = self.TABLE.write(self)
        if self.extra:
            fields.update(self.extra)
        return fields

    def encode(self) -> bytes:
        """Returns the block's bytes.

        Raises:
            InvalidInputError: a nested value has no canonical form, or the block is too large.
        """
        if self.extra:
            return codec.encode(self.to_map())
        return codec.encode_ordered(self.to_map())

    @classmethod
    def decode(cls, block: bytes) -> Self:
        """Returns the value in a block whose hash was checked; see `codec.decode` for what is
        trusted.

        Raises:
            CorruptError: not such a block; the message names the field.
            FormatError: another kind, or a version that this program does not read.
        """
        return cls.from_map(codec.decode(block))

    @classmethod
    def from_map(cls, value: object) -> Self:
        """Returns the value in a decoded block; takes ownership of `value`."""
        fields, version = read_header(value, cls.KIND)
        try:
            if version != cls.TABLE.version:
                return version_class(cls.KIND, version)._read(fields)  # type: ignore[return-value]
            return cls._read(fields)
        except InvalidInputError as error:
            is_limit = error.kind is ErrorKind.LIMIT_EXCEEDED
            raise CorruptError(str(error), kind=error.kind if is_limit else None) from error
        except KeyError as error:
            raise CorruptError(
                f"{cls.KIND}.{error.args[0]}: got nothing, expected the field"
            ) from error

    @property
    def cid(self) -> Cid:
        """The identity of the value: the hash of its bytes, computed at each call."""
        return self.CID.of(self.encode())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.encode() == other.encode()

    def __hash__(self) -> int:
        return hash(self.encode())


def version_class(kind: str, version: int) -> type[Block]:
    """Returns the class of the values of a kind in a version.

    Raises:
        FormatError: a version that this program does not read.
    """
    found = _CLASSES.get((kind, version))
    if found is None:
        raise unknown_version(f"{kind}.v", version, versions_of(kind))
    return found


def versions_of(kind: str) -> list[int]:
    """Returns the versions of a kind that this program reads, ascending."""
    return sorted(version for known, version in _CLASSES if known == kind)


def in_version(fields: Map, version: int = FORMAT_VERSION) -> Map:
    """Converts the fields of a decoded block to another version of its kind.

    Returns the fields of the block that holds the same value in `version`; `fields` itself if the
    block already has that version. Code that reads single fields therefore needs to know only one
    version.

    Raises:
        FormatError: a version that this program does not read.
        CorruptError: not such a block.
    """
    if fields.get("v") == version:
        return fields
    value = version_class(str(fields.get("kind")), FORMAT_VERSION).from_map(dict(fields))
    names = (field.name for field in value.TABLE.fields)
    made = version_class(value.KIND, version)
    return made(**{name: getattr(value, name) for name in (*names, "extra")}).to_map()


def read_header(value: object, kind: str) -> tuple[Map, int]:
    """Removes `kind` and `v` from a decoded block; returns the remaining fields and the version.

    Raises:
        CorruptError: not a map with a kind and a version.
        FormatError: another kind.
    """
    if type(value) is not dict:
        raise CorruptError(f"block: got {type(value).__name__}, expected a map with 'kind' and 'v'")
    found, version = value.pop("kind", None), value.pop("v", None)
    if type(found) is not str or type(version) is not int:
        raise CorruptError(
            f"block: got kind {found!r:.80} and v {version!r:.80}, expected a text and an integer"
        )
    if found != kind:
        raise FormatError(f"kind: got {found!r:.80}, expected {kind!r}")
    return value, version


def empty() -> Mapping[str, Any]:
    """Returns the empty mapping: the default of mapping fields."""
    return EMPTY


def frozen(owner: str, name: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a read-only copy of a mapping with text keys."""
    kind = type(value)
    if kind is not dict and kind is not MappingProxyType and not isinstance(value, Mapping):
        raise InvalidInputError(f"{owner}.{name}: got {type(value).__name__}, expected a mapping")
    if not value:
        return EMPTY
    for key in value:
        if type(key) is not str:
            raise InvalidInputError(f"{owner}.{name}: got key {key!r:.80}, expected text")
    return MappingProxyType(dict(value))


def _frozen_extra(table: Table, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a read-only copy of unknown fields, none of which may shadow a known one."""
    if not value:
        return EMPTY
    for name in value:
        if name in table.names or name in HEADER:
            raise InvalidInputError(
                f"{table.kind}.extra: got {name!r}, expected only fields that are not defined"
            )
    return frozen(table.kind, "extra", value)


def require(condition: object, owner: str, name: str, value: object, expected: str) -> None:
    """Raises `InvalidInputError` naming the field, the value and the expectation."""
    if not condition:
        raise InvalidInputError(f"{owner}.{name}: got {value!r:.80}, expected {expected}")


def require_text(owner: str, name: str, value: object) -> None:
    """Raises unless `value` is exactly a `str`."""
    require(type(value) is str, owner, name, value, "text")


def require_optional_text(owner: str, name: str, value: object) -> None:
    """Raises unless `value` is exactly a `str` or None."""
    require(value is None or type(value) is str, owner, name, value, "text or nothing")


def typed_link(owner: str, name: str, value: object, cls: type[Cid]) -> Any:
    """Returns a decoded link as `cls`, whose codec prefix must fit.

    Raises:
        CorruptError: `value` is not a link, or has the other codec.
    """
    if not isinstance(value, Cid):
        raise CorruptError(f"{owner}.{name}: got {value!r:.80}, expected a link")
    if value.is_raw != issubclass(cls, BlobCid):
        raise CorruptError(f"{owner}.{name}: got {value}, expected a link to the other codec")
    return cls(value.raw)


def typed_id(owner: str, name: str, value: object, cls: type[AnyId]) -> AnyId:
    """Returns decoded bytes as an id.

    Raises:
        CorruptError: `value` is not 16 bytes.
    """
    if type(value) is not bytes or len(value) != ID_BYTES:
        raise CorruptError(f"{owner}.{name}: got {value!r:.80}, expected {ID_BYTES} bytes")
    return cls(value)
