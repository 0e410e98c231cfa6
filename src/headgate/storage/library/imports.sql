-- name: list_folders
-- The folders that were imported.
select c.id, c.key, c.title, s.reader_id, coalesce(a.name, '') as reader,
       exists (select from sighting where channel_id = c.id and deleted_at is null) as has_files
from channel c join stream s on s.channel_id = c.id left join account a on a.id = s.reader_id
where c.platform = 'folder' order by c.key

-- name: get_progress
-- How far an import is. Content that was stored before the import, or stands twice in the folder, is known.
select count(*) filter (where s.verdict = 'kept') as files,
       coalesce(sum(s.size_bytes) filter (where s.verdict = 'kept'), 0)::bigint as size_bytes,
       count(*) filter (where s.verdict <> 'kept') as rejected,
       count(*) filter (where f.state = 'stored') as stored,
       coalesce(sum(s.size_bytes) filter (where f.state = 'stored'), 0)::bigint as stored_bytes,
       count(*) filter (where f.state = 'stored' and f.stored_at >= %(since)s) as stored_now,
       count(distinct b.id) filter (where f.stored_at >= %(since)s and b.created_at >= %(since)s) as new_contents,
       count(*) filter (where f.state = 'failed') as failed,
       count(*) filter (where f.state = 'wanted' and f.wait_reason <> '') as without_room,
       coalesce(sum(f.needs_bytes) filter (where f.state = 'wanted' and f.wait_reason <> ''), 0)::bigint as needs_bytes,
       count(*) filter (where f.state = 'wanted' and f.wait_reason = '' and f.due_at > %(now)s) as postponed,
       count(*) filter (where f.state = 'wanted' and f.wait_reason = '' and f.due_at <= %(now)s) as due,
       (select count(*) from volume_bucket v
        where v.channel_id = %(channel_id)s and v.due_at <= %(now)s) as unassembled,
       (select count(*) from inspection i join item t on t.id = i.item_id
        where t.channel_id = %(channel_id)s and i.due_at <= %(now)s) as uninspected
from sighting s
left join item_file f on f.sighting_id = s.id
left join blob b on b.id = f.blob_id
where s.channel_id = %(channel_id)s and s.deleted_at is null

-- name: list_failed
-- Some files that could not be read, and why.
select s.message_key as path, f.error_message as reason
from item_file f join sighting s on s.id = f.sighting_id
where f.channel_id = %(channel_id)s and f.error_message <> '' and f.state in ('failed', 'wanted')
order by s.message_key limit %(limit)s

-- name: retry_files
-- A person imports the folder again: what failed, or waits to be tried again, is tried now.
with retried as (
    select sighting_id from item_file
    where channel_id = %(channel_id)s and taken_by is null
      and (state = 'failed' or (state = 'wanted' and due_at > %(now)s))
    order by sighting_id for update
)
update item_file f set state = 'wanted', due_at = %(now)s, starts = 0, attempts = 0, error_class = '', error_message = ''
from retried r where f.sighting_id = r.sighting_id
returning f.sighting_id
