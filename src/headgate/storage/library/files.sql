-- name: lock_items
-- Whoever writes files locks their items before, as everybody does; sets may move a file meanwhile, which changes only
-- whose inspection is noted.
select i.id from item i
where i.id in (select item_id from sighting where id = any(%(ids)s::uuid[])) order by i.id for key share

-- name: lock_taken
-- What this download has still, and is still the same.
select f.sighting_id from item_file f
join unnest(%(ids)s::uuid[], %(sources)s::text[]) as n (sighting_id, source) on n.sighting_id = f.sighting_id
where f.taken_by = %(taken_by)s and f.state = 'wanted' and f.source = n.source
order by f.sighting_id for update of f

-- name: complete_files
-- Stored: the content can be read.
update item_file f
set state = 'stored', blob_id = n.blob_id, stored_at = %(now)s, taken_by = null, taken_until = null, starts = 0,
    attempts = 0, error_class = '', error_message = '', wait_reason = '', needs_bytes = 0, spool_machine = '',
    spool_until = null, spooled_bytes = 0
from unnest(%(ids)s::uuid[], %(blob_ids)s::uuid[]) as n (sighting_id, blob_id)
where f.sighting_id = n.sighting_id

-- name: list_items
-- The items that files are of.
select distinct item_id from sighting where id = any(%(ids)s::uuid[]) and item_id is not null

-- name: renew_take
-- A sign of life; none is left if the file was withdrawn, edited, dropped or taken by another.
update item_file set taken_until = headgate_real_now() + make_interval(secs => %(lease_s)s)
where sighting_id = any(%(ids)s::uuid[]) and taken_by = %(taken_by)s and state = 'wanted'

-- name: release_files
-- An orderly end without the content. What has come so far is remembered, and where.
update item_file f
set taken_by = null, taken_until = null, starts = greatest(0, f.starts - 1), due_at = n.due_at, attempts = n.attempts,
    error_class = case when n.error_class = '' then f.error_class else n.error_class end,
    error_message = case when n.error_class = '' then f.error_message else n.error_message end,
    state = case when n.given_up then 'failed' else f.state end,
    wait_reason = n.wait_reason, needs_bytes = n.needs_bytes, spooled_bytes = n.spooled_bytes,
    spool_machine = case when n.spooled_bytes > 0 then %(machine)s else '' end,
    spool_until = case when n.spooled_bytes > 0 then %(spool_until)s::timestamptz end
from unnest(
    %(sighting_id)s::uuid[], %(due_at)s::timestamptz[], %(attempts)s::int[], %(error_class)s::text[],
    %(error_message)s::text[], %(given_up)s::boolean[], %(wait_reason)s::text[], %(needs_bytes)s::bigint[],
    %(spooled_bytes)s::bigint[]
) as n (sighting_id, due_at, attempts, error_class, error_message, given_up, wait_reason, needs_bytes, spooled_bytes)
where f.sighting_id = n.sighting_id and f.taken_by = %(taken_by)s and f.state = 'wanted'
returning f.channel_id

-- name: release_lost
-- Downloads of this process that could not say how they ended: no crash is to blame.
update item_file set taken_by = null, taken_until = null, starts = greatest(0, starts - 1)
where taken_by = any(%(taken_by)s::uuid[])

-- name: forget_starts
-- More has come than before: what went wrong before was not the file's doing.
update item_file set starts = 1, attempts = 0 where sighting_id = %(id)s and taken_by = %(taken_by)s

-- name: list_set_files
-- The files of the same thing that are still to come, which are promised room together; copies of a volume, too.
select f.sighting_id, f.size_bytes
from (select distinct item_id from sighting where id = any(%(ids)s::uuid[])) as mine
join sighting s on s.item_id = mine.item_id
join item_file f on f.sighting_id = s.id
where f.state = 'wanted'
order by f.sighting_id limit 2000

-- name: get_claimed
-- What the limit for a download depends on where its size is only a claim: the rest of its set counts as it is stored.
select s.topic, f.asked_at is not null as asked,
       (select coalesce(sum(b.size_bytes), 0)::bigint from blob b
        where b.id in (select o.blob_id from item_file o join sighting v on v.id = o.sighting_id
                       where v.item_id = s.item_id and v.id <> s.id)) as others_bytes
from item_file f join sighting s on s.id = f.sighting_id
where f.sighting_id = %(id)s

-- name: list_begun
-- What has begun to come keeps its room until it is there; a set begins with its first volume.
select f.sighting_id from item_file f
where f.sighting_id = any(%(ids)s::uuid[]) and headgate_has_begun(f)

-- name: prefer_set
-- A thing that was begun is finished before others are begun.
update item_file set priority = 15
where sighting_id in (
    select sighting_id from item_file
    where sighting_id = any(%(ids)s::uuid[]) and state = 'wanted' and priority < 15 and taken_by is null
    order by sighting_id for update skip locked)

-- name: mark_gone
-- The message is deleted, and what was not fetched cannot be any more. A message that is back makes it wanted again.
update item_file f set state = 'gone', taken_by = null, taken_until = null
where f.sighting_id in (
    select f.sighting_id from item_file f join sighting s on s.id = f.sighting_id
    where s.channel_id = %(channel_id)s and s.message_key = any(%(message_keys)s) and s.deleted_at is not null
      and f.state in ('wanted', 'failed')
    order by f.sighting_id for update of f)
