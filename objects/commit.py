"""Commits: who made which state out of which, when and why.

Spec: format 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from ibidem.objects.block import Block, block_of, empty
from ibidem.objects.cid import CommitCid, RootCid
from ibidem.objects.fields import COMMIT


@block_of(COMMIT)
class Commit(Block):
    """One step of history."""

    CID: ClassVar[type[CommitCid]] = CommitCid

    root: RootCid
    parents: tuple[CommitCid, ...] = ()
    """What it was made from, distinct; the first is the branch it was made on."""
    author: str = ""
    time: int = 0
    """Microseconds since 1970 UTC."""
    message: str = ""
    agent: str | None = None
    """The program that acted for the author, where one did."""
    task: str | None = None
    """What the agent was asked to do, or the name of its run."""
    signature: bytes | None = None
    """A signature over the block without this field; its scheme is the signer's."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    @property
    def cid(self) -> CommitCid:
        """The identity of the commit: the hash of its bytes."""
        return CommitCid.of(self.encode())
