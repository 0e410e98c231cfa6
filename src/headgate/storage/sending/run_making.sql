-- name: get_sending_account
-- Who is to send.
select id, name, platform, state from account where id = %(account_id)s

-- name: insert_run
-- Nothing if this fire has its run already. The account keeps its name here, also when it is deleted.
insert into run (
    id, reminder_id, remainder_of, account_id, account_name, trigger, title, fire_at, zone, window_start, window_end,
    at_close, state, reason, opens_at, closes_at, due_at, priority, summary, created_at, ended_at
)
values (
    %(id)s, %(reminder_id)s, %(remainder_of)s, %(account_id)s, %(account_name)s, %(trigger)s, %(title)s, %(fire_at)s,
    %(zone)s, %(window_start)s, %(window_end)s, %(at_close)s, %(state)s, %(reason)s, %(opens_at)s, %(closes_at)s,
    %(due_at)s, %(priority)s, %(summary)s, %(now)s, %(ended_at)s
)
on conflict (reminder_id, fire_at) where trigger = 'schedule' do nothing

-- name: insert_reminder_parts
-- The messages as they are now; what a person changes later is for later runs.
insert into run_part (run_id, number, text, media_id)
select %(run_id)s, number, text, media_id from reminder_part where reminder_id = %(reminder_id)s

-- name: insert_draft_parts
-- The messages of what is not kept yet.
insert into run_part (run_id, number, text, media_id)
select %(run_id)s, p.number, p.text, p.media_id
from unnest(%(texts)s::text[], %(media_ids)s::uuid[]) with ordinality as p (text, media_id, number)

-- name: insert_reminder_deliveries
-- Each target once. Who waited longest for this reminder comes first, so that the end of the order is not the same
-- groups' every time; then as they were chosen, and behind them the members of the lists.
with wanted as (
    select t.target_id, 0 as source, '' as list, t.place from reminder_target t where t.reminder_id = %(reminder_id)s
    union all
    select m.target_id, 1, lower(l.name), m.place
    from reminder_list u
    join target_list l on l.id = u.list_id
    join target_list_member m on m.list_id = l.id
    where u.reminder_id = %(reminder_id)s
), chosen as (
    select distinct on (target_id) target_id, source, list, place from wanted order by target_id, source, list, place
), added as (
    insert into delivery (run_id, number, target_id, target_key, target_title)
    select %(run_id)s,
        row_number() over (order by h.sent_at nulls first, c.source, c.list, c.place, c.target_id),
        t.id, t.key, t.title
    from chosen c
    join target t on t.id = c.target_id
    left join reminder_reach h on h.reminder_id = %(reminder_id)s and h.target_id = c.target_id
    returning number
)
update run set total = (select count(*) from added) where id = %(run_id)s returning total

-- name: insert_delivery
-- One target alone, if it is on the account's platform.
with added as (
    insert into delivery (run_id, number, target_id, target_key, target_title)
    select r.id, 1, t.id, t.key, t.title
    from run r join account a on a.id = r.account_id join target t on t.platform = a.platform
    where r.id = %(run_id)s and t.id = %(target_id)s
    returning number
)
update run set total = (select count(*) from added) where id = %(run_id)s returning total

-- name: insert_parts
-- Every message of every delivery, with the key that stays the same at every try.
insert into part (run_id, delivery, number, account_id, key)
select d.run_id, d.number, p.number, r.account_id, headgate_part_key(d.run_id, d.number, p.number)
from run r join delivery d on d.run_id = r.id join run_part p on p.run_id = r.id
where r.id = %(run_id)s

-- name: find_run_under_way
-- The newest run of a reminder that has not ended; tests and remainders are no runs of its own.
select r.id, r.total,
    (select count(*) from delivery d where d.run_id = r.id and d.state = 'sent')::int as sent
from run r
where r.reminder_id = %(reminder_id)s and r.state in ('waiting', 'running', 'paused')
    and r.trigger in ('schedule', 'person')
order by r.created_at desc, r.id desc
limit 1

-- name: join_run
-- A fire that came while the run was under way.
update run set joined = joined + 1 where id = %(run_id)s and state in ('waiting', 'running', 'paused')

-- name: count_targets
-- To how many groups a reminder would go now.
select count(*) from (
    select t.target_id from reminder_target t where t.reminder_id = %(reminder_id)s
    union
    select m.target_id from reminder_list u join target_list_member m on m.list_id = u.list_id
    where u.reminder_id = %(reminder_id)s
) as u
