-- name: note_picture
-- Of what the picture was made, or that nothing could be made of all that there is.
update inspection set picture_key = %(key)s, picture_source = %(source)s, picture_colour = %(colour)s where item_id = %(item_id)s

-- name: delete_pictures
-- All widths and formats.
delete from picture where item_id = %(item_id)s

-- name: insert_pictures
-- All widths and formats of one picture.
insert into picture (item_id, width_px, height_px, media_type, blob_id)
select %(item_id)s, p.width_px, p.height_px, p.media_type, p.blob_id
from unnest(%(widths)s::int[], %(heights)s::int[], %(media_types)s::text[], %(blob_ids)s::uuid[])
    as p (width_px, height_px, media_type, blob_id)

-- name: list_pictures
-- The pictures of items, the smallest first.
select p.item_id, p.width_px, p.height_px, p.media_type, b.sha256, b.size_bytes, b.object_name
from picture p join blob b on b.id = p.blob_id
where p.item_id = any(%(item_ids)s::uuid[])
order by p.item_id, p.width_px, p.media_type

-- name: find_picture
-- A picture by its content: only what is a picture of something can be asked for by its hash.
select p.item_id, p.width_px, p.height_px, p.media_type, b.sha256, b.size_bytes, b.object_name
from blob b
cross join lateral (
    select item_id, width_px, height_px, media_type from picture where blob_id = b.id
    union all select group_id, width_px, height_px, media_type from group_picture where blob_id = b.id
) as p
where b.sha256 = %(sha256)s
limit 1
