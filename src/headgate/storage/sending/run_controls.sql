-- name: pause_run
-- A person's pause outlasts the account's; its window closes all the same.
update run
set state = 'paused', paused_by = 'person', reason = %(reason)s, due_at = closes_at
where id = %(run_id)s and (state in ('waiting', 'running') or state = 'paused' and paused_by = 'account')

-- name: hold_account
-- No run of the account begins before the transaction ends; one that is just beginning is waited for.
select from account where id = %(account_id)s for update

-- name: count_active_runs
-- Of an account, once its row is held.
select count(*)::int from run where account_id = %(account_id)s and state in ('waiting', 'running', 'paused')

-- name: reopen_run
-- It continues in the given stretch of its window.
update run
set state = 'waiting', paused_by = null, reason = %(reason)s, opens_at = %(opens_at)s, closes_at = %(closes_at)s,
    due_at = greatest(%(now)s, %(opens_at)s::timestamptz), ended_at = null, summary = ''
where id = %(run_id)s

-- name: cancel_run
-- Nothing more is sent; due as long as messages may be on their way.
update run
set state = 'cancelled', paused_by = null, reason = '', ended_at = %(now)s, due_at = %(now)s
where id = %(run_id)s and state in ('waiting', 'running', 'paused')

-- name: take_up_deliveries
-- Deliveries in these states are to be made after all; what was sent of them stays sent.
with chosen as (
    update delivery
    set state = 'pending', skip_reason = null, error = '', ended_at = null
    where run_id = %(run_id)s and state = any(%(states)s::text[])
        and (%(delivery)s::int is null or number = %(delivery)s)
    returning number
),
planned as (
    update part p
    set state = 'planned', attempts = 0, retry_at = null, doubtful_since = null, token = null, error = ''
    from chosen c
    where p.run_id = %(run_id)s and p.delivery = c.number and p.state in ('failed', 'uncertain')
)
select count(*)::int from chosen

-- name: accept_uncertain
-- A person saw the message in the group.
update part set state = 'sent', sent_at = %(now)s, error = '', doubtful_since = null
where run_id = %(run_id)s and delivery = %(delivery)s and state = 'uncertain'

-- name: take_time
-- A run of a hundred thousand groups is not removed within the limit of an ordinary statement.
set local statement_timeout = 0

-- name: delete_old_runs
-- Runs that ended long ago, the oldest first, so many deliveries at a time but one run at least. Kept are the newest
-- run of each reminder, what has not ended or is to be looked at again, what waits for a person's word because nobody
-- knows whether it was sent, and a run whose remainder is still being sent.
with old as (
    select r.id, r.created_at, r.total from run r
    where r.created_at < %(before)s and r.ended_at < %(before)s and r.due_at is null
        and r.state not in ('waiting', 'running', 'paused')
        and not exists (select from run n where n.remainder_of = r.id and (n.ended_at is null or n.due_at is not null))
        and (r.reminder_id is null or exists (
            select from run n where n.reminder_id = r.reminder_id and (n.created_at, n.id) > (r.created_at, r.id)))
        and not exists (select from delivery d where d.run_id = r.id and d.state in ('pending', 'sending', 'uncertain'))
    order by r.created_at, r.id
    limit %(most_runs)s
),
counted as (
    select id, sum(total) over (order by created_at, id) - total as before_it from old
)
delete from run where id in (select id from counted where before_it < %(most_deliveries)s)

-- name: delete_old_requests
-- Requests that ended long ago.
delete from send_request where ended_at < %(before)s and state in ('sent', 'failed', 'cancelled')

-- name: find_remainder
-- The account that took over what a run has not delivered.
select account_name from run where remainder_of = %(run_id)s order by created_at desc limit 1
