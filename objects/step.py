"""Steps: one thing that an agent did in a recorded run, linked to the step before it.

A run is a chain, so the CID of the last step identifies the whole run. A step holds what is needed
to repeat it without external calls: the roots to read, the receipts to replay, and the recorded
answers of tools and models. It contains a commit as the bytes of its block: the step needs the
commit, not the history behind it.

Spec: format 5.12.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from ibidem.objects.block import Block, block_of, empty, require
from ibidem.objects.cid import BlobCid, ReceiptCid, RootCid, StepCid
from ibidem.objects.fields import STEP

Content = bytes | tuple[BlobCid, ...] | None


@block_of(STEP)
class Step(Block):
    """One step of a run."""

    CID: ClassVar[type[StepCid]] = StepCid

    action: str
    """The name of the action, such as "retrieve"; not empty."""
    index: int
    """Number of steps before this one."""
    time: int = 0
    """Microseconds since 1970 UTC."""
    name: str = ""
    """Name of the run in its first step, of the tool in an event."""
    previous: StepCid | None = None
    """The step before; None only in the first step."""
    receipt: ReceiptCid | None = None
    commit: bytes | None = None
    """The block of a commit."""
    root: RootCid | None = None
    request: Content = None
    """The request: the canonical bytes of a value, split into parts like a node's content."""
    answer: Content = None
    """The answer, in the same form."""
    start: int = 0
    """Number of steps when the action started, if others were recorded before it ended; else 0."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        require(
            self.start == 0 or self.start < self.index,
            "step",
            "start",
            self.start,
            f"a count below the index {self.index}",
        )
        require(
            (self.previous is None) == (self.index == 0),
            "step",
            "previous",
            self.previous,
            f"the step before step {self.index}, and nothing before step 0",
        )

    @property
    def cid(self) -> StepCid:
        """The identity of the step and of every step before it."""
        return StepCid.of(self.encode())
