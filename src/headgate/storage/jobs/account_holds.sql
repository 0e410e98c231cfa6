-- name: take_hold
-- Only an account that no process holds. Nothing here looks at a clock: a hold ends by its holder, or by a watcher that saw
-- no renewal for long enough on its own monotonic clock.
insert into account_hold (account_id, token, holder)
select id, %(token)s, %(holder)s from account where id = %(account_id)s for key share
on conflict (account_id) do nothing
returning true as done

-- name: renew_hold
-- The count is the sign of life that watchers look for.
update account_hold set renewals = renewals + 1
where account_id = %(account_id)s and token = %(token)s
returning true as done

-- name: get_hold
-- Who holds an account, and its latest sign of life.
select token, holder, renewals from account_hold where account_id = %(account_id)s

-- name: end_hold
-- By its holder, or by a watcher if nothing was renewed since it looked; either way without `renewals` or with it.
delete from account_hold
where account_id = %(account_id)s
  and (%(token)s::uuid is null or token = %(token)s::uuid)
  and (%(renewals)s::bigint is null or renewals = %(renewals)s::bigint)
returning true as done

-- name: notify_hold
-- Whoever waits for the account looks at once; the holder looks whether it may still use it.
select pg_notify('headgate_hold', %(account_id)s::text)
