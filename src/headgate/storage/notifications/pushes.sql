-- name: list_due
-- Addresses with something to be done that have no job, the longest due first.
select a.id::text from push_address a
where a.due_at <= %(now)s and a.enabled
  and not exists (select from live_job where dedupe_key = 'push:' || a.id)
order by a.due_at, a.id limit %(limit)s

-- name: set_due
-- When to look again; empty if there is nothing to be done.
update push_address set due_at = %(due_at)s::timestamptz where id = %(id)s

-- name: lock_address
-- Nobody else plans, ends or adds anything to wait for this address until the transaction ends.
select id, user_id, enabled, failures, opened, open_until from push_address where id = %(id)s for update

-- name: get_role
-- With which role a push acts: no more than its owner may today, nor than who added the address might.
select case when u.role = 'admin' and a.added_as = 'admin' then 'admin' else 'member' end
from push_address a join app_user u on u.id = a.user_id
where a.id = %(id)s

-- name: doubt_pushes
-- Whoever was sending is gone, with or without having sent: it is not repeated by itself.
update push set state = 'uncertain', ended_at = %(now)s, error = %(error)s
where address_id = %(address_id)s and state = 'sending'

-- name: get_planned
-- The message that is to go out, for the first time or again.
select id, title, body, attempts from push where address_id = %(address_id)s and state = 'planned'

-- name: drop_read
-- What the user has read meanwhile needs not go out.
delete from push_notification w using notification n
where w.address_id = %(address_id)s and w.push_id is null and n.id = w.notification_id and n.read_at is not null

-- name: list_waiting
-- What is to go out, in the order in which it was told.
select n.id, n.title, n.body, n.url, n.at, coalesce(c.number, '') as number, n.item_id is null as is_chapter
from push_notification w join notification n on n.id = w.notification_id left join chapter c on c.id = n.chapter_id
where w.address_id = %(address_id)s and w.push_id is null
order by n.at, n.id

-- name: put_push
-- One message, planned, or one that failed before with all that came since; what it tells of follows.
with known as (
    update push set title = %(title)s, body = %(body)s, notifications = %(notifications)s where id = %(id)s returning id
)
insert into push (id, address_id, title, body, notifications, made_at)
select %(id)s::uuid, %(address_id)s::uuid, %(title)s::text, %(body)s::text, %(notifications)s::int, %(now)s::timestamptz
where not exists (select from known)

-- name: insert_failed
-- What waited too long: kept, so that a person sees it and can have it sent.
insert into push (id, address_id, state, title, body, notifications, made_at, ended_at, error)
values (%(id)s, %(address_id)s, 'failed', %(title)s, %(body)s, %(notifications)s, %(now)s, %(now)s, %(error)s)

-- name: drop_push
-- A planned message with nothing left to tell.
update push set state = 'failed', ended_at = %(now)s, error = %(error)s where id = %(id)s and state = 'planned'

-- name: link_waiting
-- From now on these are in this message and in no other.
update push_notification set push_id = %(push_id)s
where address_id = %(address_id)s and push_id is null and notification_id = any(%(notification_ids)s::uuid[])

-- name: begin_push
-- Committed before the call; nothing if another has begun.
update push set state = 'sending', begun_at = %(now)s, attempts = attempts + 1
where id = %(id)s and state = 'planned' returning attempts

-- name: end_push
-- What became of the call; one that is to be tried again has no end.
update push set state = %(state)s, error = %(error)s, ended_at = %(ended_at)s::timestamptz
where id = %(id)s and state = 'sending'

-- name: release_waiting
-- What certainly did not go out is collected anew, with all that came since.
update push_notification set push_id = null where push_id = %(push_id)s

-- name: has_waiting
-- Whether something is yet to go out: it came while others were sent, or is to be tried again.
select exists (select from push_notification where address_id = %(address_id)s and push_id is null)
    or exists (select from push where address_id = %(address_id)s and state = 'planned')

-- name: note_sent
-- The address works: its breaker is closed.
update push_address set failures = 0, opened = 0, open_until = null, error = '', sent_at = %(now)s where id = %(id)s

-- name: note_failed
-- What went wrong, and how long the address is left alone.
update push_address set failures = %(failures)s, opened = %(opened)s, open_until = %(open_until)s::timestamptz,
    error = %(error)s, failed_at = %(now)s
where id = %(id)s
