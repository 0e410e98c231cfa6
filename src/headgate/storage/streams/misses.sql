-- name: note_unreadable
-- Seeing the same message unreadable again is no attempt: whoever tries it alone counts those.
insert into miss (id, channel_id, message_key, attachment_key, stage, error_class, error_message, attempts, due_at,
                  state, first_at, last_at)
select n.id, %(channel_id)s, n.message_key, '', 'read', %(error_class)s, %(error_message)s, %(attempts)s,
       %(due_at)s::timestamptz, case when %(due_at)s::timestamptz is null then 'abandoned' else 'open' end,
       %(now)s, %(now)s
from unnest(%(ids)s::uuid[], %(message_keys)s::text[]) as n (id, message_key)
order by n.message_key
on conflict (channel_id, message_key, attachment_key) do nothing

-- name: clear_read
-- Messages that were read now are not unreadable; what ingesting missed of them is another matter.
delete from miss
where channel_id = %(channel_id)s and message_key = any(%(message_keys)s) and attachment_key = ''

-- name: note_failed_sightings
-- Each failure counts an attempt; the next try is looked up by their number, and where there is none it is given up.
insert into miss as m (id, channel_id, message_key, attachment_key, stage, error_class, error_message, attempts,
                       due_at, state, first_at, last_at)
select n.id, %(channel_id)s, n.message_key, n.attachment_key, 'ingest', n.error_class, n.error_message, 1,
       (%(tries)s::timestamptz[])[1],
       case when (%(tries)s::timestamptz[])[1] is null then 'abandoned' else 'open' end, %(now)s, %(now)s
from unnest(
    %(ids)s::uuid[], %(message_keys)s::text[], %(attachment_keys)s::text[], %(error_classes)s::text[],
    %(error_messages)s::text[]
) as n (id, message_key, attachment_key, error_class, error_message)
order by n.message_key, n.attachment_key
on conflict (channel_id, message_key, attachment_key) do update
set stage = 'ingest', error_class = excluded.error_class, error_message = excluded.error_message,
    attempts = m.attempts + 1, last_at = excluded.last_at, due_at = (%(tries)s::timestamptz[])[m.attempts + 1],
    state = case when (%(tries)s::timestamptz[])[m.attempts + 1] is null then 'abandoned' else 'open' end

-- name: mark_missed
-- What was missed does not wait for ingesting any more, until its miss is tried again.
update sighting s set missed = true
from unnest(%(message_keys)s::text[], %(attachment_keys)s::text[]) as n (message_key, attachment_key)
where s.channel_id = %(channel_id)s and s.message_key = n.message_key and s.attachment_key = n.attachment_key

-- name: resolve
-- Items were made of them.
delete from miss m
using unnest(%(message_keys)s::text[], %(attachment_keys)s::text[]) as n (message_key, attachment_key)
where m.channel_id = %(channel_id)s and m.message_key = n.message_key and m.attachment_key = n.attachment_key

-- name: drop_misses
-- The message is gone: there is nothing left to try.
delete from miss where channel_id = %(channel_id)s and message_key = %(message_key)s

-- name: delete_miss
-- It came to an end by itself: nothing waits for it any more.
delete from miss where id = %(id)s

-- name: list_misses
-- For people: newest first, below the last one of the page before.
select m.id, m.channel_id, c.title as channel_title, m.message_key, m.attachment_key,
       coalesce(s.file_name, '') as file_name, m.stage, m.state, m.error_class, m.error_message, m.attempts, m.due_at,
       m.first_at, m.last_at
from miss m
join channel c on c.id = m.channel_id
left join sighting s on s.channel_id = m.channel_id and s.message_key = m.message_key
    and s.attachment_key = m.attachment_key
where (%(channel_id)s::uuid is null or m.channel_id = %(channel_id)s)
  and (%(state)s::text is null or m.state = %(state)s)
  and (%(below)s::uuid is null or m.id < %(below)s)
order by m.id desc limit %(limit)s

-- name: count_misses
-- How many there are of each channel, in each state.
select m.channel_id, c.title as channel_title, m.state, count(*) as misses
from miss m join channel c on c.id = m.channel_id
where (%(channel_id)s::uuid is null or m.channel_id = %(channel_id)s)
group by 1, 2, 3 order by 2, 1, 3

-- name: list_retryable
-- The named ones, all of a channel or all that there are, in the order in which they are locked, each with the switch
-- that keeps its channel off.
with wanted as (
    select id, channel_id from miss
    where (%(ids)s::uuid[] is null or id = any(%(ids)s)) and (%(channel_id)s::uuid is null or channel_id = %(channel_id)s)
), channels as (
    select channel_id, coalesce(headgate_switched_off(channel_id), '') as switched_off
    from (select distinct channel_id from wanted) as c
)
select w.id, c.switched_off from wanted w join channels c on c.channel_id = w.channel_id order by w.id

-- name: list_by_ending
-- A person types only the last group of an id, the one that is random.
select id from miss where right(id::text, 12) = %(ending)s limit 2

-- name: reopen_misses
-- A person's wish: as if nothing had failed yet, due now, and a try under way notices.
with locked as (
    select id from miss where id = any(%(ids)s) order by id for update
)
update miss m set state = 'open', attempts = 0, due_at = %(now)s, wake_seq = m.wake_seq + 1
from locked where m.id = locked.id
returning m.id

-- name: list_due_misses
-- Due misses without a job, the longest due first.
select m.id::text from miss m
where m.due_at <= %(now)s and m.state = 'open'
  and not exists (select from live_job where dedupe_key = 'miss:' || m.id)
order by m.due_at limit %(limit)s

-- name: get_miss
-- One miss, and what became of its sighting meanwhile.
select m.id, m.channel_id, m.message_key, m.attachment_key, m.stage, m.state, m.attempts, m.due_at, m.wake_seq,
       case when m.stage = 'read' then 'unread'
            when s.id is null or s.verdict <> 'kept' or s.item_id is not null then 'settled'
            when s.missed then 'missed'
            else 'waiting' end as standing
from miss m
left join sighting s on s.channel_id = m.channel_id and s.message_key = m.message_key
    and s.attachment_key = m.attachment_key
where m.id = %(id)s

-- name: fail_try
-- A failed try, unless a person asked for another one meanwhile: then it is due now and this one does not count.
update miss set error_class = %(error_class)s, error_message = %(error_message)s, last_at = %(now)s,
    attempts = case when wake_seq = %(seen)s then %(attempts)s else attempts end,
    due_at = case when wake_seq = %(seen)s then %(due_at)s::timestamptz else %(now)s end,
    state = case when wake_seq = %(seen)s and %(due_at)s::timestamptz is null then 'abandoned' else 'open' end
where id = %(id)s
returning due_at <= %(now)s

-- name: postpone_try
-- Nothing was tried, so nothing is counted.
update miss set due_at = case when wake_seq = %(seen)s then %(due_at)s::timestamptz else %(now)s end
where id = %(id)s
returning due_at <= %(now)s

-- name: release_sightings
-- The message was fetched again: ingesting tries what it had missed of it. What a person would have to retry stays.
with freed as (
    select s.id from sighting s
    where s.channel_id = %(channel_id)s and s.message_key = %(message_key)s and s.missed
      and exists (select from miss m where m.channel_id = s.channel_id and m.message_key = s.message_key
                  and m.attachment_key = s.attachment_key and m.state = 'open')
    order by s.id for update
)
update sighting s set missed = false from freed where s.id = freed.id

-- name: await_ingest
-- Its try goes on elsewhere; it looks again later in case nothing came of it.
update miss set due_at = %(due_at)s
where channel_id = %(channel_id)s and message_key = %(message_key)s and stage = 'ingest' and state = 'open'

-- name: set_miss_due
-- Parks a miss (no due time) or makes it due; either way a running try notices.
update miss set due_at = %(due_at)s, wake_seq = wake_seq + 1 where id = %(id)s
