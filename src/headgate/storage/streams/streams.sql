-- name: list_due_accounts
-- Accounts with due streams and without a job: the check of each picks its streams by the index.
select a.id::text from account a
where a.state = 'active'
  and exists (select from stream s where s.reader_id = a.id and s.due_at <= %(now)s)
  and not exists (select from live_job where dedupe_key = 'check:' || a.id)
order by a.id limit %(limit)s

-- name: list_next_streams
-- The account's next streams in the order of their due times: those that are due, and those that fill up the call.
select s.channel_id, c.key, s.due_at <= %(now)s as due, s.wake_seq, s.woken, s.scanned_at is not null as scanned, s.head,
       s.idle_scans, s.idle_at, s.head_checked_at as checked_at, s.tier, s.tier_pinned, s.arrival_rate, s.rated_at, s.lenses,
       w.open_until as breaker_until,
       (select case n.trigger when 'schedule' then 'changed' else 'asked' end from scan n
        where n.channel_id = s.channel_id and n.status in ('QUEUED', 'RUNNING') and n.bound is null) as waiting,
       s.reason = 'settling' as settling,
       case
           -- Mostly each lens has covered everything by itself, which one read of the index shows.
           when (select count(*) from coverage v where v.channel_id = s.channel_id and v.lens = any(s.lenses)
                 and v.ranges @> int8range(s.floor, greatest(s.floor, s.head + 1))) = cardinality(s.lenses) then false
           else headgate_behind(s.channel_id, s.lenses, s.floor, s.head, %(now)s)
       end as behind
from (
    -- The fixed limit tells the planner that few rows come, whatever is asked for: then it makes one plan for all.
    -- Planning anew each time would cost as much as the query itself.
    select * from (
        select * from stream where reader_id = %(account_id)s and due_at is not null order by due_at limit 1000
    ) as next limit %(limit)s
) as s
join channel c on c.id = s.channel_id
left join watch w on w.channel_id = s.channel_id and w.account_id = %(account_id)s
order by s.due_at, s.channel_id

-- name: check_streams
-- Now that the heads are known: is there something to read below them, and has anything failed that is not given up?
select s.channel_id,
       headgate_behind(s.channel_id, s.lenses, s.floor, s.head, %(now)s) as behind,
       exists (select from miss m where m.channel_id = s.channel_id and m.state = 'open')
       or exists (select from hole h where h.channel_id = s.channel_id) as failing
from stream s where s.channel_id = any(%(channel_ids)s::uuid[])

-- name: lock_streams
-- In the order of their ids, so that two writers cannot wait for each other.
select channel_id from stream where channel_id = any(%(channel_ids)s::uuid[]) order by channel_id for update

-- name: raise_heads
-- Heads only rise; that one was really fetched is noted whatever it was.
update stream s set head = greatest(s.head, told.head), head_checked_at = %(now)s, head_checks = s.head_checks + 1,
    head_at = case when told.head > coalesce(s.head, -1) then least(told.sent_at, %(now)s) else s.head_at end
from unnest(%(channel_ids)s::uuid[], %(heads)s::bigint[], %(sent_ats)s::timestamptz[]) as told (channel_id, head, sent_at)
where s.channel_id = told.channel_id

-- name: plan_streams
-- What was decided. If something was heard of a stream meanwhile it does not rest; to be read it need only still
-- be in the schedule, and ours. A tier that a person pinned meanwhile stays, and so does idleness that an arrival ended.
update stream s set due_at = p.due_at, planned_at = %(now)s, reason = p.reason, woken = false,
    tier = case when s.tier_pinned then s.tier else p.tier end, idle_scans = least(p.idle_scans, s.idle_scans + 1), idle_at = p.idle_at, reads_saved = s.reads_saved + p.saved
from unnest(
    %(channel_ids)s::uuid[], %(seen)s::bigint[], %(due_ats)s::timestamptz[], %(reasons)s::text[], %(tiers)s::text[],
    %(idle_scans)s::int[], %(idle_ats)s::timestamptz[], %(saved)s::int[]
) as p (channel_id, seen, due_at, reason, tier, idle_scans, idle_at, saved)
where s.channel_id = p.channel_id and s.due_at is not null
  and (s.wake_seq = p.seen or p.due_at is null and s.reader_id = %(account_id)s)
returning s.channel_id

-- name: note_decisions
-- Why each stream was read or not. A decision that repeats the last one is counted; old ones go.
with made as (
    select m.channel_id, m.reason, d.number, d.reason as last_reason
    from unnest(%(channel_ids)s::uuid[], %(reasons)s::text[]) as m (channel_id, reason)
    left join lateral (
        select number, reason from decision where channel_id = m.channel_id order by number desc limit 1
    ) as d on true
), repeated as (
    update decision d set times = d.times + 1, last_at = %(now)s from made m
    where d.channel_id = m.channel_id and d.number = m.number and m.reason = m.last_reason
), pruned as (
    delete from decision d using made m
    where d.channel_id = m.channel_id and m.reason is distinct from m.last_reason and d.number <= m.number - %(keep)s::int
)
insert into decision (channel_id, number, reason, first_at, last_at)
select channel_id, coalesce(number, 0) + 1, reason, %(now)s, %(now)s from made
where reason is distinct from last_reason

-- name: wake_stream
-- Due soon, and whoever is at it learns of it. A stream that is switched off stays so; a scan under way finds it
-- behind when it ends.
update stream set wake_seq = wake_seq + 1, woken = true, due_at = least(due_at, %(due_at)s), reason = 'woken'
where channel_id = %(channel_id)s and due_at is not null

-- name: make_due
-- Whatever the schedule says: someone waits for a check.
update stream set wake_seq = wake_seq + 1, due_at = least(due_at, %(due_at)s), reason = %(reason)s where channel_id = %(channel_id)s

-- name: wake_if_behind
-- After a live batch: due soon if there is something between what was covered and what was heard; the better the listener
-- proved so far, the more is gathered for one reading. What has no due time is being scanned, and the scan's end looks itself.
update stream s set wake_seq = s.wake_seq + 1, woken = true, reason = 'woken',
    due_at = least(s.due_at, %(due_at)s::timestamptz + make_interval(secs => s.verify_s))
where s.channel_id = %(channel_id)s and s.due_at is not null
  and headgate_behind(s.channel_id, s.lenses, s.floor, s.head, %(due_at)s)

-- name: bring_forward
-- The listener has ended or begins anew: its streams are due as if it had not been there since the last look; and at once if
-- nobody listened for a while, because a head shows what was not heard.
with late as (
    select s.channel_id, w.woken, w.due_at
    from stream s
    join account a on a.id = s.reader_id
    join unnest(%(tiers)s::text[], %(intervals_s)s::float8[]) as t (tier, interval_s) on t.tier = s.tier
    cross join lateral (
        select coalesce(a.heard_at < %(gap_began)s and s.head_checked_at < %(gap_began)s, false) as woken
    ) as g
    cross join lateral (
        select g.woken, case when g.woken then %(now)s
            else coalesce(s.head_checked_at, %(now)s) + make_interval(secs => t.interval_s) end as due_at
    ) as w
    where s.reader_id = %(account_id)s and s.due_at > w.due_at
    order by s.channel_id for update of s
)
update stream s set wake_seq = s.wake_seq + 1, due_at = late.due_at, woken = s.woken or late.woken, reason = 'unheard'
from late where s.channel_id = late.channel_id

-- name: set_lenses
-- What is asked for from now on; through a lens that is new everything is yet to be read, and what failed through one
-- that is not wanted any more is of no interest.
with wanted as (
    select n.channel_id, string_to_array(n.lenses, ' ') as lenses
    from unnest(%(channel_ids)s::uuid[], %(lenses)s::text[]) as n (channel_id, lenses)
), unwanted as (
    delete from hole h using wanted w where h.channel_id = w.channel_id and h.lens <> all(w.lenses)
)
update stream s set lenses = w.lenses from wanted w where s.channel_id = w.channel_id

-- name: postpone_account
-- A check that gave up is retried later.
with due as (
    select channel_id from stream where reader_id = %(account_id)s and due_at <= %(now)s order by channel_id for update
)
update stream s set due_at = %(until)s, reason = 'gave_up', wake_seq = s.wake_seq + 1 from due where s.channel_id = due.channel_id

-- name: reopen_account
-- All that this account reads and nobody is at, and what a look that gave up has put off; a scan that waits for its
-- head waits for a look.
with out as (
    select s.channel_id from stream s
    where s.reader_id = %(account_id)s and headgate_may_be_due(s.channel_id)
      and (s.due_at is null or s.reason = 'gave_up')
    order by s.channel_id for update
)
update stream s set due_at = %(now)s, reason = 'replayed', wake_seq = s.wake_seq + 1 from out where s.channel_id = out.channel_id

-- name: lock_stream
-- Takes the stream for this transaction, with what its counters and coverage change by.
select epoch, head, lenses, arrival_rate, rated_at from stream where channel_id = %(channel_id)s for update

-- name: get_read_at
-- Up to when a stream is known to have been read.
select greatest(head_checked_at, scanned_at) from stream where channel_id = %(channel_id)s

-- name: list_unread
-- Which of these messages this lens, or the widest, has not read since the last reset; and which of them were never read
-- through any lens. Another lens covers more positions than it has messages: what it has read is marked.
select m.position,
       not exists (select from coverage v where v.channel_id = %(channel_id)s and v.lens in (%(lens)s, 'everything')
                   and v.past_ranges @> m.position)
       and not exists (select from sighting s where s.channel_id = %(channel_id)s and s.message_key = m.key and s.counted)
       as uncounted
from unnest(%(positions)s::bigint[], %(keys)s::text[]) as m (position, key)
where not exists (select from coverage v where v.channel_id = %(channel_id)s and v.lens in (%(lens)s, 'everything')
                  and v.ranges @> m.position)

-- name: mark_counted
-- Messages that a lens has read of which only some are in the range that it covers.
update sighting set counted = true
where channel_id = %(channel_id)s and message_key = any(%(keys)s) and not counted

-- name: cover
-- Coverage only grows, and where it does nothing has failed any more.
with proven as (
    select int8range(p.first, p.after) as span from unnest(%(starts)s::bigint[], %(ends)s::bigint[]) as p (first, after)
), mended as (
    delete from hole h using proven
    where h.channel_id = %(channel_id)s and %(lens)s in (h.lens, 'everything') and h.span && proven.span
)
insert into coverage as v (channel_id, lens, ranges)
select %(channel_id)s, %(lens)s, coalesce(range_agg(span), '{}') from proven
on conflict (channel_id, lens) do update set ranges = v.ranges + excluded.ranges

-- name: count_messages
-- The counters change with the coverage that they belong to.
update stream set total_messages_scanned = total_messages_scanned + %(messages)s, arrival_rate = %(arrival_rate)s,
    rated_at = %(now)s
where channel_id = %(channel_id)s

-- name: raise_head
-- A message above the head is the newest that the platform has shown, whatever it proves; a stream in which something
-- arrives is not idle.
update stream set head = greatest(head, %(head)s),
    head_at = case when %(head)s::bigint > coalesce(head, -1) then %(now)s else head_at end,
    idle_scans = case when %(head)s::bigint > coalesce(head, -1) then 0 else idle_scans end
where channel_id = %(channel_id)s

-- name: list_holes
-- What is there to read, newest first, through all lenses that are asked for; what failed waits for its time. A bookmark
-- inside an uncovered range begins a hole of its own: what another bookmark leads to proves nothing of it.
select wanted.lens, hole.start, hole.end, coalesce(b.bookmark, '') as bookmark
from stream s
cross join unnest(s.lenses) as wanted (lens)
cross join lateral (
    select min(lower(v.ranges)) as lowest from coverage v
    where v.channel_id = s.channel_id and v.lens in (wanted.lens, 'everything') and not isempty(v.ranges)
) as covered
cross join lateral unnest(
    headgate_uncovered(s.channel_id, wanted.lens, s.floor, %(bound)s) - coalesce(
        (select range_agg(h.span) from hole h
         where h.channel_id = s.channel_id and h.lens = wanted.lens and h.next_try_at > %(now)s), '{}')
) as part
cross join lateral (
    select lag(edge) over (order by edge) as start, edge as "end" from (
        select lower(part) union select upper(part) union
        select position from bookmark i
        where i.channel_id = s.channel_id and i.lens = wanted.lens and i.position <@ part
    ) as edges (edge)
) as hole
left join bookmark b on b.channel_id = s.channel_id and b.lens = wanted.lens and b.position = hole.end
where s.channel_id = %(channel_id)s and hole.start is not null and hole.end <= coalesce(%(below)s, hole.end)
  and case %(direction)s::text
      when 'forward' then hole.end > coalesce(covered.lowest, 0)
      when 'backward' then hole.end <= coalesce(covered.lowest, hole.end)
      else true
  end
order by hole.end desc, wanted.lens limit %(limit)s

-- name: note_hole
-- Reading it failed: it is passed over until its time.
insert into hole as h (channel_id, lens, span, attempts, next_try_at, error_class, error_message, failed_at)
values (%(channel_id)s, %(lens)s, int8range(%(start)s, %(end)s), %(attempts)s, %(next_try_at)s, %(error_class)s,
        %(error_message)s, %(now)s)
on conflict (channel_id, lens, span) do update set attempts = excluded.attempts, next_try_at = excluded.next_try_at,
    error_class = excluded.error_class, error_message = excluded.error_message, failed_at = excluded.failed_at

-- name: count_hole_attempts
-- How often reading around here has failed before.
select coalesce(max(attempts), 0) from hole
where channel_id = %(channel_id)s and lens = %(lens)s and span && int8range(%(start)s, %(end)s)

-- name: move_bookmark
-- Where the platform's own bookmark leads on below what was read; those within are of no more use.
with used as (
    delete from bookmark where channel_id = %(channel_id)s and lens = %(lens)s
      and position > %(start)s and position <= %(end)s
)
insert into bookmark (channel_id, lens, position, bookmark)
select %(channel_id)s, %(lens)s, %(start)s, %(bookmark)s where %(bookmark)s <> ''
on conflict (channel_id, lens, position) do update set bookmark = excluded.bookmark

-- name: next_hole_try
-- When the first of the holes that wait may be tried again.
select min(next_try_at) from hole where channel_id = %(channel_id)s

-- name: count_read
-- A call that read a page of it, or failed to.
update stream set reads = reads + 1 where channel_id = %(channel_id)s
