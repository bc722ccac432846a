"""What a copy is made from and to: a protocol of four questions.

The same four go over HTTP and, but for the last, to a file. A remote serves a block only when a ref
leads to it. Nothing it says is believed: what it sends waits in quarantine.

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
ASKED_MAX = 1024
"""How many commits one question may name."""


class Remote(Protocol):
    """A repository elsewhere."""

    def refs(self, prefixes: Sequence[str]) -> Bundle:
        """Returns where the refs with these first parts stand, and the erasures."""
        ...

    def known(self, cids: Sequence[CommitCid]) -> set[CommitCid]:
        """Returns which of the commits, ASKED_MAX at most, are there with all behind them."""
        ...

    def fetch(self, want: Sequence[Cid], have: Sequence[Cid]) -> AbstractContextManager[Blocks]:
        """Returns the blocks behind `want` that are not behind `have`, while it is open.

        Args:
            want: where refs stand there, or stood a moment ago; and erasures of there.
            have: some of what is known there.
        """
        ...

    def push(self, push: Push, blocks: Blocks) -> list[RefMove]:
        """Moves refs there, all or none, after checking the blocks.

        Raises:
            ConflictError: kind `head-moved` or `not-fast-forward`.
        """
        ...
