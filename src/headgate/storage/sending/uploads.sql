-- name: list_uploads
-- What the account has uploaded of some media.
select media_id, handle, uploaded_at, expires_at from upload
where account_id = %(account_id)s and media_id = any(%(media_ids)s::uuid[])

-- name: put_upload
-- The newest handle counts.
insert into upload (account_id, media_id, handle, uploaded_at, expires_at)
values (%(account_id)s, %(media_id)s, %(handle)s, %(now)s, %(expires_at)s)
on conflict (account_id, media_id) do update set
    handle = excluded.handle, uploaded_at = excluded.uploaded_at, expires_at = excluded.expires_at

-- name: forget_upload
-- The platform does not know it any more.
delete from upload where account_id = %(account_id)s and media_id = %(media_id)s and handle = %(handle)s

-- name: get_content
-- A file to upload: its bytes, or where they are stored. Content that was stored again has another blob.
select m.name, m.mime_type, m.size_bytes, m.content, m.offset_bytes, coalesce((
    select b.object_name from blob b where b.id = m.blob_id and b.damaged_at is null and b.sha256 = m.sha256
), (
    select b.object_name from blob b
    where m.blob_id is not null and b.sha256 = m.sha256 and left(b.object_name, 6) <> 'place:' and b.damaged_at is null
), '') as object_name
from media m
where m.id = %(media_id)s

-- name: upsert_pieces
-- Stored files, or pieces of them, that are about to be sent; equal ones are one.
insert into media (id, name, mime_type, size_bytes, sha256, blob_id, offset_bytes, created_at)
select p.id, p.name, p.mime_type, p.size_bytes, p.sha256, p.blob_id, p.offset_bytes, %(now)s
from unnest(
    %(ids)s::uuid[], %(names)s::text[], %(mime_types)s::text[], %(sizes)s::bigint[], %(hashes)s::bytea[],
    %(blob_ids)s::uuid[], %(offsets)s::bigint[]
) as p (id, name, mime_type, size_bytes, sha256, blob_id, offset_bytes)
order by p.sha256, p.name, p.mime_type, p.offset_bytes, p.size_bytes
on conflict (sha256, name, mime_type, offset_bytes, size_bytes) do update
set blob_id = excluded.blob_id, created_at = greatest(media.created_at, excluded.created_at)
returning id, name, mime_type, size_bytes, sha256, blob_id, offset_bytes
