-- name: list_due
-- Free slots of accounts that read a channel with due files, as keys of jobs.
select a.id::text || '/' || s.slot
from account a
cross join generate_series(1, %(slots)s) as s (slot)
where a.state = 'active'
  and a.id in (
      select t.reader_id from fetch_line l join stream t on t.channel_id = l.channel_id
      left join watch w on w.channel_id = l.channel_id and w.account_id = t.reader_id
      where l.due_at <= %(now)s and (w.open_until is null or w.open_until <= %(now)s))
  and not exists (select from fetch_slot r where r.account_id = a.id and r.slot = s.slot and r.due_at > %(now)s)
  and not exists (select from live_job where dedupe_key = 'fetch:' || a.id || '/' || s.slot)
order by s.slot, a.id
limit %(limit)s

-- name: rest_slot
-- Lets a slot rest until then.
insert into fetch_slot (account_id, slot, due_at)
select id, %(slot)s, %(until)s from account where id = %(account_id)s
on conflict (account_id, slot) do update set due_at = excluded.due_at

-- name: lock_line
-- The next channel of an account: the most urgent first, and of those the one that was served longest ago; now and then
-- only the latter, so that what is urgent cannot starve the rest.
select l.channel_id, headgate_switched_off(l.channel_id) is not null as switched_off
from fetch_line l
join stream t on t.channel_id = l.channel_id and t.reader_id = %(account_id)s
left join watch w on w.channel_id = l.channel_id and w.account_id = t.reader_id
where l.due_at <= %(now)s and (w.open_until is null or w.open_until <= %(now)s)
  and l.channel_id <> all(%(passed)s::uuid[])
order by case when %(fair)s then 0 else l.top end desc, l.served_at, l.channel_id
limit 1 for update of l skip locked

-- name: wake_fitting
-- What waited for room, as far as it fits now; the small ones first.
with fitting as (
    select sighting_id from item_file
    where channel_id = %(channel_id)s and state = 'wanted' and wait_reason <> '' and needs_bytes <= %(room_bytes)s
    order by needs_bytes limit 100 for update skip locked
)
update item_file f set wait_reason = '', due_at = least(f.due_at, %(now)s) from fitting
where f.sighting_id = fitting.sighting_id

-- name: take_files
-- The next file of a channel, or the next small ones together. A lease in real time ends by itself; one that ends later
-- than any can was written before a restore. Bytes on another machine are left to it for a while.
with picked as materialized (
    select f.sighting_id, f.size_bytes, p.level, f.due_at
    from unnest('{20,15,10,0}'::smallint[]) as p (level)
    cross join lateral (
        select sighting_id, size_bytes, due_at from item_file f
        where f.state = 'wanted' and f.wait_reason = '' and f.channel_id = %(channel_id)s and f.priority = p.level
          and f.due_at <= %(now)s
          and (f.taken_until is null or f.taken_until <= headgate_real_now()
               or f.taken_until > headgate_real_now() + make_interval(secs => %(lease_s)s + 1))
          and (f.spool_machine in ('', %(machine)s) or f.spool_until <= %(now)s)
        order by f.due_at, f.sighting_id limit %(limit)s for update skip locked
    ) as f
    limit %(limit)s
), ordered as (
    select sighting_id, size_bytes, row_number() over line as place, first_value(size_bytes) over line as first_bytes
    from picked window line as (order by level desc, due_at, sighting_id)
), taken as (
    update item_file t
    set taken_by = %(taken_by)s, taken_until = headgate_real_now() + make_interval(secs => %(lease_s)s),
        starts = t.starts + 1
    from ordered o
    where t.sighting_id = o.sighting_id
      and (o.place = 1 or (o.first_bytes between 1 and %(small_bytes)s and o.size_bytes between 1 and %(small_bytes)s))
    returning t.sighting_id, t.channel_id, t.source, t.size_bytes, t.starts, t.attempts, t.spooled_bytes,
        t.error_class <> '' as failed_before, o.place
)
select t.sighting_id, t.channel_id, c.platform, c.key as stream_key, s.message_key, s.attachment_key, s.content_id,
       t.source, t.size_bytes, t.starts, t.attempts, t.spooled_bytes, t.failed_before
from taken t
join sighting s on s.id = t.sighting_id
join channel c on c.id = t.channel_id
order by t.place

-- name: settle_line
-- When the channel is due again: with its next file, or to see whether there is room, or whether a lease has ended.
-- Never, if nothing is wanted; then the line goes.
with ready as (
    select max(p.level) filter (where d.due_at <= %(now)s) as top, min(d.due_at) as due_at
    from unnest('{20,15,10,0}'::smallint[]) as p (level)
    cross join lateral (
        select f.due_at from item_file f
        where f.state = 'wanted' and f.wait_reason = '' and f.channel_id = %(channel_id)s and f.priority = p.level
          and (f.taken_until is null or f.taken_until <= headgate_real_now())
        order by f.due_at limit 1
    ) as d
)
update fetch_line l
set served_at = %(now)s, top = coalesce(ready.top, 0), due_at = coalesce(
    least(ready.due_at, case when exists (
        select from item_file where channel_id = %(channel_id)s and state = 'wanted' and wait_reason <> ''
    ) then %(now)s::timestamptz + interval '60 s' end),
    case when exists (
        select from item_file where channel_id = %(channel_id)s and state = 'wanted' and wait_reason = ''
    ) then %(now)s::timestamptz + interval '120 s' end,
    'infinity')
from ready where l.channel_id = %(channel_id)s
returning l.due_at = 'infinity'

-- name: delete_line
-- Its lock is held, so nobody can have added a file meanwhile.
delete from fetch_line where channel_id = %(channel_id)s

-- name: postpone_line
-- Nothing of a channel that is off is fetched.
update fetch_line set due_at = %(until)s, served_at = %(now)s where channel_id = %(channel_id)s

-- name: line_up
-- After files were made wanted, last of all: whoever serves a line finds them.
insert into fetch_line as l (channel_id, top, due_at)
select f.channel_id, max(f.priority),
       min(case when f.wait_reason = '' then f.due_at else %(now)s::timestamptz + interval '60 s' end)
from item_file f
where f.sighting_id = any(%(ids)s::uuid[]) and f.state = 'wanted'
group by f.channel_id order by f.channel_id
on conflict (channel_id) do update
set top = greatest(l.top, excluded.top), due_at = least(l.due_at, excluded.due_at), seq = l.seq + 1
