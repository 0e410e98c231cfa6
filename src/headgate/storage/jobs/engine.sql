-- name: complete_jobs
-- The fence and the completion in one; it fails if another worker owns one of the jobs now.
select headgate_complete_jobs(%(job_id)s::bigint[], %(owner)s::uuid[])

-- name: release_job
-- Back to the queue without counting an attempt: a shutdown, a rate limit, a lost database. Some are counted apart.
update pgqueuer
set status = 'queued', queue_manager_id = null, slot = null, updated = headgate_real_now(),
    headers = case when %(counted)s::text is null then headers else coalesce(headers, '{}')
        || jsonb_build_object(%(counted)s::text, coalesce((headers ->> %(counted)s::text)::int, 0) + 1) end,
    execute_after = headgate_real_now() + make_interval(secs => %(delay_s)s)
where id = %(job_id)s and queue_manager_id = %(owner)s and status = 'picked'

-- name: retry_job
-- Back to the queue after a failed attempt, with the failure in the engine's log. The first failure's product
-- time stays with the job: the engine's own times are real ones.
with retried as (
    update pgqueuer
    set status = 'queued', queue_manager_id = null, slot = null, updated = headgate_real_now(),
        attempts = attempts + 1,
        headers = jsonb_build_object('first_tried_at', %(now)s::timestamptz) || coalesce(headers, '{}'),
        execute_after = headgate_real_now() + make_interval(secs => %(delay_s)s)
    where id = %(job_id)s and queue_manager_id = %(owner)s and status = 'picked'
    returning id, headgate_job_kind(headers, entrypoint) as kind, priority
)
insert into pgqueuer_log (job_id, status, entrypoint, priority, traceback)
select id, 'exception', kind, priority, %(failure)s::jsonb from retried

-- name: forget_crashes
-- A job that got on with its work is no suspect, however often its worker was killed before.
update pgqueuer set headers = headers - 'crashes', updated = headgate_real_now()
where id = %(job_id)s and queue_manager_id = %(owner)s and status = 'picked'

-- name: get_server_uptime_s
-- A connection that was lost since then was not lost because the whole server was stopped.
select extract(epoch from headgate_real_now() - pg_postmaster_start_time())::float8

-- name: isolate_job
-- A job that was there at several crashes runs alone from now on; it keeps its key and its counts.
update pgqueuer
set status = 'queued', entrypoint = 'suspect', queue_manager_id = null, slot = null,
    updated = headgate_real_now()
where id = %(job_id)s and queue_manager_id = %(owner)s and status = 'picked'

-- name: route_job
-- To the process that holds the account, which takes what lies under this name; if none does, back to all. The hold's row
-- is locked: who ends the hold waits for this, and then finds the job.
with held as materialized (
    select account_id from account_hold where account_id = %(account_id)s for key share
)
update pgqueuer
set status = 'queued', queue_manager_id = null, slot = null, updated = headgate_real_now(),
    entrypoint = case when exists (select from held) then %(route)s::text else %(plain)s::text end,
    execute_after = headgate_real_now()
where id = %(job_id)s and queue_manager_id = %(owner)s and status = 'picked'

-- name: unroute_jobs
-- What waited for the holder goes back to where every worker looks.
update pgqueuer set updated = headgate_real_now(),
    entrypoint = case when entrypoint like 'suspect@%%' then 'suspect' else headgate_job_kind(headers, entrypoint) end
where entrypoint like '%%@' || %(account_id)s::text and status in ('queued', 'picked')

-- name: has_waiting
-- Whether a job of at least this priority could run and has no slot yet.
select exists (
    select from pgqueuer where status = 'queued' and priority >= %(priority)s and execute_after <= headgate_real_now()
)

-- name: cancel_jobs
-- Takes queued and running jobs away from whoever owns them; their fences refuse them from now on.
with cancelled as (
    update pgqueuer
    set status = 'canceled', queue_manager_id = null, slot = null, updated = headgate_real_now()
    where dedupe_key = any(%(dedupe_keys)s) and status in ('queued', 'picked')
    returning id, headgate_job_kind(headers, entrypoint) as kind, priority
), logged as (
    insert into pgqueuer_log (job_id, status, entrypoint, priority)
    select id, 'canceled', kind, priority from cancelled
)
select id from cancelled

-- name: notify_cancelled
-- Tells the runners which of their jobs to stop; the fence holds without it.
select pg_notify('ch_pgqueuer', json_build_object(
    'channel', 'ch_pgqueuer', 'type', 'cancellation_event', 'sent_at', headgate_real_now(),
    'ids', %(job_ids)s::bigint[]
)::text)

-- name: end_delay
-- Somebody wants the job now, which waited for its next try.
update pgqueuer set execute_after = headgate_real_now(), updated = headgate_real_now()
where dedupe_key = %(dedupe_key)s and status = 'queued' and execute_after > headgate_real_now()

-- name: raise_priorities
-- A more urgent wish for a job that is queued already moves it forward.
update pgqueuer set priority = wish.priority, updated = headgate_real_now()
from unnest(%(dedupe_keys)s::text[], %(priorities)s::int[]) as wish (dedupe_key, priority)
where pgqueuer.dedupe_key = wish.dedupe_key and pgqueuer.status = 'queued'
  and pgqueuer.priority < wish.priority

-- name: count_queued
-- Whether there is room for more jobs of these kinds, in their order; counting stops where the answer is known.
select (
    select count(*) from (
        select from pgqueuer where entrypoint = k.kind and status = 'queued' limit %(most)s
    ) as queued
) from unnest(%(kinds)s::text[]) with ordinality as k (kind, n) order by k.n

-- name: sweep_ended
-- Rows of ended jobs whose runner died before its flush.
with swept as (
    delete from pgqueuer
    where status in ('successful', 'canceled') and updated < headgate_real_now() - interval '5 seconds'
    returning id, headgate_job_kind(headers, entrypoint) as kind, priority, status
)
insert into pgqueuer_log (job_id, status, entrypoint, priority)
select id, status, kind, priority from swept where status = 'successful'

-- name: list_held
-- Jobs that the engine parked by itself; nothing of ours does that, so it is only a net.
select id, headgate_job_kind(headers, entrypoint) as kind, convert_from(payload, 'UTF8') as key,
       attempts, (headers ->> 'first_tried_at')::timestamptz as first_tried_at
from pgqueuer where status = 'failed' limit 100

-- name: delete_job
-- A job that the engine parked by itself, after its dead letter was written.
delete from pgqueuer where id = %(job_id)s and status = 'failed'

-- name: age_priorities
-- Who waits long rises, so that a stream of urgent jobs cannot starve the rest.
update pgqueuer set priority = priority + 1, updated = headgate_real_now()
where id in (
    select id from pgqueuer
    where status = 'queued' and execute_after < headgate_real_now() and priority < 1000
      and updated < headgate_real_now() - make_interval(secs => %(after_s)s)
    order by id limit 1000
    for update skip locked
)

-- name: queue_depths
-- Depth and age per kind and state, for metrics, doctor and the jobs page.
select headgate_job_kind(headers, entrypoint) as kind, entrypoint, status::text as status,
       count(*) as depth,
       greatest(extract(epoch from headgate_real_now() - min(greatest(created, execute_after))), 0)::float8 as oldest_s
from pgqueuer where status in ('queued', 'picked', 'failed')
group by 1, 2, 3 order by 1, 2, 3

-- name: list_jobs
-- What is queued and running, in the order in which it will be taken.
select id, headgate_job_kind(headers, entrypoint) as kind, convert_from(payload, 'UTF8') as key,
       status::text as status, priority, attempts, coalesce((headers ->> 'crashes')::int, 0) as crashes,
       created as created_at, execute_after as not_before_at, queue_manager_id as owner
from pgqueuer
where status in ('queued', 'picked', 'failed')
  and (%(kind)s::text is null or headgate_job_kind(headers, entrypoint) = %(kind)s)
order by (status = 'picked') desc, priority desc, id
limit %(limit)s

-- name: get_job
-- One job, as long as it has a row.
select id, headgate_job_kind(headers, entrypoint) as kind, convert_from(payload, 'UTF8') as key,
       status::text as status, priority, attempts, coalesce((headers ->> 'crashes')::int, 0) as crashes,
       created as created_at, execute_after as not_before_at, queue_manager_id as owner
from pgqueuer where id = %(job_id)s

-- name: count_completed
-- How many ended jobs of each kind are still kept.
select entrypoint as kind, status::text as status, count(*) as jobs
from pgqueuer_log
where status in ('successful', 'exception', 'canceled')
group by 1, 2 order by 1, 2

-- name: list_completed
-- The newest ended jobs that are still kept.
select job_id as id, entrypoint as kind, status::text as status, created as ended_at
from pgqueuer_log
where status in ('successful', 'exception', 'canceled')
  and (%(kind)s::text is null or entrypoint = %(kind)s)
order by id desc limit %(limit)s

-- name: list_job_log
-- The life of one job, oldest first.
select status::text as status, created as at, traceback
from pgqueuer_log where job_id = %(job_id)s order by created, id limit 200

-- name: prune_log
-- Keeps the newest ended jobs, at most so many and so old; lines of jobs that are still there stay.
delete from pgqueuer_log
where (created < headgate_real_now() - make_interval(secs => %(keep_s)s)
       or id <= coalesce((select id from pgqueuer_log
                          where status in ('successful', 'exception', 'canceled')
                          order by id desc offset %(keep)s limit 1), 0))
  and not exists (select from pgqueuer where pgqueuer.id = pgqueuer_log.job_id)

-- name: count_stale
-- A picked job without a heartbeat belongs to a worker that is gone.
select count(*) from pgqueuer
where status = 'picked' and heartbeat < headgate_real_now() - make_interval(secs => %(silent_s)s)
