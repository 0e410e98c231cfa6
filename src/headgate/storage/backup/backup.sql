-- What a backup asks of the catalogue: always about the schema that our own names lead to.

-- name: list_columns
-- What a table's rows are made of; the database derives generated columns again. The ledger is left out: the
-- migrations of a restore write it.
select c.relname as table_name, array_agg(a.attname::text order by a.attnum) as columns
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname <> 'headgate_migration'
group by c.relname
order by c.relname collate "C"

-- name: list_sequences
-- Not of any snapshot: read after the rows, a sequence is never behind them.
select c.relname as name, coalesce(pg_sequence_last_value(c.oid), s.seqstart) as last_value,
    pg_sequence_last_value(c.oid) is not null as is_called
from pg_class c
join pg_sequence s on s.seqrelid = c.oid
where c.relnamespace = current_schema()::regnamespace
order by c.relname collate "C"

-- name: get_size
-- Only for the progress bar.
select coalesce(sum(pg_table_size(c.oid)), 0)::bigint
from pg_class c
where c.relnamespace = current_schema()::regnamespace and c.relname = any(%(tables)s)

-- name: has_ledger
-- Without it, this is no database of ours.
select to_regclass('headgate_migration') is not null

-- name: list_applied
-- A restore builds the same schema before it loads the rows.
select number, name, checksum from headgate_migration where number > 0 order by number

-- name: lift_limits
-- A server may end long statements and transactions by default; a copy of everything takes long.
select set_config(name, '0', true)
from pg_settings
where name in ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')

-- name: fix_formats
-- Values are written and read in one form, whatever the server or the role has as a default.
select set_config(format.name, format.value, true)
from (values ('datestyle', 'ISO'), ('intervalstyle', 'postgres'), ('extra_float_digits', '3'), ('bytea_output', 'hex'))
    as format (name, value)
