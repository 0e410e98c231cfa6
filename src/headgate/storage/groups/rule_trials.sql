-- name: list_newest_free
-- Visible items in no group that no person has taken out of one, the newest first.
select i.id, i.title, i.caught_at, c.title as channel_title
from item i join channel c on c.id = i.channel_id
where not i.hidden and i.group_id is null
  and (%(id)s::uuid is null or (i.caught_at, i.id) < (%(caught_at)s::timestamptz, %(id)s::uuid))
  and not exists (select from group_exclusion x where x.item_id = i.id)
order by i.caught_at desc, i.id desc limit %(limit)s
