-- name: get_vitals
-- The server's time is that of this very question; no function of ours may be there yet.
select
    current_setting('server_version') as version,
    (select query_start from pg_stat_activity where pid = pg_backend_pid()) as server_at,
    -- A plain role is not told the kind of other roles' sessions, but it is told how many there are.
    (select sum(numbackends) from pg_stat_database)::int as connections,
    current_setting('max_connections')::int as max_connections

-- name: list_powers
-- What reaches beyond one database: the server's files and programs, or other roles. A role can use at any time what it
-- is only a member of.
select 'superuser' as power
where exists (select from pg_roles r where r.rolsuper and pg_has_role(current_user, r.oid, 'member'))
union all
select 'CREATEROLE'
where exists (select from pg_roles r where r.rolcreaterole and pg_has_role(current_user, r.oid, 'member'))
union all
select 'REPLICATION'
where exists (select from pg_roles r where r.rolreplication and pg_has_role(current_user, r.oid, 'member'))
union all
select r.rolname from pg_roles r
where r.rolname in ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')
  and pg_has_role(current_user, r.oid, 'member')

-- name: count_forgotten
-- Work that should go on and has neither a due time nor a job: nothing would ever take it up again.
select 'streams' as what, count(*)::int as rows from stream s
where s.due_at is null and s.reader_id is not null and headgate_may_be_due(s.channel_id)
  and exists (select from channel c where c.id = s.channel_id and c.message_scan_enabled)
  and not exists (select from live_job where dedupe_key in ('check:' || s.reader_id, 'scan:' || s.channel_id))
union all
select 'scans', count(*) from scan n
where n.status in ('QUEUED', 'RUNNING') and n.due_at is null and n.bound is not null
  and not exists (select from live_job where dedupe_key = 'scan:' || n.channel_id)
union all
select 'feeds and series', count(*) from listing l
where l.due_at is null and l.gone_at is null and l.reason <> 'disabled'
  and not exists (select from live_job where dedupe_key = 'poll:' || l.channel_id)
union all
select 'runs', count(*) from run r
where r.state in ('waiting', 'running') and r.due_at is null
  and not exists (select from live_job where dedupe_key = 'send:' || r.account_id)
union all
select 'reminders', count(*) from reminder m
where m.state = 'active' and m.cron <> '' and m.due_at is null
  and not exists (select from live_job where dedupe_key = 'fire:' || m.id)
union all
select 'recurring jobs', count(*) from cron where due_at is null

-- name: list_troubled_accounts
-- Whoever cannot work needs a person.
select platform, name, state, state_reason
from account
where state <> 'active'
order by platform, name
