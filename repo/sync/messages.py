"""The messages of an exchange, and the CAR files that carry them.

A bundle lists its refs and the commits that the receiver must have already; a push lists refs to
move. A message is the root of the CAR with its blocks. It is never stored, because it records only
a sender's claim at one moment; so it is decoded separately from the blocks, in its one canonical
form.

Spec: sync 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from ibidem.objects import codec
from ibidem.objects.block import Block, Map, block_of, empty, require, typed_link
from ibidem.objects.cid import Cid, CommitCid, OperationCid
from ibidem.objects.errors import CorruptError, ErrorKind
from ibidem.objects.fields import MAP, checked_links, link_to, read_links, require_sequence
from ibidem.objects.table import Field, Table, Type
from ibidem.objects.view import target_class
from ibidem.repo.sync.car import CarLimits, CarReader, Readable, car_header, car_section
from ibidem.repo.sync.names import check_head, check_ref

REFS_MAX = 10_000


class Tip(NamedTuple):
    """The position of a ref."""

    target: Cid
    seq: int
    """How often it has moved."""


class Update(NamedTuple):
    """One ref to move: its expected position and its new target."""

    target: Cid | None
    """None deletes the ref."""
    expected: Tip | None
    """None: the ref must not exist."""
    force: bool = False
    """Whether the new target need not descend from the old one."""


def _check_tip(owner: str, name: str, tip: Tip) -> None:
    cls = target_class(name)
    require(type(tip.target) is cls, owner, name, tip.target, f"a {cls.__name__}")
    require_sequence(owner, tip.seq)


def _by_name(owner: str, name: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    require(isinstance(value, Mapping), owner, name, value, "a map by full name")
    require(len(value) <= REFS_MAX, owner, name, len(value), f"at most {REFS_MAX} refs")
    for ref in value:
        check_ref(f"{owner}.{name}", ref)
    return MappingProxyType({ref: value[ref] for ref in sorted(value)})


def _refs(owner: str, name: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    refs = _by_name(owner, name, value)
    for ref, tip in refs.items():
        _check_tip(f"{owner}.{name}", ref, tip)
    return refs


def _read_refs(_owner: str, name: str, value: object) -> Map:
    return {ref: _read_tip(ref, tip) for ref, tip in _entries(name, value)}


def _write_refs(refs: Mapping[str, Tip]) -> Map:
    return {ref: _tip_map(tip) for ref, tip in refs.items()}


def _updates(owner: str, name: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    updates, position = _by_name(owner, name, value), f"{owner}.{name}"
    for ref, update in updates.items():
        if update.expected is not None:
            _check_tip(position, ref, update.expected)
        cls = target_class(ref)
        valid = update.target is None or type(update.target) is cls
        require(valid, position, ref, update.target, f"a {cls.__name__} or nothing")
        require(type(update.force) is bool, position, ref, update.force, "true or false")
    return updates


def _read_updates(_owner: str, name: str, value: object) -> Map:
    return {ref: _read_update(ref, update) for ref, update in _entries(name, value)}


def _write_updates(updates: Mapping[str, Update]) -> Map:
    written: Map = {}
    for name, update in updates.items():
        written[name] = {"forced": True} if update.force else {}
        if update.target is not None:
            written[name]["target"] = update.target
        if update.expected is not None:
            written[name]["expected"] = _tip_map(update.expected)
    return written


def _head(owner: str, name: str, value: str) -> str:
    check_head(f"{owner}.{name}", value)
    return value


def _ascending(owner: str, name: str, value: object, cls: type[Cid]) -> tuple[Any, ...]:
    links = checked_links(owner, name, value, cls)
    require(list(links) == sorted(links), owner, name, links, "links in ascending order")
    return links


def _ascending_links(cls: type[Cid]) -> Type:
    return Type(partial(_ascending, cls=cls), read=partial(read_links, cls=cls))


def _tip_map(tip: Tip) -> Map:
    return {"seq": tip.seq, "target": tip.target}


def _entries(name: str, value: object) -> Iterator[tuple[str, Any]]:
    if type(value) is not dict:
        raise CorruptError(f"{name}: got {value!r:.80}, expected a map by full name")
    yield from value.items()


def _read_tip(name: str, value: object) -> Tip:
    if type(value) is not dict or set(value) != {"seq", "target"}:
        raise CorruptError(f"refs[{name!r:.80}]: got {value!r:.80}, expected 'seq' and 'target'")
    return Tip(
        typed_link("refs", f"[{name!r:.80}]", value["target"], target_class(name)), value["seq"]
    )


def _read_update(name: str, value: object) -> Update:
    if type(value) is not dict or not set(value) <= {"target", "expected", "forced"}:
        raise CorruptError(
            f"updates[{name!r:.80}]: got {value!r:.80}, "
            "expected 'target', 'expected' and 'forced' only"
        )
    target, expected = value.get("target"), value.get("expected")
    if value.get("forced", True) is not True:
        raise CorruptError(f"updates[{name!r:.80}].forced: expected true, or no such field")
    return Update(
        None
        if target is None
        else typed_link("updates", f"[{name!r:.80}]", target, target_class(name)),
        None if expected is None else _read_tip(name, expected),
        force="forced" in value,
    )


BUNDLE = Table(
    "bundle",
    Field("refs", Type(_refs, read=_read_refs, write=_write_refs)),
    Field("head", Type(_head)),
    Field("config", MAP, optional=True),
    Field("requires", _ascending_links(CommitCid), optional=True),
    Field("erasures", _ascending_links(Cid), optional=True),
    Field("operation", link_to(OperationCid), optional=True),
)
PUSH = Table(
    "push",
    Field("updates", Type(_updates, read=_read_updates, write=_write_updates)),
    Field("erasures", _ascending_links(Cid), optional=True),
)


@block_of(BUNDLE)
class Bundle(Block):
    """The refs of a sender, with the blocks sent along."""

    refs: Mapping[str, Tip]
    """By full name."""
    head: str
    """The sender's current branch, which need not be among the refs."""
    config: Mapping[str, Any] = field(default_factory=empty)
    """That of the sender's first root, for a new repository created from this bundle."""
    requires: tuple[CommitCid, ...] = ()
    """Commits that the receiver must have, with all their ancestors, ascending."""
    erasures: tuple[Cid, ...] = ()
    """Erasure blocks that are included, ascending."""
    operation: OperationCid | None = None
    """The newest operation, if the operation log is included: an explicit full copy."""
    extra: Mapping[str, Any] = field(default_factory=empty)


@block_of(PUSH)
class Push(Block):
    """The refs that a sender asks a receiver to move."""

    updates: Mapping[str, Update]
    """By full name."""
    erasures: tuple[Cid, ...] = ()
    """Erasure blocks that are included, ascending."""
    extra: Mapping[str, Any] = field(default_factory=empty)


Message = TypeVar("Message", Bundle, Push)


def read_message(cls: type[Message], block: bytes) -> Message:
    """Returns the message in a block.

    Raises:
        CorruptError: it is not canonical, or not the one form of its value.
        FormatError: it is another message, or of an unknown version.
    """
    message = cls.from_map(codec.decode_foreign(block))
    if message.encode() != block:
        raise CorruptError(
            f"{cls.KIND}: got a block in another form than its value has",
            kind=ErrorKind.NON_CANONICAL,
        )
    return message


def container(message: Bundle | Push, blocks: Iterable[tuple[Cid, bytes]]) -> Iterator[bytes]:
    """Yields the bytes of a CAR with a message and its blocks, which ascend by CID."""
    block = message.encode()
    cid = Cid.of(block)
    yield car_header([cid])
    is_written = False
    for other, content in blocks:
        if not is_written and other.raw > cid.raw:
            yield car_section(cid, block)
            is_written = True
        yield car_section(other, content)
    if not is_written:
        yield car_section(cid, block)


class Opened:
    """A CAR while it is read: the blocks in the order of the file, the message separately."""

    def __init__(self, stream: Readable, *, limits: CarLimits | None = None) -> None:
        self._reader = CarReader(stream, limits=limits)
        self._message: bytes | None = None

    @property
    def roots(self) -> tuple[Cid, ...]:
        """The roots in the header."""
        return self._reader.roots

    def blocks(self) -> Iterator[tuple[Cid, bytes]]:
        """Yields every block except the message; must be exhausted."""
        for cid, block in self._reader:
            if cid == self._reader.roots[0] and _is_message(block):
                self._message = block
            else:
                yield cid, block

    @property
    def has_message(self) -> bool:
        """Whether the root is a message; known after all blocks were read."""
        return self._message is not None

    def message(self, cls: type[Message]) -> Message:
        """Returns the message, after all blocks were read.

        Raises:
            CorruptError: there is none, or it is not canonical.
            FormatError: it is another message, or of an unknown version.
        """
        if self._message is None or len(self._reader.roots) != 1:
            raise CorruptError(
                f"car: got no {cls.KIND} as its only root", kind=ErrorKind.BLOCK_NOT_FOUND
            )
        return read_message(cls, self._message)


def _is_message(block: bytes) -> bool:
    fields = codec.decode_foreign(block)
    return type(fields) is dict and fields.get("kind") in (Bundle.KIND, Push.KIND)
