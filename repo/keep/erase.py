"""Erases nodes: takes them out of every branch, records that, and destroys every byte of them.

First one operation moves all branches that have the nodes to commits without them, with tombstones
in their place, and puts the erasures into the view. From then on no store takes the blocks back.
Then what was derived is destroyed, then the blocks, then what the file still holds of them. The
cell `erasing` stands until that is done, so that a process that dies in between leaves work, not a
secret: `finish` goes on with it.

Commits, roots and trees stay, and verify as before. What cannot be reached is said in
`docs/how-to/forget.md`: copies elsewhere, and that a CID confirms a guess of a short text.

Spec: format 5.14.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from ibidem.objects.block import empty
from ibidem.objects.blocks import Buffer
from ibidem.objects.cid import Cid, CommitCid, ErasureCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.erasure import Erasure
from ibidem.objects.errors import (
    ConflictError,
    ErrorKind,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.ids import NodeId
from ibidem.objects.links import links
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import Tree, mutate
from ibidem.objects.view import Ref
from ibidem.repo import refs
from ibidem.repo.checks import check_id
from ibidem.repo.edits import Edits, applied, between
from ibidem.repo.keep.destroy import Known, finish
from ibidem.repo.keep.log import ERASING, ERASING_CELL
from ibidem.repo.keep.traces import Traces, find_traces
from ibidem.repo.operations import (
    ERASES,
    HEAD_CELL,
    RETRIES_MAX,
    is_overtaken,
    lost_every_race,
)

if TYPE_CHECKING:
    from ibidem.repo.operations import State
    from ibidem.repo.reader import Reader
    from ibidem.repo.sign.key import SigningKey
    from ibidem.store.protocol import Store

MOVED = ("heads/", "notes/")
"""Refs that are moved to commits without the nodes; tags and what a fetch saw stay."""
CIDS_MAX = 20_000
"""CIDs in one erasure: it must fit into a block."""


@record
class EraseReport:
    """What an erasure destroyed, and what it could not."""

    nodes: tuple[NodeId, ...]
    erasures: tuple[ErasureCid, ...]
    block_count: int
    """Blocks destroyed: versions, contents, vectors, edges, records that quoted the nodes."""
    commits: Mapping[str, CommitCid] = field(default_factory=empty)
    """By full name of the ref, the commit that took the nodes out."""
    shared: tuple[Cid, ...] = ()
    """Content and vectors that other nodes have too; they stay."""
    elsewhere: tuple[tuple[str, Cid], ...] = ()
    """Kind and CID of blocks that say the same and stay, such as another node or a message."""


def erase(
    repository: Reader,
    ids: Iterable[NodeId],
    *,
    reason: str = "",
    author: str = "",
    time: int | None = None,
    key: SigningKey | None = None,
) -> EraseReport:
    """Erases nodes here, from every branch and every file of the repository.

    Args:
        repository: others may read and write it meanwhile.
        ids: of the nodes; every version of them goes, on whatever branch.
        reason: stands in the tombstones and the erasures, for all to read.
        key: signs, so that other copies can carry it out.

    Raises:
        NotFoundError: a node is nowhere in the store.
        InvalidInputError: the stage changes one of the nodes.
    """
    wanted = sorted({check_id("ids", id_, NodeId) for id_ in ids}, key=lambda id_: id_.raw)
    if not wanted:
        raise InvalidInputError("ids: got none, expected one or more")
    work = _Work(repository, wanted, reason, author, repository._operations.time(time), key)
    return work.run(())


def carry_out(
    repository: Reader, erasures: Sequence[Erasure], *, author: str = "", time: int | None = None
) -> EraseReport | None:
    """Carries out erasures from elsewhere, whose signatures the caller has accepted; None where all
    of them are known here."""
    known = {erasure.cid for erasure in repository.guard.erased().erasures}
    given = [erasure for erasure in erasures if erasure.cid not in known]
    if not given:
        return None
    wanted = sorted({erasure.node for erasure in given}, key=lambda id_: id_.raw)
    now = repository._operations.time(time)
    work = _Work(repository, wanted, given[0].reason, author, now, None)
    return work.run(given)


class _Work:
    """One erasure, tried until no other writer comes between."""

    def __init__(
        self,
        repository: Reader,
        ids: Sequence[NodeId],
        reason: str,
        author: str,
        time: int,
        key: SigningKey | None,
    ) -> None:
        self._repository = repository
        self._operations = repository._operations
        self._store: Store = repository.store
        self._ids = ids
        self._reason, self._author, self._time = reason, author, time
        self._key = key

    def run(self, given: Sequence[Erasure]) -> EraseReport:
        for _ in range(RETRIES_MAX):
            head = self._store.cell(HEAD_CELL)
            try:
                state = self._operations.state()
                fields = self._repository.at().config.fields
                traces = find_traces(self._store, set(self._ids), fields)
                self._check(traces, given)
                pending = self._store.cell(ERASING_CELL)
                erasures, commits, tree = self._publish(state, traces, given, pending)
            except ConflictError as error:
                if error.kind is not ErrorKind.HEAD_MOVED:
                    raise
                continue
            except NotFoundError as error:
                if not is_overtaken(self._store, head, error):
                    raise
                continue
            # What somebody else has begun, and may have left, is destroyed with the rest.
            finish(self._repository, Known(traces, tree) if pending is None else None)
            return EraseReport(
                tuple(self._ids),
                tuple(erasure.cid for erasure in erasures),
                sum(map(len, traces.cids.values())),
                commits,
                tuple(sorted(traces.shared)),
                tuple(traces.elsewhere),
            )
        raise lost_every_race()

    def _check(self, traces: Traces, given: Sequence[Erasure]) -> None:
        for id_ in self._ids:
            if not traces.cids[id_.raw] and not given:
                raise NotFoundError(
                    f"node {id_} is nowhere in this repository", hint="repo query lists nodes"
                )
        from ibidem.repo import stage

        staged = stage.read(self._operations, self._operations.state().view.head)
        if staged.is_empty:
            return
        changed = between(self._store, staged.begun.root, staged.root).trees
        keys = {key for entries in changed.values() for key in entries}
        if keys & {*traces.cids, *traces.edges}:
            raise InvalidInputError(
                "stage: it changes what is to be erased",
                hint="run 'repo commit' or 'repo unstage' first",
            )

    def _publish(
        self, state: State, traces: Traces, given: Sequence[Erasure], pending: bytes | None
    ) -> tuple[list[Erasure], dict[str, CommitCid], TreeCid]:
        buffer = Buffer(self._store)
        commits: dict[str, CommitCid] = {}
        for ref in _refs(self._store, state):
            if ref.name.startswith(MOVED):
                moved = self._without(ref, traces, buffer)
                if moved is not None:
                    commits[ref.name] = moved
        erasures = [*given, *self._erasures(traces, given)]
        entries: dict[bytes, Cid | None] = {}
        for erasure in erasures:
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
            description="erase " + ", ".join(str(id_) for id_ in self._ids[:3]),
            cells={ERASING_CELL: (pending, ERASING)},
            extra={ERASES: erasures[0].cid} if erasures else None,
        )
        return erasures, commits, view.erasures

    def _erasures(self, traces: Traces, given: Sequence[Erasure]) -> list[Erasure]:
        """Returns erasures of our own for everything that those given do not name."""
        named = {cid for erasure in given for cid in erasure.cids}
        made = []
        for id_ in self._ids:
            cids = sorted(traces.cids[id_.raw] - named)
            for start in range(0, len(cids), CIDS_MAX):
                part = tuple(Cid(cid.raw) for cid in cids[start : start + CIDS_MAX])
                erasure = Erasure(id_, part, self._reason, self._author, self._time)
                made.append(erasure if self._key is None else self._key.sign(erasure))
        return made

    def _without(self, ref: Ref, traces: Traces, buffer: Buffer) -> CommitCid | None:
        """Returns a commit on a ref's without the nodes; None where it has nothing of them."""
        commit = Commit.decode(self._store.get(ref.target))
        root = Root.decode(self._store.get(commit.root))
        edits = removal(buffer, root, traces, self._reason)
        if edits is None:
            return None
        block = applied(root, edits, buffer).encode()
        root_cid = Root.CID.of(block)
        buffer.put(root_cid, block)
        made = Commit(
            root_cid,
            (ref.target,),
            author=self._author,
            time=self._time,
            message="erase " + ", ".join(str(id_) for id_ in self._ids),
        )
        if self._key is not None:
            made = self._key.sign(made)
        buffer.put(made.cid, made.encode())
        return made.cid


def _refs(store: Store, state: State) -> list[Ref]:
    return [Ref.decode(store.get(cid)) for _, cid in Tree(store, state.view.refs).items()]


def removal(buffer: Buffer, root: Root, traces: Traces, reason: str) -> Edits | None:
    """Returns the edits that take nodes out of a root and leave tombstones; None for nothing."""
    edits = Edits()
    own = {cid.raw for cids in traces.cids.values() for cid in cids}

    def drop(family: tuple[str, str], tree_cid: Cid, keys: Iterable[bytes]) -> None:
        tree = Tree(buffer, type(root.nodes)(tree_cid.raw))
        for key in keys:
            if key in tree:
                edits.of(family)[key] = None

    drop(("nodes", ""), root.nodes, traces.cids)
    drop(("edges", ""), root.edges, traces.edges)
    for name in ("vectors", "sparse"):
        for model, tree_cid in getattr(root, name).items():
            drop((name, model), tree_cid, traces.cids)
    for key, cid in Tree(buffer, root.conflicts).items():
        about = {link.raw for link in links(buffer.get(cid))}
        if key in traces.cids or key in traces.edges or about & own:
            edits.of(("conflicts", ""))[key] = None
    if not any(edits.trees.values()):
        return None
    tombstone = Tombstone(reason)
    buffer.put(tombstone.cid, tombstone.encode())
    for key in edits.of(("nodes", "")):
        edits.of(("tombstones", ""))[key] = tombstone.cid
    return edits
