-- name: upsert_placed
-- One row for each file as it was when it was read; reading it again confirms the row.
insert into blob as b (id, sha256, size_bytes, object_name, created_at)
select distinct on (name) id, sha256, size_bytes, name, %(now)s::timestamptz
from unnest(%(ids)s::uuid[], %(hashes)s::bytea[], %(sizes)s::bigint[], %(names)s::text[]) as n (id, sha256, size_bytes, name)
order by name
on conflict (object_name) where left(object_name, 6) = 'place:' do update
set sha256 = excluded.sha256, unreferenced_since = null, damaged_at = null
returning b.id, b.object_name
