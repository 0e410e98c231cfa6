-- name: list_items
-- Items that are shown, with the topics in which they were seen.
select i.id, i.channel_id, i.kind, i.type, i.title, least(i.sent_at, i.caught_at) as posted_at, i.caught_at,
    i.group_id is null as ungrouped,
    coalesce((
        select array_agg(distinct s.channel_id || '/' || s.topic) from sighting s
        where s.item_id = i.id and s.topic <> ''
    ), '{}') as topics
from item i where i.id = any(%(ids)s::uuid[]) and not i.hidden
order by i.id

-- name: list_groups
-- Groups that are shown: not dissolved, and with a member that is. What their members have is on the shelf; writing a row there
-- makes its document due again.
select g.id, g.name, g.created_at, coalesce(s.facets, '{}') as facets, coalesce(s.dated_facets, '{}') as dated_facets
from item_group g left join shelf s on s.id = g.id
where g.id = any(%(ids)s::uuid[]) and g.dissolved_at is null
  and exists (select from item i where i.group_id = g.id and not i.hidden)
order by g.id

-- name: list_paths
-- The files inside archives, as one text for each.
select i.id, string_agg(entry.path, E'\n') as paths
from unnest(%(item_ids)s::uuid[]) as i (id)
cross join lateral (
    select e.path from content_entry e where e.item_id = i.id and not e.is_directory
    order by e.number limit %(max_paths)s
) as entry
group by i.id
