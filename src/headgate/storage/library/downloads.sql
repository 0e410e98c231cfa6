-- name: list_running
-- Files that a download has at the moment, of one channel or of all; a lease is in real time.
select f.sighting_id as id, s.item_id, s.file_name as name, f.size_bytes, f.spooled_bytes, f.channel_id, c.title as channel_title
from item_file f
join sighting s on s.id = f.sighting_id
join channel c on c.id = f.channel_id
where f.taken_until is not null and f.taken_until > headgate_real_now() and f.state = 'wanted' and f.wait_reason = ''
  and (f.size_bytes = 0 or f.size_bytes >= %(min_bytes)s)
  and (%(channel_id)s::uuid is null or f.channel_id = %(channel_id)s)
order by f.size_bytes desc, f.sighting_id
limit %(limit)s

-- name: count_waiting
-- What is still to come, counted up to a limit; channel by channel, so that each count is read from the index.
with line as (
    select channel_id from fetch_line where %(channel_id)s::uuid is null or channel_id = %(channel_id)s
), ready as (
    select f.* from line cross join lateral (
        select size_bytes from item_file
        where channel_id = line.channel_id and state = 'wanted' and wait_reason = '' limit %(cap)s
    ) as f limit %(cap)s
), without_room as (
    select f.* from line cross join lateral (
        select size_bytes, needs_bytes from item_file
        where channel_id = line.channel_id and state = 'wanted' and wait_reason <> '' limit %(cap)s
    ) as f limit %(cap)s
)
select least(r.files + w.files, %(cap)s) as files, r.size_bytes + w.size_bytes as size_bytes,
       w.files as without_room, w.needs_bytes
from (select count(*) as files, coalesce(sum(size_bytes), 0)::bigint as size_bytes from ready) as r,
     (select count(*) as files, coalesce(sum(size_bytes), 0)::bigint as size_bytes,
             coalesce(max(needs_bytes), 0) as needs_bytes from without_room) as w

-- name: list_states
-- How the downloads of some files stand, apart from those that are stored.
select f.sighting_id as id, f.state, f.wait_reason, f.needs_bytes, f.attempts, f.error_message, f.spooled_bytes,
       coalesce(f.taken_until > headgate_real_now(), false) as running
from item_file f
where f.sighting_id = any(%(ids)s) and f.state in ('wanted', 'failed')
