-- name: check_plan
-- Whether what a plan names is there, how many targets it has with those of its lists, and how many of them the
-- account does not see.
with wanted as (
    select id from unnest(%(target_ids)s::uuid[]) as u (id)
    union
    select m.target_id from target_list_member m where m.list_id = any(%(list_ids)s::uuid[])
)
select a.name as account_name, a.platform,
    (select count(*) from unnest(%(target_ids)s::uuid[]) as u (id)
     where not exists (select from target t where t.id = u.id and t.platform = a.platform))::int as strange_targets,
    (select count(*) from unnest(%(list_ids)s::uuid[]) as u (id)
     where not exists (select from target_list l where l.id = u.id))::int as strange_lists,
    (select count(*) from unnest(%(media_ids)s::uuid[]) as u (id)
     where not exists (select from media m where m.id = u.id))::int as strange_media,
    (select count(*) from wanted)::int as total,
    (select count(*) from wanted w where not exists (
        select from target_account s where s.account_id = a.id and s.target_id = w.id and s.gone_at is null
    ))::int as unseen
from account a where a.id = %(account_id)s

-- name: insert_reminder
-- Its parts and targets come right after it.
insert into reminder (
    id, title, account_id, zone, once_at, cron, window_start, window_end, at_close, state, fired_until, due_at,
    created_at, updated_at
)
values (
    %(id)s, %(title)s, %(account_id)s, %(zone)s, %(once_at)s, %(cron)s, %(window_start)s, %(window_end)s,
    %(at_close)s, %(state)s, %(fired_until)s, %(due_at)s, %(now)s, %(now)s
)

-- name: update_reminder
-- All that a person plans; its state stays.
update reminder set title = %(title)s, account_id = %(account_id)s, zone = %(zone)s, once_at = %(once_at)s,
    cron = %(cron)s, window_start = %(window_start)s, window_end = %(window_end)s, at_close = %(at_close)s,
    fired_until = %(fired_until)s, due_at = %(due_at)s, updated_at = %(now)s
where id = %(id)s

-- name: delete_parts
-- To be written anew.
delete from reminder_part where reminder_id = %(reminder_id)s

-- name: insert_parts
-- In the order in which they are sent.
insert into reminder_part (reminder_id, number, text, media_id)
select %(reminder_id)s, p.number, p.text, p.media_id
from unnest(%(texts)s::text[], %(media_ids)s::uuid[]) with ordinality as p (text, media_id, number)

-- name: delete_targets
-- To be written anew.
delete from reminder_target where reminder_id = %(reminder_id)s

-- name: insert_targets
-- In the order in which they were chosen.
insert into reminder_target (reminder_id, target_id, place)
select %(reminder_id)s, t.id, t.place from unnest(%(target_ids)s::uuid[]) with ordinality as t (id, place)
order by t.id

-- name: delete_lists
-- To be written anew.
delete from reminder_list where reminder_id = %(reminder_id)s

-- name: insert_lists
-- Whoever is in them when the reminder fires is sent to.
insert into reminder_list (reminder_id, list_id)
select %(reminder_id)s, u.id from unnest(%(list_ids)s::uuid[]) as u (id) order by u.id

-- name: lock_reminder
-- With the account that sends; nobody else changes or fires it until the transaction ends.
select r.id, r.title, r.account_id, coalesce(a.name, '') as account_name, coalesce(a.platform, '') as platform,
    r.zone, r.once_at, r.cron, r.window_start, r.window_end, r.at_close, r.state, r.fired_until, r.due_at,
    r.created_at, r.updated_at
from reminder r left join account a on a.id = r.account_id
where r.id = %(id)s
for update of r

-- name: set_schedule
-- The fires up to `fired_until` are dealt with; without a next one there is nothing to wait for.
update reminder set state = %(state)s, fired_until = %(fired_until)s, due_at = %(due_at)s, updated_at = %(now)s
where id = %(id)s

-- name: note_fired
-- Not a change by a person.
update reminder set fired_until = %(fired_until)s, due_at = %(due_at)s where id = %(id)s

-- name: copy_reminder
-- Paused, so that nothing is sent twice before a person has looked at it.
insert into reminder (
    id, title, account_id, zone, once_at, cron, window_start, window_end, at_close, state, fired_until, created_at,
    updated_at
)
select %(new_id)s, %(title)s, account_id, zone, once_at, cron, window_start, window_end, at_close, 'paused',
    %(now)s, %(now)s, %(now)s
from reminder where id = %(id)s

-- name: copy_parts
-- The messages of a copy.
insert into reminder_part (reminder_id, number, text, media_id)
select %(new_id)s, number, text, media_id from reminder_part where reminder_id = %(id)s

-- name: copy_targets
-- The targets of a copy.
insert into reminder_target (reminder_id, target_id, place)
select %(new_id)s, target_id, place from reminder_target where reminder_id = %(id)s

-- name: copy_lists
-- The lists of a copy.
insert into reminder_list (reminder_id, list_id)
select %(new_id)s, list_id from reminder_list where reminder_id = %(id)s

-- name: count_active_runs
-- What must come to an end before a reminder can go.
select count(*) from run where reminder_id = %(id)s and state in ('waiting', 'running', 'paused')

-- name: list_of_account
-- Titles of the reminders that an account sends.
select title from reminder where account_id = %(account_id)s and state <> 'archived' order by lower(title), id

-- name: list_left_alone
-- Titles of the reminders that send to a list and have nobody to send to as it is now.
select r.title from reminder_list u join reminder r on r.id = u.reminder_id
where u.list_id = %(list_id)s and r.state <> 'archived'
    and not exists (select from reminder_target t where t.reminder_id = r.id)
    and not exists (
        select from reminder_list o join target_list_member m on m.list_id = o.list_id where o.reminder_id = r.id)
order by lower(r.title), r.id

-- name: take_time
-- A reminder with years of history is not removed within the limit of an ordinary statement.
set local statement_timeout = 0

-- name: delete_reminder
-- Its history goes with it.
delete from reminder where id = %(id)s

-- name: list_due
-- Reminders that are to fire and have no job, the longest due first.
select id::text from reminder
where due_at <= %(now)s and state = 'active'
  and not exists (select from live_job where dedupe_key = 'fire:' || reminder.id)
order by due_at, id limit %(limit)s

-- name: postpone
-- A fire that gave up is tried again later. One that is not in the schedule stays out of it.
update reminder set due_at = %(until)s where id = %(id)s and due_at is not null

-- name: reopen
-- Whoever is paused or archived stays so.
update reminder set due_at = %(now)s where id = %(id)s and state = 'active'
