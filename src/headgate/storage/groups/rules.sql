-- name: list_rules
-- With how many groups each has made that are there, counted up to a cap.
select r.id, r.name, r.kind, r.pattern, r.enabled, r.created_at, r.sweep as doing, counted.groups
from group_rule r
cross join lateral (
    select count(*) as groups from (
        select from item_group g where g.kind = 'rule' and g.rule_id = r.id and g.dissolved_at is null limit %(cap)s
    ) as capped
) as counted
where %(id)s::uuid is null or r.id = %(id)s::uuid
order by r.created_at, r.id

-- name: lock_rules
-- Changes of rules come one after another.
select pg_advisory_xact_lock(hashtextextended('headgate group rules', 0))

-- name: insert_rule
-- Off, until a person has seen what it would do.
insert into group_rule (id, name, kind, pattern, created_at) values (%(id)s, %(name)s, %(kind)s, %(pattern)s, %(now)s)

-- name: update_rule
-- What it found before is found anew when it is switched on.
with forgotten as (delete from group_candidate where rule_id = %(id)s)
update group_rule set name = %(name)s, kind = %(kind)s, pattern = %(pattern)s where id = %(id)s

-- name: switch_rule
-- A job does the rest with what is there, from the start.
update group_rule
set enabled = %(enabled)s, sweep = %(sweep)s, sweep_after = null, wake_seq = wake_seq + 1
where id = %(id)s

-- name: delete_rule
-- Its groups stay.
delete from group_rule where id = %(id)s

-- name: list_swept_rules
-- Rules that wait for their job; after a dead letter they rest for a while.
select r.id::text from group_rule r
where r.sweep <> '' and not exists (select from live_job where dedupe_key = 'group_rule:' || r.id)
  and not exists (
      select from dead_letter d where d.kind = 'group_rule' and d.key = r.id::text
        and d.state <> 'replayed' and d.died_at > %(rested_since)s
  )
order by r.id limit %(limit)s

-- name: get_sweep
-- How far a rule's job has come.
select kind, pattern, sweep, sweep_after, wake_seq from group_rule where id = %(id)s and sweep <> ''

-- name: advance_sweep
-- Unless it began anew meanwhile.
update group_rule set sweep_after = %(after)s where id = %(id)s and wake_seq = %(seen)s

-- name: end_sweep
-- Unless it began anew meanwhile.
update group_rule set sweep = '', sweep_after = null where id = %(id)s and wake_seq = %(seen)s

-- name: list_open
-- The next visible items that a rule decides about: those in no group, and those that it has put into one.
select i.id, i.title, i.group_id is not null as grouped from item i
where (%(after)s::uuid is null or i.id > %(after)s::uuid) and not i.hidden and (
    i.group_id is null or i.grouped_by = 'rule'
    and exists (select from item_group g where g.id = i.group_id and g.rule_id = %(rule_id)s)
)
order by i.id limit %(limit)s

-- name: list_untouched
-- Groups of a rule that nobody has named, covered, added to or taken anything out of: the next ones, until they have enough members.
select q.id from (
    select g.id, sum(many.members) over (order by g.id) - many.members as before
    from (
        select g.id from item_group g
        where g.kind = 'rule' and g.rule_id = %(rule_id)s and g.dissolved_at is null
          and (%(after)s::uuid is null or g.id > %(after)s::uuid)
          and (%(ids)s::uuid[] is null or g.id = any(%(ids)s::uuid[]))
          and g.name_by = 'automatic'
          and not exists (select from group_picture p where p.group_id = g.id)
          and not exists (select from group_exclusion x where x.group_id = g.id)
          and not exists (select from item i where i.group_id = g.id and i.grouped_by = 'person')
        order by g.id limit %(limit)s
    ) as g
    cross join lateral (select count(*) as members from item i where i.group_id = g.id) as many
) as q
where q.before < %(max_items)s or %(ids)s::uuid[] is not null
order by q.id

-- name: delete_groups
-- They are made again if the rule is switched on again.
delete from item_group where id = any(%(ids)s::uuid[])
