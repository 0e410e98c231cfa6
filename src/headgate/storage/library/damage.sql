-- name: wait_for_references
-- Whoever was about to refer to a blob that was known as whole has done so after this.
select id from blob where id = any(%(ids)s::uuid[]) order by sha256 for update

-- name: want_again
-- Files whose message is still there go back to those that are to be fetched. Locked in the order that all others use.
with locked as (
    select f.sighting_id, s.item_id from item_file f join sighting s on s.id = f.sighting_id
    where f.blob_id = any(%(ids)s::uuid[]) and s.deleted_at is null
    order by f.sighting_id for update of f
)
update item_file f set state = 'wanted', blob_id = null, stored_at = null, due_at = '-infinity', attempts = 0, starts = 0
from locked where f.sighting_id = locked.sighting_id
returning f.sighting_id, locked.item_id

-- name: list_lost
-- The items of files whose message is gone, one for each file; they keep the damaged content, which another copy repairs.
select s.item_id from item_file f join sighting s on s.id = f.sighting_id where f.blob_id = any(%(ids)s::uuid[])

-- name: forget_pictures
-- Items whose picture is damaged: the next look at their files makes it again, also in the place of one that a person set.
with locked as (
    select i.item_id from inspection i
    where i.item_id in (select item_id from picture where blob_id = any(%(ids)s::uuid[]))
    order by i.item_id for update
)
update inspection i set picture_key = '', picture_source = '' from locked where i.item_id = locked.item_id
returning i.item_id
