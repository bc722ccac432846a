"""Import: a file from elsewhere is taken into a repository, empty or in use.

A bundle says which refs its commits belong to; a plain CAR holds one commit, and the caller says on
which branch. Either way the same care is taken as with a remote, and nothing is seen before the
whole file is.

Spec: sync 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.view import target_class
from ibidem.repo.sync.bundle import Bundle
from ibidem.repo.sync.closure import kind_of
from ibidem.repo.sync.container import Opened
from ibidem.repo.sync.erased import SentErasures, is_erased_in
from ibidem.repo.sync.exchange import Counted
from ibidem.repo.sync.integrate import Merger, integrated, merged_conflict_count
from ibidem.repo.sync.names import check_ref
from ibidem.repo.sync.quarantine import Quarantine
from ibidem.repo.sync.receive import Intake, sent_erasures
from ibidem.repo.sync.report import CopyReport, RefMove

if TYPE_CHECKING:
    from ibidem.objects.blocks import WriteBatch
    from ibidem.repo.reader import Reader
    from ibidem.repo.sync.car import CarLimits, Readable
    from ibidem.repo.sync.known import Known


def import_car(
    repository: Reader,
    stream: Readable,
    *,
    branch: str | None = None,
    limits: CarLimits | None = None,
    author: str = "",
    time: int | None = None,
) -> CopyReport:
    """Takes a bundle, or a CAR with one commit, into a repository.

    Branches and notes are made, moved on or merged; other refs are made where they are missing.

    Args:
        branch: short name of the branch for the commit of a plain CAR; not for a bundle.

    Raises:
        CorruptError, FormatError, NotFoundError: the file is not whole and right; nothing changed.
    """
    counted = Counted()
    opened = Opened(stream, limits=limits)
    with Quarantine(repository) as quarantine:
        quarantine.take(counted.of(opened.blocks()))
        bundle = opened.message(Bundle) if opened.has_message else None
        targets = _targets(bundle, branch, opened.roots, quarantine)
        found = Intake(repository, quarantine)
        sent = SentErasures()
        if bundle is not None:
            sent = sent_erasures(repository, quarantine, bundle.erasures)
        found.inspect(
            [*targets.values(), *(() if bundle is None else bundle.requires)],
            is_erased=is_erased_in(repository, sent),
        )
        conflicts = [0]

        def plan(known: Known, buffer: WriteBatch) -> list[RefMove]:
            operations = repository._operations
            merger = Merger(
                author,
                operations.time(time),
                "a file",
                repository.signing_key,
                repository.guard.erased(),
            )
            moves = []
            for name, target in targets.items():
                ref = known.refs.get(name)
                before = None if ref is None else ref.target
                moves.append(integrated(name, before, target, buffer, merger))
            conflicts[0] = merged_conflict_count(buffer, moves)
            return moves

        moves = found.publish(
            plan,
            author=author,
            time=time,
            description="import",
            head=_head(bundle, targets),
        )
    sent.carry_out(repository, author=author, time=time)
    return CopyReport(
        tuple(moves),
        counted.block_count,
        counted.size_bytes,
        conflicts[0],
        len(sent.accepted),
        len(sent.refused),
    )


def _head(bundle: Bundle | None, targets: Mapping[str, Cid]) -> str | None:
    head = next(iter(targets)) if bundle is None else bundle.head
    return head if head in targets else None


def _targets(
    bundle: Bundle | None, branch: str | None, roots: tuple[Cid, ...], quarantine: Quarantine
) -> dict[str, Cid]:
    """Returns where refs shall stand, by full name."""
    if bundle is not None:
        if branch is not None:
            raise InvalidInputError(
                f"branch: got {branch!r:.80} for a bundle, which names its own refs"
            )
        return {name: tip.target for name, tip in bundle.refs.items()}
    if branch is None or len(roots) != 1 or _kind(roots[0], quarantine) != "commit":
        raise InvalidInputError(
            f"file: got a CAR with {len(roots)} roots that is not a bundle",
            hint="a CAR with one commit as its root is imported with the name of a branch",
        )
    name = check_ref("branch", f"heads/{branch}")
    return {name: target_class(name)(roots[0].raw)}


def _kind(cid: Cid, quarantine: Quarantine) -> str:
    return kind_of(quarantine[cid]) if cid in quarantine and not cid.is_raw else ""
