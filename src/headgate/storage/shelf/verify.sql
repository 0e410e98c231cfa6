-- name: list_items_after
-- All items, by id.
select id from item where id > %(after)s order by id limit %(limit)s

-- name: count_items
-- How much there is to compare.
select count(*) from item

-- name: list_orphans
-- Rows of items and groups that are not there any more.
select s.id from shelf s
where not exists (select from item i where i.id = s.item_id and not i.hidden)
   or (s.group_id is not null and not exists (select from item i where i.group_id = s.group_id and not i.hidden))
limit %(limit)s

-- name: delete_orphans
-- With their places in the lists by facet, which are checked next.
delete from shelf where id = any(%(ids)s::uuid[])

-- name: count_wrong_facets
-- Places in the lists by facet that no row has, and rows without theirs.
select (select count(*) from shelf_facet f where not exists (
            select from shelf s where s.id = f.shelf_id and f.facet = any(s.dated_facets)
                and (s.sort_at, s.name_key, s.size_bytes) = (f.sort_at, f.name_key, f.size_bytes)
        ))
     + (select count(*) from shelf s cross join lateral unnest(s.dated_facets) as d (facet)
        where not exists (select from shelf_facet f where f.facet = d.facet and f.sort_at = s.sort_at and f.shelf_id = s.id))

-- name: delete_wrong_facets
-- What no row has.
delete from shelf_facet f where not exists (
    select from shelf s where s.id = f.shelf_id and f.facet = any(s.dated_facets)
        and (s.sort_at, s.name_key, s.size_bytes) = (f.sort_at, f.name_key, f.size_bytes)
)

-- name: insert_missing_facets
-- What rows have.
insert into shelf_facet (facet, sort_at, shelf_id, name_key, size_bytes)
select d.facet, s.sort_at, s.id, s.name_key, s.size_bytes from shelf s cross join lateral unnest(s.dated_facets) as d (facet)
on conflict do nothing

-- name: list_large_groups
-- Their rows are written by a job, and compared on their own.
select group_id from item where group_id is not null group by group_id having count(*) >= %(limit)s order by group_id
