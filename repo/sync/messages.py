"""The messages of an exchange, and the CAR files that carry them.

A bundle says which refs it is about and what the receiver must have already; a push says which refs
to move. A message is the root of the CAR with its blocks. It is never stored: it says what a sender
claimed at one moment, so it is read apart from the blocks, in its one canonical form.

Spec: sync 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from ibidem.objects import codec
from ibidem.objects.block import Block, Map, empty, frozen, frozen_extra, require, typed_link
from ibidem.objects.cid import Cid, CommitCid, OperationCid
from ibidem.objects.commit import checked_links, read_links
from ibidem.objects.constants import FORMAT_VERSION
from ibidem.objects.errors import CorruptError, ErrorKind
from ibidem.objects.record import record
from ibidem.objects.view import require_sequence, target_class
from ibidem.repo.sync.car import CarLimits, CarReader, Readable, car_header, car_section
from ibidem.repo.sync.names import check_head, check_ref

REFS_MAX = 10_000
_BUNDLE_KNOWN = frozenset(("refs", "head", "config", "requires", "erasures", "operation"))
_PUSH_KNOWN = frozenset(("updates", "erasures"))


class Tip(NamedTuple):
    """Where a ref stands."""

    target: Cid
    seq: int
    """How often it has moved there."""


class Update(NamedTuple):
    """One ref to move: from where it must stand to where it shall stand."""

    target: Cid | None
    """None deletes the ref."""
    expected: Tip | None
    """None: there must be no such ref."""
    is_forced: bool = False
    """Whether the new target need not come after the old one."""


@record(eq=False)
class Bundle(Block):
    """What a sender has, and sends along with it."""

    KIND: ClassVar[str] = "bundle"
    OPTIONAL: ClassVar[frozenset[str]] = frozenset(("requires", "erasures", "config", "operation"))

    refs: Mapping[str, Tip]
    """By full name."""
    head: str
    """The sender's current branch, which need not be among the refs."""
    config: Mapping[str, Any] = field(default_factory=empty)
    """Of the sender's first root, for a repository that is begun from this."""
    requires: tuple[CommitCid, ...] = ()
    """Commits that the receiver must have, with everything behind them, ascending."""
    erasures: tuple[Cid, ...] = ()
    """Erasure blocks that go along, ascending."""
    operation: OperationCid | None = None
    """The newest operation, where the local log goes along: an explicit full copy."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "refs", _checked_names("bundle", "refs", self.refs))
        for name, tip in self.refs.items():
            _check_tip("bundle.refs", name, tip)
        check_head("bundle.head", self.head)
        put(self, "config", frozen("bundle", "config", self.config))
        put(self, "requires", _ascending("bundle", "requires", self.requires, CommitCid))
        put(self, "erasures", _ascending("bundle", "erasures", self.erasures, Cid))
        require(
            self.operation is None or type(self.operation) is OperationCid,
            "bundle",
            "operation",
            self.operation,
            "an OperationCid or nothing",
        )
        put(self, "extra", frozen_extra(Bundle, _BUNDLE_KNOWN, self.extra))

    def to_map(self) -> Map:
        """Returns the block as a map."""
        fields: Map = {
            "v": FORMAT_VERSION,
            "head": self.head,
            "kind": "bundle",
            "refs": {name: _tip_map(tip) for name, tip in self.refs.items()},
            **self.extra,
        }
        if self.config:
            fields["config"] = dict(self.config)
        for name, links in (("requires", self.requires), ("erasures", self.erasures)):
            if links:
                fields[name] = links
        if self.operation is not None:
            fields["operation"] = self.operation
        return _sorted(fields)

    @classmethod
    def _read(cls, fields: Map) -> Self:
        take = fields.pop
        operation = take("operation", None)
        return cls(
            refs={name: _read_tip(name, tip) for name, tip in _entries("refs", take("refs"))},
            head=take("head"),
            config=take("config", {}),
            requires=read_links("bundle", "requires", take("requires", []), CommitCid),
            erasures=read_links("bundle", "erasures", take("erasures", []), Cid),
            operation=None
            if operation is None
            else typed_link("bundle", "operation", operation, OperationCid),
            extra=fields,
        )


@record(eq=False)
class Push(Block):
    """What a sender asks a receiver to move."""

    KIND: ClassVar[str] = "push"
    OPTIONAL: ClassVar[frozenset[str]] = frozenset(("erasures",))

    updates: Mapping[str, Update]
    """By full name."""
    erasures: tuple[Cid, ...] = ()
    """Erasure blocks that go along, ascending."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "updates", _checked_names("push", "updates", self.updates))
        for name, update in self.updates.items():
            if update.expected is not None:
                _check_tip("push.updates", name, update.expected)
            cls = target_class(name)
            valid = update.target is None or type(update.target) is cls
            require(valid, "push.updates", name, update.target, f"a {cls.__name__} or nothing")
            require(
                type(update.is_forced) is bool,
                "push.updates",
                name,
                update.is_forced,
                "true or false",
            )
        put(self, "erasures", _ascending("push", "erasures", self.erasures, Cid))
        put(self, "extra", frozen_extra(Push, _PUSH_KNOWN, self.extra))

    def to_map(self) -> Map:
        """Returns the block as a map."""
        updates: Map = {}
        for name, update in self.updates.items():
            updates[name] = {"forced": True} if update.is_forced else {}
            if update.target is not None:
                updates[name]["target"] = update.target
            if update.expected is not None:
                updates[name]["expected"] = _tip_map(update.expected)
        fields: Map = {"v": FORMAT_VERSION, "kind": "push", "updates": updates, **self.extra}
        if self.erasures:
            fields["erasures"] = self.erasures
        return _sorted(fields)

    @classmethod
    def _read(cls, fields: Map) -> Self:
        take = fields.pop
        updates = {
            name: _read_update(name, value) for name, value in _entries("updates", take("updates"))
        }
        return cls(
            updates=updates,
            erasures=read_links("push", "erasures", take("erasures", []), Cid),
            extra=fields,
        )


def _sorted(fields: Map) -> Map:
    return {name: fields[name] for name in sorted(fields, key=lambda name: (len(name), name))}


def _checked_names(owner: str, field_name: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    require(isinstance(value, Mapping), owner, field_name, value, "a map by full name")
    require(len(value) <= REFS_MAX, owner, field_name, len(value), f"at most {REFS_MAX} refs")
    for name in value:
        check_ref(f"{owner}.{field_name}", name)
    return MappingProxyType({name: value[name] for name in sorted(value)})


def _check_tip(owner: str, name: str, tip: Tip) -> None:
    cls = target_class(name)
    require(type(tip.target) is cls, owner, name, tip.target, f"a {cls.__name__}")
    require_sequence(owner, tip.seq)


def _ascending(owner: str, name: str, value: object, cls: type[Cid]) -> tuple[Any, ...]:
    links = checked_links(owner, name, value, cls)
    require(list(links) == sorted(links), owner, name, links, "links in ascending order")
    return links


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
        is_forced="forced" in value,
    )


Message = TypeVar("Message", Bundle, Push)


def read_message(cls: type[Message], block: bytes) -> Message:
    """Returns the message in a block.

    Raises:
        CorruptError: it is not canonical, or not the one form of its value.
        FormatError: it is another message, or of another version.
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
    """A CAR as it is read: the blocks in the order of the file, the message apart."""

    def __init__(self, stream: Readable, *, limits: CarLimits | None = None) -> None:
        self._reader = CarReader(stream, limits=limits)
        self._message: bytes | None = None

    @property
    def roots(self) -> tuple[Cid, ...]:
        """What the header names."""
        return self._reader.roots

    def blocks(self) -> Iterator[tuple[Cid, bytes]]:
        """Yields every block but the message; to be taken to the end."""
        for cid, block in self._reader:
            if cid == self._reader.roots[0] and _is_message(block):
                self._message = block
            else:
                yield cid, block

    @property
    def has_message(self) -> bool:
        """Whether the root is a message, known once all blocks were taken."""
        return self._message is not None

    def message(self, cls: type[Message]) -> Message:
        """Returns the message, once all blocks were taken.

        Raises:
            CorruptError: there is none, or it is not canonical.
            FormatError: it is another message, or of another version.
        """
        if self._message is None or len(self._reader.roots) != 1:
            raise CorruptError(
                f"car: got no {cls.KIND} as its only root", kind=ErrorKind.BLOCK_NOT_FOUND
            )
        return read_message(cls, self._message)


def _is_message(block: bytes) -> bool:
    fields = codec.decode_foreign(block)
    return type(fields) is dict and fields.get("kind") in (Bundle.KIND, Push.KIND)
