"""Commits: a state of the graph with its parents, author, time and message.

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
    """Parent commits, distinct; the first is the previous head of the branch on which the commit
    was made."""
    author: str = ""
    time: int = 0
    """Microseconds since 1970 UTC."""
    message: str = ""
    agent: str | None = None
    """The program that acted for the author, if any."""
    task: str | None = None
    """The agent's task, or the name of its run."""
    signature: bytes | None = None
    """A signature over the block without this field; the signer chooses the scheme."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    @property
    def cid(self) -> CommitCid:
        """The identity of the commit: the hash of its bytes."""
        return CommitCid.of(self.encode())
