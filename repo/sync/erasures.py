"""Erasures in a copy: they are exchanged before the blocks, and what they name does not come back.

In a fetch or a push, the copy that initiates it learns the erasures of the other side before any
other block is transferred. An erasure destroys data, so one from elsewhere is carried out only if a
key that may erase here signed it: after the refs have moved, so that a branch that is behind is
fast-forwarded and not merged, or after the rest of the transfer was refused. A push does not send
what the other side has erased, whether the erasure was accepted here or not. A new clone takes the
erasures of its source without a signature: there is nothing yet that they could destroy, and
without them erased blocks could not be told from lost ones.

Spec: sync 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.erasure import Erasure
from ibidem.objects.errors import CorruptError, ErrorKind, InvalidInputError
from ibidem.objects.record import record
from ibidem.objects.root import NODES, Root
from ibidem.objects.verify import verify_block
from ibidem.repo.erasure.erase import MOVED, carry_out
from ibidem.repo.erasure.guard import index_of
from ibidem.repo.maintenance.cleaned import entries_of_erased
from ibidem.repo.signing.verify import may_erase

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.repo.core import Core
    from ibidem.repo.erasure.guard import Erased
    from ibidem.repo.signing.keyring import Trust
    from ibidem.repo.sync.remote import Remote

_IDS_PER_ROUND = 1000


@record
class SentErasures:
    """Erasures from elsewhere that are not known here."""

    accepted: tuple[Erasure, ...] = ()
    """Signed by a key that may erase here; to be carried out."""
    refused: tuple[Erasure, ...] = ()
    _cids: frozenset[bytes] = field(default=frozenset(), init=False)

    def __post_init__(self) -> None:
        cids = frozenset(cid.raw for erasure in self.accepted for cid in erasure.cids)
        object.__setattr__(self, "_cids", cids)

    def names(self, cid: Cid) -> bool:
        """Returns whether an accepted one names a block."""
        return cid.raw in self._cids

    @property
    def all(self) -> Erased:
        """Their effect, whether they were accepted or not."""
        return index_of((*self.accepted, *self.refused))

    def carry_out(
        self, repository: Core, *, author: str = "", time: int | None = None
    ) -> Mapping[str, CommitCid]:
        """Carries out the accepted erasures here; returns the commits that removed the nodes, by
        full name of the ref.
        """
        done = carry_out(repository, self.accepted, author=author, time=time)
        return {} if done is None else done.commits


def is_erased_in(repository: Core, sent: SentErasures | None = None) -> Callable[[Cid], bool]:
    """Returns a predicate that tells whether a block may be missing, because it was erased here or
    will be.
    """
    erased = repository.guard.erased().cids

    def is_erased(cid: Cid) -> bool:
        return cid.raw in erased or (sent is not None and sent.names(cid))

    return is_erased


def check_forgotten(source: Source, erased: Erased, moved: Mapping[str, Cid | None]) -> None:
    """Raises for a branch, or notes, whose new state has an erased node.

    Args:
        source: has the blocks.
        erased: the erasures to check against.
        moved: targets by full name.

    Raises:
        InvalidInputError: kind `forgotten`.
    """
    for name, target in moved.items() if erased.nodes else ():
        if not name.startswith(MOVED) or not isinstance(target, CommitCid):
            continue
        root = Root.decode(source.get(Commit.decode(source.get(target)).root))
        gone = entries_of_erased(source, root, erased).trees.get(NODES)
        if gone:
            node = erased.nodes[min(gone)].node
            raise InvalidInputError(
                f"ref {name}: its state has the node {node}, which was erased",
                kind=ErrorKind.FORGOTTEN,
                hint="pull first: the merge leaves it out",
            )


def check_sent(blocks: Iterable[tuple[Cid, bytes]], erased: Erased) -> None:
    """Raises if one of the blocks is a version of an erased node, or a part of an erased document,
    that no erasure names: whoever erased it would refuse the block, after all blocks were sent.

    Raises:
        InvalidInputError: kind `forgotten`.
    """
    for cid, block in blocks:
        found = erased.of(cid, block)
        if found is not None:
            raise InvalidInputError(
                f"push: its history has a version of {found.node}, or a part of it, and that was "
                "erased there",
                kind=ErrorKind.FORGOTTEN,
                hint="accept the erasure, by `repo key trust --may-erase`, or squash the commits "
                "that have the node",
            )


def erasures_of(repository: Core) -> tuple[Cid, ...]:
    """Returns the CIDs of the erasures of a repository, ascending."""
    return tuple(sorted(Cid(one.cid.raw) for one in repository.guard.erased().erasures))


def judged(repository: Core, erasures: Iterable[Erasure]) -> SentErasures:
    """Separates erasures from elsewhere by whether a key that may erase here signed them."""
    known = set(erasures_of(repository))
    given = [erasure for erasure in erasures if Cid(erasure.cid.raw) not in known]
    if not given:
        return SentErasures()
    trust = trust_of(repository)
    accepted = tuple(erasure for erasure in given if may_erase(trust, erasure))
    return SentErasures(accepted, tuple(one for one in given if one not in accepted))


def trust_of(repository: Core) -> Trust:
    """Returns the trust of a repository: its trusted keys and signature requirements."""
    return repository.keyring.trust()


def fetched_erasures(repository: Core, remote: Remote, offered: Sequence[Cid]) -> list[Erasure]:
    """Returns the erasures of a remote that are not known here.

    Raises:
        CorruptError: it sent other blocks, or not all of them.
    """
    known = set(erasures_of(repository))
    wanted = [cid for cid in offered if cid not in known]
    found: list[Erasure] = []
    for start in range(0, len(wanted), _IDS_PER_ROUND):
        batch = wanted[start : start + _IDS_PER_ROUND]
        with remote.fetch(batch, ()) as blocks:
            found += _read(blocks, set(batch))
    return found


def _read(blocks: Iterable[tuple[Cid, bytes]], wanted: set[Cid]) -> list[Erasure]:
    found: dict[Cid, Erasure] = {}
    for cid, block in blocks:
        if cid in wanted:
            verify_block(cid, block)
            found[cid] = Erasure.decode(block)
    if len(found) != len(wanted):
        raise CorruptError(f"erasures: got {len(found)}, expected {len(wanted)} that were offered")
    return [found[cid] for cid in sorted(found)]
