-- name: list_runs
-- Newest first, below a place in that total order; how far each is stands in the index of its deliveries. Things of the
-- library have a list of their own.
select r.id, r.reminder_id, r.remainder_of, r.account_id, r.account_name, r.trigger, r.title, r.fire_at, r.zone,
    r.window_start, r.window_end, r.at_close, r.state, r.reason, r.paused_by, r.opens_at, r.closes_at, r.carried,
    r.limit_signals, r.total, r.summary, r.created_at, r.started_at, r.ended_at, r.due_at, r.joined,
    headgate_job_wait_s('send:' || r.account_id) as slot_wait_s,
    headgate_job_awaits('send:' || r.account_id) as awaited_holder, t.*
from run r
cross join lateral (
    select count(*) filter (where d.state = 'pending')::int as pending,
        count(*) filter (where d.state = 'sending')::int as sending,
        count(*) filter (where d.state = 'sent')::int as sent,
        count(*) filter (where d.state = 'failed')::int as failed,
        count(*) filter (where d.state = 'skipped')::int as skipped,
        count(*) filter (where d.state = 'uncertain')::int as uncertain
    from delivery d where d.run_id = r.id
) as t
where r.trigger <> 'library'
  and (%(reminder_id)s::uuid is null or r.reminder_id = %(reminder_id)s)
  and (%(account_id)s::uuid is null or r.account_id = %(account_id)s)
  and (%(states)s::text[] is null or r.state = any(%(states)s::text[]))
  and (%(created_at)s::timestamptz is null or (r.created_at, r.id) < (%(created_at)s::timestamptz, %(id)s::uuid))
order by r.created_at desc, r.id desc
limit %(limit)s::int

-- name: get_run
-- One of them.
select r.id, r.reminder_id, r.remainder_of, r.account_id, r.account_name, r.trigger, r.title, r.fire_at, r.zone,
    r.window_start, r.window_end, r.at_close, r.state, r.reason, r.paused_by, r.opens_at, r.closes_at, r.carried,
    r.limit_signals, r.total, r.summary, r.created_at, r.started_at, r.ended_at, r.due_at, r.joined,
    headgate_job_wait_s('send:' || r.account_id) as slot_wait_s,
    headgate_job_awaits('send:' || r.account_id) as awaited_holder, t.*
from run r
cross join lateral (
    select count(*) filter (where d.state = 'pending')::int as pending,
        count(*) filter (where d.state = 'sending')::int as sending,
        count(*) filter (where d.state = 'sent')::int as sent,
        count(*) filter (where d.state = 'failed')::int as failed,
        count(*) filter (where d.state = 'skipped')::int as skipped,
        count(*) filter (where d.state = 'uncertain')::int as uncertain
    from delivery d where d.run_id = r.id
) as t
where r.id = %(run_id)s

-- name: get_figures
-- What is counted message by message, and how long the platform took for a delivery.
select
    (select count(*) from run_part m where m.run_id = %(run_id)s)::int as parts,
    p.messages, p.messages_sent, d.median_ms, d.p95_ms
from (
    select count(*)::int as messages, count(*) filter (where state = 'sent')::int as messages_sent
    from part where run_id = %(run_id)s
) as p
cross join (
    select percentile_cont(0.5) within group (order by latency_ms) as median_ms,
        percentile_cont(0.95) within group (order by latency_ms) as p95_ms
    from delivery where run_id = %(run_id)s and state = 'sent'
) as d

-- name: list_deliveries
-- In the order in which they are made, after one of them, each with its messages.
select d.number, d.target_id, d.target_key, d.target_title, d.state, d.error, d.started_at, d.ended_at, d.latency_ms,
    p.states, p.errors, p.attempts, p.sent_ats, p.message_keys
from (
    select * from delivery
    where run_id = %(run_id)s and number > %(after)s and (%(state)s::text is null or state = %(state)s)
    order by number
    limit %(limit)s::int
) as d
cross join lateral (
    select coalesce(array_agg(p.state order by p.number), '{}') as states,
        coalesce(array_agg(p.error order by p.number), '{}') as errors,
        coalesce(array_agg(p.attempts order by p.number), '{}') as attempts,
        coalesce(array_agg(p.sent_at order by p.number), '{}') as sent_ats,
        coalesce(array_agg(p.message_key order by p.number), '{}') as message_keys
    from part p where p.run_id = d.run_id and p.delivery = d.number
) as p
order by d.number

-- name: find_runs
-- By the beginning or the end of an id.
select id, reminder_id, title, state, created_at from run
where id::text like %(digits)s || '%%' or id::text like '%%' || %(digits)s
order by created_at desc, id desc limit 6

-- name: find_runs_by_title
-- The newest run of every reminder that is called so, and of what was only tested.
select distinct on (r.reminder_id) r.id, r.reminder_id, r.title, r.state, r.created_at
from run r left join reminder m on m.id = r.reminder_id
where lower(coalesce(m.title, r.title)) = lower(%(title)s::text) and r.trigger <> 'library'
order by r.reminder_id, r.created_at desc, r.id desc limit 6

-- name: list_active_runs
-- The runs of a reminder that have not ended.
select id from run
where reminder_id = %(reminder_id)s and state in ('waiting', 'running', 'paused')
order by created_at desc, id desc
