-- name: get_owner
-- The id of this database's store, made when it is first asked for.
with made as (
    insert into blob_store (id) values (%(fresh_id)s) on conflict (single) do nothing returning id, marked
)
select id, marked from made union all select id, marked from blob_store limit 1

-- name: set_marked
-- From now on a store without the mark is not ours.
update blob_store set marked = true where not marked

-- name: list_wanted_spools
-- Of the spools that are there; downloads go on from them.
select sighting_id::text from item_file where sighting_id = any(%(ids)s::uuid[]) and state = 'wanted'
