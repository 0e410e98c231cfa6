-- name: list_foreign_kinds
-- Kinds of relation that the description does not know how to tell; none may be among ours.
select c.relname as name, c.relkind::text as kind
from pg_class c
where c.relnamespace = current_schema()::regnamespace
    and c.relname !~ 'pgqueuer'
    and c.relkind not in ('r', 'i', 'S', 'v')
order by c.relname collate "C"

-- name: list_types
-- Enumerations with their labels in order. The engine's own are its affair.
select t.typname as name, array_agg(e.enumlabel::text order by e.enumsortorder) as labels
from pg_type t
join pg_enum e on e.enumtypid = t.oid
where t.typnamespace = current_schema()::regnamespace
    and t.typname !~ 'pgqueuer'
group by t.typname
order by t.typname collate "C"

-- name: list_functions
-- Functions as the server spells them, without those of extensions.
select pg_get_functiondef(p.oid) as definition
from pg_proc p
where p.pronamespace = current_schema()::regnamespace
    and p.proname !~ 'pgqueuer'
    and not exists (
        select from pg_depend d
        where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
    )
order by p.proname collate "C", pg_get_function_identity_arguments(p.oid) collate "C"

-- name: list_columns
-- Columns in their order, with what makes them differ from a plain nullable one.
select
    c.relname as table_name,
    c.relpersistence = 'u' as unlogged,
    coalesce(array_to_string(c.reloptions, ', '), '') as options,
    a.attname as name,
    format_type(a.atttypid, a.atttypmod) as type,
    a.attnotnull as required,
    a.attidentity::text as identity,
    a.attgenerated::text as generated,
    coalesce(pg_get_expr(d.adbin, d.adrelid), '') as expression
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
where c.relnamespace = current_schema()::regnamespace
    and c.relname !~ 'pgqueuer'
    and c.relkind = 'r'
order by c.relname collate "C", a.attnum

-- name: list_views
-- Servers before 16 name the table before each column even if there is only one; here it is never named.
select format(E'CREATE VIEW %%s AS\n%%s', c.relname, regexp_replace(pg_get_viewdef(c.oid), '\m[a-z_]+\.', '', 'g'))
from pg_class c
where c.relnamespace = current_schema()::regnamespace
    and c.relname !~ 'pgqueuer'
    and c.relkind = 'v'
order by c.relname collate "C"

-- name: list_constraints
-- Constraints by name. PostgreSQL 18 lists NOT NULL among them, older servers do not: the columns tell it.
select c.relname as table_name, k.conname as name, pg_get_constraintdef(k.oid) as definition
from pg_constraint k
join pg_class c on c.oid = k.conrelid
where c.relnamespace = current_schema()::regnamespace
    and c.relname !~ 'pgqueuer'
    and k.contype in ('p', 'u', 'f', 'c', 'x')
order by c.relname collate "C", k.conname collate "C"

-- name: list_indexes
-- Indexes and triggers of each table, without the indexes that stand behind a constraint.
select c.relname as table_name, pg_get_indexdef(i.indexrelid) as definition
from pg_index i
join pg_class c on c.oid = i.indrelid
where c.relnamespace = current_schema()::regnamespace
    and c.relname !~ 'pgqueuer'
    and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
union all
select c.relname, pg_get_triggerdef(t.oid)
from pg_trigger t
join pg_class c on c.oid = t.tgrelid
where c.relnamespace = current_schema()::regnamespace
    and c.relname !~ 'pgqueuer'
    and not t.tgisinternal
order by table_name, definition
