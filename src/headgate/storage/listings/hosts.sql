-- name: upsert_host
-- A host is known from its first listing on; where it can be swept, the first sweep is due at once.
insert into host (platform, name, swept, due_at, created_at)
values (%(platform)s, %(name)s, %(swept)s, case when %(swept)s then %(now)s::timestamptz end, %(now)s)
on conflict (platform, name) do nothing

-- name: claim_probe
-- Whoever finds a host or watch half open tries it alone: the others see it open for as long as the try may take.
update host set open_until = %(until)s
where platform = %(platform)s and name = %(name)s and open_until <= %(now)s
returning true

-- name: fail_host
-- Counted by the row itself: several looks may fail at once.
update host set failures = %(failures)s, opened = %(opened)s, open_until = %(open_until)s, error_class = %(error_class)s,
    error_message = %(error_message)s, failed_at = %(now)s
where platform = %(platform)s and name = %(name)s

-- name: lock_host
-- Its breaker, kept as it is until the transaction ends.
select failures, opened, open_until from host where platform = %(platform)s and name = %(name)s for update

-- name: close_host_breaker
-- It answers: the breaker is closed, and whoever waited for that is due, one after the other as the lane permits.
with closed as (
    update host set failures = 0, opened = 0, open_until = null, error_class = '', error_message = ''
    where platform = %(platform)s and name = %(name)s and failures > 0
    returning platform, name
)
update listing l set due_at = %(now)s, planned_at = %(now)s
from closed m where l.platform = m.platform and l.host = m.name and l.reason = 'host_open' and l.due_at > %(now)s

-- name: list_due_hosts
-- Sites whose sweep is due and has no job, and that are not left alone.
select h.platform || '/' || h.name from host h
where h.due_at <= %(now)s and (h.open_until is null or h.open_until <= %(now)s)
  and not exists (select from live_job where dedupe_key = 'sweep:' || h.platform || '/' || h.name)
order by h.due_at limit %(limit)s

-- name: get_host
-- A site to be swept, and an account that can: one that is signed in before one that is not.
select h.platform, h.name, h.cursor, h.due_at, h.wake_seq, h.failures, h.opened, h.open_until,
       a.id as account_id, coalesce(a.name, '') as account_name, coalesce(a.established, false) as established,
       coalesce(a.sign_in, 0) as sign_in
from host h
left join lateral (
    select * from account a where a.platform = h.platform and a.state = 'active'
    and exists (select from listing l where l.platform = h.platform and l.host = h.name and l.reader_id = a.id)
    order by a.name = 'anonymous', a.created_at limit 1
) as a on true
where h.platform = %(platform)s and h.name = %(name)s

-- name: plan_host
-- After a sweep, or a part of it: how far it is, and when it goes on.
update host set cursor = coalesce(%(cursor)s::jsonb, cursor), calls = calls + %(calls)s,
    due_at = case when wake_seq = %(seen)s then %(due_at)s::timestamptz else %(now)s end,
    swept_at = coalesce(%(swept_at)s::timestamptz, swept_at)
where platform = %(platform)s and name = %(name)s

-- name: set_host_due
-- Parks a site or makes it due.
update host set due_at = %(due_at)s, wake_seq = wake_seq + 1 where platform = %(platform)s and name = %(name)s

-- name: wake_host_listings
-- The sweep cannot tell everything: each listing is looked at by itself, spread over a while.
update listing l set due_at = least(l.due_at, %(now)s::timestamptz + %(over)s::interval * s.share), planned_at = %(now)s,
    wake_seq = l.wake_seq + 1
from (
    select channel_id, row_number() over (order by channel_id)::float8 / count(*) over () as share
    from listing where platform = %(platform)s and host = %(name)s and due_at is not null
) as s
where l.channel_id = s.channel_id

-- name: respace_listings
-- The pace of a host changed: what waits for it waits as long as the new one asks for. A poll under way notices.
update listing l set due_at = %(now)s::timestamptz + %(apart)s::interval * s.place, planned_at = %(now)s,
    wake_seq = l.wake_seq + 1
from (
    select channel_id, row_number() over (order by due_at, channel_id) - 1 as place
    from listing where platform = %(platform)s and host = %(name)s and reason = 'paced' and due_at > %(now)s
) as s
where l.channel_id = s.channel_id

-- name: find_swept
-- Which of these listings are followed here and on, by their keys.
select c.key, l.channel_id, l.arrivals, l.succeeded_at is null as first_poll
from channel c join listing l on l.channel_id = c.id
where c.platform = %(platform)s and l.host = %(name)s and c.key = any(%(keys)s) and c.message_scan_enabled
  and l.gone_at is null

-- name: note_swept
-- What a sweep brought for listings: their rhythm, and that they were heard of.
update listing l set arrivals = n.arrivals::timestamptz[], changed_at = %(now)s
from unnest(%(channel_ids)s::uuid[], %(arrivals)s::text[]) as n (channel_id, arrivals)
where l.channel_id = n.channel_id
