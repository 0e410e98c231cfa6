-- name: list_due_scans
-- Scans whose next page is due and that have no job, the longest due first.
select s.channel_id::text from scan s
where s.status in ('QUEUED', 'RUNNING') and s.due_at <= %(now)s
  and not exists (select from live_job where dedupe_key = 'scan:' || s.channel_id)
order by s.due_at limit %(limit)s

-- name: insert_scans
-- One scan a stream at a time: a second one finds the first.
insert into scan (id, channel_id, account_id, trigger, reason, direction, page_limit, auto_continue, due_at, bound,
                  head_calls, queued_at)
select n.id, n.channel_id, s.reader_id, %(trigger)s, n.reason, %(direction)s, %(page_limit)s, %(auto_continue)s, n.due_at,
       n.bound, n.head_calls, %(now)s
from unnest(
    %(ids)s::uuid[], %(channel_ids)s::uuid[], %(reasons)s::text[], %(due_ats)s::timestamptz[], %(bounds)s::bigint[],
    %(head_calls)s::int[]
) as n (id, channel_id, reason, due_at, bound, head_calls)
join stream s on s.channel_id = n.channel_id
order by n.channel_id
on conflict (channel_id) where status in ('QUEUED', 'RUNNING') do nothing
returning channel_id

-- name: start_asked
-- Scans that wait for the head; now it is known.
update scan n set bound = w.bound, due_at = w.due_at, head_calls = n.head_calls + w.head_calls
from unnest(
    %(channel_ids)s::uuid[], %(due_ats)s::timestamptz[], %(bounds)s::bigint[], %(head_calls)s::int[]
) as w (channel_id, due_at, bound, head_calls)
where n.channel_id = w.channel_id and n.status in ('QUEUED', 'RUNNING') and n.bound is null
returning n.channel_id

-- name: cancel_asked
-- What people asked for of channels that are off would wait for ever.
update scan set status = 'CANCELLED', error_message = %(message)s, due_at = null, ended_at = %(now)s
where channel_id = any(%(channel_ids)s::uuid[]) and status in ('QUEUED', 'RUNNING') and bound is null

-- name: get_scan
-- Everything that a page of the scan under way decides by.
select n.id as scan_id, n.trigger, n.direction, n.page_limit, n.auto_continue, n.reason, n.bound, n.head_asked_at, n.queued_at, n.pages, n.messages,
       n.items, n.read_calls, n.head_calls, c.id as channel_id, c.platform, c.key, c.title, s.reader_id as account_id, a.name as account_name,
       a.state as account_state, a.state_reason, a.established, a.sign_in, s.floor, s.head, s.head_checked_at, s.tip_from, s.tip_after, s.epoch,
       s.lenses, w.failures, w.opened, w.open_until
from scan n
join stream s on s.channel_id = n.channel_id
join channel c on c.id = n.channel_id
left join account a on a.id = s.reader_id
left join watch w on w.channel_id = n.channel_id and w.account_id = s.reader_id
where n.channel_id = %(channel_id)s and n.status in ('QUEUED', 'RUNNING')

-- name: await_head
-- Parked until a check has fetched the head.
update scan set bound = null, due_at = null, head_asked_at = %(now)s where id = %(scan_id)s

-- name: go_on
-- A page was read, or failed; the scan goes on at its time.
update scan set status = 'RUNNING', started_at = coalesce(started_at, %(now)s), due_at = %(due_at)s,
    account_id = %(account_id)s, bound = %(bound)s, pages = pages + %(pages)s, messages = messages + %(messages)s,
    items = items + %(items)s, read_calls = read_calls + %(read_calls)s, head_calls = head_calls + %(head_calls)s,
    ranges = ranges + int8multirange(int8range(%(start)s, %(end)s)), error_message = %(error_message)s
where id = %(scan_id)s and status in ('QUEUED', 'RUNNING')

-- name: end_scan
-- It has read what there was, or could not go on.
update scan set status = %(status)s, error_message = %(error_message)s, due_at = null, ended_at = %(now)s,
    started_at = coalesce(started_at, %(now)s)
where id = %(scan_id)s and status in ('QUEUED', 'RUNNING')

-- name: plan_after_scan
-- The stream goes back to the schedule. A channel that was switched off meanwhile stays out of it.
update stream s set scanned_at = coalesce(%(scanned_at)s, s.scanned_at), planned_at = %(now)s, tip_after = null,
    idle_scans = %(idle_scans)s, idle_at = coalesce(%(idle_at)s, s.idle_at),
    tier = case when s.tier_pinned then s.tier else coalesce(%(tier)s, s.tier) end, woken = %(woken)s,
    verify_s = coalesce(%(verify_s)s, s.verify_s),
    due_at = %(due_at)s::timestamptz, reason = %(reason)s, wake_seq = s.wake_seq + 1
where s.channel_id = %(channel_id)s

-- name: settle_sample
-- A person wanted one page of a stream, and no scan has read it to its end: the rest of its history waits for a person
-- too. What is newer than the sample is read as ever.
update stream s set sampled_floor = coalesce(s.sampled_floor, s.floor), floor = greatest(s.floor, read.lowest)
from (
    select min(lower(ranges)) as lowest from coverage where channel_id = %(channel_id)s and not isempty(ranges)
) as read
where s.channel_id = %(channel_id)s and (s.sampled_floor is not null or s.scanned_at is null) and read.lowest > s.floor

-- name: wait_for_tip
-- The newest messages are too young; nothing but time proves them.
update stream set tip_from = %(tip_from)s, tip_after = %(tip_after)s where channel_id = %(channel_id)s

-- name: set_scan_due
-- Parks the scan under way (no due time) or makes it due.
update scan set due_at = %(due_at)s where channel_id = %(channel_id)s and status in ('QUEUED', 'RUNNING')

-- name: get_idleness
-- What makes a scan truly idle: it brought nothing, and nothing is left that failed.
select s.idle_scans, s.tier, s.tier_pinned, s.arrival_rate, s.rated_at, s.verify_s,
       headgate_listens(a.listening_at) as live
from stream s left join account a on a.id = s.reader_id
where s.channel_id = %(channel_id)s

-- name: prune_scans
-- History is kept for a while, and the newest of each stream for good.
delete from scan where id in (
    select o.id from scan o
    where o.ended_at < %(before)s and %(keep)s <= (
        select count(*) from (
            select from scan n where n.channel_id = o.channel_id and (n.queued_at, n.id) > (o.queued_at, o.id)
            limit %(keep)s
        ) as newer
    )
    order by o.ended_at limit %(most)s
)

-- name: list_read_facts
-- How much of streams has been read, for every place that shows it. What a wider lens has covered is covered, and what
-- is not wanted any more counts for nothing. What a sample left out is history that was not read.
select s.channel_id, f.floor, s.head, coalesce(total.covered, 0) as covered,
       lower(r.ranges) as first_start, (select upper(p) from unnest(r.ranges) as p order by p limit 1) as first_end,
       (select lower(p) from unnest(r.ranges) as p order by p desc limit 1) as last_start, upper(r.ranges) as last_end,
       (select min(g.position) from sighting g where g.channel_id = s.channel_id) as first_seen,
       s.total_messages_scanned as messages_read, greatest(s.head_checked_at, s.scanned_at) as checked_at,
       exists (select from placed_message m where m.channel_id = s.channel_id) as allotted
from stream s
cross join lateral (select coalesce(s.sampled_floor, s.floor) as floor) as f
cross join lateral (
    select range_intersect_agg(one.ranges) * int8multirange(int8range(f.floor, greatest(f.floor, s.head + 1))) as ranges
    from unnest(s.lenses) as wanted (lens)
    cross join lateral (
        select coalesce(range_agg(v.ranges), '{}') as ranges from coverage v
        where v.channel_id = s.channel_id and v.lens in (wanted.lens, 'everything')
    ) as one
) as r
cross join lateral (select sum(upper(p) - lower(p))::bigint as covered from unnest(r.ranges) as p) as total
where s.channel_id = any(%(channel_ids)s::uuid[])
