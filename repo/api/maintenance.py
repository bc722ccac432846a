"""Maintenance of a repository: checks, repair, garbage collection, erasure, figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.repo import statistics
from ibidem.repo.argument_checks import check_ids
from ibidem.repo.operation_log import OPERATIONS_KEPT
from ibidem.repo.revspec import HEAD
from ibidem.retrieve.access.policy import ALL

if TYPE_CHECKING:
    from ibidem.objects.blocks import BlockReader
    from ibidem.objects.cid import Cid
    from ibidem.objects.erasure import Erasure
    from ibidem.repo.core import Core
    from ibidem.repo.erasure.accept import AcceptReport
    from ibidem.repo.erasure.erase import EraseReport
    from ibidem.repo.maintenance.checkup import Finding
    from ibidem.repo.maintenance.gc import GcReport
    from ibidem.repo.maintenance.head_index import HeadIndex
    from ibidem.repo.maintenance.report import FsckReport
    from ibidem.repo.statistics import LogStats, RepositoryStats
    from ibidem.repo.text_audit import TextAudit
    from ibidem.repo.vector_audit import VectorAudit


class Maintenance:
    """The health of a repository: checks, repair, erasure and figures."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def fsck(self, *, deep: bool = False) -> FsckReport:
        """Returns everything that is wrong, after reading all of the repository; changes nothing.

        Args:
            deep: also reads every block with an independent library, `dag-cbor`, and compares.
        """
        from ibidem.repo.maintenance.fsck import fsck

        return fsck(self._core, deep=deep)

    def checkup(self, *, full: bool = False) -> Iterator[Finding]:
        """Yields what `repo doctor` checks, one after the other: the packages, a sample of the
        blocks, the commits, the index; changes nothing.

        Args:
            full: reads every block, as `fsck` does.
        """
        from ibidem.repo.maintenance.checkup import check_program, check_repository

        yield from check_program()
        yield from check_repository(self._core, full=full)

    def repair(
        self,
        report: FsckReport,
        source: BlockReader | None = None,
    ) -> FsckReport:
        """Repairs the damage in a report of `fsck`, and returns a new report.

        Args:
            source: has the missing and damaged blocks, such as the store of another copy.
        """
        from ibidem.repo.maintenance.repair import repair

        return repair(self._core, report, source)

    def gc(
        self,
        *,
        keep_operations: int | None = OPERATIONS_KEPT,
        dry_run: bool = False,
        author: str = "",
        time: int | None = None,
    ) -> GcReport:
        """Deletes the blocks that no ref, operation, kept receipt, run or stage needs.

        Args:
            keep_operations: number of the newest operations that can still be undone; None for all.
                Blocks needed only by older operations are deleted.
            dry_run: only counts.

        Raises:
            FormatError: a kind or version that this program does not know; nothing was deleted.
            CorruptError: a needed block is missing or damaged; nothing was deleted.
        """
        from ibidem.repo.maintenance.gc import collect

        return collect(
            self._core,
            keep_operations=keep_operations,
            dry_run=dry_run,
            author=author,
            time=time,
        )

    def stats(self, at: object = HEAD) -> RepositoryStats:
        """Returns statistics of the repository and one of its revisions."""
        return statistics.repository_stats(self._core, at)

    def audit_vectors(
        self, at: object = HEAD, *, model: str | None = None
    ) -> tuple[VectorAudit, ...]:
        """Returns, for each model or for one, which nodes have its vector, which one of another
        text, and which none; reads every node.

        Raises:
            InvalidInputError: kind `unknown-model`.
        """
        from ibidem.repo.vector_audit import audit_vectors

        return audit_vectors(self._core.graph(at, viewer=ALL), model)

    def audit_texts(
        self, at: object = HEAD, *, short_tokens: int = 8, long_tokens: int = 1000
    ) -> TextAudit:
        """Returns which texts of a revision are short, long, or the same as another; reads every
        node.

        Raises:
            InvalidInputError: a bound is not an integer from 0, or they are in the wrong order.
        """
        from ibidem.repo.text_audit import audit_texts

        graph = self._core.graph(at, viewer=ALL)
        return audit_texts(graph, short_tokens=short_tokens, long_tokens=long_tokens)

    def log_stats(self) -> LogStats:
        """Returns the sizes of the logs of receipts and of operations, and their limits."""
        return statistics.log_stats(self._core)

    def index_counts(self) -> tuple[int, int]:
        """Returns the number of nodes at the head that are indexed, and of all."""
        answered = self._core.graph().with_snapshot(lambda snapshot: len(snapshot.live))
        stats = self.stats()
        return answered, stats.node_count - stats.tombstone_count

    def missing_vectors(self, model: str, at: object = HEAD) -> int:
        """Returns how many nodes of a revision have a text but no vector of a model, or that of
        another text; reads every node.
        """
        from ibidem.repo.embed_nodes import missing_count

        return missing_count(self._core.graph(at), model)

    def reindex(self, *, compact: bool = False) -> None:
        """Builds the index of the head from nothing; no data is affected.

        Args:
            compact: keeps what the index has, merges its small segments and drops its dead rows.
        """
        self._core.reindex(compact=compact)

    def index_heads(self) -> tuple[HeadIndex, ...]:
        """Returns what is indexed of every branch and tag, by full name."""
        from ibidem.repo.maintenance.head_index import list_heads

        return list_heads(self._core)

    def build_index(self, names: Iterable[str] | None = None) -> None:
        """Builds the index of some branches and tags, of all for None, where it is missing or
        stale. What exceeds the budget of `repo config` goes again, the least recently used first.

        Args:
            names: such as "main", "tags/v1", or "HEAD" for the current branch.

        Raises:
            NotFoundError: there is no such branch or tag, and nothing was built; or a block of a
                head is missing. The others were built then, and the hint names all that were not.
            CorruptError, FormatError: a block of a head is damaged, or of a newer program; the
                others were built too.
        """
        from ibidem.repo.maintenance.head_index import build_heads

        build_heads(self._core, names)

    def drop_index(self, names: Iterable[str] | None = None) -> int:
        """Drops the index of some branches and tags, for None that of all revisions, and returns
        how many bytes that freed; a question builds it again and has the same answer.

        Args:
            names: as in `build_index`; heads with the same root share one index.

        Raises:
            NotFoundError: there is no such branch or tag; nothing was dropped.
        """
        from ibidem.repo.maintenance.head_index import drop_heads

        return drop_heads(self._core, names)

    def verify_index(self, names: Iterable[str] | None = (HEAD,)) -> tuple[str, ...]:
        """Returns what differs between the index of a head and one that is built again from the
        blocks, or why the head cannot be read, a sentence each; none proves the index, also what
        another machine built of it.

        Args:
            names: as in `build_index`; by default the current branch.

        Raises:
            NotFoundError: there is no such branch or tag, or something of it was erased.
        """
        from ibidem.repo.maintenance.head_index import verify_heads

        return verify_heads(self._core, names)

    def share_index(self, *, sign: str | bool = True) -> int:
        """Puts the index of the head beside the blocks, for machines that trust the key; returns
        how many bytes were put.

        Args:
            sign: the name of the private key that signs; True for the only one.

        Raises:
            InvalidInputError: the repository is not in a bucket.
            NotFoundError: there is no such key; for True, there is none or several.
        """
        key = self._core.keyring.chosen(sign)
        if key is None:
            raise InvalidInputError("sign: got False, expected the name of a private key, or True")
        return self._core.share_index(key)

    # -- erasing ----------------------------------------------------------------------------

    def erase(
        self,
        ids: NodeId | str | Iterable[NodeId | str],
        *,
        reason: str = "",
        author: str = "",
        time: int | None = None,
        sign: str | bool | None = None,
    ) -> EraseReport:
        """Erases nodes: from every branch, from history, from every file of this copy, for good.

        Commits stay and verify; old revisions that had the nodes answer `ErasedError`.

        Args:
            ids: of the nodes; every version of them goes, their vectors, and the edges at them, and
                with a document that was ingested all parts that it ever had.
            reason: recorded in the tombstones and the erasures, readable by everyone.
            sign: the name of the private key that signs, True for the only one; None: that one
                where there is exactly one, else nothing is signed. Other copies carry out an
                erasure only if a key that they authorise has signed it.

        Raises:
            NotFoundError: a node is nowhere in this repository.
            InvalidInputError: the stage changes one of the nodes.
        """
        from ibidem.repo.erasure.erase import erase

        wanted = check_ids("ids", ids)
        key = self._core.keyring.chosen(sign)
        return erase(self._core, wanted, reason=reason, author=author, time=time, key=key)

    def erasures(self) -> tuple[Erasure, ...]:
        """Returns the erasures recorded here, to be sent to other copies."""
        return self._core.guard.erased().erasures

    def is_erased(self, cid: Cid) -> bool:
        """Returns whether a block was erased here: it is not missing, and must not come back."""
        return cid.raw in self._core.guard.erased().cids

    def accept_erasures(
        self, erasures: Iterable[Erasure], *, author: str = "", time: int | None = None
    ) -> AcceptReport:
        """Carries out erasures received from elsewhere, if signed by a key authorised here."""
        from ibidem.repo.erasure.accept import accept

        return accept(self._core, erasures, author=author, time=time)

    def finish_erasing(self) -> bool:
        """Finishes an interrupted erasure; returns whether there was one."""
        from ibidem.repo.erasure.destroy import finish

        return finish(self._core)
