-- name: list_due
-- The one key of the kind, when anything is to be indexed and no job is there; after a dead letter it rests for a while.
select 'index' where (
    exists (select from search_due)
    or exists (select from search_word where stale)
    or exists (select from search_index where reindex_after is not null)
)
and not exists (select from live_job where dedupe_key = 'search:index')
and not exists (
    select from dead_letter d where d.kind = 'search' and d.key = 'index'
      and d.state <> 'replayed' and d.died_at > %(rested_since)s
)

-- name: note_due
-- Rows of bounded length, so that a batch is bounded too. Nothing is locked that another transaction wants.
insert into search_due (ids)
select array_agg(numbered.id) from (
    select i.id, row_number() over (order by i.id) as place from unnest(%(ids)s::uuid[]) as i (id)
) as numbered
group by (numbered.place - 1) / %(row_length)s::int

-- name: note_messages
-- The items of messages whose text changed, and of those that were posted as one with them.
insert into search_due (ids)
select array_agg(numbered.item_id) from (
    select held.item_id, row_number() over (order by held.item_id) as place from (
        select s.item_id from sighting s
        where s.channel_id = %(channel_id)s and s.message_key = any(%(message_keys)s::text[]) and s.item_id is not null
        union
        select s.item_id from message m
        join message a on a.channel_id = m.channel_id and a.album = m.album and a.album <> ''
        join sighting s on s.channel_id = a.channel_id and s.message_key = a.key and s.item_id is not null
        where m.channel_id = %(channel_id)s and m.key = any(%(message_keys)s::text[]) and m.album <> ''
    ) as held
) as numbered
group by (numbered.place - 1) / %(row_length)s::int

-- name: peek_due
-- The oldest rows, until they name enough documents; at least one.
select q.id, q.ids from (
    select *, sum(cardinality(ids)) over (order by id) as named
    from (select * from search_due order by id limit %(limit)s) as oldest
) as q
where q.named - cardinality(q.ids) < %(limit)s
order by q.id

-- name: take_due
-- Rows that are done; how many of them were still there says whether another did them.
delete from search_due where id = any(%(row_ids)s::bigint[])

-- name: has_due
-- Whether anything is left to do.
select exists (select from search_due)
    or exists (select from search_word where stale)
    or exists (select from search_index where reindex_after is not null)

-- name: lock_index
-- Whoever writes documents holds it, so that slices fill one after the other.
select reindex_after, reindexed from search_index for update

-- name: get_reindex
-- How far a rebuild has come.
select reindex_after, reindexed from search_index

-- name: start_reindex
-- One under way goes on where it is, unless it is to begin anew.
update search_index set reindex_after = '00000000-0000-0000-0000-000000000000', reindexed = 0
where reindex_after is null or %(restart)s

-- name: advance_reindex
-- Unless it has been moved meanwhile.
update search_index set reindex_after = %(after)s, reindexed = reindexed + %(added)s where reindex_after = %(seen)s

-- name: list_next_ids
-- The next items, groups and documents in the order of their ids; an id without a source has its document removed.
select id from (
    (select id from item where id > %(after)s order by id limit %(limit)s)
    union
    (select id from item_group where id > %(after)s order by id limit %(limit)s)
    union
    (select id from search_document where id > %(after)s order by id limit %(limit)s)
) as next
order by id limit %(limit)s

-- name: count_sources
-- About how many documents a rebuild goes through.
select (select count(*) from item) + (select count(*) from item_group)

-- name: list_waiting
-- Those of the ids that are due.
select distinct i.id from search_due q cross join lateral unnest(q.ids) as i (id)
where q.ids && %(ids)s::uuid[] and i.id = any(%(ids)s::uuid[])
