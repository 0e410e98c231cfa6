-- What a backup asks of the database that it copies.

-- name: list_tables
-- Every table that a dump holds: extensions bring their own back.
select format('%%I.%%I', n.nspname, c.relname)
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r'
  and n.nspname <> 'information_schema'
  and n.nspname !~ '^pg_'
  and not exists (
      select from pg_depend d
      where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
  )
order by 1;

-- name: export_snapshot
-- The dump and the counts must see the same rows.
select pg_export_snapshot();

-- name: get_size
-- Only for the progress bar.
select pg_database_size(current_database());

-- name: has_ledger
-- Without it, this is no database of ours.
select to_regclass('headgate_migration') is not null;

-- name: list_applied
-- A restore must know whether the code that made the dump was newer.
select number, name, checksum from headgate_migration order by number;
