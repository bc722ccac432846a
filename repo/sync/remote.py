"""The protocol of a remote, with four requests.

The same four are available over HTTP and, except for the last, for a file. A remote serves a block
only if a ref leads to it. Its responses are not trusted: received blocks wait in quarantine.

Spec: sync 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from ibidem.objects.cid import Cid, CommitCid
from ibidem.repo.sync.messages import Bundle, Push

if TYPE_CHECKING:
    from ibidem.repo.sync.report import RefMove

Blocks = Iterable[tuple[Cid, bytes]]
COMMITS_PER_REQUEST = 1024
"""Maximal number of commits in one request."""


class Remote(Protocol):
    """A repository elsewhere."""

    def refs(self, prefixes: Sequence[str]) -> Bundle:
        """Returns the refs with these prefixes and their targets, and the erasures."""
        ...

    def known(self, cids: Sequence[CommitCid]) -> set[CommitCid]:
        """Returns which of the commits, ASKED_MAX at most, are there with all their ancestors."""
        ...

    def fetch(self, want: Sequence[Cid], have: Sequence[Cid]) -> AbstractContextManager[Blocks]:
        """Returns the blocks reachable from `want` but not from `have`, as a context manager.

        Args:
            want: current or very recent targets of refs of the remote; and its erasures.
            have: some of the commits, steps and receipts that the remote is known to have.
        """
        ...

    def push(self, push: Push, blocks: Blocks) -> list[RefMove]:
        """Moves refs of the remote, all or none, after checking the blocks.

        Raises:
            ConflictError: kind `head-moved` or `not-fast-forward`.
        """
        ...
