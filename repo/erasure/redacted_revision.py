"""An old revision as if the nodes that were erased since had been invisible in it.

Its root reaches blocks that are gone, so it is answered over another root, made for the asking and
kept nowhere: the same trees without the entries that were erased. A receipt of such an answer names
that root, so it is not kept either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, RootCid
from ibidem.repo.maintenance.cleaned import entries_of_erased
from ibidem.repo.reader import Reader
from ibidem.repo.revision import Revision
from ibidem.repo.transaction.changeset import NODES, applied

if TYPE_CHECKING:
    from ibidem.objects.erasure import Erasure
    from ibidem.store.protocol import Store


class RedactedRevision(Revision):
    """A revision without what was erased from it; `erasures` names what is left out."""

    erasures: tuple[Erasure, ...] = ()


def without_erased(repository: Reader, revision: Revision) -> Revision:
    """Returns a revision without the entries that were erased; itself where it has none."""
    erased = repository.guard.erased()
    edits = entries_of_erased(repository.store, revision.root, erased)
    gone = edits.of(NODES)
    if not gone:
        return revision
    buffer = WriteBatch(repository.store)
    root = applied(revision.root, edits, buffer)
    block = root.encode()
    root_cid = RootCid.of(block)
    buffer.put(root_cid, block)
    reader = Reader(_Overlay(repository.store, buffer.new), None, lambda: 0)
    reader.embedders = repository.embedders
    partial = RedactedRevision(reader, root_cid, revision.commit)
    partial.erasures = tuple(each for each in erased.erasures if each.node.raw in gone)
    return partial


class _Overlay:
    """A store with some blocks more; what it is asked otherwise, the store answers."""

    def __init__(self, store: Store, more: Mapping[Cid, bytes]) -> None:
        self._store = store
        self._more = dict(more)

    def get(self, cid: Cid) -> bytes:
        found = self._more.get(cid)
        return self._store.get(cid) if found is None else found

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        return [self.get(cid) for cid in cids]

    def has(self, cid: Cid) -> bool:
        return cid in self._more or self._store.has(cid)

    def close(self) -> None:
        """Closes nothing: the store is another's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
