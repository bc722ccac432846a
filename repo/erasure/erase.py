"""Erases nodes: removes them from every branch, records the erasure, and destroys every byte of
them.

First, one operation moves all branches that contain the nodes to commits without them, with
tombstones in their place, and adds the erasures to the view. From then on no store accepts the
blocks again. Then derived data is destroyed, then the blocks, then what the file still holds of
deleted blocks. The cell `erasing` is set until that is done, so a crash or a disk error in between
leaves unfinished work, not a hidden copy: `finish` continues it, and is called by the next open,
the next erasure (also of the same nodes) and the next `gc`.

Commits, roots and trees stay, and verify as before. `docs/how-to/forget.md` lists what an erasure
cannot reach: copies elsewhere, and the fact that a CID confirms a guess of a short text.

Spec: format 5.14.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from typing import TYPE_CHECKING

from ibidem.objects.block import empty
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid, ErasureCid, TreeCid
from ibidem.objects.erasure import Erasure
from ibidem.objects.errors import (
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.objects.tree import Tree, mutate
from ibidem.objects.view import Ref
from ibidem.repo import refs
from ibidem.repo.argument_checks import check_ids
from ibidem.repo.arguments import CommitInfo
from ibidem.repo.erasure.destroy import Known, finish
from ibidem.repo.erasure.find_copies import Copies, find_copies, with_parts
from ibidem.repo.erasure.guard import Erased, index_of, read_erased
from ibidem.repo.erasure.local_files import settings_quoting
from ibidem.repo.maintenance.cleaned import cleaned_commit
from ibidem.repo.operation_log import ERASES
from ibidem.repo.state import ERASING, ERASING_CELL, STAGE_CELL
from ibidem.repo.transaction import stage
from ibidem.repo.transaction.changeset import between
from ibidem.store.protocol import PARTIAL_CELL

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.signing.key import SigningKey
    from ibidem.repo.state import State
    from ibidem.store.protocol import Store

MOVED = ("heads/", "notes/")
"""Refs that are moved to commits without the nodes; tags and remote-tracking refs stay."""
CIDS_MAX = 20_000
"""Maximal number of CIDs in one erasure, which must fit into a block."""


_NAMED_MAX = 3
"""How many nodes the message of a commit names."""


@record
class EraseReport:
    """What an erasure destroyed, and what it could not."""

    nodes: tuple[NodeId, ...]
    erasures: tuple[ErasureCid, ...]
    block_count: int
    """Blocks destroyed: versions, contents, vectors, edges, records that quoted the nodes."""
    commits: Mapping[str, CommitCid] = field(default_factory=empty)
    """The commit that removed the nodes, by full name of the ref."""
    shared: tuple[Cid, ...] = ()
    """Content and vectors that other nodes have too; they stay."""
    elsewhere: tuple[tuple[str, Cid], ...] = ()
    """Kind and CID of blocks that contain the same text and stay, such as another node or a
    message.
    """
    settings: tuple[str, ...] = ()
    """Names of settings files that contain the same text and stay, such as `local/remotes.json`."""


def erase(
    repository: Core,
    ids: Iterable[NodeId],
    *,
    reason: str = "",
    author: str = "",
    time: int | None = None,
    key: SigningKey | None = None,
) -> EraseReport:
    """Erases nodes here, from every branch and every file of the repository.

    Args:
        repository: other processes may read and write it at the same time.
        ids: of the nodes; every version of them is destroyed, on any branch. Of a document
            that was ingested, all parts that it ever had are destroyed too.
        reason: recorded in the tombstones and the erasures, readable by everybody.
        key: signs the erasures, so that other copies can carry them out.

    Raises:
        NotFoundError: a node is nowhere in the store, and was not erased before.
        InvalidInputError: the stage changes one of the nodes.
        StorageError: a disk error. If the erasure was published, the rest is destroyed by erasing
            again, by the next open or by `gc`.
    """
    given = set(check_ids("ids", ids))
    if not given:
        raise InvalidInputError("ids: got none, expected one or more")
    now = repository.operation_log.time(time)
    work = _Work(repository, dict.fromkeys(given, reason), author, now, key)
    return work.run(())


def carry_out(
    repository: Core, erasures: Sequence[Erasure], *, author: str = "", time: int | None = None
) -> EraseReport | None:
    """Carries out erasures from elsewhere, whose signatures the caller has accepted; returns None
    if all of them are known here.

    What is here of the nodes and they do not name, such as later parts of a document, is erased in
    the name of this copy, with its key if it has one.

    Spec: sync 8.
    """
    known = {erasure.cid for erasure in repository.guard.erased().erasures}
    given = [erasure for erasure in erasures if erasure.cid not in known]
    if not given:
        return None
    reasons = {erasure.node: erasure.reason for erasure in given}
    now = repository.operation_log.time(time)
    key = repository.signing_key or repository.keyring.chosen(None)
    work = _Work(repository, reasons, author, now, key)
    return work.run(given)


class _Work:
    """One erasure, retried until no other writer interferes."""

    def __init__(
        self,
        repository: Core,
        named: Mapping[NodeId, str],
        author: str,
        time: int,
        key: SigningKey | None,
    ) -> None:
        self._repository = repository
        self._operations = repository.operation_log
        self._store: Store = repository.store
        self._named = named
        self._reasons = named
        """By node, the parts of the named ones included."""
        self._author, self._time = author, time
        self._key = key

    @property
    def _message(self) -> str:
        more = len(self._reasons) - _NAMED_MAX
        named = "erase " + ", ".join(map(str, islice(self._reasons, _NAMED_MAX)))
        return named + (f" and {more:,} more" if more > 0 else "")

    def run(self, given: Sequence[Erasure]) -> EraseReport:
        copies, erasures, commits, known = self._operations.retry(
            lambda state: self._attempt(state, given), is_queued=False
        )
        finish(self._repository, known)
        folder = self._repository.folder
        return EraseReport(
            tuple(self._reasons),
            tuple(erasure.cid for erasure in erasures),
            sum(map(len, copies.cids.values())),
            commits,
            tuple(sorted(copies.shared)),
            tuple(copies.elsewhere),
            () if folder is None else tuple(settings_quoting(folder, copies)),
        )

    def _attempt(
        self, state: State, given: Sequence[Erasure]
    ) -> tuple[Copies, list[Erasure], dict[str, CommitCid], Known | None]:
        """Publishes the erasure and returns the copies, the erasures, the commits by ref, and what
        is left to destroy. The last is None if there may be more than this erasure: the remains of
        an earlier one, which are destroyed together with it.
        """
        # In each attempt, since another writer may have added parts. An erasure from elsewhere
        # names only those that were known there.
        owners = with_parts(self._store, self._named.keys())
        self._reasons = {id_: self._named[owner] for id_, owner in sorted(owners.items())}
        fields = self._repository.graph(state=state).config.fields
        erased = read_erased(self._store, state.view.erasures)
        copies = find_copies(self._store, set(self._reasons), fields)
        self._check(state, copies, erased, given)
        pending = state.cells.get(ERASING_CELL)
        erasures, commits, tree = self._publish(state, copies, erased, given, pending)
        return copies, erasures, commits, Known(copies, tree) if pending is None else None

    def _check(
        self, state: State, copies: Copies, erased: Erased, given: Sequence[Erasure]
    ) -> None:
        for id_ in self._reasons:
            if not copies.cids[id_.raw] and id_.raw not in erased.nodes and not given:
                raise NotFoundError(
                    f"node {id_} is nowhere in this repository", hint="repo query lists nodes"
                )
        staged = stage.read(self._store, state)
        if staged.is_empty:
            return
        changed = between(self._store, staged.begun.root, staged.root).trees
        keys = {key for entries in changed.values() for key in entries}
        if keys & {*copies.cids, *copies.edges}:
            raise InvalidInputError(
                "stage: it changes what is to be erased",
                hint="run 'repo commit' or 'repo undo --staged' first",
            )

    def _publish(
        self,
        state: State,
        copies: Copies,
        erased: Erased,
        given: Sequence[Erasure],
        pending: bytes | None,
    ) -> tuple[list[Erasure], dict[str, CommitCid], TreeCid]:
        """Returns the erasures of the nodes, the commits by ref, and the tree of all erasures.

        Publishes nothing if everything was erased before and no branch has the nodes.
        """
        new = [*given, *self._erasures(copies, [*given, *erased.erasures])]
        found = [*new, *(each for each in erased.erasures if each.node in self._reasons)]
        buffer = WriteBatch(self._store)
        staged, partial = state.cells.get(STAGE_CELL), state.cells.get(PARTIAL_CELL)
        gone = index_of(tuple(found))
        # Blocks erased before can no longer show which edges there were.
        edges = None if len(found) > len(new) else copies.edges
        commits: dict[str, CommitCid] = {}
        cleaned: dict[CommitCid, CommitCid] = {}
        for ref in _refs(self._store, state):
            if ref.name.startswith(MOVED):
                target = CommitCid(ref.target.raw)
                if target not in cleaned:
                    cleaned[target] = self._without(target, gone, edges, buffer)
                if cleaned[target] != target:
                    commits[ref.name] = cleaned[target]
        if not new and not commits:
            return found, commits, state.view.erasures
        entries: dict[bytes, Cid | None] = {}
        for erasure in new:
            buffer.put(erasure.cid, erasure.encode())
            entries[erasure.key] = erasure.cid
        view = replace(
            state.view,
            refs=refs.changed(state.view, commits, buffer),
            erasures=mutate(state.view.erasures, entries, buffer),
        )
        self._operations.publish(
            state,
            view,
            buffer,
            author=self._author,
            time=self._time,
            description=self._message,
            # What others stage, or put in part, may be of the nodes: it moves its cell, no head.
            cells={
                ERASING_CELL: (pending, ERASING),
                STAGE_CELL: (staged, staged),
                PARTIAL_CELL: (partial, partial),
            },
            extra={ERASES: found[0].cid},
        )
        return found, commits, view.erasures

    def _erasures(self, copies: Copies, known: Sequence[Erasure]) -> list[Erasure]:
        """Returns new erasures for everything that the known ones do not name."""
        named = {cid for erasure in known for cid in erasure.cids}
        made = []
        for id_, reason in self._reasons.items():
            cids = sorted(copies.cids[id_.raw] - named)
            for start in range(0, len(cids), CIDS_MAX):
                part = tuple(Cid(cid.raw) for cid in cids[start : start + CIDS_MAX])
                erasure = Erasure(id_, part, reason, self._author, self._time)
                made.append(erasure if self._key is None else self._key.sign(erasure))
        return made

    def _without(
        self, cid: CommitCid, erased: Erased, edges: Collection[bytes] | None, buffer: WriteBatch
    ) -> CommitCid:
        """Returns a commit on top of one without the nodes; the same if it has none of them."""
        signature = CommitInfo(self._author, self._message, self._time, key=self._key)
        return cleaned_commit(buffer, cid, erased, signature, self._time, edges=edges)


def _refs(store: Store, state: State) -> list[Ref]:
    return [Ref.decode(store.get(cid)) for _, cid in Tree(store, state.view.refs).items()]
