"""An open repository as a remote in the same process; `serve` offers the same over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TypeVar

from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.root import Root
from ibidem.repo.sync.erasures import erasures_of, is_erased_in
from ibidem.repo.sync.have_set import HaveSet
from ibidem.repo.sync.messages import Bundle, Push, Tip
from ibidem.repo.sync.pack import Pack
from ibidem.repo.sync.receive import receive_push
from ibidem.repo.sync.remote import COMMITS_PER_REQUEST, Blocks

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.sync.report import RefMove

T = TypeVar("T")


class LocalRemote:
    """An open repository as a remote in this process."""

    def __init__(self, repository: Core) -> None:
        self._repository = repository

    def refs(self, prefixes: Sequence[str]) -> Bundle:
        """Returns the refs with these prefixes and their targets."""
        return offer(self._repository, prefixes)

    def known(self, cids: Sequence[CommitCid]) -> set[CommitCid]:
        """Returns which of the commits are here with all their ancestors."""
        if len(cids) > COMMITS_PER_REQUEST:
            raise InvalidInputError(
                f"known: got {len(cids)} commits, expected at most {COMMITS_PER_REQUEST}",
                kind=ErrorKind.LIMIT_EXCEEDED,
            )
        return self._steady(lambda known: {cid for cid in cids if known.commit(cid)})

    def fetch(self, want: Sequence[Cid], have: Sequence[Cid]) -> AbstractContextManager[Blocks]:
        """Returns the blocks reachable from `want` but not from `have`."""
        return nullcontext(self.pack(want, have))

    def pack(self, want: Sequence[Cid], have: Sequence[Cid]) -> Pack:
        """Returns the blocks reachable from `want` but not from `have`, and the wanted erasures.

        Raises:
            NotFoundError: no ref leads to one of the wanted blocks.
        """
        return self._steady(lambda known: self._packed(known, want, have))

    def _packed(self, known: HaveSet, want: Sequence[Cid], have: Sequence[Cid]) -> Pack:
        erasures = set(erasures_of(self._repository))
        wanted = [cid for cid in want if cid not in erasures]
        for cid in wanted:
            if not (known.commit(CommitCid(cid.raw)) or known.record(cid)):
                raise NotFoundError(
                    f"want: no ref leads to {cid}",
                    kind=ErrorKind.BLOCK_NOT_FOUND,
                    hint="fetch again, the refs may have moved",
                )
        had = [cid for cid in have if known.commit(CommitCid(cid.raw)) or known.record(cid)]
        return Pack(
            self._repository.store,
            wanted,
            had,
            is_erased=is_erased_in(self._repository),
            more=erasures & set(want),
        )

    def push(self, push: Push, blocks: Blocks) -> list[RefMove]:
        """Moves refs here, all or none."""
        return receive_push(self._repository, push, blocks)

    def _steady(self, read: Callable[[HaveSet], T]) -> T:
        """Returns the result of `read`, called again if the refs have moved and blocks reachable
        before were garbage collected meanwhile.
        """
        operations = self._repository.operation_log
        return operations.retry_if_collected(
            lambda state: read(HaveSet(operations.store, state.view))
        )


def offer(repository: Core, prefixes: Sequence[str]) -> Bundle:
    """Returns what an exchange begins with: the refs, current branch, config and erasures of a
    repository.
    """
    operations = repository.operation_log
    state, known = operations.retry_if_collected(
        lambda state: (state, HaveSet(operations.store, state.view))
    )
    origin = Root.decode(operations.store.get(state.origin))
    return Bundle(
        refs={
            name: Tip(ref.target, ref.seq)
            for name, ref in sorted(known.refs.items())
            if name.startswith(tuple(prefixes)) and name not in known.wrong
        },
        head=known.head,
        config=origin.config,
        erasures=erasures_of(repository),
    )
