-- name: insert_address
-- Nothing if the user has one of this name already, whatever its case.
insert into push_address (id, user_id, name, shown, added_as, created_at)
values (%(id)s, %(user_id)s, %(name)s, %(shown)s, %(added_as)s, %(now)s)
on conflict (user_id, lower(name)) do nothing

-- name: rename_address
-- Only the owner's.
update push_address set name = %(name)s where id = %(id)s and user_id = %(user_id)s

-- name: set_enabled
-- Whoever switches an address on again trusts it again: its breaker is closed.
update push_address set enabled = %(enabled)s, due_at = null, failures = 0, opened = 0, open_until = null
where id = %(id)s and user_id = %(user_id)s and enabled <> %(enabled)s

-- name: drop_waiting
-- An address that is off gets nothing later: what was to go out is in the user's list.
delete from push_notification where address_id = %(id)s and push_id is null

-- name: drop_planned
-- Nor what was to be tried again.
update push set state = 'failed', ended_at = %(now)s, error = %(error)s where address_id = %(id)s and state = 'planned'

-- name: delete_address
-- With all its pushes.
delete from push_address where id = %(id)s and user_id = %(user_id)s

-- name: get_address
-- Only the owner's.
select a.id, a.user_id, a.name, a.shown, a.enabled, a.due_at, a.failures, a.opened, a.open_until, a.error, a.failed_at,
       a.sent_at, a.created_at,
       (select count(*) from push_notification w left join push p on p.id = w.push_id
        where w.address_id = a.id and (w.push_id is null or p.state = 'planned'))::int as waiting
from push_address a where a.id = %(id)s and a.user_id = %(user_id)s

-- name: list_addresses
-- All of a user, by name, each with how much waits.
select a.id, a.user_id, a.name, a.shown, a.enabled, a.due_at, a.failures, a.opened, a.open_until, a.error, a.failed_at,
       a.sent_at, a.created_at,
       (select count(*) from push_notification w left join push p on p.id = w.push_id
        where w.address_id = a.id and (w.push_id is null or p.state = 'planned'))::int as waiting
from push_address a where a.user_id = %(user_id)s order by lower(a.name), a.id

-- name: count_addresses
-- How many a user has.
select count(*) from push_address where user_id = %(user_id)s

-- name: list_pushes
-- A page of what went out to an address, newest first, below a place in that total order.
select p.id, p.state, p.title, p.body, p.notifications, p.attempts, p.made_at, p.begun_at, p.ended_at, p.error
from push p join push_address a on a.id = p.address_id
where p.address_id = %(address_id)s and a.user_id = %(user_id)s
  and (p.made_at, p.id) < (%(made_at)s::timestamptz, %(id)s::uuid)
order by p.made_at desc, p.id desc
limit %(limit)s::int

-- name: repeat_push
-- A person wants a message to go out (again); not while another is under way to the address, and not what waits for the
-- next one anyway.
update push p set state = 'planned', attempts = 0, ended_at = null
from push_address a
where p.id = %(id)s and a.id = p.address_id and a.user_id = %(user_id)s and a.enabled
  and p.state in ('failed', 'uncertain')
  and exists (select from push_notification w where w.push_id = p.id)
  and not exists (select from push o where o.address_id = p.address_id and o.state in ('planned', 'sending'))
returning p.address_id

-- name: make_due
-- Somebody asks for it now.
update push_address set due_at = %(now)s where id = %(id)s
