"""Steps: one thing that an agent did in a recorded run, linked to the step before it.

A run is a chain, so the last step's CID stands for all of it. A step holds what is needed to do the
same again without asking anybody: roots to read, receipts to ask again, and what others answered.
A commit stands in it as its block: the step needs the commit, not the history behind it.

Spec: format 5.12.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

from ibidem.objects.block import (
    Block,
    Map,
    empty,
    frozen_extra,
    require,
    require_text,
    typed_link,
)
from ibidem.objects.cid import BlobCid, ReceiptCid, RootCid, StepCid
from ibidem.objects.commit import require_time
from ibidem.objects.constants import CONTENT_INLINE_BYTES_MAX, FORMAT_VERSION, STEP_PARTS_MAX
from ibidem.objects.errors import CorruptError
from ibidem.objects.node import check_part_count
from ibidem.objects.record import record
from ibidem.objects.view import require_sequence

Content = bytes | tuple[BlobCid, ...] | None

_KNOWN = frozenset(
    (
        "action",
        "index",
        "time",
        "name",
        "previous",
        "receipt",
        "commit",
        "root",
        "request",
        "answer",
    )
)


@record(eq=False)
class Step(Block):
    """One step of a run."""

    KIND: ClassVar[str] = "step"
    OPTIONAL: ClassVar[frozenset[str]] = frozenset(
        ("name", "previous", "receipt", "commit", "root", "request", "answer")
    )
    CID: ClassVar[type[StepCid]] = StepCid

    action: str
    """What was done, such as "retrieve"; not empty."""
    index: int
    """How many steps came before."""
    time: int = 0
    """Microseconds since 1970 UTC."""
    name: str = ""
    """Of the run in its first step, of the tool in an event."""
    previous: StepCid | None = None
    """The step before; None in the first one alone."""
    receipt: ReceiptCid | None = None
    commit: bytes | None = None
    """The block of a commit."""
    root: RootCid | None = None
    request: Content = None
    """What was asked: the canonical bytes of a value, in parts as a node's content is."""
    answer: Content = None
    """What was answered, likewise."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        require_text("step", "action", self.action)
        require(self.action, "step", "action", self.action, "text that is not empty")
        require_sequence("step", self.index, "index")
        require_time("step", self.time)
        require_text("step", "name", self.name)
        for name, cls in (("previous", StepCid), ("receipt", ReceiptCid), ("root", RootCid)):
            value = getattr(self, name)
            require(
                value is None or type(value) is cls,
                "step",
                name,
                value,
                f"a {cls.__name__} or nothing",
            )
        require(
            (self.previous is None) == (self.index == 0),
            "step",
            "previous",
            self.previous,
            f"the step before step {self.index}, and nothing before step 0",
        )
        require(
            self.commit is None or (type(self.commit) is bytes and self.commit),
            "step",
            "commit",
            self.commit,
            "the bytes of a commit, or nothing",
        )
        put = object.__setattr__
        put(self, "request", _checked_content("request", self.request))
        put(self, "answer", _checked_content("answer", self.answer))
        put(self, "extra", frozen_extra(Step, _KNOWN, self.extra))

    @property
    def cid(self) -> StepCid:
        """The identity of the step and of every step before it."""
        return StepCid.of(self.encode())

    def to_map(self) -> Map:
        """Returns the block as a map, in canonical order unless there is `extra`."""
        fields: Map = {"v": FORMAT_VERSION, "kind": "step"}
        if self.name:
            fields["name"] = self.name
        if self.root is not None:
            fields["root"] = self.root
        fields["time"] = self.time
        fields["index"] = self.index
        fields["action"] = self.action
        for name in ("answer", "commit", "receipt", "request", "previous"):
            value = getattr(self, name)
            if value is not None:
                fields[name] = value
        fields.update(self.extra)
        return fields

    @classmethod
    def _read(cls, fields: Map) -> Self:
        take = fields.pop
        return cls(
            action=take("action"),
            index=take("index"),
            time=take("time"),
            name=take("name", ""),
            previous=_read_link("previous", take("previous", None), StepCid),
            receipt=_read_link("receipt", take("receipt", None), ReceiptCid),
            commit=take("commit", None),
            root=_read_link("root", take("root", None), RootCid),
            request=_read_content("request", take("request", None)),
            answer=_read_content("answer", take("answer", None)),
            extra=fields,
        )


def _checked_content(name: str, value: object) -> Any:
    if isinstance(value, bytes):
        is_short = len(value) <= CONTENT_INLINE_BYTES_MAX
        expected = f"at most {CONTENT_INLINE_BYTES_MAX} bytes, or raw blocks"
        require(is_short, "step", name, value[:20], expected)
        return value or None
    if value is None:
        return None
    valid = isinstance(value, (tuple, list)) and all(type(part) is BlobCid for part in value)
    require(valid, "step", name, value, "bytes, or a tuple of BlobCid")
    check_part_count(f"step.{name}", len(value), STEP_PARTS_MAX)  # type: ignore[arg-type]
    return tuple(value) or None  # type: ignore[arg-type]


def _read_link(name: str, value: object, cls: type[Any]) -> Any:
    return None if value is None else typed_link("step", name, value, cls)


def _read_content(name: str, value: object) -> Any:
    if type(value) is list:
        return tuple(typed_link("step", name, part, BlobCid) for part in value)
    if value is not None and type(value) is not bytes:
        raise CorruptError(f"step.{name}: got {value!r:.80}, expected bytes or a list of links")
    return value
