-- name: delete_cover
-- All widths and formats.
delete from group_picture where group_id = %(group_id)s

-- name: copy_cover
-- The picture of an item as it is now; the group keeps it when the item gets another.
insert into group_picture (group_id, width_px, height_px, media_type, blob_id)
select %(group_id)s, p.width_px, p.height_px, p.media_type, p.blob_id from picture p where p.item_id = %(item_id)s

-- name: insert_cover
-- All widths and formats of one picture.
insert into group_picture (group_id, width_px, height_px, media_type, blob_id)
select %(group_id)s, p.width_px, p.height_px, p.media_type, p.blob_id
from unnest(%(widths)s::int[], %(heights)s::int[], %(media_types)s::text[], %(blob_ids)s::uuid[])
    as p (width_px, height_px, media_type, blob_id)

-- name: list_covers
-- The covers that people chose for groups, the smallest first.
select p.group_id, p.width_px, p.height_px, p.media_type, b.sha256, b.size_bytes, b.object_name
from group_picture p join blob b on b.id = p.blob_id
where p.group_id = any(%(group_ids)s::uuid[])
order by p.group_id, p.width_px, p.media_type
