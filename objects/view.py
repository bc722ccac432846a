"""Refs and views: where the branches and tags of a repository point.

A view is the whole of that at one moment. Both carry a sequence number and the previous value, so
that a history that went A, B, A is not taken for one that stayed at A.

Spec: format 5.8, 5.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

from ibidem.objects.block import Block, Map, empty, frozen_extra, require, require_text, typed_link
from ibidem.objects.cid import (
    Cid,
    CommitCid,
    ReceiptCid,
    RefCid,
    StepCid,
    TreeCid,
    ViewCid,
)
from ibidem.objects.constants import FORMAT_VERSION, INTEGER_MAX
from ibidem.objects.record import record
from ibidem.objects.root import checked_requires, read_requires

RUNS, RECEIPTS = "runs/", "receipts/"
"""First parts of the names of refs that point to steps and to receipts; all others point to
commits."""
_REF_KNOWN = frozenset(("name", "target", "seq", "previous"))
_VIEW_KNOWN = frozenset(("refs", "head", "erasures", "seq", "previous", "requires"))


@record(eq=False)
class Ref(Block):
    """One name, and what it stands for."""

    KIND: ClassVar[str] = "ref"
    OPTIONAL: ClassVar[frozenset[str]] = frozenset(("previous",))
    CID: ClassVar[type[RefCid]] = RefCid

    name: str
    """The full name, such as "heads/main"; not empty."""
    target: Any
    """A CID of the class that the name says, see `target_class`."""
    seq: int = 0
    """How often the ref has moved."""
    previous: Any = None
    """What it pointed to before, None for nothing."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        require(
            type(self.name) is str and self.name, "ref", "name", self.name, "text that is not empty"
        )
        cls = target_class(self.name)
        require(type(self.target) is cls, "ref", "target", self.target, f"a {cls.__name__}")
        require_sequence("ref", self.seq)
        require_previous("ref", self.previous, cls)
        object.__setattr__(self, "extra", frozen_extra(Ref, _REF_KNOWN, self.extra))

    @property
    def cid(self) -> RefCid:
        """The identity of this state of the ref: the hash of its bytes."""
        return RefCid.of(self.encode())

    def to_map(self) -> Map:
        """Returns the block as a map, in canonical order unless there is `extra`."""
        fields: Map = {"v": FORMAT_VERSION, "seq": self.seq, "kind": "ref", "name": self.name}
        fields["target"] = self.target
        if self.previous is not None:
            fields["previous"] = self.previous
        fields.update(self.extra)
        return fields

    @classmethod
    def _read(cls, fields: Map) -> Self:
        take = fields.pop
        name = take("name")
        target = target_class(name)
        return cls(
            name=name,
            target=typed_link("ref", "target", take("target"), target),
            seq=take("seq"),
            previous=_read_previous("ref", fields, target),
            extra=fields,
        )


@record(eq=False)
class View(Block):
    """Every ref and erasure at one moment, and the branch that is current."""

    KIND: ClassVar[str] = "view"
    OPTIONAL: ClassVar[frozenset[str]] = frozenset(("previous", "requires"))
    CID: ClassVar[type[ViewCid]] = ViewCid

    refs: TreeCid
    """`derive.ref_key(name)` to the CID of a ref block."""
    head: str
    """The full name of the current branch; it need not exist yet."""
    erasures: TreeCid
    seq: int = 0
    previous: ViewCid | None = None
    requires: tuple[str, ...] = ()
    """Features without which the view must not be read, ascending."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        require(type(self.refs) is TreeCid, "view", "refs", self.refs, "a TreeCid")
        require_text("view", "head", self.head)
        require(type(self.erasures) is TreeCid, "view", "erasures", self.erasures, "a TreeCid")
        require_sequence("view", self.seq)
        require_previous("view", self.previous, ViewCid)
        object.__setattr__(self, "requires", checked_requires("view", self.requires))
        object.__setattr__(self, "extra", frozen_extra(View, _VIEW_KNOWN, self.extra))

    @property
    def cid(self) -> ViewCid:
        """The identity of the view: the hash of its bytes."""
        return ViewCid.of(self.encode())

    def to_map(self) -> Map:
        """Returns the block as a map, in canonical order unless there is `extra`."""
        fields: Map = {"v": FORMAT_VERSION, "seq": self.seq, "head": self.head, "kind": "view"}
        fields["refs"] = self.refs
        fields["erasures"] = self.erasures
        if self.previous is not None:
            fields["previous"] = self.previous
        if self.requires:
            fields["requires"] = self.requires
        fields.update(self.extra)
        return fields

    @classmethod
    def _read(cls, fields: Map) -> Self:
        take = fields.pop
        requires = read_requires("view", take("requires", []))
        return cls(
            refs=typed_link("view", "refs", take("refs"), TreeCid),
            head=take("head"),
            erasures=typed_link("view", "erasures", take("erasures"), TreeCid),
            seq=take("seq"),
            previous=_read_previous("view", fields, ViewCid),
            requires=requires,
            extra=fields,
        )


def target_class(name: object) -> type[Cid]:
    """Returns the class of what a ref of that full name points to."""
    if isinstance(name, str) and name.startswith(RUNS):
        return StepCid
    if isinstance(name, str) and name.startswith(RECEIPTS):
        return ReceiptCid
    return CommitCid


def require_sequence(owner: str, value: object, name: str = "seq") -> None:
    """Raises unless `value` is a count."""
    valid = type(value) is int and 0 <= value <= INTEGER_MAX
    require(valid, owner, name, value, "an integer from 0 to 2^64-1")


def require_previous(owner: str, value: object, cls: type[Cid]) -> None:
    """Raises unless `value` is None or exactly a `cls`."""
    require(
        value is None or type(value) is cls,
        owner,
        "previous",
        value,
        f"a {cls.__name__} or nothing",
    )


def _read_previous(owner: str, fields: Map, cls: type[Cid]) -> Any:
    value = fields.pop("previous", None)
    return None if value is None else typed_link(owner, "previous", value, cls)
