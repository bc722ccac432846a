"""The bodies of blocks in a bucket, many in one object, for a schema that says where each is.

A row of a block holds the block itself, or names a pack, a start and a length. A pack is registered
in the schema before its object is put, and rows refer to the registration by a foreign key. So the
server decides what may be named: a change whose pack was collected fails and puts its blocks into
another pack, and a pack that a row names cannot be collected. Names of packs are random, so that no
two writers share one. No clock decides what is safe: a pack without rows is left alone for an hour
only because its writer may be at work.

An object that is listed was registered before it was put. So one that is listed and not registered
any more belongs to nobody, whoever died before deleting it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from ibidem.objects.cid import Cid
from ibidem.objects.errors import CorruptError
from ibidem.objects.record import record
from ibidem.store.log.objects import Bucket
from ibidem.store.protocol import check_blocks

PACKS_SCHEMA = r"""
create table pack (
    name bytea primary key,
    size bigint not null,
    created timestamptz not null default now()
);
alter table block add column pack bytea
    generated always as (
        case when substring(body for 1) = '\x01' then substring(body from 2 for 16) end
    ) stored references pack (name);
create index block_pack on block (pack) where pack is not null;

-- Registers a pack.
create function register(pack_name bytea, bytes bigint) returns void language sql as $$
    insert into pack (name, size) values (pack_name, bytes) on conflict do nothing
$$;

-- Returns some packs, all for null, with their sizes and the bytes of the blocks that rows name in
-- them.
create function packs(names bytea[] default null)
returns table (name bytea, size bigint, used bigint) language sql as $$
    select pack.name, pack.size, coalesce(sum(
        ('x' || encode(substring(body from 26 for 4), 'hex'))::bit(32)::bigint
    ), 0)::bigint
    from pack left join block on block.pack = pack.name
    where names is null or pack.name = any(names) group by pack.name, pack.size
$$;

-- Strikes off the packs that no row names, registered so many seconds ago; returns them. It waits
-- for no lock: a pack that a change is about to name stays.
create function retire(seconds double precision) returns setof bytea language plpgsql as $$
declare
    chosen bytea;
begin
    for chosen in
        select name from pack where created <= now() - make_interval(secs => seconds)
            and not exists (select from block where block.pack = pack.name) order by name
            for update skip locked
    loop
        begin
            delete from pack where name = chosen;
            return next chosen;
        exception when foreign_key_violation then
            null;  -- it was named meanwhile
        end;
    end loop;
end
$$;
"""
INLINE_BYTES_MAX = 64 << 10
"""A change whose blocks have more bytes puts them into packs."""
PACK_BYTES = 32 << 20
PREFIX = "packs/"
_INLINE, _PACKED = b"\x00", b"\x01"
_NAME_BYTES, _START_BYTES, _LENGTH_BYTES = 16, 8, 4
_BODY_BYTES = 1 + _NAME_BYTES + _START_BYTES + _LENGTH_BYTES


@record
class Span:
    """Where the body of a block is."""

    pack: bytes
    start: int
    length: int

    def body(self) -> bytes:
        """Returns the body of the row."""
        start = self.start.to_bytes(_START_BYTES, "big")
        return _PACKED + self.pack + start + self.length.to_bytes(_LENGTH_BYTES, "big")


@record
class Pack:
    """Blocks for one object."""

    name: bytes
    data: bytes
    spans: Mapping[Cid, Span]


def object_of(pack: bytes) -> str:
    """Returns the name of the object of a pack."""
    return f"{PREFIX}{pack[:1].hex()}/{pack.hex()}"


def inline_body(block: bytes) -> bytes:
    """Returns the body of a row that holds the block itself."""
    return _INLINE + block


def read_body(body: bytes) -> bytes | Span:
    """Returns the block in the body of a row, or where it is.

    Raises:
        CorruptError: it is neither.
    """
    if body[:1] == _INLINE:
        return body[1:]
    if body[:1] != _PACKED or len(body) != _BODY_BYTES:
        raise CorruptError("PostgreSQL: a row of a block says neither a block nor where it is")
    name, start = body[1 : 1 + _NAME_BYTES], 1 + _NAME_BYTES
    stop = start + _START_BYTES
    return Span(name, int.from_bytes(body[start:stop], "big"), int.from_bytes(body[stop:], "big"))


def packed(blocks: Mapping[Cid, bytes], cids: Iterable[Cid]) -> Iterator[Pack]:
    """Yields some of the blocks as packs, in the order of their CIDs, after checking their hashes;
    few are in memory at a time."""
    held: dict[Cid, bytes] = {}
    size = 0
    for cid in sorted(cids, key=lambda cid: cid.raw):
        block = blocks[cid]
        check_blocks({cid: block})
        held[cid] = block
        size += len(block)
        if size >= PACK_BYTES:
            yield _pack(held)
            held, size = {}, 0
    if held:
        yield _pack(held)


def read_spans(bucket: Bucket, spans: Mapping[Cid, Span]) -> dict[Cid, bytes]:
    """Returns the blocks at some spans, one request for each pack, several at a time; without
    those whose object is not there. An empty block is nowhere."""
    found: dict[Cid, bytes] = {}
    by_pack: dict[bytes, list[Cid]] = {}
    for cid, span in spans.items():
        if span.length:
            by_pack.setdefault(span.pack, []).append(cid)
        else:
            found[cid] = b""

    def read(pack: bytes) -> list[bytes] | None:
        ranges = [(spans[cid].start, spans[cid].length) for cid in by_pack[pack]]
        return bucket.get_ranges(object_of(pack), ranges)

    for pack, blocks in zip(by_pack, bucket.map(read, list(by_pack)), strict=True):
        if blocks is not None:
            found |= zip(by_pack[pack], blocks, strict=True)
    return found


def _pack(blocks: Mapping[Cid, bytes]) -> Pack:
    name, start = os.urandom(_NAME_BYTES), 0
    spans: dict[Cid, Span] = {}
    for cid, block in blocks.items():
        spans[cid] = Span(name, start, len(block))
        start += len(block)
    return Pack(name, b"".join(blocks.values()), spans)
