-- name: queue_items
-- Appended, so that nobody waits for a row of somebody else.
insert into shelf_queue (item_ids) values (%(item_ids)s::uuid[])

-- name: queue_files
-- The items that files are of.
insert into shelf_queue (item_ids)
select array_agg(distinct item_id) from sighting
where id = any(%(sighting_ids)s::uuid[]) and item_id is not null having count(item_id) > 0

-- name: queue_label
-- Everything that has a label which counts under another name now, in batches that a job takes one by one.
insert into shelf_queue (item_ids)
select array_agg(item_id) from (
    select item_id, (row_number() over (order by item_id) - 1) / %(batch)s as batch from (
        select distinct l.item_id from item_label l
        where l.kind = %(kind)s and l.key in (
            select unnest(%(keys)s::text[])
            union select n.key from label_name n where n.kind = %(kind)s and n.shown_key = any(%(keys)s::text[]))
    ) as labelled
) as numbered
group by batch order by batch

-- name: queue_channel
-- All items of a channel, in batches as above.
insert into shelf_queue (item_ids)
select array_agg(id) from (
    select id, (row_number() over (order by id) - 1) / %(batch)s as batch from item where channel_id = %(channel_id)s
) as numbered
group by batch order by batch

-- name: queue_messages
-- The items of messages.
insert into shelf_queue (item_ids)
select array_agg(distinct item_id) from sighting
where channel_id = %(channel_id)s and message_key = any(%(message_keys)s::text[]) and item_id is not null
having count(item_id) > 0

-- name: list_company
-- What items belong to before they are deleted.
select distinct group_id, content_hash from item
where id = any(%(item_ids)s::uuid[]) and (group_id is not null or content_hash is not null)

-- name: list_company_elsewhere
-- The groups and copies that channels share with others, or that only they have.
select distinct i.group_id, null::bytea as content_hash from item i
where i.channel_id = any(%(channel_ids)s::uuid[]) and i.group_id is not null
union all
select distinct null::uuid, i.content_hash from item i
where i.channel_id = any(%(channel_ids)s::uuid[]) and i.content_hash is not null
  and exists (select from item o where o.content_hash = i.content_hash and o.channel_id <> all(%(channel_ids)s::uuid[]))

-- name: clear_channels
-- Rows of what is in no group; those of groups and of copies elsewhere are written anew.
with gone as (
    delete from shelf s using item i
    where i.channel_id = any(%(channel_ids)s::uuid[]) and s.id = i.id
    returning s.id, s.sort_at, s.dated_facets
)
delete from shelf_facet f using gone cross join lateral unnest(gone.dated_facets) as d (facet)
where f.facet = d.facet and f.sort_at = gone.sort_at and f.shelf_id = gone.id
