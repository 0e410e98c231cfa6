-- name: list_places
-- Where messages stand that have arrived before.
select key, position from placed_message where channel_id = %(channel_id)s and key = any(%(keys)s::text[])

-- name: insert_places
-- A message keeps its first place.
insert into placed_message (channel_id, key, position)
select %(channel_id)s, key, position from unnest(%(keys)s::text[], %(positions)s::bigint[]) as n (key, position) order by key
on conflict do nothing

-- name: list_news
-- The heads of locked streams whose newest message is unknown, and was not told of before.
select s.channel_id, s.head
from unnest(%(channel_ids)s::uuid[], %(keys)s::text[]) as told (channel_id, key)
join stream s on s.channel_id = told.channel_id
where told.key not in ('', s.head_key)
  and not exists (select from placed_message p where p.channel_id = s.channel_id and p.key = told.key)

-- name: note_head_keys
-- Told of again, they open no second gap.
update stream s set head_key = told.key
from unnest(%(channel_ids)s::uuid[], %(keys)s::text[]) as told (channel_id, key) where s.channel_id = told.channel_id

-- name: insert_bookmarks
-- Where reading back from the end of a gap begins.
insert into bookmark (channel_id, lens, position, bookmark)
select channel_id, 'everything', position, bookmark
from unnest(%(channel_ids)s::uuid[], %(positions)s::bigint[], %(bookmarks)s::text[]) as n (channel_id, position, bookmark)
where bookmark <> ''
on conflict (channel_id, lens, position) do update set bookmark = excluded.bookmark
