-- name: list_older_items
-- A page of the library, newest caught first, below a place in that total order.
select i.id, i.kind, i.title, i.size_bytes, i.sent_at, i.caught_at, i.channel_id, c.title as channel_title,
    case when i.kind in ('post', 'link') then coalesce((
        select s.url from sighting s where s.item_id = i.id order by s.id limit 1
    ), '') else '' end as url
from item i
join channel c on c.id = i.channel_id
where not i.hidden
    and (i.caught_at, i.id) < (%(caught_at)s::timestamptz, %(id)s::uuid)
    and (%(pattern)s::text is null or i.title ilike %(pattern)s::text)
order by i.caught_at desc, i.id desc
limit %(limit)s::int

-- name: list_newest_items
-- From the newest down to a place, that place included.
select i.id, i.kind, i.title, i.size_bytes, i.sent_at, i.caught_at, i.channel_id, c.title as channel_title,
    case when i.kind in ('post', 'link') then coalesce((
        select s.url from sighting s where s.item_id = i.id order by s.id limit 1
    ), '') else '' end as url
from item i
join channel c on c.id = i.channel_id
where not i.hidden
    and (i.caught_at, i.id) >= (%(caught_at)s::timestamptz, %(id)s::uuid)
    and (%(pattern)s::text is null or i.title ilike %(pattern)s::text)
order by i.caught_at desc, i.id desc
limit %(limit)s::int

-- name: count_library
-- Counting stops at a cap: nobody needs the exact figure of a large library on every page.
select
    (select count(*) from (select from item where not hidden limit %(cap)s::int) as capped) as items,
    (select count(*) from channel where kind <> 'parent') as channels,
    (select coalesce(sum(total_messages_scanned), 0)::bigint from stream) as messages_scanned
