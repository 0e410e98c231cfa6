-- name: list_sending_accounts
-- Accounts with a due run and without a job, the longest due first.
select r.account_id::text
from run r
where r.due_at <= %(now)s and r.account_id is not null
    and not exists (select from live_job where dedupe_key = 'send:' || r.account_id)
group by r.account_id
order by min(r.due_at), r.account_id
limit %(limit)s

-- name: postpone_sender
-- The sender gave up: its runs say so, and are tried again later by themselves.
update run set due_at = greatest(due_at, %(until)s), reason = %(reason)s
where account_id = %(account_id)s and due_at is not null

-- name: reopen_sender
-- Whatever is not done goes on.
update run r
set due_at = greatest(%(now)s, r.opens_at), reason = ''
where r.account_id = %(account_id)s and (r.due_at is null or r.due_at > %(now)s)
    and (
        r.state in ('waiting', 'running')
        or exists (select from delivery d where d.run_id = r.id and d.state = 'sending')
    )

-- name: list_unable_accounts
-- Accounts that cannot send and have runs that would.
select a.id, a.name, a.state, a.state_reason from account a
where a.state <> 'active' and exists (
    select from run r where r.account_id = a.id and r.state in ('waiting', 'running'))

-- name: pause_with_account
-- Runs of accounts that cannot send wait for them, and say why. An account that has changed since is left for the next time.
update run r
set state = 'paused', paused_by = 'account', due_at = r.closes_at, reason = u.reason
from unnest(%(account_ids)s::uuid[], %(states)s::text[], %(reasons)s::text[]) as u (account_id, state, reason)
join account a on a.id = u.account_id and a.state = u.state
where r.account_id = u.account_id and r.state in ('waiting', 'running')

-- name: resume_with_account
-- Runs that waited for their account go on when it can send again.
update run r
set state = 'waiting', paused_by = null, due_at = greatest(%(now)s, r.opens_at), reason = %(reason)s
from account a
where a.id = r.account_id and a.state = 'active' and r.state = 'paused' and r.paused_by = 'account'

-- name: list_due_runs
-- The runs of an account that are due, in the order of their turns; locked, so that a person's wish comes before or after.
-- Things of the library have one turn together: many of them do not keep a reminder from its window.
select
    r.id, r.reminder_id, r.account_id, r.account_name, r.trigger, r.title, r.state, r.zone, r.window_start, r.window_end,
    r.at_close, r.opens_at, r.closes_at, r.started_at, r.limit_signals, r.total, r.paused_by, r.reason
from run r
where r.account_id = %(account_id)s and r.due_at <= %(now)s
order by r.priority desc,
    case when r.trigger = 'library' then (
        select max(o.served_at) from run o where o.account_id = %(account_id)s and o.trigger = 'library'
    ) else r.served_at end nulls first,
    r.created_at, r.id
for update of r

-- name: lock_run
-- A run as it stands, kept so until the transaction ends.
select
    r.id, r.reminder_id, r.account_id, r.account_name, r.trigger, r.title, r.state, r.zone, r.window_start, r.window_end,
    r.at_close, r.opens_at, r.closes_at, r.started_at, r.limit_signals, r.total, r.paused_by, r.reason
from run r
where r.id = %(run_id)s
for update of r

-- name: is_due
-- Whether the account's sender has something to do now.
select exists (select from run where account_id = %(account_id)s and due_at <= %(now)s)

-- name: begin_batch
-- This run sends next.
update run
set state = 'running', reason = '', served_at = %(now)s, started_at = coalesce(started_at, %(now)s)
where id = %(run_id)s and state in ('waiting', 'running')

-- name: list_shares
-- The unsent messages of deliveries that were begun and of the next ones, in their order.
with chosen as (
    (
        select number, target_key, target_title, state, started_at from delivery
        where run_id = %(run_id)s and state = 'sending'
    )
    union all
    (
        select number, target_key, target_title, state, started_at from delivery
        where run_id = %(run_id)s and state = 'pending'
        order by number
        limit %(limit)s
    )
),
texts as materialized (
    select number, text, media_id, forward_stream, forward_key from run_part where run_id = %(run_id)s
),
moment as materialized (select headgate_real_now() as at)
select
    c.number as delivery, c.target_key, c.target_title, coalesce(c.started_at, %(now)s) as started_at,
    p.number, p.key, p.attempts, t.text, t.media_id, t.forward_stream, t.forward_key, p.state = 'sending' as doubtful, p.token, p.sending_at,
    extract(epoch from m.at - p.doubtful_since)::float8 as doubt_age_s,
    greatest(0, extract(epoch from p.sending_at - m.at) + %(settle_s)s)::float8 as settles_in_s,
    greatest(0, extract(epoch from p.retry_at - m.at))::float8 as retry_in_s
from chosen c
join part p on p.run_id = %(run_id)s and p.delivery = c.number
join texts t on t.number = p.number
cross join moment m
where p.state in ('planned', 'sending')
order by c.state desc, c.number, p.number

-- name: list_doubtful
-- Messages of a run of which nobody knows yet whether they were sent.
select
    d.number as delivery, d.target_key, d.target_title, coalesce(d.started_at, %(now)s) as started_at,
    p.number, p.key, p.attempts, t.text, t.media_id, t.forward_stream, t.forward_key, true as doubtful, p.token, p.sending_at,
    extract(epoch from m.at - p.doubtful_since)::float8 as doubt_age_s,
    greatest(0, extract(epoch from p.sending_at - m.at) + %(settle_s)s)::float8 as settles_in_s,
    0::float8 as retry_in_s
from part p
join delivery d on d.run_id = p.run_id and d.number = p.delivery
join run_part t on t.run_id = p.run_id and t.number = p.number
cross join (select headgate_real_now() as at) as m
where p.run_id = %(run_id)s and p.state = 'sending'
order by d.number, p.number

-- name: count_in_flight
-- Messages of an account that may be on their way right now, as far as another sender knows.
select count(*)::int as in_flight,
    coalesce(max(extract(epoch from p.sending_at - m.at) + %(settle_s)s), 0)::float8 as settles_in_s
from run r
join delivery d on d.run_id = r.id and d.state = 'sending'
join part p on p.run_id = d.run_id and p.delivery = d.number
cross join (select headgate_real_now() as at) as m
where r.account_id = %(account_id)s and (r.state in ('waiting', 'running', 'paused') or r.due_at is not null)
    and p.state = 'sending' and p.sending_at > m.at - make_interval(secs => %(settle_s)s)

-- name: write_rounds
-- What came of the last messages of some runs, and their next ones that are about to be sent, in the given order.
select w.held, w.places
from headgate_write_rounds(%(rounds)s::json, %(results)s::json, %(marks)s::json, %(ttl_s)s, %(now)s) as w

-- name: settle_part
-- What was found out about a message of which nobody knew; not if somebody has sent it anew meanwhile.
with settled as (
    update part p
    set state = %(state)s, message_key = %(message_key)s, error = %(error)s, token = null, doubtful_since = null,
        sent_at = case when %(state)s = 'sent' then %(now)s::timestamptz end
    where p.run_id = %(run_id)s and p.delivery = %(delivery)s and p.number = %(number)s
        and p.state = 'sending' and p.sending_at = %(sending_at)s
    returning p.run_id, p.delivery
)
update delivery d
set state = %(delivery_state)s, error = %(error)s, ended_at = %(now)s,
    latency_ms = (select sum(p.took_ms) from part p where p.run_id = d.run_id and p.delivery = d.number)
from settled s
where d.run_id = s.run_id and d.number = s.delivery and %(delivery_state)s <> '' and d.state = 'sending'

-- name: end_rest
-- What was not sent is not sent any more; of what may be under way the sender will tell.
update delivery d
set state = %(state)s, skip_reason = %(skip_reason)s, error = %(error)s, ended_at = %(now)s
where d.run_id = %(run_id)s
    and (d.state = 'pending' or d.state = 'sending' and not exists (
        select from part p where p.run_id = d.run_id and p.delivery = d.number and p.state = 'sending'))

-- name: complete_deliveries
-- Those whose last message turned out to have been sent.
update delivery d
set state = 'sent', ended_at = %(now)s,
    latency_ms = (select sum(p.took_ms) from part p where p.run_id = d.run_id and p.delivery = d.number)
where d.run_id = %(run_id)s and d.state in ('pending', 'sending') and not exists (
    select from part p where p.run_id = d.run_id and p.delivery = d.number and p.state <> 'sent')

-- name: fail_delivery
-- One target cannot be reached at all. A message that may have been sent keeps its delivery open.
update delivery d set state = 'failed', error = %(error)s, ended_at = %(now)s
where d.run_id = %(run_id)s and d.number = %(delivery)s and d.state in ('pending', 'sending') and not exists (
    select from part p where p.run_id = d.run_id and p.delivery = d.number and p.state = 'sending')

-- name: put_off_part
-- A message whose file could not be uploaded counts the try. One that may have been sent is settled first.
update part set attempts = attempts + 1, error = %(error)s, retry_at = headgate_real_now() + make_interval(secs => %(retry_s)s)
where run_id = %(run_id)s and delivery = %(delivery)s and number = %(number)s and state = 'planned'

-- name: count_open
-- Deliveries that are not done.
select count(*) from delivery where run_id = %(run_id)s and state in ('pending', 'sending')

-- name: tally
-- How many deliveries are in which state.
select state, count(*)::int as deliveries from delivery where run_id = %(run_id)s group by state

-- name: count_errors
-- Why deliveries were not made, the most frequent first.
select state, skip_reason, error, count(*)::int as deliveries
from delivery
where run_id = %(run_id)s and state in ('failed', 'skipped', 'uncertain')
group by state, skip_reason, error
order by count(*) desc, state, error

-- name: rest_runs
-- Runs that were due and have nothing to do: until their window opens or closes, or somebody resumes them.
update run
set due_at = case when state in ('waiting', 'running') and opens_at > %(now)s then opens_at else closes_at end
where id = any(%(run_ids)s::uuid[]) and due_at <= %(now)s

-- name: lock_pace
-- How often the pace of an account was changed; held, so that a change comes before or after what is decided by it.
insert into sender as s (account_id) values (%(account_id)s)
on conflict (account_id) do update set pace_seq = s.pace_seq
returning pace_seq

-- name: note_pace
-- Whoever was told to wait by the old pace asks again.
insert into sender as s (account_id, pace_seq) values (%(account_id)s, 1)
on conflict (account_id) do update set pace_seq = s.pace_seq + 1

-- name: rest_for_pace
-- Runs that wait for their account's pace say so, and are looked at again then or when their window closes.
update run r
set state = 'waiting', due_at = least(%(due_at)s::timestamptz, r.closes_at), reason = w.reason
from unnest(%(run_ids)s::uuid[], %(reasons)s::text[]) as w (id, reason)
where r.id = w.id and r.state in ('waiting', 'running') and r.due_at <= %(now)s

-- name: wake_resting
-- Runs that could go on if the pace allows it now.
update run set due_at = %(now)s
where account_id = %(account_id)s and state in ('waiting', 'running') and due_at > %(now)s and opens_at <= %(now)s

-- name: put_off
-- When the account's sender must check a run again.
update run set due_at = %(due_at)s where id = %(run_id)s and due_at is not null

-- name: carry_run
-- What is left goes on in the next stretch of the window.
update run
set opens_at = %(opens_at)s, closes_at = %(closes_at)s, carried = carried + 1,
    state = case when state = 'paused' then state else 'waiting' end,
    reason = case when state = 'paused' then reason else %(reason)s end,
    due_at = case when state = 'paused' then %(closes_at)s::timestamptz else %(opens_at)s::timestamptz end
where id = %(run_id)s and state in ('waiting', 'running', 'paused')

-- name: end_run
-- Its last word; a run that a person cancelled stays cancelled.
update run
set state = case when state = 'cancelled' then state else %(state)s end,
    summary = %(summary)s, reason = '', paused_by = null, due_at = null, ended_at = coalesce(ended_at, %(now)s)
where id = %(run_id)s

-- name: note_reach
-- When each target was reached, by which the next run orders them.
with ended as materialized (
    select id, reminder_id from run where id = %(run_id)s and reminder_id is not null and trigger <> 'test'
)
insert into reminder_reach (reminder_id, target_id, sent_at)
select r.reminder_id, d.target_id, max(d.ended_at)
from ended r
join delivery d on d.run_id = r.id
where d.state = 'sent' and d.target_id is not null
group by r.reminder_id, d.target_id
order by d.target_id
on conflict (reminder_id, target_id) do update set sent_at = greatest(reminder_reach.sent_at, excluded.sent_at)

-- name: count_limit_signals
-- The platform limited messages of this run.
update run set limit_signals = limit_signals + %(signals)s where id = %(run_id)s

-- name: get_sender
-- How an account sends; none until it first did.
select group_concurrency, saturated_since, saturated_until, pace_seq from sender where account_id = %(account_id)s

-- name: note_saturated
-- From when to when nothing but the pace kept the account from sending more; a pause of two minutes ends that.
insert into sender (account_id, saturated_since, saturated_until)
values (%(account_id)s, %(since)s, %(until)s)
on conflict (account_id) do update set
    saturated_since = case
        when sender.saturated_until >= %(since)s::timestamptz - interval '2 minutes' then sender.saturated_since
        else excluded.saturated_since
    end,
    saturated_until = excluded.saturated_until

-- name: set_group_concurrency
-- How many groups an account sends to at once.
insert into sender (account_id, group_concurrency) values (%(account_id)s, %(groups)s)
on conflict (account_id) do update set group_concurrency = excluded.group_concurrency

-- name: get_others
-- What else the account has sent to the target of a message, or may have: without it, an equal text would prove nothing.
-- A target that is gone tells nothing, which counts as one that may have. The hour is for clocks of platforms that differ.
select
    coalesce((select m.name from media m where m.id = %(media_id)s::uuid), '') as file_name,
    coalesce(array_agg(p.message_key) filter (where p.state = 'sent' and p.message_key <> ''), '{}') as claimed,
    (case when d.target_id is null then 1 else count(*) filter (
        where p.state in ('sending', 'uncertain') or p.state = 'planned' and p.doubtful_since is not null
    ) end)::int as rivals
from delivery d
left join delivery o on o.target_id = d.target_id and (o.ended_at is null or o.ended_at >= d.started_at - interval '1 hour')
left join part p on p.run_id = o.run_id and p.delivery = o.number and p.account_id = %(account_id)s
    and (p.run_id, p.delivery, p.number) <> (d.run_id, d.number, %(number)s)
where d.run_id = %(run_id)s and d.number = %(delivery)s
group by d.target_id
