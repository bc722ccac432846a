"""The table of a block kind: its fields, in the order in which they are read.

A `Field` is one row: its name, its `Type`, whether it may be omitted, whether the block needs the
blocks that it links to, and whether it holds text that a person wrote. A `Type` defines how a value
is checked, read and written, so that a `Block` has no code of its own for a field. Conditions on
several fields at once are checked in the `__post_init__` of the value.

Reading and writing are compiled from the table when the first block of the kind is read or written:
a loop over fields takes up to twice as long, and a process that answers one question meets few
kinds.

Spec: format 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from operator import not_
from typing import Any, NoReturn

from ibidem.objects.constants import FORMAT_VERSION
from ibidem.objects.errors import CorruptError, ErrorKind
from ibidem.objects.record import Check, record

HEADER = ("kind", "v")
"""Fields that every block has, whatever its table."""


def texts_in(value: object) -> Iterator[bytes]:
    """Yields every text and byte string in a value, however deep, except the keys of maps."""
    if isinstance(value, str):
        yield value.encode()
    elif isinstance(value, bytes):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item)


@record
class Type:
    """The type of a field: how its values are checked, read and written."""

    check: Callable[[str, str, Any], Any] | None = None
    """(kind, field, value) to the value that is kept; raises `InvalidInputError`. None if the value
    checks the field itself, or if any value is valid."""
    exact: type | None = None
    """Values of exactly this type pass unchecked, and so does the default of the field."""
    is_filled: bool = False
    """Whether only non-empty values of type `exact` pass unchecked."""
    read: Callable[[str, str, Any], Any] | None = None
    """(kind, field, decoded value) to the value; None if they are the same."""
    write: Callable[[Any], Any] | None = None
    """The value to the one that the codec writes; None if they are the same."""
    is_left_out: Callable[[Any], bool] = not_
    """Whether an optional field with that value is omitted from the block."""
    may_be_empty: bool = False
    """Whether a block may contain an optional field that is empty; otherwise readers reject it."""
    texts: Callable[[Any], Iterator[bytes]] = texts_in
    """The texts in a decoded value."""
    json: Callable[[Any], Any] | None = None
    """The value to its JSON form; None if they are the same."""


@record
class Field:
    """One field of a block."""

    name: str
    type: Type
    optional: bool = False
    """Whether it is omitted when empty."""
    link: bool = False
    """Whether the block is complete only with the blocks that the field links to."""
    text: bool = True
    """Whether it may hold text that a person wrote, which erasure searches for everywhere."""
    indexed: bool = False
    """Whether it can be part of a node's text; in new repositories it is, unless their
    configuration names other fields."""
    json_name: str | None = ""
    """Its name in JSON: "" for the field's own name, None if JSON omits the field."""


class Table:
    """The fields of one kind of block in one version."""

    def __init__(
        self, kind: str, *fields: Field, version: int = FORMAT_VERSION, is_record: bool = False
    ) -> None:
        """Takes the kind, its fields in the order in which they are read, and the `v` of blocks
        with these fields.

        Args:
            is_record: whether blocks of the kind record requests and answers: one that quotes an
                erased node is destroyed. Blocks of other kinds that quote it are kept and reported.
        """
        self.kind, self.version = kind, version
        self.fields = fields
        self.is_record = is_record

    @cached_property
    def names(self) -> frozenset[str]:
        """The fields that are defined."""
        return frozenset(field.name for field in self.fields)

    @cached_property
    def optional(self) -> frozenset[str]:
        """The fields that are omitted when empty; a reader rejects a block that contains one
        empty."""
        return frozenset(
            field.name for field in self.fields if field.optional and not field.type.may_be_empty
        )

    @property
    def links(self) -> tuple[str, ...]:
        """The fields that link to blocks that the block needs."""
        return tuple(field.name for field in self.fields if field.link)

    @property
    def checks(self) -> dict[str, Check]:
        """How the constructor of the value checks each field."""
        return {
            field.name: Check(
                partial(field.type.check, self.kind, field.name),
                field.type.exact,
                field.type.is_filled,
            )
            for field in self.fields
            if field.type.check is not None
        }

    @cached_property
    def read(self) -> Callable[[dict[str, Any]], dict[str, Any]]:
        """Removes the known fields from a decoded block without its header, and returns the
        arguments of the value's constructor; unknown fields are in `extra`.

        It raises `KeyError` for a missing field and `CorruptError` for one that is present but
        empty or has the wrong form. It is compiled like `write`.
        """
        scope: dict[str, Any] = {"_numbers": (int, float), "_refuse": self._refuse_empty}
        body = ["known = {}", "take = fields.pop"]
        for field in self.fields:
            name, kind = field.name, field.type
            taken = f"take({name!r})"
            if kind.read is not None:
                scope[f"_read_{name}"] = partial(kind.read, self.kind, name)
            if not field.optional:
                item = taken if kind.read is None else f"_read_{name}({taken})"
                body.append(f"known[{name!r}] = {item}")
                continue
            body += [f"if {name!r} in fields:", f" item = {taken}"]
            if not kind.may_be_empty:
                body.append(
                    f" if not item and not isinstance(item, _numbers): _refuse({name!r}, item)"
                )
            item = "item" if kind.read is None else f"_read_{name}(item)"
            body.append(f" known[{name!r}] = {item}")
        body += ["if fields: known['extra'] = fields", "return known"]
        return _compiled("read(fields)", body, scope)

    @cached_property
    def write(self) -> Callable[[Any], dict[str, Any]]:
        """Returns the fields of a value with their header, in canonical order, without `extra`.

        It is compiled when the first value of the kind is written.
        """
        scope: dict[str, Any] = {}
        lines = {"kind": f"fields['kind'] = {self.kind!r}", "v": f"fields['v'] = {self.version}"}
        for field in self.fields:
            name, kind = field.name, field.type
            scope[f"_write_{name}"], scope[f"_is_left_out_{name}"] = kind.write, kind.is_left_out
            item = "item" if kind.write is None else f"_write_{name}(item)"
            line = f"item = value.{name}\n "
            if field.optional:
                is_kept = "item" if kind.is_left_out is not_ else f"not _is_left_out_{name}(item)"
                line += f"if {is_kept}: "
            lines[name] = f"{line}fields[{name!r}] = {item}"
        body = [lines[name] for name in sorted(lines, key=lambda name: (len(name), name))]
        return _compiled("write(value)", ["fields = {}", *body, "return fields"], scope)

    def json(self, value: object) -> dict[str, Any]:
        """Returns the JSON form of a value: every field, empty or not, except those that JSON
        omits."""
        shown = {}
        for field in self.fields:
            if field.json_name is not None:
                item = getattr(value, field.name)
                if field.type.json is not None:
                    item = field.type.json(item)
                shown[field.json_name or field.name] = item
        return shown

    def texts(self, fields: Mapping[str, Any]) -> Iterator[tuple[Field | None, bytes]]:
        """Yields the texts in a decoded block, each with its field; None for an unknown field,
        which may hold anything."""
        known = {field.name: field for field in self.fields}
        for name, value in fields.items():
            field = known.get(name)
            if field is None:
                if name not in HEADER:
                    yield from ((None, text) for text in texts_in(value))
            elif field.text:
                yield from ((field, text) for text in field.type.texts(value))

    def _refuse_empty(self, name: str, item: object) -> NoReturn:
        raise CorruptError(
            f"{self.kind}.{name}: got {item!r}, expected the field to be left out when empty",
            kind=ErrorKind.NON_CANONICAL,
        )


def _compiled(
    signature: str, body: list[str], scope: dict[str, Any]
) -> Callable[[Any], dict[str, Any]]:
    code = f"def {signature}:\n " + "\n ".join(body)
    exec(code, scope)  # noqa: S102  it consists of names of fields
    return scope[signature.partition("(")[0]]  # type: ignore[no-any-return]
