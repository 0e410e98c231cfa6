-- name: lock_items
-- Items before their files, as everybody locks them.
select id from item where id = any(%(ids)s::uuid[]) and removed_at is null order by id for no key update

-- name: ask_files
-- A person's wish outranks settings and what failed before; it comes before everything else.
insert into item_file as f (sighting_id, channel_id, state, source, size_bytes, priority, due_at, asked_at)
select s.id, s.channel_id, 'wanted', headgate_file_source(s.content_id, s.file_name, s.mime_type, s.size_bytes),
       s.size_bytes, 20, %(now)s, %(now)s
from sighting s
where s.item_id = any(%(ids)s::uuid[]) and s.url = '' and s.mime_type <> 'text/x-post' and s.deleted_at is null
order by s.id
on conflict (sighting_id) do update
set state = 'wanted', source = excluded.source, size_bytes = excluded.size_bytes, priority = 20,
    due_at = excluded.due_at, asked_at = excluded.asked_at, wait_reason = '', needs_bytes = 0, starts = 0, attempts = 0
where f.state <> 'stored'
returning f.sighting_id

-- name: retry_files
-- What failed or waits is tried at once; what a person dropped, or settings do not download, stays as it is.
update item_file f
set state = 'wanted', priority = 20, due_at = %(now)s, wait_reason = '', needs_bytes = 0, starts = 0, attempts = 0
where f.sighting_id in (
    select f.sighting_id from item_file f join sighting s on s.id = f.sighting_id
    where s.item_id = any(%(ids)s::uuid[]) and s.deleted_at is null and f.state in ('wanted', 'failed')
    order by f.sighting_id for update of f)
returning f.sighting_id

-- name: lock_contents
-- The files of items, and the content that they have.
select f.blob_id from item_file f join sighting s on s.id = f.sighting_id
where s.item_id = any(%(ids)s::uuid[]) order by f.sighting_id for update of f

-- name: drop_files
-- Also what was only listed: settings must not fetch it later.
insert into item_file as f (sighting_id, channel_id, state, source, size_bytes)
select s.id, s.channel_id, 'dropped', headgate_file_source(s.content_id, s.file_name, s.mime_type, s.size_bytes),
       s.size_bytes
from sighting s
where s.item_id = any(%(ids)s::uuid[]) and s.url = '' and s.mime_type <> 'text/x-post'
order by s.id
on conflict (sighting_id) do update
set state = 'dropped', blob_id = null, stored_at = null, asked_at = null, taken_by = null, taken_until = null,
    wait_reason = '', needs_bytes = 0, starts = 0, attempts = 0, error_class = '', error_message = ''
where f.state <> 'dropped'

-- name: sum_unused
-- What nothing refers to any more; the collector deletes it in its time.
select coalesce(sum(b.size_bytes), 0)::bigint from blob b
where b.id = any(%(ids)s::uuid[]) and not exists (select from blob_reference r where r.blob_id = b.id)

-- name: list_pictures
-- The pictures of items.
select blob_id from picture where item_id = any(%(ids)s::uuid[])

-- name: remove_items
-- The row stays as a tombstone: whatever has the same content later is this item, and stays hidden.
with looked as (
    delete from inspection where item_id = any(%(ids)s::uuid[])
), untold as (
    delete from news where item_id = any(%(ids)s::uuid[])
)
update item set removed_at = %(now)s, hidden = true, title = 'Removed' where id = any(%(ids)s::uuid[])

-- name: list_albums
-- The albums that messages are of.
select distinct album from message
where channel_id = %(channel_id)s and key = any(%(message_keys)s::text[]) and album <> ''

-- name: forget_words
-- What was said, and by whom.
update message set text = '', author = '', author_key = ''
where channel_id = %(channel_id)s and key = any(%(message_keys)s) and (text, author, author_key) <> ('', '', '')

-- name: list_deleted_items
-- Items that no message holds any more.
select distinct s.item_id from sighting s
where s.channel_id = %(channel_id)s and s.message_key = any(%(message_keys)s) and s.item_id is not null
  and not exists (select from sighting o where o.item_id = s.item_id and o.deleted_at is null)
