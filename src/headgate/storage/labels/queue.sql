-- name: list_unlabelled
-- Channels with something to label, without a job; after a dead letter they rest for a while. The recursion hops from
-- channel to channel on the index, so that it costs the same however much waits.
with recursive queued as (
    (select channel_id from label_queue order by channel_id limit 1)
    union all
    select (select q.channel_id from label_queue q where q.channel_id > w.channel_id order by q.channel_id limit 1)
    from queued w where w.channel_id is not null
)
select w.channel_id::text from (
    select channel_id from queued where channel_id is not null
    union
    select channel_id from label_sweep
) as w
where not exists (select from live_job where dedupe_key = 'label:' || w.channel_id)
  and not exists (
      select from dead_letter d where d.kind = 'label' and d.key = w.channel_id::text
        and d.state <> 'replayed' and d.died_at > %(rested_since)s
  )
limit %(limit)s

-- name: note_unlabelled
-- One row, whatever the number of items.
insert into label_queue (channel_id, message_keys, item_ids)
select %(channel_id)s, %(message_keys)s::text[], %(item_ids)s::uuid[]
where cardinality(%(message_keys)s::text[]) + cardinality(%(item_ids)s::uuid[]) > 0

-- name: sweep_channel
-- All items of a channel are labelled again; a sweep under way begins anew.
insert into label_sweep as s (channel_id) values (%(channel_id)s)
on conflict (channel_id) do update set after = '', wake_seq = s.wake_seq + 1

-- name: peek_queue
-- The oldest rows of each channel, until they name enough messages and items; at least one.
select c.id as channel_id, q.id, q.message_keys, q.item_ids
from unnest(%(channel_ids)s::uuid[]) as c (id)
cross join lateral (
    select *, sum(cardinality(message_keys) + cardinality(item_ids)) over (order by id) as named
    from (select * from label_queue where channel_id = c.id order by id limit %(limit)s) as oldest
) as q
where q.named - cardinality(q.message_keys) - cardinality(q.item_ids) < %(limit)s
order by c.id, q.id

-- name: find_items
-- The items of these messages, and of all messages that were posted as one with them: what is said with one of an album
-- is said of all. Message by message, which costs the same however much is in the channel.
with named as (
    select * from unnest(%(channel_ids)s::uuid[], %(message_keys)s::text[]) as k (channel_id, key)
), posted as (
    select n.channel_id, n.key from named n
    union
    select n.channel_id, together.key from named n
    join message m on m.channel_id = n.channel_id and m.key = n.key and m.album <> ''
    cross join lateral (
        select a.key from message a
        where a.channel_id = n.channel_id and a.album = m.album and a.album <> ''
        order by a.key limit %(max_album)s
    ) as together
)
select held.item_id from posted p
cross join lateral (
    select s.item_id from sighting s
    where s.channel_id = p.channel_id and s.message_key = p.key
    order by s.message_key, s.attachment_key offset 0
) as held
where held.item_id is not null
union
select id from item where id = any(%(item_ids)s::uuid[])

-- name: list_sweeps
-- How far the sweeps of channels have come.
select channel_id, after, wake_seq from label_sweep where channel_id = any(%(channel_ids)s::uuid[]) order by channel_id

-- name: list_swept
-- The next items of a sweep.
select id, content_key from item where channel_id = %(channel_id)s and content_key > %(after)s
order by content_key limit %(limit)s

-- name: empty_queue
-- What is labelled now; what came since stays.
delete from label_queue q using unnest(%(channel_ids)s::uuid[], %(ids)s::bigint[]) as done (channel_id, id)
where q.channel_id = done.channel_id and q.id = done.id

-- name: advance_sweep
-- Unless it began anew meanwhile.
update label_sweep set after = %(after)s where channel_id = %(channel_id)s and wake_seq = %(seen)s

-- name: end_sweep
-- Unless it began anew meanwhile.
delete from label_sweep where channel_id = %(channel_id)s and wake_seq = %(seen)s

-- name: list_more
-- Which of the channels have more to label.
select c.id from unnest(%(channel_ids)s::uuid[]) as c (id)
where exists (select from label_queue q where q.channel_id = c.id)
   or exists (select from label_sweep s where s.channel_id = c.id)
