-- name: get_scope
-- Who is to send, and to how many groups: those chosen and the members of the lists, each once.
with wanted as (
    select u.id from unnest(%(target_ids)s::uuid[]) as u (id)
    union
    select m.target_id from target_list_member m where m.list_id = any(%(list_ids)s::uuid[])
)
select a.name as account_name, a.platform, a.state, a.state_reason, a.established,
    (select count(*) from wanted)::int as targets
from account a where a.id = %(account_id)s

-- name: count_unsent
-- What a run has still to send: its messages, and the groups that they are for.
select count(*)::int as messages, count(distinct d.number)::int as targets
from delivery d join part p on p.run_id = d.run_id and p.delivery = d.number
where d.run_id = %(run_id)s and d.state in ('pending', 'sending') and p.state in ('planned', 'sending')

-- name: list_queued
-- What the other runs of an account have still to send, in the order of their turns. A run that a person paused, or
-- that a dead letter holds, sends nothing until somebody acts.
select r.window_start, r.window_end, r.zone, r.at_close, (
    select count(*) from delivery d join part p on p.run_id = d.run_id and p.delivery = d.number
    where d.run_id = r.id and d.state in ('pending', 'sending') and p.state in ('planned', 'sending')
)::int as messages
from run r
where r.account_id = %(account_id)s and r.id is distinct from %(run_id)s::uuid
  and (r.state in ('waiting', 'running') and r.due_at is not null or r.state = 'paused' and r.paused_by = 'account')
order by r.priority desc, r.served_at nulls first, r.created_at, r.id

-- name: count_busy_accounts
-- Other accounts with a run that could be sent now.
select count(distinct r.account_id)::int from run r
where r.state in ('waiting', 'running') and r.due_at <= %(now)s and r.account_id <> %(account_id)s

-- name: list_able_accounts
-- Other accounts of the platform that can send now, with how many of the groups each can write to.
with wanted as (
    select u.id from unnest(%(target_ids)s::uuid[]) as u (id)
    union
    select m.target_id from target_list_member m where m.list_id = any(%(list_ids)s::uuid[])
    union
    select d.target_id from delivery d where d.run_id = %(run_id)s and d.state in ('pending', 'sending')
)
select o.name, count(*)::int as targets
from account a
join account o on o.platform = a.platform and o.id <> a.id and o.state = 'active'
join target_account s on s.account_id = o.id and s.gone_at is null
join wanted w on w.id = s.target_id
where a.id = %(account_id)s
group by o.id, o.name
order by count(*) desc, o.name
limit 20
