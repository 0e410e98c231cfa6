-- name: list_channels
-- Channels by title, after a place in that total order.
with recursive off as (
    select id from channel where not message_scan_enabled
    union
    select c.id from channel c join off on c.parent_id = off.id
)
select
    c.id, c.platform, c.kind, c.key, c.title, coalesce(s.sampled_floor, s.floor) as floor, s.head, s.due_at, s.scanned_at, c.gone_at,
    not exists (select from off where off.id = c.id) as enabled,
    coalesce(p.title, '') as parent_title, coalesce(s.tier, '') as tier, coalesce(a.name, '') as reader,
    exists (select from scan n where n.channel_id = c.id and n.status in ('QUEUED', 'RUNNING')) as scanning,
    coalesce(s.message_count, 0) as message_count
from channel c
left join channel p on p.id = c.parent_id
left join stream s on s.channel_id = c.id
left join account a on a.id = s.reader_id
where c.kind <> 'parent' and (lower(c.title), c.id) > (lower(%(title)s::text), %(id)s::uuid)
order by lower(c.title), c.id
limit %(limit)s::int

-- name: find_channels
-- By id, by the platform's key, of which a person may leave out the fingerprint of its secrets, or by title, whatever its case.
select c.id, c.platform, c.key, c.scope, c.kind, c.title, c.message_scan_enabled, c.parent_id,
    coalesce(p.title, '') as parent_title, coalesce(headgate_switched_off(c.parent_id), '') as parent_off, c.settings
from channel c left join channel p on p.id = c.parent_id
where c.id::text = lower(%(reference)s::text) or c.key = %(reference)s or lower(c.title) = lower(%(reference)s)
   or c.kind = 'listing' and starts_with(c.key, %(shown)s || '#')
order by c.platform, c.key, c.scope
limit 20

-- name: list_names
-- Titles and keys, to guess what a person meant.
select title from channel union select key from channel limit 20000
