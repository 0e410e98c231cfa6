-- name: get_vitals
-- The server's time is that of this very question; no function of ours may be there yet.
select
    current_setting('server_version') as version,
    (select query_start from pg_stat_activity where pid = pg_backend_pid()) as server_at,
    (select count(*) from pg_stat_activity where backend_type = 'client backend') as connections,
    current_setting('max_connections')::int as max_connections

-- name: get_engine_vitals
-- A picked job without a heartbeat belongs to a worker that is gone; only due jobs are waiting.
select
    count(*) filter (where status = 'queued') as queued,
    count(*) filter (where status = 'picked') as picked,
    count(*) filter (
        where status = 'picked' and heartbeat < headgate_real_now() - make_interval(secs => %(silent_s)s)
    ) as stale,
    coalesce(extract(epoch from headgate_real_now() - min(execute_after) filter (
        where status = 'queued' and execute_after <= headgate_real_now()
    )), 0)::float8 as oldest_s,
    (select count(*) from dead_letter where state = 'open') as dead_letters
from pgqueuer

-- name: list_troubled_accounts
-- Whoever cannot work needs a person.
select platform, name, state, state_reason
from account
where state <> 'active'
order by platform, name
