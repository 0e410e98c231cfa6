-- name: note_inspections
-- A look that is under way does not count any more: what it read may be out of date. Requests to send these items may
-- have waited for their files.
with woken as (
    update send_request set due_at = %(now)s
    where item_id = any(%(item_ids)s::uuid[]) and state = 'waiting' and due_at > %(now)s
)
insert into inspection as i (item_id, due_at)
select item.id, %(now)s from item where item.id = any(%(item_ids)s::uuid[]) order by item.id
on conflict (item_id) do update set seq = i.seq + 1, attempts = 0, needs_bytes = 0, due_at = excluded.due_at

-- name: list_due_inspections
-- Due inspections without a job, the longest due first.
select i.item_id::text from inspection i
where i.due_at <= %(now)s and not exists (select from live_job where dedupe_key = 'inspect:' || i.item_id)
order by i.due_at limit %(limit)s

-- name: set_inspection_due
-- Puts an inspection off, or makes it due.
update inspection set due_at = %(due_at)s where item_id = %(item_id)s

-- name: get_inspection
-- An inspection as it stands.
select item_id, due_at, seq, attempts, needs_bytes, state, problems, detail, format, is_solid, entry_count, unpacked_bytes, volumes,
       proven_total, proof_reason, picture_key, picture_source, picture_colour, inspected_at
from inspection where item_id = %(item_id)s

-- name: settle_inspection
-- Only a look that began after the last change counts; a later one is still due.
update inspection
set due_at = null, attempts = 0, needs_bytes = 0, state = %(state)s, problems = %(problems)s, detail = %(detail)s, format = %(format)s,
    is_solid = %(is_solid)s, entry_count = %(entry_count)s, unpacked_bytes = %(unpacked_bytes)s, volumes = %(volumes)s,
    proven_total = %(proven_total)s, proof_reason = %(proof_reason)s, inspected_at = %(now)s
where item_id = %(item_id)s and seq = %(seen)s

-- name: wait_for_room
-- Tried again at its time, unless the files have changed meanwhile: then it is due anyway.
update inspection set due_at = %(due_at)s, needs_bytes = %(needs_bytes)s where item_id = %(item_id)s and seq = %(seen)s

-- name: note_proof
-- How many volumes there are is told before the long look, if the files have not changed since.
update inspection set proven_total = %(proven_total)s where item_id = %(item_id)s and seq = %(seen)s

-- name: delete_entries
-- What was listed before.
delete from content_entry where item_id = %(item_id)s

-- name: insert_entries
-- All entries of an archive at once.
insert into content_entry (item_id, number, path, size_bytes, packed_bytes, modified_at, is_directory, is_encrypted, is_link)
select %(item_id)s, e.number, e.path, nullif(e.size_bytes, -1), nullif(e.packed_bytes, -1), to_timestamp(nullif(e.modified_s, -1)),
       e.is_directory, e.is_encrypted, e.is_link
from unnest(
    %(numbers)s::int[], %(paths)s::text[], %(sizes)s::bigint[], %(packed)s::bigint[], %(modified)s::bigint[],
    %(directories)s::bool[], %(encrypted)s::bool[], %(links)s::bool[]
) as e (number, path, size_bytes, packed_bytes, modified_s, is_directory, is_encrypted, is_link)

-- name: list_item_files
-- The files of an item with what is known of their content; copies of one volume are several.
select s.id as sighting_id, s.file_name, coalesce(b.size_bytes, s.size_bytes) as size_bytes,
       coalesce(f.state, 'listed') as state, b.id as blob_id, b.sha256, coalesce(b.object_name, '') as object_name,
       f.stored_at
from sighting s
left join item_file f on f.sighting_id = s.id
left join blob b on b.id = f.blob_id and b.damaged_at is null
where s.item_id = %(item_id)s and s.url = '' and s.file_name <> ''
order by s.id
limit %(limit)s
