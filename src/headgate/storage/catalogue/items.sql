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

-- name: get_item
-- One item, also where the settings of its channel hide it.
select i.id, i.kind, i.title, i.size_bytes, i.sent_at, i.caught_at, i.channel_id, c.title as channel_title,
    case when i.kind in ('post', 'link') then coalesce((
        select s.url from sighting s where s.item_id = i.id order by s.id limit 1
    ), '') else '' end as url, i.hidden
from item i
join channel c on c.id = i.channel_id
where i.id = %(id)s and i.removed_at is null

-- name: find_items
-- By words of the title, the newest first.
select id, title from item where not hidden and title ilike %(pattern)s order by caught_at desc, id desc limit %(limit)s

-- name: list_places
-- Where an item was seen, and what was said there; the first time first.
select s.channel_id, s.message_key, s.topic, coalesce(t.title, '') as topic_title, m.author, m.text, s.file_name,
       s.size_bytes, s.mime_type, s.url, s.sent_at, s.seen_at, s.deleted_at, s.verdict
from sighting s
join message m on m.channel_id = s.channel_id and m.key = s.message_key
left join topic t on t.channel_id = s.channel_id and t.key = s.topic
where s.item_id = %(item_id)s
order by s.sent_at, s.id
limit %(limit)s

-- name: count_library
-- Counting stops at a cap: nobody needs the exact figure of a large library on every page.
select
    (select count(*) from (select from item where not hidden limit %(cap)s::int) as capped) as items,
    (select count(*) from channel where kind <> 'parent') as channels,
    (select coalesce(sum(total_messages_scanned), 0)::bigint from stream) as messages_scanned
