-- name: upsert_media
-- Equal ones are one; its age begins anew, so that it is not taken away before it is used.
insert into media (id, name, mime_type, size_bytes, sha256, content, created_at)
values (%(id)s, %(name)s, %(mime_type)s, %(size_bytes)s, %(sha256)s, %(content)s, %(now)s)
on conflict (sha256, name, mime_type, offset_bytes, size_bytes) do update
set created_at = greatest(media.created_at, excluded.created_at), content = coalesce(media.content, excluded.content)
returning id, name, mime_type, size_bytes, created_at

-- name: list_media
-- What is known of them, without their content.
select id, name, mime_type, size_bytes, created_at from media where id = any(%(ids)s::uuid[]) order by id

-- name: delete_unused
-- What no reminder and no run sends; one that somebody is about to use is left alone.
delete from media where id in (
    select m.id from media m
    where m.created_at < %(before)s
      and not exists (select from reminder_part p where p.media_id = m.id)
      and not exists (select from run_part p where p.media_id = m.id)
    for update skip locked
)
