-- name: list_known
-- Which of these ids are groups.
select id from item_group where id = any(%(ids)s::uuid[])

-- name: list_members
-- All members, also hidden ones.
select id from item where group_id = any(%(ids)s::uuid[])

-- name: list_copies
-- What the library shows as one row with these items.
select o.id from item i join item o on o.content_hash = i.content_hash
where i.id = any(%(ids)s::uuid[]) and i.content_hash is not null and i.group_id is null
  and not i.hidden and not o.hidden and o.group_id is null

-- name: list_aliases
-- Items that became parts of sets, and those sets.
select old_id, item_id from item_alias where old_id = any(%(ids)s::uuid[])

-- name: lock_items
-- Before groups, and by their ids.
select id, group_id, grouped_by, removed_at is not null as removed
from item where id = any(%(ids)s::uuid[]) order by id for no key update

-- name: list_album_groups
-- The groups of the albums of items, and those of rules: items that leave a group may join them before the commit.
select g.id from sighting s
join message m on m.channel_id = s.channel_id and m.key = s.message_key and m.album <> ''
join item_group g on g.kind = 'album' and g.channel_id = m.channel_id and g.source_key = m.album
where s.item_id = any(%(ids)s::uuid[])
union
select g.id from group_candidate c
join item_group g on g.kind = 'rule' and g.rule_id = c.rule_id and g.channel_id = c.channel_id and g.source_key = c.source_key
where c.item_id = any(%(ids)s::uuid[])
union
select g.id from (
    select distinct s.channel_id, headgate_reply_root(s.channel_id, s.message_key) as root
    from sighting s where s.item_id = any(%(ids)s::uuid[]) and exists (select from group_rule r where r.enabled and r.kind = 'replies')
) as chain
cross join lateral headgate_reply_chain(chain.channel_id, chain.root) as c (key)
join item_group g on g.kind = 'rule' and g.channel_id = chain.channel_id and g.source_key = c.key
join group_rule r on r.id = g.rule_id and r.kind = 'replies' and r.enabled

-- name: lock_groups
-- After items, and by their ids.
select id, kind, name, name_by, created_at, dissolved_at, dissolved_items
from item_group where id = any(%(ids)s::uuid[]) order by id for no key update

-- name: insert_group
-- Made by hand, and so in no channel.
insert into item_group (id, kind, name, name_key, name_by, created_at)
values (%(id)s, 'hand', %(name)s, %(name_key)s, 'person', %(now)s)

-- name: count_members
-- Those that a person removed for ever do not count.
select count(*) from item where group_id = %(id)s and removed_at is null

-- name: join_items
-- What was excluded before is not any more.
with included as (
    delete from group_exclusion where group_id = %(id)s and item_id = any(%(item_ids)s::uuid[])
)
update item set group_id = %(id)s, grouped_by = 'person' where id = any(%(item_ids)s::uuid[])

-- name: leave_groups
-- Locked items leave their groups.
update item set group_id = null, grouped_by = '' where id = any(%(item_ids)s::uuid[])

-- name: exclude_items
-- A person took items out of the groups that they are in: automation does not put them back, and rules leave them alone.
insert into group_exclusion (item_id, group_id)
select i.id, i.group_id from item i join item_group g on g.id = i.group_id
where i.id = any(%(item_ids)s::uuid[]) order by 1, 2
on conflict do nothing

-- name: dissolve_emptied
-- Groups that lost their last member.
update item_group g set dissolved_at = %(now)s, dissolved_items = '{}'
where g.id = any(%(ids)s::uuid[]) and g.dissolved_at is null
  and not exists (select from item i where i.group_id = g.id and i.removed_at is null)
returning g.id

-- name: dissolve
-- The row stays, so that automation does not make the group again.
update item_group set dissolved_at = %(now)s, dissolved_items = %(item_ids)s::uuid[] where id = %(id)s

-- name: list_dissolved_items
-- What it had.
select unnest(dissolved_items) from item_group where id = %(id)s

-- name: restore
-- A person undid that.
update item_group set dissolved_at = null, dissolved_items = '{}' where id = %(id)s

-- name: rename
-- Automation does not change a person's name.
update item_group set name = %(name)s, name_key = %(name_key)s, name_by = 'person' where id = %(id)s

-- name: get_group
-- A group, also one that was dissolved.
select g.id, g.kind, g.name, g.name_by, g.created_at, g.dissolved_at, g.channel_id, coalesce(c.title, '') as channel_title,
       coalesce(r.name, '') as rule_name
from item_group g
left join channel c on c.id = g.channel_id
left join group_rule r on r.id = g.rule_id
where g.id = %(id)s

-- name: list_shown_members
-- The first posted first.
select i.id, i.group_id, i.title, i.kind, i.type, i.size_bytes, i.sent_at, i.channel_id, c.title as channel_title, i.grouped_by
from item i join channel c on c.id = i.channel_id
where i.group_id = any(%(ids)s::uuid[]) and not i.hidden
order by i.group_id, least(i.sent_at, i.caught_at), i.id
limit %(limit)s

-- name: find_by_name
-- Groups whose name contains words, the newest first.
select id, name from item_group
where dissolved_at is null and name ilike %(pattern)s order by created_at desc, id limit %(limit)s

-- name: find_cover_item
-- Whose picture the library shows.
select cover_item_id from shelf where id = %(id)s
