-- let members: select id from item where s.group_id is not null and group_id = s.group_id and not hidden
--          union all
--          select id from item
--          where s.group_id is null and content_hash = s.content_hash and group_id is null and not hidden
--          union all
--          select s.item_id where s.group_id is null and s.content_hash is null

-- name: list_items
-- The items behind a row in the order in which they were posted, or those of them with a file whose name contains something.
select i.id, i.title, i.kind, i.size_bytes, c.title as channel_title,
    exists (select from picture p where p.item_id = i.id) as has_picture
from (select * from shelf where id = %(row_id)s) as s
cross join lateral ({members}) as member
join item i on i.id = member.id
join channel c on c.id = i.channel_id
where %(pattern)s::text is null
   or exists (
       select from content_entry e where e.item_id = i.id and not e.is_directory and e.path ilike %(pattern)s::text
   )
   or exists (select from sighting f where f.item_id = i.id and f.file_name ilike %(pattern)s::text)
order by least(i.sent_at, i.caught_at), i.id
offset %(skip)s::int limit %(limit)s::int

-- name: list_entries
-- Files inside the archives of items, the first ones of each, and how many there are.
select e.item_id, e.number, e.path as name, e.size_bytes, e.found
from unnest(%(item_ids)s::uuid[]) as wanted (id)
cross join lateral (
    select item_id, number, path, size_bytes, count(*) over () as found
    from content_entry
    where item_id = wanted.id and not is_directory and (%(pattern)s::text is null or path ilike %(pattern)s::text)
    order by number limit %(limit)s::int
) as e
order by e.item_id, e.number

-- name: list_volumes
-- The files that items consist of, each name once, and how many there are.
select f.item_id, f.sighting_id, f.name, f.size_bytes, f.is_stored, f.found
from unnest(%(item_ids)s::uuid[]) as wanted (id)
cross join lateral (
    select s.item_id, s.sighting_id, s.name, s.size_bytes, s.is_stored, count(*) over () as found
    from (
        select distinct on (s.file_name) s.item_id, s.id as sighting_id, s.file_name as name, s.size_bytes,
            f.state = 'stored' and b.id is not null as is_stored
        from sighting s
        left join item_file f on f.sighting_id = s.id
        left join blob b on b.id = f.blob_id and b.damaged_at is null
        where s.item_id = wanted.id and s.url = '' and s.file_name <> ''
            and (%(pattern)s::text is null or s.file_name ilike %(pattern)s::text)
        order by s.file_name, (f.state = 'stored') desc nulls last, s.id
    ) as s
    order by s.name limit %(limit)s::int
) as f
order by f.item_id, f.name

-- name: list_things
-- The items that ids of items and groups stand for: all members of a group, and all copies that a row shows as one.
select distinct found.id
from unnest(%(ids)s::uuid[]) as wanted (id)
cross join lateral (
    select i.id from item i where i.group_id = wanted.id and not i.hidden
    union all
    select i.id from item i where i.id = wanted.id and not i.hidden
    union all
    select o.id from item i join item o on o.content_hash = i.content_hash
    where i.id = wanted.id and i.group_id is null and not i.hidden and o.group_id is null and not o.hidden
) as found
order by found.id
limit %(limit)s::int

-- name: list_homes
-- The groups that items are in by now.
select i.id, i.group_id from item i join shelf s on s.id = i.group_id where i.id = any(%(ids)s::uuid[]) and not i.hidden

-- name: list_channels
-- What channels to choose from, by title.
select id, title from channel order by lower(title), id limit %(limit)s::int

-- name: list_topics
-- The topics of channels, by title.
select channel_id, key, title from topic where channel_id = any(%(channel_ids)s::uuid[]) order by lower(title), key limit %(limit)s::int
