-- What a restore asks of the catalogue and does beside loading rows.

-- name: count_relations
-- Whether there is anything that a restore would replace.
select count(*) from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f', 'S')

-- name: get_schema_name
-- The schema that is set aside and built anew.
select current_schema()

-- name: list_foreign_keys
-- Dropped while rows are loaded, because tables may refer to each other in a circle, and checked as a whole afterwards.
select c.relname as table_name, k.conname as name, pg_get_constraintdef(k.oid) as definition
from pg_constraint k
join pg_class c on c.oid = k.conrelid
where c.relnamespace = current_schema()::regnamespace and k.contype = 'f'
order by c.relname collate "C", k.conname collate "C"

-- name: list_triggered
-- Tables with triggers, which have done their work on these rows already.
select distinct c.relname
from pg_trigger t
join pg_class c on c.oid = t.tgrelid
where c.relnamespace = current_schema()::regnamespace and not t.tgisinternal
order by c.relname

-- name: set_sequence
-- Where a sequence goes on.
select setval(%(name)s::regclass, %(last_value)s, %(is_called)s)

-- name: end_other_sessions
-- A transaction that began on the old tables must not go on with the new ones.
select count(pg_terminate_backend(pid, 5000))
from pg_stat_activity
where datname = current_database() and usename = current_user and pid <> pg_backend_pid()

-- name: list_tables_of
-- What has to be locked before the old schema gives way.
select c.relname from pg_class c where c.relnamespace = %(schema)s::regnamespace and c.relkind = 'r' order by c.relname

-- name: keep_files
-- Nobody deletes a file that the restored rows may name: who does so now is waited for, and others begin afterwards.
select pg_advisory_xact_lock_shared(7420, 1)

-- name: has_owner
-- The database may be empty, or somebody else's.
select to_regclass('blob_store') is not null

-- name: get_owner
-- Whose mark the store has.
select id, marked from blob_store

-- name: set_owner
-- The restored rows know the store that they had, and are told which one they have now.
insert into blob_store (id, marked) values (%(id)s, %(marked)s)
on conflict (single) do update set id = excluded.id, marked = excluded.marked, collected_to = null

-- name: forget_unused_store
-- A store that nothing was in need not be there.
update blob_store set marked = false where not exists (select from blob)

-- name: note_damaged
-- All others were found whole just now, but for files in place, which no backup has.
update blob set damaged_at = case when object_name = any(%(names)s::text[]) then %(now)s::timestamptz end
where (damaged_at is not null or object_name = any(%(names)s::text[])) and left(object_name, 6) <> 'place:'
