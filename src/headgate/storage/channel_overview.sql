-- name: list_channels
-- Channels by title, after a place in that total order, each with how much of its wanted range is covered.
-- The widest lens counts: what a wider one has read need not be read again.
with recursive off as (
    select id from channel where not message_scan_enabled
    union
    select c.id from channel c join off on c.parent_id = off.id
)
select
    c.id, c.platform, c.kind, c.key, c.title, s.floor, s.head, s.due_at, s.scanned_at,
    not exists (select from off where off.id = c.id) as enabled,
    coalesce(p.title, '') as parent_title, coalesce(s.tier, '') as tier, coalesce(a.name, '') as reader,
    exists (select from scan n where n.channel_id = c.id and n.status in ('QUEUED', 'RUNNING')) as scanning,
    coalesce(s.message_count, 0) as message_count,
    coalesce(s.total_messages_scanned, 0) as messages_scanned,
    case
        when s.head is null or s.head < s.floor then null
        else coalesce(covered.positions, 0) / (s.head - s.floor + 1)::numeric
    end::float8 as covered_share
from channel c
left join channel p on p.id = c.parent_id
left join stream s on s.channel_id = c.id
left join account a on a.id = s.reader_id
left join lateral (
    select max(part.positions) as positions
    from coverage v
    cross join lateral (
        select sum(upper(r) - lower(r)) as positions
        from unnest(v.ranges * int8multirange(int8range(s.floor, s.head + 1))) as r
    ) as part
    where v.channel_id = c.id and s.head >= s.floor
) as covered on true
where c.kind <> 'parent' and (lower(c.title), c.id) > (lower(%(title)s::text), %(id)s::uuid)
order by lower(c.title), c.id
limit %(limit)s::int

-- name: find_channels
-- By id, by the platform's key, or by title, whatever its case.
select c.id, c.platform, c.key, c.scope, c.kind, c.title, c.message_scan_enabled, c.parent_id,
    coalesce(p.title, '') as parent_title, coalesce(headgate_switched_off(c.parent_id), '') as parent_off, c.settings
from channel c left join channel p on p.id = c.parent_id
where c.id::text = lower(%(reference)s::text) or c.key = %(reference)s or lower(c.title) = lower(%(reference)s)
order by c.platform, c.key, c.scope
limit 20

-- name: list_names
-- Titles and keys, to guess what a person meant.
select title from channel union select key from channel limit 20000
