"""The index of an open repository: where its files are, when it is opened, updated and dropped.

The index is derived from the commits, so everything here may be thrown away at any time. Four
rules keep it fresh and safe. It follows the head: a question brings it up to the root that is
queried, and so does a small commit, if there are questions between commits, or every commit, if the
repository is configured so. The snapshots of all branches and tags stay within a budget, so that
switching among them indexes nothing twice. It starts anew after each erasure, in a folder of its
own, because the old files contain erased text. And what is written to it while an erasure is
published is swept away, whichever of the two is first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ibidem.objects.commit import Commit
from ibidem.objects.errors import UNREADABLE, NotFoundError
from ibidem.objects.tree import EMPTY_TREE, diff
from ibidem.objects.view import Ref
from ibidem.repo.erasure.guard import SHARED, sweep_index
from ibidem.repo.refs import HEADS, TAGS
from ibidem.store.protocol import SupportsSharedFiles

if TYPE_CHECKING:
    from ibidem.index.index import Index, SnapshotSize
    from ibidem.index.retention import Retention
    from ibidem.index.shared import SharedIndex
    from ibidem.index.snapshot import Snapshot
    from ibidem.index.tuning import Tuning
    from ibidem.objects.cid import RootCid, TreeCid
    from ibidem.objects.progress import Progress
    from ibidem.objects.view import View
    from ibidem.repo.local_settings import LocalSettings
    from ibidem.repo.operation_log import OperationLog
    from ibidem.repo.signing.key import SigningKey
    from ibidem.repo.signing.keyring import Keyring
    from ibidem.repo.state import State
    from ibidem.store.protocol import Store

T = TypeVar("T")
FOLLOWED_BLOCKS_MAX = 1_024
"""A commit of more blocks is indexed only when a question is asked: indexing it at once would make
the commit noticeably slower.
"""


class SearchIndex:
    """The index of one repository."""

    def __init__(
        self,
        store: Store,
        folder: Path | None,
        operation_log: OperationLog,
        head_in: Callable[[State | None], tuple[RootCid, Commit | None]],
        progress: Progress,
        keyring: Callable[[], Keyring],
        settings: LocalSettings,
    ) -> None:
        """Opens nothing.

        Args:
            store: of the repository.
            folder: of the repository, which has the folder of the index; None in memory.
            operation_log: gives the state that a call works on if it has none.
            head_in: returns the root at the head in a state, by default the newest, and its commit.
            progress: called while a snapshot is built or advanced.
            keyring: returns the keys whose segments are accepted.
            settings: say when the index is built, and how much is kept.
        """
        self._store = store
        self._keyring = keyring
        self._settings = settings
        self._folder = None if folder is None else folder / "index"
        self._operation_log = operation_log
        self._head_in = head_in
        self._progress = progress
        self.tuning: Tuning | None = None
        """Of an index that is opened from now on; None for what was measured to be best."""
        self._open: tuple[View, Index] | None = None
        """With the newest view for which it was requested, whose erasures it excludes."""
        self.followed_blocks_max = FOLLOWED_BLOCKS_MAX
        """Blocks of a commit up to which it is indexed at once, if at all."""
        self._is_queried = False
        """Whether a question was asked since the last commit through this object."""
        self._heads: tuple[TreeCid, dict[bytes, RootCid]] = EMPTY_TREE, {}
        """The roots of the branches and tags in the refs last seen, by the key of the ref."""

    @property
    def current(self) -> Index:
        """The index for the newest view."""
        return self._after(self._operation_log.state().view)

    @property
    def folder(self) -> Path | None:
        """The folder of the index files, a different one after each erasure; None in memory."""
        return self._folder_for(self._operation_log.state().view)

    def snapshot(
        self,
        root_cid: RootCid,
        commit: Commit | None,
        *,
        state: State | None = None,
        is_question: bool = True,
    ) -> Snapshot:
        """Returns the index snapshot of a root.

        Args:
            root_cid: the root.
            commit: one that has the root; the snapshots of its parents are similar.
            state: the state that the call works on; by default the newest.
            is_question: False for what a transaction looks up: more questions are not expected.
        """
        self._is_queried = self._is_queried or is_question
        near = self._parents(commit)
        return self._work(lambda index: index.snapshot(root_cid, near=near), state)

    def after_commit(self, block_count: int, state: State | None = None) -> None:
        """Updates the index to the head after a small commit, if a question was asked since the
        last one. So questions between commits need not wait, and a process that only commits does
        not index. After any commit, if the repository is so configured.

        Args:
            block_count: of the commit.
            state: the one that it made; by default the newest.
        """
        is_expected = self._is_queried and block_count <= self.followed_blocks_max
        # The commit is complete even if this fails; the next question reports the error.
        with suppress(Exception):
            is_always = self._settings.is_indexed_at_commit
            if not is_expected and not is_always:
                return
            self._is_queried = False
            state = state or self._operation_log.state()
            root_cid, commit = self._head_in(state)
            near = self._parents(commit)
            self._work(
                lambda index: (
                    index.snapshot(root_cid, near=near)
                    if is_always
                    else index.prepare(root_cid, near=near)
                ),
                state,
            )

    def rebuild(self, root_cid: RootCid, *, compact: bool) -> None:
        """Builds the index of a root from scratch; `compact` merges the small segments and drops
        the dead rows of the existing one instead."""
        self._work(
            lambda index: index.compact(root_cid) if compact else index.build(root_cid), None
        )

    def verify(self, root_cid: RootCid) -> list[str]:
        """Builds the snapshot of a root again and returns what differs, a sentence each."""
        return self._work(lambda index: index.verify(root_cid), None)

    def written_roots(self) -> list[RootCid]:
        """Returns the roots whose snapshots are on disk, as `Index.remembered`."""
        return self._work(lambda index: index.remembered(), None)

    def snapshots(self) -> list[SnapshotSize]:
        """Returns the snapshots that are kept, as `Index.snapshots`."""
        return self._work(lambda index: index.snapshots(), None)

    def remember_derived(self, index: Index, root_cid: RootCid, name: str, data: bytes) -> None:
        """Writes what was computed from the snapshot of a root beside it; see
        `Index.remember_derived`.

        Args:
            index: the one that was `current` before the data was computed.
        """
        index.retention = self._retention(self._operation_log.state())
        index.remember_derived(root_cid, name, data)
        self._after_write(index)

    def share(self, root_cid: RootCid, key: SigningKey) -> int:
        """Gives the segments of a root to other machines; returns how many bytes were put."""
        put = self._work(lambda index: index.share(root_cid, key.sign_index), None)
        self.sweep_shared()  # also what was just put, if an erasure came first
        return put

    def sweep_shared(self) -> None:
        """Deletes the shared segments from before the newest erasure: they may hold erased text.

        Raises:
            StorageError: the storage fails.
        """
        if isinstance(self._store, SupportsSharedFiles):
            from ibidem.index.shared import delete_shared

            scope = _scope(self._operation_log.state().view)
            delete_shared(self._store.shared_files, except_for=scope)

    def drop(self) -> None:
        """Closes the index; files stay, and none is added."""
        if self._open is not None:
            self._open[1].wait()
        self._open = None

    def _after(self, view: View) -> Index:
        """Returns the index for a view, or for a newer one requested before."""
        if self._open is None or self._open[0].seq < view.seq:
            if self._open is not None and self._open[0].erasures == view.erasures:
                self._open = view, self._open[1]
                return self._open[1]
            # An index built before an erasure contains erased text: no process keeps using it.
            from ibidem.index.index import Index
            from ibidem.index.tuning import TUNING

            self.drop()
            self._sweep(view)
            folder = self._folder_for(view)
            opened = Index(
                folder,
                self._store,
                tuning=self.tuning or TUNING,
                progress=self._progress,
                shared=self._shared(folder, view),
            )
            self._open = view, opened
        return self._open[1]

    def _shared(self, folder: Path | None, view: View) -> SharedIndex | None:
        if folder is None or not isinstance(self._store, SupportsSharedFiles):
            return None
        from ibidem.index.shared import SharedIndex

        return SharedIndex(
            folder / SHARED, self._store.shared_files, _scope(view), self._is_accepted
        )

    def _is_accepted(self, block: bytes, signature: bytes) -> bool:
        """Returns whether a manifest is signed by a key that this copy trusts."""
        from ibidem.repo.signing.key import PUBLIC_BYTES, index_signer

        key = self._keyring().trust().of(signature[:PUBLIC_BYTES])
        if key is None or key.is_revoked:
            return False
        return index_signer(block, signature) == key.public

    def _folder_for(self, view: View) -> Path | None:
        if self._folder is None or view.erasures == EMPTY_TREE:
            return self._folder
        return self._folder / f"after-{_scope(view)}"

    def _work(self, work: Callable[[Index], T], state: State | None) -> T:
        state = state or self._operation_log.state()
        index = self._after(state.view)
        index.retention = self._retention(state)
        write_count = index.write_count
        try:
            return work(index)
        finally:
            if index.write_count != write_count:
                self._after_write(index)

    def _after_write(self, index: Index) -> None:
        """Sweeps away what was just written to an index where an erasure came first, whose own
        sweep may have been before. Where the erasure comes after this, so does its sweep."""
        view = self._operation_log.state().view
        if self._after(view) is not index:  # perhaps another thread has left it before this
            index.wait()
            self._sweep(view)

    def _sweep(self, view: View) -> None:
        """Removes the files of indexes from before the erasures of a view."""
        if view.erasures != EMPTY_TREE and self._folder is not None:
            with suppress(OSError):  # the erasing process removes them and reports errors
                sweep_index(self._folder, self._folder_for(view))

    def _retention(self, state: State) -> Retention:
        """Returns which snapshots stay on disk."""
        from ibidem.index.retention import Retention

        # The newest heads: those of the state may have been collected.
        heads = partial(
            self._operation_log.retry_if_collected, lambda newest: self._head_roots(newest.view)
        )
        return Retention(self._current_roots(state), heads, self._settings.index_budget)

    def _current_roots(self, state: State) -> frozenset[RootCid]:
        """Returns the root at the head; none if it cannot be read, since another may be asked."""
        try:
            return frozenset([self._head_in(state)[0]])
        except UNREADABLE:
            return frozenset()

    def _head_roots(self, view: View) -> Collection[RootCid]:
        """Returns the roots of all branches and tags in a view; reads what changed since the last
        call."""
        before, roots = self._heads
        try:
            changes = list(diff(self._store, before, view.refs))
        except NotFoundError:  # the old refs were collected
            roots, changes = {}, list(diff(self._store, EMPTY_TREE, view.refs))
        roots = dict(roots)
        for key, _, cid in changes:
            roots.pop(key, None)
            if cid is None:
                continue
            with suppress(*UNREADABLE):  # then it cannot be asked either
                ref = Ref.decode(self._store.get(cid))
                if ref.name.startswith((HEADS, TAGS)):
                    roots[key] = Commit.decode(self._store.get(ref.target)).root
        self._heads = view.refs, roots
        return frozenset(roots.values())

    def _parents(self, commit: Commit | None) -> list[RootCid]:
        """Returns the roots of a commit's parents that can be read: they are only hints."""
        found = []
        for parent in () if commit is None else commit.parents:
            with suppress(*UNREADABLE):
                found.append(Commit.decode(self._store.get(parent)).root)
        return found


def _scope(view: View) -> str:
    """Returns a digest of the erasures that an index knows, for names of folders."""
    return str(view.erasures)[-16:]
