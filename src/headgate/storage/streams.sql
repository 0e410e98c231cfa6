-- name: list_due_streams
-- Due streams without a job, the longest due first.
select s.channel_id::text from stream s
where s.due_at <= %(now)s
  and not exists (select from pgqueuer where dedupe_key = 'scan:' || s.channel_id
                  and status in ('queued', 'picked'))
order by s.due_at limit %(limit)s

-- name: set_stream_due
-- Parks a stream (no due time) or makes it due; either way a running scan notices.
update stream set due_at = %(due_at)s, wake_seq = wake_seq + 1 where channel_id = %(channel_id)s

-- name: get_scan
-- Everything that a scan decides by.
select c.id as channel_id, c.platform, c.key, c.title, c.message_scan_enabled as enabled,
       a.id as account_id, a.name as account_name, a.state as account_state, a.established,
       s.floor, s.head, s.head_checked_at, s.tip_after, s.wake_seq, v.lens, v.epoch
from channel c
join stream s on s.channel_id = c.id
join coverage v on v.channel_id = c.id
left join watch w on w.channel_id = c.id and w.role = 'reads'
left join account a on a.id = w.account_id
where c.id = %(channel_id)s
order by v.lens limit 1

-- name: list_next_due_keys
-- Whose heads to ask for in the same call: the streams that this account reads, soonest due first.
select c.key from watch w
join channel c on c.id = w.channel_id
join stream s on s.channel_id = c.id
where w.account_id = %(account_id)s and w.role = 'reads' and c.message_scan_enabled and s.due_at is not null
order by (c.id = %(channel_id)s) desc, s.due_at limit %(limit)s

-- name: raise_heads
-- Heads only rise; streams in the order of their ids, so that two writers cannot wait for each other.
with told as (
    select c.id, t.head from unnest(%(keys)s::text[], %(heads)s::bigint[]) as t (key, head)
    join channel c on c.key = t.key
    join watch w on w.channel_id = c.id and w.account_id = %(account_id)s and w.role = 'reads'
), locked as (
    select s.channel_id, told.head from stream s join told on told.id = s.channel_id
    order by s.channel_id for update of s
)
update stream s set head = greatest(s.head, locked.head), head_checked_at = %(now)s
from locked where s.channel_id = locked.channel_id

-- name: next_hole
-- What is there to read: [floor, head] minus coverage, newest first; the tip only if it may be settled.
select lower(hole) as start, upper(hole) as end
from stream s
join coverage v on v.channel_id = s.channel_id and v.lens = %(lens)s
cross join lateral unnest(
    int8multirange(int8range(s.floor, greatest(s.floor, %(bound)s::bigint))) - v.ranges
) as hole
where s.channel_id = %(channel_id)s and (%(with_tip)s or upper(hole) < %(bound)s::bigint)
order by lower(hole) desc limit 1

-- name: lock_and_count
-- Takes the stream for this transaction, and tells which of these messages no reading has covered yet.
with locked as (
    select channel_id from stream where channel_id = %(channel_id)s for update
), covered as (
    select range_agg(part) as ranges
    from locked join coverage v using (channel_id) cross join lateral unnest(v.ranges) as part
)
select count(*) as messages, count(*) filter (where m.kept) as with_items
from unnest(%(positions)s::bigint[], %(kept)s::boolean[]) as m (position, kept), covered
where exists (select from locked) and not coalesce(covered.ranges @> m.position, false)

-- name: cover
-- Coverage only grows, and only in the epoch under which the page was asked for.
update coverage set ranges = ranges + (
    select coalesce(range_agg(int8range(p.first, p.after)), '{}')
    from unnest(%(starts)s::bigint[], %(ends)s::bigint[]) as p (first, after)
)
where channel_id = %(channel_id)s and lens = %(lens)s and epoch = %(epoch)s

-- name: count_coverage
-- The counters change with the coverage that they belong to.
update stream set message_count = message_count + %(with_items)s,
    total_messages_scanned = total_messages_scanned + %(messages)s
where channel_id = %(channel_id)s

-- name: end_scan
-- A wake-up that came during the scan makes the stream due at once.
update stream set scanned_at = %(now)s, tip_after = %(tip_after)s,
    due_at = case when wake_seq = %(seen)s then %(due_at)s::timestamptz else %(now)s end
where channel_id = %(channel_id)s
returning due_at <= %(now)s

-- name: raise_head
-- A live message is the newest that the platform has shown, whatever it proves.
update stream set head = greatest(head, %(head)s) where channel_id = %(channel_id)s

-- name: wake_stream
-- Due soon, and a running scan learns of it when it ends. A parked stream stays parked.
update stream set wake_seq = wake_seq + 1, due_at = least(due_at, %(due_at)s)
where channel_id = %(channel_id)s and due_at is not null
