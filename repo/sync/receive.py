"""Receives blocks and refs: quarantine, inspection, and one step that makes all of it visible.

A refused transfer leaves no trace: the store, the refs and the log are as before, except that the
authorised erasures of a fetch are carried out. An accepted one becomes visible at once, blocks and
refs in one durable write, which succeeds only if the refs are unchanged since the decision.

Spec: sync 5, 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.erasure import Erasure
from ibidem.objects.errors import ConflictError, CorruptError, ErrorKind, InvalidInputError
from ibidem.objects.gc_pause import gc_paused
from ibidem.repo import refs
from ibidem.repo.event_log import damaged_events, is_notes
from ibidem.repo.history.ancestry import Reachable, is_ancestor
from ibidem.repo.signing.verify import check_signed
from ibidem.repo.sync.erasures import (
    SentErasures,
    check_forgotten,
    is_erased_in,
    judged,
    trust_of,
)
from ibidem.repo.sync.have_set import HaveSet, have_set
from ibidem.repo.sync.inspection import Accepted, Inspection
from ibidem.repo.sync.messages import Opened, Push, Update
from ibidem.repo.sync.missing_blocks import records_behind
from ibidem.repo.sync.quarantine import Quarantine, missing_from_pack
from ibidem.repo.sync.report import Move, RefMove

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ibidem.objects.blocks import Source
    from ibidem.objects.view import Ref, View
    from ibidem.repo.core import Core
    from ibidem.repo.state import State
    from ibidem.repo.sync.car import CarLimits, Readable

Moves = list[RefMove]


class Intake:
    """Received blocks that passed inspection, ready to be published with refs."""

    def __init__(self, repository: Core, quarantine: Quarantine) -> None:
        self._repository = repository
        self._operations = repository.operation_log
        self._quarantine = quarantine
        self.source: Source = quarantine.over(self._operations.store)
        """Also reads in the quarantine."""
        self.accepted = Accepted()

    def inspect(
        self, targets: Iterable[Cid], *, is_erased: Callable[[Cid], bool] | None = None
    ) -> None:
        """Checks everything reachable from the targets that is not here; raises as
        `Inspection.run`.

        Args:
            targets: of all refs that were sent, each of the class that the ref's name requires.
                Equal ones are not left out, since CIDs of different classes may be equal.
            is_erased: whether a block may be missing; by default, if it was erased here.
        """
        store = self._operations.store
        known = have_set(self._operations)
        allowed = is_erased_in(self._repository) if is_erased is None else is_erased
        inspection = Inspection(
            self._quarantine,
            store,
            known,
            allowed,
            self._repository.edge_lookup.incident_to,
            self._repository.progress,
        )
        with gc_paused():
            self.accepted = inspection.run(targets)

    def publish(
        self,
        plan: Callable[[HaveSet, WriteBatch], Moves],
        *,
        author: str,
        time: int | None,
        description: str,
        head: str | None = None,
    ) -> Moves:
        """Moves refs as planned, together with the accepted blocks.

        Args:
            plan: given what is here now, returns the refs to move, and may put blocks of its own;
                called again after a lost race.
            author: of the operation.
            time: of the operation; by default the clock's.
            description: of the operation.
            head: the branch to make current if there is no ref yet.
        """
        moves: Moves = []

        def make(state: State, buffer: WriteBatch) -> View | None:
            known = HaveSet(self._operations.store, state.view)
            for cid in self.accepted.built_on:
                if not known.has(cid):
                    raise ConflictError(
                        f"block {cid} was here and is no longer",
                        kind=ErrorKind.HEAD_MOVED,
                        hint="copy again",
                    )
            work = WriteBatch(self.source)
            moves[:] = plan(known, work)
            buffer.new.update(work.new)
            changes = {move.name: move.after for move in moves if move.before != move.after}
            if not changes:
                return None
            check_moves(self._repository, work, known, moves)
            return replace(
                state.view,
                refs=refs.changed(state.view, changes, buffer),
                head=state.view.head if head is None or known.refs else head,
            )

        self._operations.change(
            make,
            author=author,
            time=time,
            description=description,
            more=self._quarantine.accept(
                lambda cid: cid.raw in self.accepted.cids,
                is_all=len(self.accepted.cids) == len(self._quarantine),
            ),
        )
        return moves


@contextmanager
def intake(
    repository: Core,
    blocks: Iterable[tuple[Cid, bytes]],
    targets: Iterable[Cid],
    sent: SentErasures | None = None,
    *,
    is_unseen: bool = False,
) -> Iterator[Intake]:
    """Takes blocks into quarantine and inspects them; on exit, the quarantine is emptied.

    Args:
        repository: receives the blocks.
        blocks: the received blocks.
        targets: as for `Intake.inspect`.
        sent: erasures that will be carried out here: the blocks they name may be missing.
        is_unseen: whether nobody else can open the repository, so that blocks may wait in it.

    Raises:
        CorruptError, FormatError, NotFoundError: the received data is incomplete or invalid.
    """
    with Quarantine(repository, is_unseen=is_unseen) as quarantine:
        quarantine.take(blocks)
        found = Intake(repository, quarantine)
        found.inspect(targets, is_erased=is_erased_in(repository, sent))
        yield found


def check_moves(repository: Core, source: Source, known: HaveSet, moves: Moves) -> None:
    """Raises for a move of a ref that is not allowed. Every procedure that moves refs to targets
    from elsewhere calls this: for a fetch, and again for the merge that follows it.

    Raises:
        InvalidInputError: kind `unsigned`: a commit without a good signature on a ref that requires
            one.
        CorruptError: a block on a ref of notes is no event.
    """
    check_policy(
        repository,
        source,
        known,
        {move.name: move.after for move in moves if move.before != move.after},
    )
    check_notes(source, moves)


def check_policy(
    repository: Core, source: Source, known: HaveSet, moved: Mapping[str, Cid | None]
) -> None:
    """Raises for a commit without a good signature on a ref that requires one.

    Fetching alone does not approve commits: they count as known only if they are reachable from
    refs that require signatures themselves.

    Raises:
        InvalidInputError: kind `unsigned`.
    """
    trust = trust_of(repository)
    if not trust.signed_refs:
        return
    let_in = [
        ref.target
        for name, ref in known.refs.items()
        if name.startswith(trust.signed_refs) and isinstance(ref.target, CommitCid)
    ]
    targets = [(name, cid) for name, cid in moved.items() if isinstance(cid, CommitCid)]
    check_signed(source, trust, targets, Reachable(repository.store, let_in).__contains__)


def check_notes(source: Source, moves: Moves) -> None:
    """Raises `CorruptError` for a ref of notes that moves to a block that is no event."""
    for move in moves:
        if is_notes(move.name) and isinstance(move.after, CommitCid):
            before = move.before if isinstance(move.before, CommitCid) else None
            for cid, said in damaged_events(source, move.after, before):
                raise CorruptError(f"ref {move.name}: node {cid}: {said}")


def sent_erasures(repository: Core, quarantine: Quarantine, cids: Iterable[Cid]) -> SentErasures:
    """Returns the erasures received with other blocks, judged; raises if one is missing."""
    found: list[Erasure] = []
    for cid in cids:
        if cid not in quarantine:
            raise missing_from_pack(cid, "erasure")
        found.append(Erasure.decode(quarantine[cid]))
    return judged(repository, found)


def receive_push(repository: Core, push: Push, blocks: Iterable[tuple[Cid, bytes]]) -> Moves:
    """Moves refs as requested by a push, all or none.

    Raises:
        ConflictError: kind `head-moved`: a ref is not where the sender saw it; kind
            `not-fast-forward`: the new target does not descend from the old one.
        InvalidInputError: kind `forgotten`: a state has a node that was erased here.
        CorruptError, FormatError, NotFoundError: the received data is incomplete or invalid.
    """
    with Quarantine(repository) as quarantine:
        quarantine.take(blocks)
        return _moved(repository, quarantine, push)


def receive_container(
    repository: Core, stream: Readable, *, limits: CarLimits | None = None
) -> Moves:
    """Moves refs as requested by a push in one file; raises as `receive_push`."""
    opened = Opened(stream, limits=limits)
    with Quarantine(repository) as quarantine:
        quarantine.take(opened.blocks())
        return _moved(repository, quarantine, opened.message(Push))


def _moved(repository: Core, quarantine: Quarantine, push: Push) -> Moves:
    if not push.updates and not push.erasures:
        raise InvalidInputError("push: got no ref to move, expected at least one")
    found = Intake(repository, quarantine)
    sent = sent_erasures(repository, quarantine, push.erasures)
    found.inspect(
        (update.target for update in push.updates.values() if update.target is not None),
        is_erased=is_erased_in(repository, sent),
    )

    def plan(known: HaveSet, _: WriteBatch) -> Moves:
        moves = [
            _checked(found.source, known.refs.get(name), name, update)
            for name, update in push.updates.items()
        ]
        targets = {move.name: move.after for move in moves if move.before != move.after}
        check_forgotten(found.source, repository.guard.erased(), targets)
        current = push.updates.get(known.head)
        if current is not None and current.target is None:
            raise InvalidInputError(
                f"ref {known.head}: it is the current branch there, which is not deleted"
            )
        return moves

    names = ", ".join(sorted(push.updates)[:3])
    moves = found.publish(plan, author="", time=None, description=f"receive {names}")
    sent.carry_out(repository)
    return moves


def _checked(source: Source, ref: Ref | None, name: str, update: Update) -> RefMove:
    """Returns the move of one ref, if it is where the sender saw it and may move."""
    expected = update.expected
    found = None if ref is None else (ref.target, ref.seq)
    if found != (None if expected is None else (expected.target, expected.seq)):
        raise ConflictError(
            f"ref {name}: it stands at {ref.target if ref else 'nothing'}, expected "
            f"{expected.target if expected else 'nothing'}",
            kind=ErrorKind.HEAD_MOVED,
            hint="fetch, look at what is new, and push again",
        )
    before = None if ref is None else ref.target
    return RefMove(
        name,
        before,
        update.target,
        how_to_move(source, name, before, update.target, force=update.force),
    )


def how_to_move(
    source: Source, name: str, before: Cid | None, after: Cid | None, *, force: bool
) -> Move:
    """Returns the kind of a ref's move.

    Raises:
        ConflictError: kind `not-fast-forward`: it would lose commits, and is not forced.
    """
    if before == after:
        return Move.UNCHANGED
    if before is None:
        return Move.CREATED
    if after is not None and not name.startswith(refs.TAGS) and comes_after(source, after, before):
        return Move.FORWARDED
    if not force and after is None:
        raise ConflictError(
            f"ref {name}: deleting it there would lose {before}",
            kind=ErrorKind.NOT_FAST_FORWARD,
            hint="force it, if it may",
        )
    if not force:
        raise ConflictError(
            f"ref {name}: {after} does not come after {before}",
            kind=ErrorKind.NOT_FAST_FORWARD,
            hint="pull first, or force it with what you expect to be there",
        )
    return Move.DELETED if after is None else Move.FORCED


def comes_after(source: Source, after: Cid, before: Cid) -> bool:
    """Returns whether the new target of a ref descends from the old one."""
    if isinstance(after, CommitCid) and isinstance(before, CommitCid):
        return is_ancestor(source, before, after)
    behind = records_behind(source, [after], lambda _: False)
    return any(need.cid == before for need in behind.needs)
