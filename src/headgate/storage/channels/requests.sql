-- name: list_family
-- A channel and all that stands below it, in the order in which rows are locked.
with recursive family as (
    select id from channel where id = %(channel_id)s
    union
    select c.id from channel c join family f on c.parent_id = f.id
)
select id from family order by id

-- name: lock_stream
-- What a request for a scan depends on; the stream stays as it is until the request is written. The switch that
-- keeps it off may be its own or that of anything above it.
select s.channel_id, c.title, coalesce(headgate_switched_off(c.id), '') as switched_off,
    coalesce(a.name, '') as reader, coalesce(a.state, '') as reader_state
from stream s
join channel c on c.id = s.channel_id
left join account a on a.id = s.reader_id
where s.channel_id = %(channel_id)s
for update of s

-- name: insert_scan
-- Nothing if one is under way. The check that fetches the head makes it due.
insert into scan (id, channel_id, account_id, trigger, reason, direction, page_limit, auto_continue, due_at, queued_at)
select %(id)s, s.channel_id, s.reader_id, %(trigger)s, 'asked', %(direction)s, %(page_limit)s,
    %(auto_continue)s, null, %(now)s
from stream s where s.channel_id = %(channel_id)s
on conflict (channel_id) where status in ('QUEUED', 'RUNNING') do nothing

-- name: widen_scan
-- A wish that comes while a scan is under way joins it: the scan does what either asked for, and goes on to a head that
-- is fetched after the wish.
update scan set bound = null, due_at = null, head_asked_at = %(now)s, reason = 'asked',
    trigger = case trigger when 'schedule' then 'person' else trigger end,
    direction = case when direction = %(direction)s then direction else 'both' end,
    page_limit = greatest(page_limit, %(page_limit)s),
    auto_continue = auto_continue or %(auto_continue)s
where channel_id = %(channel_id)s and status in ('QUEUED', 'RUNNING')
returning id

-- name: want_history
-- A person asks for older messages than a sample: what it left out is wanted again, for good if the scan reads to the end.
update stream set floor = sampled_floor, sampled_floor = case when not %(auto_continue)s then sampled_floor end
where channel_id = %(channel_id)s and sampled_floor is not null

-- name: hold_streams
-- Not due by the schedule: a scan is under way, or the channel is off. Whoever is at work notices. A sample whose next
-- page is not read any more keeps its floor.
update stream s set due_at = null, tip_after = null, wake_seq = wake_seq + 1, reason = coalesce(%(reason)s::text, reason),
    floor = case when sampled_floor is null then floor else greatest(floor, (
        select min(lower(v.ranges)) from coverage v where v.channel_id = s.channel_id and not isempty(v.ranges))) end
where channel_id = any(%(channel_ids)s::uuid[])

-- name: request_check
-- Someone waits for a check, whatever the schedule says; messages too young to be proven are read all the same.
update stream s set due_at = %(now)s, tip_after = null, wake_seq = s.wake_seq + 1, reason = 'asked'
where s.channel_id = %(channel_id)s and headgate_may_be_due(s.channel_id)

-- name: get_reader_id
-- The account that would check a stream.
select reader_id from stream where channel_id = %(channel_id)s

-- name: lock_streams
-- In the order of their ids, so that two requests cannot wait for each other.
select channel_id from stream where channel_id = any(%(channel_ids)s::uuid[]) order by channel_id for update

-- name: cancel_scans
-- What was read stays read; the history says why it ended.
update scan set status = 'CANCELLED', error_message = %(message)s, due_at = null, ended_at = %(now)s
where channel_id = any(%(channel_ids)s::uuid[]) and status in ('QUEUED', 'RUNNING')

-- name: make_due
-- Streams that are on again: due at once, and no schedule rule passes them over; returns how many. One that is
-- being scanned becomes due when its scan ends, one below something else that is off stays off.
with switched as (
    select s.channel_id, headgate_may_be_due(s.channel_id) as may from stream s
    where s.channel_id = any(%(channel_ids)s::uuid[])
), changed as (
    update stream s set wake_seq = s.wake_seq + 1, woken = true,
        due_at = case when w.may then %(now)s::timestamptz end,
        reason = case when not w.may then s.reason when s.scanned_at is null then 'never_scanned' else 'woken' end
    from switched w where w.channel_id = s.channel_id
    returning s.due_at
)
select count(due_at) from changed

-- name: reset_coverage
-- Forgets what was read, except that it was counted.
update coverage set past_ranges = past_ranges + ranges, ranges = '{}' where channel_id = %(channel_id)s

-- name: reopen_near
-- Has what was read near some positions read again, without counting its messages again; a page that was asked for before
-- can add nothing to the new epoch. How many positions a message takes differs between platforms: what this stream has
-- taken so far says it. Not where positions are allotted: no page can be asked for by its place there.
with read as (
    select sum(upper(p) - lower(p)) / greatest(1, s.total_messages_scanned) as per_message
    from stream s
    cross join lateral (select min(g.position) as first_seen from sighting g where g.channel_id = s.channel_id) as g
    cross join lateral (
        select unnest(range_agg(v.ranges) * int8multirange(int8range(g.first_seen, null))) as p
        from coverage v where v.channel_id = s.channel_id
    ) as covered
    where s.channel_id = %(channel_id)s
      and not exists (select from placed_message m where m.channel_id = s.channel_id)
    group by s.total_messages_scanned
), near as (
    select range_agg(int8range(greatest(0, at - reach), at + reach + 1)) as ranges
    from unnest(%(positions)s::bigint[]) as at
    cross join (select ceil(greatest(1, per_message) * %(messages)s)::bigint as reach from read) as r
), reopened as (
    update coverage v set past_ranges = v.past_ranges + v.ranges * near.ranges, ranges = v.ranges - near.ranges
    from near where v.channel_id = %(channel_id)s and v.ranges && near.ranges
    returning v.channel_id
)
update stream set epoch = epoch + 1, tip_after = null where channel_id in (select channel_id from reopened)

-- name: list_messages_near
-- Messages with files near some positions, where positions are allotted; they are asked for one by one.
select distinct near.message_key
from unnest(%(positions)s::bigint[]) as at
cross join lateral (
    (select message_key from sighting where channel_id = %(channel_id)s and position <= at
     order by position desc limit %(messages)s)
    union all
    (select message_key from sighting where channel_id = %(channel_id)s and position > at
     order by position limit %(messages)s)
) as near
where exists (select from placed_message m where m.channel_id = %(channel_id)s)

-- name: reset_stream
-- A page that was asked for before can add nothing to the new epoch. What was found stays found, and counted.
update stream set epoch = epoch + 1, tip_after = null where channel_id = %(channel_id)s

-- name: delete_holes
-- Failures of readings that are done anew.
delete from hole where channel_id = %(channel_id)s

-- name: delete_bookmarks
-- Bookmarks lead on in readings that are done anew.
delete from bookmark where channel_id = %(channel_id)s

-- name: list_jobs_of
-- The jobs of all kinds whose keys are these.
select dedupe_key from live_job where split_part(dedupe_key, ':', 2) = any(%(keys)s::text[])

-- name: count_holdings
-- What goes when channels go.
select
    (select count(*) from channel where id = any(%(channel_ids)s::uuid[])) as channels,
    (select count(*) from item where channel_id = any(%(channel_ids)s::uuid[])) as items,
    (select count(*) from sighting where channel_id = any(%(channel_ids)s::uuid[])) as sightings,
    (select count(*) from miss where channel_id = any(%(channel_ids)s::uuid[])) as misses,
    (select count(*) from scan where channel_id = any(%(channel_ids)s::uuid[])) as scans

-- name: take_time
-- A channel with years of history is not removed within the limit of an ordinary statement.
set local statement_timeout = 0

-- name: delete_sightings
-- Before their items, which would be taken from each of them first.
delete from sighting where channel_id = any(%(channel_ids)s::uuid[])

-- name: remember_removed
-- Discovery does not follow again what a person removed.
insert into removed_channel (platform, key, scope, removed_at)
select platform, key, scope, %(now)s from channel where id = any(%(channel_ids)s::uuid[]) and kind = 'stream' order by key
on conflict do nothing

-- name: delete_channels
-- Everything else hangs on them, but for their sealed addresses.
with secrets as (
    delete from secret where owner in (select 'listing:' || c.id from unnest(%(channel_ids)s::uuid[]) as c (id))
)
delete from channel where id = any(%(channel_ids)s::uuid[])

-- name: discard_letters
-- Nobody can replay work on what is gone.
update dead_letter set state = 'discarded', closed_at = %(now)s
where state = 'open' and key = any(%(keys)s::text[])

-- name: set_tier
-- A pinned tier does not follow the arrival rate; looked at soon, so that the new interval begins now.
update stream set tier = coalesce(%(tier)s, tier), tier_pinned = %(tier)s::text is not null,
    wake_seq = wake_seq + 1,
    due_at = case when due_at is not null then least(due_at, %(now)s::timestamptz) end,
    reason = case when due_at is not null then 'tier_changed' else reason end
where channel_id = %(channel_id)s

-- name: set_floor
-- The oldest position wanted; what lies between the old and the new one is to be read, or not any more.
with unwanted as (
    delete from hole where channel_id = %(channel_id)s and upper(span) <= %(floor)s
)
update stream set floor = %(floor)s, sampled_floor = null, wake_seq = wake_seq + 1, woken = true,
    due_at = case when due_at is not null then least(due_at, %(now)s::timestamptz) end,
    reason = case when due_at is not null then 'woken' else reason end
where channel_id = %(channel_id)s

-- name: hand_over
-- Streams of an account that leaves: another account that can read them takes over, the healthiest first. If there
-- is none they keep their reader, or have none.
with leaving as (
    select s.channel_id from stream s where s.reader_id = %(account_id)s order by s.channel_id for update
), heirs as (
    select l.channel_id, heir.account_id
    from leaving l
    left join lateral (
        select w.account_id from watch w join account a on a.id = w.account_id
        where w.channel_id = l.channel_id and a.id <> %(account_id)s and a.state = 'active'
        order by coalesce(w.open_until > %(now)s, false), w.failures, w.created_at, a.id limit 1
    ) as heir on true
), changed as (
    update stream s set wake_seq = s.wake_seq + 1,
        reader_id = coalesce(h.account_id, case when %(keep)s then s.reader_id end),
        due_at = case when s.due_at is not null then least(s.due_at, %(now)s::timestamptz) end,
        reason = case when s.due_at is not null then 'reader_changed' else s.reason end
    from heirs h where s.channel_id = h.channel_id
)
select count(account_id) as passed_on, count(*) filter (where account_id is null) as left_alone from heirs

-- name: wake_account
-- An account is back: its streams are due, and scans that wait for it go on. What is off stays off.
with streams as (
    select s.channel_id from stream s where s.reader_id = %(account_id)s order by s.channel_id for update
), scans as (
    update scan set due_at = %(now)s
    from streams where scan.channel_id = streams.channel_id and status in ('QUEUED', 'RUNNING') and due_at is not null
)
update stream s set wake_seq = s.wake_seq + 1, due_at = least(s.due_at, %(now)s::timestamptz), reason = 'reader_changed'
from streams where s.channel_id = streams.channel_id and s.due_at is not null

-- name: get_scan_progress
-- How far a scan has come.
select id, status, error_message, pages, messages, items, head_calls, read_calls, queued_at, started_at, ended_at
from scan where id = %(id)s
