-- name: lock_ruleset
-- Changes of rules come one after another; returns the version.
select version from label_ruleset for update

-- name: get_version
-- Of the rules as they are.
select version from label_ruleset

-- name: list_rules
-- In the order in which they are tried.
select id, position, name, field, kind, normalisation, pattern, enabled from label_rule order by position

-- name: write_rules
-- All rules as they are now, in their order. Names and places are compared when all are written, so that two rules can
-- swap theirs.
with rules as (
    select * from unnest(
        %(id)s::uuid[], %(position)s::int[], %(name)s::text[], %(field)s::text[], %(kind)s::text[],
        %(normalisation)s::text[], %(pattern)s::text[], %(enabled)s::boolean[]
    ) as r (id, position, name, field, kind, normalisation, pattern, enabled)
)
insert into label_rule (id, position, name, field, kind, normalisation, pattern, enabled)
select * from rules order by position
on conflict (id) do update
set position = excluded.position, name = excluded.name, field = excluded.field, kind = excluded.kind,
    normalisation = excluded.normalisation, pattern = excluded.pattern, enabled = excluded.enabled

-- name: delete_rules
-- Before the others are written: a name or a position may go to another rule.
delete from label_rule where id <> all(%(kept_ids)s::uuid[])

-- name: raise_version
-- With every change.
update label_ruleset set version = version + 1 returning version

-- name: sweep_all
-- Every channel that has an item is labelled again; a sweep under way begins anew.
insert into label_sweep as s (channel_id)
select c.id from channel c where exists (select from item i where i.channel_id = c.id)
order by c.id
on conflict (channel_id) do update set after = '', wake_seq = s.wake_seq + 1
