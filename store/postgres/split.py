"""The store that is split: cells and the spans of blocks in PostgreSQL, the blocks in a bucket.

A change puts its packs first and is made by the transaction that names them, so a block is durable
before a cell can name it. Small changes keep their blocks in their rows. Whatever a reader or a
writer has to know is in the schema; the bucket is asked for bytes by name, and no condition of its
service matters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial

from ibidem.objects.cid import Cid
from ibidem.objects.errors import ConflictError, CorruptError, StorageError
from ibidem.store.cache import BlockCache
from ibidem.store.log.objects import OLD_VERSIONS, Bucket, erasing_versions
from ibidem.store.postgres.database import BULK_COUNT, Database, Outcome
from ibidem.store.postgres.packs import (
    INLINE_BYTES_MAX,
    PREFIX,
    Span,
    inline_body,
    object_of,
    packed,
    read_body,
    read_spans,
)
from ibidem.store.postgres.store import TIMEOUT_SECONDS, Connect, PostgresStore
from ibidem.store.protocol import NO_CELLS, StoreStats, Swap

_FOREIGN_KEY = "23503"
_TRIES = 8
_DEAD_SHARE = 0.5
"""A deletion copies the rest of a pack if more than this part of it was deleted."""
_ORPHAN_SECONDS = 3600.0
_BLOCKS_AT_ONCE = 4096


@contextmanager
def _collected_meanwhile() -> Iterator[None]:
    """Suppresses the error of a statement that names a pack which was collected before: it changed
    nothing."""
    try:
        yield
    except StorageError as error:
        if getattr(error.__cause__, "sqlstate", None) != _FOREIGN_KEY:
            raise


class SplitDatabase(Database):
    """The exchanges with a schema that says where blocks are."""

    def __init__(
        self, bucket: Bucket, connect: Connect, cache: BlockCache, timeout_seconds: float
    ) -> None:
        super().__init__(connect, cache, timeout_seconds)
        self._bucket = bucket
        self._put: dict[Cid, Span] = {}
        """Where blocks are of changes that were not made, for the same ones tried again."""

    def publish(
        self, swaps: Mapping[str, Swap], blocks: Mapping[Cid, bytes], needs: Iterable[Cid]
    ) -> Outcome:
        """Puts large changes into packs, then publishes as `Database` does. After a lost race, only
        what the change has more than the lost one is put."""
        needed = list(needs)
        for losses in range(_TRIES):
            if losses:  # a pack was collected
                self._put = {}
            bodies = self._bodies(blocks)
            with _collected_meanwhile():
                outcome = super().publish(swaps, bodies, needed)
                if outcome.is_done:
                    self._put = {}
                return outcome
        raise StorageError("PostgreSQL: packs are collected faster than they can be named")

    def _bodies(self, blocks: Mapping[Cid, bytes]) -> dict[Cid, bytes]:
        is_small = type(blocks) is dict and len(blocks) <= BULK_COUNT
        if is_small and sum(map(len, blocks.values())) <= INLINE_BYTES_MAX:
            return {cid: inline_body(block) for cid, block in blocks.items()}
        self._put |= self.put_packs(blocks, known=self._put)
        return {cid: self._put[cid].body() for cid in blocks}

    def put_packs(
        self, blocks: Mapping[Cid, bytes], *, known: Collection[Cid] = ()
    ) -> dict[Cid, Span]:
        """Puts blocks into packs, each registered before; returns where they are.

        Args:
            known: those that are in packs already, which are left out.
        """
        spans: dict[Cid, Span] = {}
        for pack in packed(blocks, [cid for cid in blocks if cid not in known]):
            self.change("register a pack", "select register(%s, %s)", pack.name, len(pack.data))
            self._bucket.put(object_of(pack.name), pack.data)
            spans |= pack.spans
        return spans

    def move(self, blocks: Mapping[Cid, bytes], old: bytes) -> None:
        """Puts the blocks of a pack into others, and lets the rows that are in it name these; if
        the others are collected before that, nothing moves."""
        spans = sorted(self.put_packs(blocks).items())
        for at in range(0, len(spans), _BLOCKS_AT_ONCE):
            some = spans[at : at + _BLOCKS_AT_ONCE]
            with _collected_meanwhile():
                # Rows are locked in the order of their CIDs, as a deletion locks them.
                self.change(
                    "move blocks",
                    "with locked as (select cid from block where cid = any(%s) and pack = %s "
                    "order by cid for update) update block set body = moved.body from "
                    "unnest(%s::bytea[], %s::bytea[]) as moved (cid, body), locked "
                    "where block.cid = moved.cid and block.cid = locked.cid",
                    *([cid.raw for cid, _ in some], old),
                    *([cid.raw for cid, _ in some], [span.body() for _, span in some]),
                )

    def packs_of(self, cids: Iterable[Cid]) -> list[bytes]:
        """Returns the packs that hold some of the blocks."""
        rows = self.read(
            "select distinct pack from block where cid = any(%s) and pack is not null",
            [cid.raw for cid in cids],
        )
        return [pack for (pack,) in rows]

    def _blocks_in(self, bodies: dict[Cid, bytes]) -> dict[Cid, bytes]:
        found: dict[Cid, bytes] = {}
        for _ in range(_TRIES):
            spans: dict[Cid, Span] = {}
            for cid, body in bodies.items():
                span = read_body(body)
                if isinstance(span, Span):
                    spans[cid] = span
                else:
                    found[cid] = span
            found |= read_spans(self._bucket, spans)
            absent = [cid for cid in spans if cid not in found]
            if not absent:
                return found
            # They were moved, or are deleted by now.
            rows = self.read(
                "select cid, body from block where cid = any(%s)", [cid.raw for cid in absent]
            )
            newer = {Cid(raw): body for raw, body in rows}
            for cid, body in newer.items():
                if body == bodies[cid]:
                    raise CorruptError(
                        f"object {object_of(spans[cid].pack)}: it is missing",
                        hint="restore it from a copy of the bucket",
                    )
            bodies = newer
        raise StorageError("object storage: blocks are moved faster than they can be read")

    def _block_in(self, body: bytes) -> bytes | None:
        try:
            found = read_body(body)
        except CorruptError:  # is raised to whoever wants it
            return None
        return None if isinstance(found, Span) else found

    def _few(self, bodies: Mapping[Cid, bytes]) -> Mapping[Cid, bytes]:
        few = super()._few(bodies)
        blocks = ((cid, self._block_in(body)) for cid, body in few.items())
        return {cid: block for cid, block in blocks if block is not None}


class SplitStore(PostgresStore):
    """Cells and spans in a schema of a database, blocks below a prefix of a bucket."""

    database: SplitDatabase

    def __init__(
        self,
        connect: Connect,
        bucket: Bucket,
        *,
        cache: BlockCache | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        """Opens the store; reads nothing yet. The arguments are those of `PostgresStore`."""
        super().__init__(
            connect,
            cache=cache,
            timeout_seconds=timeout_seconds,
            database=partial(SplitDatabase, bucket),
        )
        self.bucket = bucket
        self.shared_files = bucket

    def delete(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> int:
        """Deletes blocks in one transaction, provided that the cells hold the expected values, then
        those of their packs that hold little else, and packs that no row names. What cannot be
        deleted from the bucket then, and in one that keeps old versions all, stays for `scrub` to
        find."""
        gone = list(cids)
        packs = self.database.packs_of(gone)
        count = super().delete(gone, cells=cells)
        with suppress(ConflictError, StorageError):  # the blocks are deleted
            if count and packs and not self.bucket.keeps_versions():
                self._clean(_DEAD_SHARE, packs)
                self._retire(_ORPHAN_SECONDS)
        return count

    def scrub(self) -> int:
        """Removes every deleted block from the packs and the tables; returns how many bytes they
        had.

        Raises:
            StorageError: the bucket keeps old versions of objects, which still hold the bytes; or
                a service fails.
        """
        before = self._packed_bytes()
        is_dirty = any(size != used for size, used in self._used().values()) or self._orphans()
        if is_dirty and self.bucket.keeps_versions():
            raise erasing_versions()
        self._clean(0.0)
        self._retire(0.0)
        self.bucket.delete(self._orphans())
        return max(0, before - self._packed_bytes()) + super().scrub()

    def notes(self) -> tuple[str, ...]:
        """Returns what the server's settings and the bucket's keep from being durable or
        destroyed."""
        return super().notes() + ((OLD_VERSIONS,) if self.bucket.keeps_versions() else ())

    def stats(self) -> StoreStats:
        """Returns the counts and sizes of the store, by listing its objects too."""
        found = super().stats()
        size = sum(row.size for row in self.bucket.listed("").values())
        return StoreStats(found.block_count, found.cell_count, found.size_bytes + size)

    def _clean(self, dead_share: float, packs: Iterable[bytes] | None = None) -> None:
        """Copies the rest of some packs, all for None, of which more than this share was
        deleted."""
        for pack, (size, used) in sorted(self._used(packs).items()):
            if not used or size - used <= dead_share * size:
                continue
            rows = self.database.read("select cid from block where pack = %s", pack)
            self.database.move(self.database.fetch(Cid(raw) for (raw,) in rows), pack)

    def _retire(self, age_seconds: float) -> None:
        """Deletes the packs that no row names, registered so long ago by the server's clock."""
        retired = self.database.change("retire packs", "select retire(%s)", age_seconds)
        self.bucket.delete(object_of(pack) for (pack,) in retired)

    def _orphans(self) -> list[str]:
        """Returns the objects of packs that are not registered any more."""
        listed = self.bucket.listed(PREFIX)  # before the registrations are read
        known = {object_of(pack) for pack in self._used()}
        return [name for name in listed if name not in known]

    def _packed_bytes(self) -> int:
        return sum(row.size for row in self.bucket.listed(PREFIX).values())

    def _used(self, packs: Iterable[bytes] | None = None) -> dict[bytes, tuple[int, int]]:
        """Returns by pack, of all for None, its size and the bytes of blocks in it that rows
        name."""
        names = None if packs is None else list(packs)
        rows = self.database.read("select * from packs(%s::bytea[])", names)
        return {pack: (size, used) for pack, size, used in rows}
