-- name: doom_unknown
-- An object whose upload has begun has a row from before its first byte, so what has none now was left behind.
insert into doomed_object (object_name, reason, doomed_at, delete_at)
select name, 'orphan', %(now)s, %(delete_at)s::timestamptz from unnest(%(names)s::text[]) as name
where not exists (select from blob b where b.object_name = name collate "C")
  and not exists (select from upload_intent u where u.object_name = name collate "C")
on conflict (object_name) do nothing

-- name: try_without_backup
-- Backups share this lock. One that begins a moment later does not need what is due now.
select pg_try_advisory_xact_lock(7420, 1)

-- name: list_due
-- Oldest first. No blob ever has the name of a doomed object; it is asked all the same, because a mistake could not be undone.
select object_name from doomed_object d
where delete_at <= %(now)s and not exists (select from blob b where b.object_name = d.object_name)
order by delete_at, object_name limit %(limit)s

-- name: forget_doomed
-- They are deleted.
delete from doomed_object where object_name = any(%(names)s::text[])

-- name: begin_backup
-- Held by the session, so that it ends with its process, however that dies.
select pg_advisory_lock_shared(7420, 1)

-- name: confirm_backup
-- A session that is gone fails here, and the backup with it.
select
