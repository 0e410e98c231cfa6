-- name: lock_family
-- A run, those whose remainder it sends, and those that send theirs: together they reach a target once. Locked in
-- one order, so that two that pass on do not wait for each other.
with recursive up as (
    select id, remainder_of from run where id = %(run_id)s
    union
    select r.id, r.remainder_of from run r join up on r.id = up.remainder_of
), family as (
    select id from up
    union
    select r.id from run r join family f on r.remainder_of = f.id
)
select id from run where id in (select id from family) order by id for update

-- name: get_run
-- What the new run takes over; the platform is that of the targets if the account is gone.
select r.id, r.reminder_id, r.account_id, r.account_name, r.title, r.zone, r.window_start, r.window_end, r.at_close,
    r.state, r.trigger,
    coalesce(a.platform, (
        select t.platform from delivery d join target t on t.id = d.target_id where d.run_id = r.id limit 1
    ), '') as platform
from run r left join account a on a.id = r.account_id
where r.id = %(run_id)s

-- name: lock_parts
-- Nothing is begun, and what was begun is told, while it is decided what is left.
select number from part where run_id = %(run_id)s order by delivery, number for update

-- name: insert_rest
-- What a run has not delivered and nobody else of its family has or will. A message that is under way, or of which
-- nobody knows whether it was sent, keeps its delivery here.
with taken as (
    select d.target_key from delivery d
    where d.run_id = any(%(family)s::uuid[]) and d.run_id not in (%(old_id)s, %(new_id)s)
      and (d.state in ('pending', 'sending', 'sent') or (d.state = 'uncertain' and not %(include_uncertain)s))
), rest as (
    select d.number, d.target_id, d.target_key, d.target_title from delivery d
    where d.run_id = %(old_id)s
      and (d.state in ('failed', 'skipped', 'pending') or (d.state = 'uncertain' and %(include_uncertain)s))
      and d.target_key not in (select target_key from taken)
      and not exists (
          select from part p where p.run_id = d.run_id and p.delivery = d.number
            and (p.state = 'sending' or (p.state = 'uncertain' and not %(include_uncertain)s))
      )
), messages as (
    insert into run_part (run_id, number, text, media_id)
    select %(new_id)s, number, text, media_id from run_part where run_id = %(old_id)s
), added as (
    insert into delivery (run_id, number, target_id, target_key, target_title)
    select %(new_id)s, row_number() over (order by number), target_id, target_key, target_title from rest
    returning number
)
update run set total = (select count(*) from added) where id = %(new_id)s returning total

-- name: insert_rest_parts
-- What was sent to a target is not sent again, whoever sends the rest.
insert into part (run_id, delivery, number, account_id, key, state, sent_at, message_key)
select n.run_id, n.number, p.number, %(account_id)s, headgate_part_key(n.run_id, n.number, p.number),
    case when o.state = 'sent' then 'sent' else 'planned' end,
    case when o.state = 'sent' then o.sent_at end,
    case when o.state = 'sent' then o.message_key else '' end
from delivery n
join run_part p on p.run_id = n.run_id
left join delivery d on d.run_id = %(old_id)s and d.target_key = n.target_key
    and d.target_id is not distinct from n.target_id
left join part o on o.run_id = d.run_id and o.delivery = d.number and o.number = p.number
where n.run_id = %(new_id)s

-- name: pass_on
-- What the old run would still have done is the new one's now; the sender finds it ended.
with passed as (
    update delivery o set state = 'skipped', skip_reason = 'passed_on', error = %(error)s, ended_at = %(now)s
    from delivery n
    where o.run_id = %(old_id)s and o.state = 'pending' and n.run_id = %(new_id)s
      and n.target_key = o.target_key and n.target_id is not distinct from o.target_id
    returning o.number
), stopped as (
    update part p set state = 'failed', error = %(error)s
    from passed
    where p.run_id = %(old_id)s and p.delivery = passed.number and p.state = 'planned'
)
update run set due_at = %(now)s
where id = %(old_id)s and state in ('waiting', 'running', 'paused') and exists (select from passed)
