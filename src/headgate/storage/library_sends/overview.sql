-- name: list_requests
-- Newest first, below a place in that total order, each with how far its run is.
select q.id, q.item_id, i.title as item_title, i.group_id, q.target_id, t.title as target_title, t.platform, q.account_id,
    q.account_name, coalesce(u.name, '') as user_name, coalesce(e.name, '') as rule_name,
    q.verification, s.state, q.state in ('waiting', 'queued', 'uncertain') as is_open,
    q.state in ('uncertain', 'cancelled') and coalesce(d.state = 'uncertain', false) as is_uncertain,
    case when q.state = 'queued' then coalesce(r.reason, '') else q.reason end as reason,
    q.way, m.messages, m.messages_sent, q.run_id, q.created_at, q.ended_at
from send_request q
join item i on i.id = q.item_id
join target t on t.id = q.target_id
left join app_user u on u.id = q.user_id
left join send_rule e on e.id = q.rule_id
left join run r on r.id = q.run_id
left join delivery d on d.run_id = q.run_id and d.number = 1
cross join lateral (
    select case
        when q.state = 'waiting' then 'pending'
        when q.state <> 'queued' then q.state
        when r.state = 'running' or d.state = 'sending' then 'sending'
        else 'pending' end as state
) as s
cross join lateral (
    select count(*)::int as messages, count(*) filter (where p.state = 'sent')::int as messages_sent
    from part p where p.run_id = q.run_id
) as m
where (%(ids)s::uuid[] is null or q.id = any(%(ids)s::uuid[]))
  and (%(item_id)s::uuid is null or q.item_id = %(item_id)s)
  and (%(group_id)s::uuid is null or i.group_id = %(group_id)s)
  and (%(states)s::text[] is null or s.state = any(%(states)s::text[]))
  and (not %(is_open)s or q.state in ('waiting', 'queued', 'uncertain'))
  and (%(created_at)s::timestamptz is null or (q.created_at, q.id) < (%(created_at)s::timestamptz, %(id)s::uuid))
order by q.created_at desc, q.id desc
limit %(limit)s::int

-- name: list_members
-- The visible items of groups, the oldest first.
select i.id as item_id, g.id as group_id
from item_group g join item i on i.group_id = g.id
where g.id = any(%(group_ids)s::uuid[]) and g.dissolved_at is null and not i.hidden
order by i.sent_at, i.id

-- name: list_known_items
-- Those of some items that are there.
select id from item where id = any(%(item_ids)s::uuid[]) and removed_at is null

-- name: get_target
-- A target, and how many accounts can write there.
select t.id, t.title, t.platform,
    (select count(*) from target_account a where a.target_id = t.id and a.gone_at is null)::int as accounts,
    exists (
        select from target_account a where a.target_id = t.id and a.gone_at is null and a.account_id = %(account_id)s::uuid
    ) as reached
from target t where t.id = %(target_id)s

-- name: find_requests
-- By the beginning or the end of an id.
select id from send_request
where id::text like %(digits)s || '%%' or id::text like '%%' || %(digits)s
order by created_at desc, id desc limit 6

-- name: get_own_target
-- Where a user sends things to themselves.
select o.target_id, t.title as target_title, t.platform, o.account_id, coalesce(a.name, '') as account_name
from user_target o
join target t on t.id = o.target_id
left join account a on a.id = o.account_id
where o.user_id = %(user_id)s

-- name: set_own_target
-- The last choice counts.
insert into user_target (user_id, target_id, account_id) values (%(user_id)s, %(target_id)s, %(account_id)s)
on conflict (user_id) do update set target_id = excluded.target_id, account_id = excluded.account_id

-- name: clear_own_target
-- No chat of their own any more.
delete from user_target where user_id = %(user_id)s
