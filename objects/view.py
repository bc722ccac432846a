"""Refs and views: where the branches and tags of a repository point.

A view is the state of all refs at one moment. Both contain a sequence number and the previous
value, so that a history A, B, A is not mistaken for one that stayed at A.

Spec: format 5.8, 5.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

from ibidem.objects.block import Block, Map, block_of, empty, require, typed_link
from ibidem.objects.cid import (
    Cid,
    CommitCid,
    ReceiptCid,
    RefCid,
    StepCid,
    TreeCid,
    ViewCid,
)
from ibidem.objects.fields import REF, VIEW

RUNS, RECEIPTS = "runs/", "receipts/"
"""Prefixes of the names of refs that point to steps and to receipts; all other refs point to
commits."""


@block_of(REF)
class Ref(Block):
    """One name and the object that it points to."""

    CID: ClassVar[type[RefCid]] = RefCid

    name: str
    """The full name, such as "heads/main"; not empty."""
    target: Any
    """A CID of the class that the name determines, see `target_class`."""
    seq: int = 0
    """How often the ref has moved."""
    previous: Any = None
    """The previous target, None if there was none."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        cls = target_class(self.name)
        require(type(self.target) is cls, "ref", "target", self.target, f"a {cls.__name__}")
        valid = self.previous is None or type(self.previous) is cls
        require(valid, "ref", "previous", self.previous, f"a {cls.__name__} or nothing")

    @property
    def cid(self) -> RefCid:
        """The identity of this state of the ref: the hash of its bytes."""
        return RefCid.of(self.encode())

    @classmethod
    def _read(cls, fields: Map) -> Self:
        known = REF.read(fields)
        cls_of_target = target_class(known["name"])
        for name in ("target", "previous"):
            if name in known:
                known[name] = typed_link("ref", name, known[name], cls_of_target)
        return cls(**known)


@block_of(VIEW)
class View(Block):
    """Every ref and erasure at one moment, and the current branch."""

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

    @property
    def cid(self) -> ViewCid:
        """The identity of the view: the hash of its bytes."""
        return ViewCid.of(self.encode())


def target_class(name: object) -> type[Cid]:
    """Returns the class of the CID that a ref with that full name points to."""
    if isinstance(name, str) and name.startswith(RUNS):
        return StepCid
    if isinstance(name, str) and name.startswith(RECEIPTS):
        return ReceiptCid
    return CommitCid
