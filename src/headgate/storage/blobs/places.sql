-- name: upsert_placed
-- One row for each file as it was when it was read: its id is made of name and hash. Reading it again confirms the row.
-- Locked in the order of the hashes, as uploads do.
insert into blob (id, sha256, size_bytes, object_name, created_at)
select distinct id, sha256, size_bytes, name, %(now)s::timestamptz
from unnest(%(ids)s::uuid[], %(hashes)s::bytea[], %(sizes)s::bigint[], %(names)s::text[]) as n (id, sha256, size_bytes, name)
order by sha256, id
on conflict (id) do update set unreferenced_since = null, damaged_at = null
