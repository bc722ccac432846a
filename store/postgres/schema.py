"""The tables and functions of a schema. Every function is one exchange with the server, and one
transaction.

The functions that writers call begin with the rows of cells, which they lock in the order of their
names, and go on with those of blocks in the order of CIDs, so that writers queue. A cell that has
to be absent has no row, so its name is locked first. Every block that a change inserts or refers
to, stored before or not, is locked against deletion until the change is visible. READ COMMITTED is
enough with these locks: each statement of a function sees what was committed before it, and what a
lock waited for.

Rows that come back have the columns kind, number, name, raw and body:

* `state`: the highest number of a block, the version of the layout, the mark. The mark is the
  identity of the store and how often blocks were deleted: copies of blocks that were made under
  another mark are void.
* `cell`: name and value
* `block`: number, CID and bytes
* `done`, `moved` with the name of a cell, `missing` with a CID: what came of a change
"""

SCHEMA = """
create table block (
    cid bytea primary key,
    number bigint generated always as identity,
    body bytea not null
);
alter table block alter column body set storage external;
create index block_number on block (number);
create table cell (name text collate "C" primary key, value bytea not null);
create table file (name text collate "C" primary key, body bytea not null);
alter table file alter column body set storage external;
create table format (
    version integer,
    id uuid not null default gen_random_uuid(),
    deletions bigint not null default 0
);
insert into format default values;
create table writer (
    id bytea primary key,
    count bigint not null,
    made bigint not null,
    seen timestamptz not null default now()
);
create type answer as (kind text, number bigint, name text, raw bytea, body bytea);

create function mark() returns bytea language sql stable as $$
    select uuid_send(id) || int8send(deletions) from format
$$;

-- Reads the cells, and up to 512 small blocks after a number except for some, the newest first.
create function look(since bigint, known bytea[]) returns setof answer language sql as $$
    select 'state', coalesce((select max(number) from block), 0), version::text, mark(), null::bytea
        from format
    union all select 'cell', null, name, value, null from cell
    union all (
        select 'block', number, null, cid, body from block
        where number > since and octet_length(body) <= 16384
            and not cid = any(known)
        order by number desc limit 512
    )
$$;

-- Waits for the turn of this session among those that compete for cells, a second at most, then
-- looks. The turn ends with the session's next change. It only saves writers from lost races.
create function wait_in_queue(since bigint) returns setof answer language plpgsql as $$
declare
    ahead bigint := 'block'::regclass::oid::bigint;
    is_mine boolean := pg_try_advisory_lock(ahead);
    has_waited boolean := not is_mine;
begin
    perform set_config('lock_timeout', '1000', true);
    begin
        if has_waited then
            perform pg_advisory_lock(ahead);
            is_mine := true;
        end if;
    exception when lock_not_available then
        is_mine := false;
    end;
    begin
        perform 1 from cell order by name for key share;  -- until the change before is visible
    exception when lock_not_available then
        null;
    end;
    return query select 'queue', has_waited::int::bigint, is_mine::text, null::bytea, null::bytea
        union all select * from look(since, '{}');
end
$$;

-- Reads blocks.
create function stored(cids bytea[]) returns setof answer language sql as $$
    select 'state', null::bigint, version::text, mark(), null::bytea from format
    union all select 'block', null, null, cid, body from block where cid = any(cids)
$$;

-- Records in the transaction that makes a change that it was made, unless it was given up. Counts
-- of the changes of a writer are consecutive.
create function record(writer_id bytea, change bigint) returns void language plpgsql as $$
begin
    insert into writer as known (id, count, made) values (writer_id, change, change)
        on conflict (id) do update set count = change, made = change, seen = now()
        where known.count = change - 1;
    if not found then
        raise exception 'the writer has given this change up';
    end if;
    if change = 1 then
        delete from writer where id in (
            select id from writer where seen < now() - interval '30 days' for update skip locked
        );
    end if;
end
$$;

-- Returns whether a change was made; if not, gives it up, so that it never will be.
create function settle(writer_id bytea, change bigint) returns boolean language plpgsql as $$
begin
    insert into writer as known (id, count, made) values (writer_id, change, 0)
        on conflict (id) do update set count = change where known.count = change - 1;
    return (select made = change from writer where id = writer_id);
end
$$;

-- Locks cells until the end of the transaction; returns the first that holds another value than
-- expected.
create function unexpected(names text[], olds bytea[]) returns text language plpgsql as $$
begin
    perform pg_advisory_xact_lock(hashtextextended(absent, 'cell'::regclass::oid::bigint))
        from (
            select one as absent from unnest(names, olds) as swap (one, old)
            where old is null order by one
        ) as to_lock;
    perform 1 from cell where name = any(names) order by name for update;
    return (
        select one from unnest(names, olds) as swap (one, old) left join cell on name = one
        where value is distinct from old order by one limit 1
    );
end
$$;

-- Inserts blocks, and locks those that were stored before against deletion until the end of the
-- transaction. One that is deleted before it is locked is inserted again.
create function insert_blocks(cids bytea[], bodies bytea[]) returns void language plpgsql as $$
declare
    stored bytea[];
    locked bigint := -1;
begin
    while locked is distinct from cardinality(stored) loop
        with added as (
            insert into block (cid, body) select * from unnest(cids, bodies)
                on conflict do nothing returning cid
        )
        select array(select unnest(cids) except select cid from added) into stored;
        perform 1 from block where cid = any(stored) order by cid for key share;
        get diagnostics locked = row_count;
    end loop;
end
$$;

-- The same for the blocks of the temporary table incoming.
create function insert_incoming() returns void language plpgsql as $$
declare
    stored bytea[];
    locked bigint := -1;
begin
    while locked is distinct from cardinality(stored) loop
        with added as (
            insert into block (cid, body) select cid, body from incoming order by cid
                on conflict do nothing returning cid
        )
        select array(select cid from incoming except select cid from added) into stored;
        perform 1 from block where cid = any(stored) order by cid for key share;
        get diagnostics locked = row_count;
    end loop;
end
$$;

-- Swaps cells and inserts blocks, or changes nothing.
create function publish(
    names text[], olds bytea[], news bytea[], needs bytea[], cids bytea[], bodies bytea[],
    writer_id bytea, change bigint, is_first boolean, since bigint
) returns setof answer language plpgsql as $$
#variable_conflict use_column
declare
    wrong text := unexpected(names, olds);
    absent bytea;
begin
    if wrong is not null then
        return query select 'moved', null::bigint, wrong, null::bytea, null::bytea
            union all select * from look(since, '{}');
        return;
    end if;
    -- Key locks: a deletion of one of them waits for the end of this transaction.
    perform 1 from block where cid = any(needs) order by cid for key share;
    select need into absent from unnest(needs) as need
        where not exists (select from block where cid = need) order by need limit 1;
    if absent is not null then
        return query select 'missing', null::bigint, null::text, absent, null::bytea
            union all select * from look(since, '{}');
        return;
    end if;
    insert into cell select swap.one, coalesce(swap.new, '')
        from unnest(names, olds, news) as swap (one, old, new)
        where swap.old is null order by swap.one;
    update cell set value = swap.new
        from unnest(names, olds, news) as swap (one, old, new)
        where name = swap.one and swap.old is not null and swap.new <> swap.old;
    delete from cell using unnest(names, news) as swap (one, new)
        where name = swap.one and swap.new is null;
    perform insert_blocks(cids, bodies);
    if writer_id is not null then
        perform record(writer_id, change);
    end if;
    if is_first then
        perform pg_advisory_unlock('block'::regclass::oid::bigint);
    end if;
    return query select 'done', null::bigint, null::text, null::bytea, null::bytea
        union all select * from look(since, cids);
end
$$;

-- Deletes blocks if cells hold the expected values; number says how many, raw and body are the
-- marks before and after.
create function remove(names text[], olds bytea[], cids bytea[]) returns setof answer
language plpgsql as $$
#variable_conflict use_column
declare
    wrong text := unexpected(names, olds);
    before bytea;
    deleted bigint;
begin
    if wrong is not null then
        return query select 'moved', null::bigint, wrong, null::bytea, null::bytea;
        return;
    end if;
    perform 1 from block where cid = any(cids) order by cid for update;
    delete from block where cid = any(cids);
    get diagnostics deleted = row_count;
    perform 1 from format for update;
    before := mark();
    if deleted > 0 then
        update format set deletions = deletions + 1;
    end if;
    return query select 'done', deleted, null::text, before, mark();
end
$$;
"""
