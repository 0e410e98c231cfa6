-- name: begin_audit
-- Goes on with the one that has not ended, unless a person wants a new one.
insert into blob_audit as a (started_at, noted_at, reached, total, total_bytes)
select %(now)s, %(now)s, %(start)s, count(*), coalesce(sum(size_bytes), 0) from blob
on conflict (single) do update set started_at = excluded.started_at, noted_at = excluded.noted_at, ended_at = null,
    reached = excluded.reached, total = excluded.total, total_bytes = excluded.total_bytes, checked = 0,
    checked_bytes = 0, damaged = 0, refetched = 0, lost = 0
where a.ended_at is not null or %(restart)s

-- name: note_audit
-- After each batch, so that a kill costs one of them.
update blob_audit set noted_at = %(now)s, reached = coalesce(%(reached)s, reached), checked = checked + %(checked)s,
    checked_bytes = checked_bytes + %(checked_bytes)s, damaged = damaged + %(damaged)s,
    refetched = refetched + %(refetched)s, lost = lost + %(lost)s

-- name: end_audit
-- Everything was read.
update blob_audit set noted_at = %(now)s, ended_at = %(now)s

-- name: get_audit
-- What people are shown.
select started_at, noted_at, ended_at, reached, total, total_bytes, checked, checked_bytes, damaged, refetched, lost
from blob_audit

-- name: count_damaged
-- What is damaged now, and the files that still have such content because nothing can replace it.
select count(*) as blobs, coalesce(sum(b.size_bytes), 0)::bigint as size_bytes,
       coalesce(sum((select count(*) from item_file f where f.blob_id = b.id)), 0)::bigint as files
from blob b where b.damaged_at is not null

-- name: try_audit
-- Held by the session, so that it ends with its process, however that dies.
select pg_try_advisory_lock(7420, 2)
