-- name: get_explained
-- A stream as it is: what is known of it, what was found in it, and what it cost. Anything above it can keep it off.
select
    c.id, c.platform, c.key, c.scope, c.title, c.message_scan_enabled, c.gone_at,
    p.id as parent_id, coalesce(p.title, '') as parent_title,
    headgate_switched_off(c.parent_id) is null as parent_enabled, coalesce(headgate_switched_off(c.parent_id), '') as parent_off,
    o.id as continues_id, coalesce(o.title, '') as continues_title,
    coalesce(s.sampled_floor, s.floor) as floor, case when s.sampled_floor is not null then s.floor end as sampled_from,
    s.head, s.head_checked_at, s.lenses, s.tip_after, s.due_at, s.planned_at, s.reason, s.woken, s.tier,
    s.tier_pinned, s.arrival_rate, s.idle_scans, s.idle_at, s.scanned_at, s.message_count,
    s.total_messages_scanned, s.head_checks, s.reads, s.reads_saved,
    (select count(*) from item i where i.channel_id = c.id and not i.hidden) as items,
    (select count(*) from item i where i.channel_id = c.id and i.hidden) as hidden_items,
    array(select distinct i.kind from item i where i.channel_id = c.id and not i.hidden order by 1) as item_kinds,
    (select min(g.position) from sighting g where g.channel_id = c.id) as first_seen_position,
    (select count(*) from recheck r where r.channel_id = c.id) as rechecks,
    (select min(r.due_at) from recheck r where r.channel_id = c.id) as next_recheck_at
from channel c
join stream s on s.channel_id = c.id
left join channel p on p.id = c.parent_id
left join channel o on o.id = c.continues_id
where c.id = %(channel_id)s

-- name: list_coverage
-- What counts as read in each lens: its own coverage and that of the widest.
select l.lens, s.epoch, l.lens = any(s.lenses) as wanted,
    array(select lower(r) from unnest(w.ranges) as r order by r) as starts,
    array(select upper(r) from unnest(w.ranges) as r order by r) as ends
from stream s
cross join lateral (
    select unnest(s.lenses) as lens union select lens from coverage where channel_id = s.channel_id
) as l
cross join lateral (
    select coalesce(range_agg(part), '{}') as ranges
    from coverage a cross join lateral unnest(a.ranges) as part
    where a.channel_id = s.channel_id and a.lens in (l.lens, 'everything')
) as w
where s.channel_id = %(channel_id)s
order by wanted desc, l.lens

-- name: list_holes
-- [floor, head] minus coverage in each wanted lens, newest first, with what is known of failed tries.
select l.lens, lower(gap) as first_position, upper(gap) - 1 as last_position, coalesce(h.attempts, 0) as attempts,
    h.next_try_at, coalesce(h.error_class, '') as error_class, coalesce(h.error_message, '') as error_message
from stream s
cross join lateral unnest(s.lenses) as l (lens)
cross join lateral (
    select coalesce(range_agg(part), '{}') as ranges
    from coverage a cross join lateral unnest(a.ranges) as part
    where a.channel_id = s.channel_id and a.lens in (l.lens, 'everything')
) as w
cross join lateral (select coalesce(s.sampled_floor, s.floor) as floor) as wanted
cross join lateral unnest(int8multirange(int8range(wanted.floor, greatest(wanted.floor, s.head + 1))) - w.ranges) as gap
left join lateral (
    select sum(f.attempts)::int as attempts, min(f.next_try_at) as next_try_at,
        (array_agg(f.error_class order by f.failed_at desc))[1] as error_class,
        (array_agg(f.error_message order by f.failed_at desc))[1] as error_message
    from hole f where f.channel_id = s.channel_id and f.lens = l.lens and f.span && gap
) as h on true
where s.channel_id = %(channel_id)s
order by l.lens, lower(gap) desc

-- name: count_misses
-- By what becomes of them.
select state, stage, count(*) as misses, min(due_at) as next_try_at
from miss where channel_id = %(channel_id)s group by state, stage order by state desc, stage

-- name: list_misses
-- The newest ones.
select id, message_key, attachment_key, stage, error_class, error_message, attempts, due_at, state, last_at
from miss where channel_id = %(channel_id)s order by last_at desc, id desc limit %(limit)s

-- name: list_watches
-- Who can read it: the reader first, then those that stand by.
select a.id as account_id, a.name, a.state, a.state_reason, a.id = s.reader_id as reads, w.failures, w.opened,
    w.open_until, w.error_class, w.error_message, w.failed_at, headgate_listens(a.listening_at) as listening,
    headgate_held_by(a.id) as held_by, headgate_jobs_awaiting_holder(a.id) as awaiting_holder
from watch w
join account a on a.id = w.account_id
join stream s on s.channel_id = w.channel_id
where w.channel_id = %(channel_id)s
order by (a.id = s.reader_id) desc nulls last, w.created_at, a.id

-- name: list_letters
-- Jobs of the stream that gave up and wait for a person: its scan, its judging, or the check of all that its account reads.
select d.id, d.kind, d.error_class, d.message, d.died_at
from dead_letter d join stream s on s.channel_id = %(channel_id)s
where d.state = 'open'
  and (d.kind in ('scan', 'judge') and d.key = s.channel_id::text or d.kind = 'check' and d.key = s.reader_id::text)
order by d.died_at desc, d.id

-- name: get_judging
-- Whether sightings are being judged again, and how far that is.
select due_at, asked_at, judged, changed from judging where channel_id = %(channel_id)s

-- name: list_decisions
-- The last decisions, newest first.
select number, reason, first_at, last_at, times from decision
where channel_id = %(channel_id)s order by last_at desc, number desc limit %(limit)s

-- name: list_scans
-- The last readings, newest first.
select s.id, coalesce(a.name, '') as account, s.trigger, s.reason, s.direction, s.page_limit, s.auto_continue, s.status,
    s.error_message, s.due_at,
    array(select lower(r) from unnest(s.ranges) as r order by r) as starts,
    array(select upper(r) from unnest(s.ranges) as r order by r) as ends,
    s.pages, s.messages, s.items, s.head_calls, s.read_calls, s.queued_at, s.started_at, s.ended_at
from scan s left join account a on a.id = s.account_id
where s.channel_id = %(channel_id)s order by s.queued_at desc, s.id desc limit %(limit)s

-- name: list_topics
-- Those that are there, then those that are gone.
select key, title, message_scan_enabled, settings, gone_at from topic
where channel_id = %(channel_id)s order by gone_at is not null, lower(title), key
