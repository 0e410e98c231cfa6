-- name: list_nearby_photos
-- The first message of each item with those around it that may hold its picture: of the same album, the one that it
-- answers, the one directly before in its topic, and the albums of these. A row for each photo, or one without a photo.
with own as (
    select distinct on (s.item_id) s.item_id, m.channel_id, m.key, m.position, m.topic, m.reply_to
    from sighting s
    join message m on m.channel_id = s.channel_id and m.key = s.message_key
    where s.item_id = any(%(item_ids)s::uuid[])
    order by s.item_id, s.sent_at, s.id
), named as (
    select item_id, channel_id, key from own
    union
    select item_id, channel_id, reply_to from own where reply_to <> ''
    union
    select o.item_id, o.channel_id, b.message_key
    from own o
    cross join lateral (
        select s.message_key from sighting s
        where s.channel_id = o.channel_id and s.position < o.position and s.topic = o.topic
        order by s.position desc limit 1
    ) b
), near as (
    select item_id, channel_id, key from named
    union
    select n.item_id, n.channel_id, mate.key
    from named n
    join message m on m.channel_id = n.channel_id and m.key = n.key and m.album <> ''
    join message mate on mate.channel_id = m.channel_id and mate.album = m.album
)
select n.item_id, n.key = o.key as is_own, m.key, m.position, m.sent_at, m.author_key as author, m.topic, m.album, m.reply_to,
       p.id as photo_id, coalesce(p.size_bytes, 0) as photo_bytes, p.blob_id, coalesce(p.state, 'listed') as state,
       coalesce(p.object_name, '') as object_name
from near n
join own o on o.item_id = n.item_id
join message m on m.channel_id = n.channel_id and m.key = n.key
left join lateral (
    select s.id, coalesce(b.size_bytes, s.size_bytes) as size_bytes, b.id as blob_id, f.state, b.object_name
    from sighting s
    left join item_file f on f.sighting_id = s.id
    left join blob b on b.id = f.blob_id and b.damaged_at is null
    where s.channel_id = m.channel_id and s.message_key = m.key and s.mime_type like 'image/%%' and s.url = ''
        and (s.deleted_at is null or b.id is not null)
) p on true
order by n.item_id, m.position, m.key, p.id

-- name: want_covers
-- Whatever filters say; a photo that was fetched, dropped or given up before stays as it is.
insert into item_file (sighting_id, channel_id, state, source, size_bytes, priority, due_at)
select s.id, s.channel_id, 'wanted', headgate_file_source(s.content_id, s.file_name, s.mime_type, s.size_bytes), s.size_bytes,
       10, %(now)s
from sighting s
where s.id = any(%(ids)s::uuid[]) and s.deleted_at is null
order by s.id
on conflict (sighting_id) do nothing

-- name: list_covered_items
-- The items that photos may be pictures of: in the same album, in answer to them, or posted directly after them.
with photo as (
    select s.channel_id, s.message_key as key, s.position, s.topic, m.album
    from sighting s
    join message m on m.channel_id = s.channel_id and m.key = s.message_key
    where s.id = any(%(sighting_ids)s::uuid[]) and s.mime_type like 'image/%%'
), mate as (
    select channel_id, key, position, topic from photo
    union
    select m.channel_id, m.key, m.position, m.topic
    from photo p join message m on m.channel_id = p.channel_id and m.album = p.album and p.album <> ''
)
select s.item_id from mate p
join sighting s on s.channel_id = p.channel_id and s.message_key = p.key
where s.item_id is not null
union
select s.item_id from mate p
join message m on m.channel_id = p.channel_id and m.reply_to = p.key and m.reply_to <> ''
join sighting s on s.channel_id = m.channel_id and s.message_key = m.key
where s.item_id is not null
union
select s.item_id from mate p
cross join lateral (
    select after.message_key from sighting after
    where after.channel_id = p.channel_id and after.position > p.position and after.topic = p.topic
    order by after.position limit 1
) next
join sighting s on s.channel_id = p.channel_id and s.message_key = next.message_key
where s.item_id is not null
order by 1
