-- name: get_blobs
-- What readers open.
select id, sha256, size_bytes, object_name from blob where id = any(%(ids)s::uuid[])

-- name: list_blobs_after
-- A batch of an audit, which goes on after the last id.
select id, sha256, size_bytes, object_name from blob where id > %(after)s order by id limit %(limit)s

-- name: list_blobs_named
-- A restore knows its files by their objects.
select id from blob where object_name = any(%(names)s::text[])

-- name: find_aliases
-- The lock keeps the collector away until the caller has committed its reference. Damaged content is fetched again.
select a.platform, a.scope, a.content_id, a.size_bytes, b.id, b.sha256, b.object_name
from unnest(%(platforms)s::text[], %(scopes)s::text[], %(content_ids)s::text[], %(sizes)s::bigint[])
    as wanted (platform, scope, content_id, size_bytes)
join blob_alias a using (platform, scope, content_id, size_bytes)
join blob b on b.id = a.blob_id and b.damaged_at is null and left(b.object_name, 6) <> 'place:'
for key share of b

-- name: keep_blobs
-- What is about to be referred to is not counted as unreferenced. Locked in the order of the hashes, as uploads do.
with locked as (
    select id from blob where id = any(%(ids)s::uuid[]) and unreferenced_since is not null
    order by sha256 for no key update
)
update blob b set unreferenced_since = null from locked where b.id = locked.id

-- name: upsert_aliases
-- Locked in one order, so that two of them cannot wait for each other.
insert into blob_alias as a (platform, scope, content_id, size_bytes, blob_id, created_at)
select distinct on (platform, scope, content_id, size_bytes) platform, scope, content_id, size_bytes, blob_id, %(now)s
from unnest(%(platforms)s::text[], %(scopes)s::text[], %(content_ids)s::text[], %(sizes)s::bigint[], %(blob_ids)s::uuid[])
    as given (platform, scope, content_id, size_bytes, blob_id)
order by platform, scope, content_id, size_bytes
on conflict (platform, scope, content_id, size_bytes) do update set blob_id = excluded.blob_id
where a.blob_id <> excluded.blob_id

-- name: mark_damaged
-- The first finding counts. Locked in the order of the hashes, as uploads do.
with locked as (
    select id from blob where id = any(%(ids)s::uuid[]) and damaged_at is null order by sha256 for no key update
)
update blob b set damaged_at = %(now)s from locked where b.id = locked.id
