"""The table of a block kind: its fields, in the order in which they are read.

A `Field` is one row: its name, its `Type`, whether it may be left out, whether the block needs what
it links to, and whether it holds words that somebody wrote. A `Type` says how a value is checked,
read and written, so that a `Block` has no code of its own for a field. What depends on several
fields at once is checked in the `__post_init__` of the value.

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
"""What every block has, whatever its table."""


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
    """What a field may hold."""

    check: Callable[[str, str, Any], Any] | None = None
    """(kind, field, value) to the value that is kept; raises `InvalidInputError`. None where the
    value checks the field itself, or anything is right."""
    exact: type | None = None
    """Values of this very type pass unchecked, and so does the default of the field."""
    is_filled: bool = False
    """Whether of those only the ones that are not empty pass unchecked."""
    read: Callable[[str, str, Any], Any] | None = None
    """(kind, field, decoded value) to the value; None where it is the same."""
    write: Callable[[Any], Any] | None = None
    """The value to what the codec writes; None where it is the same."""
    is_left_out: Callable[[Any], bool] = not_
    """Whether an optional field of that value is left out of the block."""
    may_be_empty: bool = False
    """Whether an optional field may stand in a block empty; otherwise readers refuse it."""
    texts: Callable[[Any], Iterator[bytes]] = texts_in
    """The words in a decoded value."""
    json: Callable[[Any], Any] | None = None
    """The value to what JSON tells of it; None where it is the same."""


@record
class Field:
    """One field of a block."""

    name: str
    type: Type
    optional: bool = False
    """Whether it is left out when empty."""
    link: bool = False
    """Whether the block is only whole with what the field links to."""
    text: bool = True
    """Whether it may hold words that somebody wrote: erasure looks for them everywhere."""
    indexed: bool = False
    """Whether the text of a node can be made of it; in new repositories it is, unless their
    configuration names other fields."""
    json_name: str | None = ""
    """What JSON calls it, "" where that is its own name; None where JSON leaves it out."""


class Table:
    """The fields of one kind of block in one version."""

    def __init__(
        self, kind: str, *fields: Field, version: int = FORMAT_VERSION, is_record: bool = False
    ) -> None:
        """Names the kind, its fields in the order in which they are read, and the `v` that has
        them.

        Args:
            is_record: whether blocks of the kind record what was asked and answered: one that
                quotes an erased node is destroyed. Others that quote it stay, and are named.
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
        """The fields that are left out when empty, and that a reader refuses empty."""
        return frozenset(
            field.name for field in self.fields if field.optional and not field.type.may_be_empty
        )

    @property
    def links(self) -> tuple[str, ...]:
        """The fields that link to what the block needs."""
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
        """Takes the known fields out of a decoded block without its header, and returns the
        arguments of the value's constructor: what is not known is in `extra`.

        It raises `KeyError` for a field that is missing and `CorruptError` for one that is spelled
        out empty or of another form. Compiled as `write` is.
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
        """Returns what JSON tells of a value: every field, empty or not, but those that it leaves
        out."""
        shown = {}
        for field in self.fields:
            if field.json_name is not None:
                item = getattr(value, field.name)
                if field.type.json is not None:
                    item = field.type.json(item)
                shown[field.json_name or field.name] = item
        return shown

    def texts(self, fields: Mapping[str, Any]) -> Iterator[tuple[Field | None, bytes]]:
        """Yields the words in a decoded block, each with its field; None for one that is not known,
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
