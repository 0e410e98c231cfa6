-- name: find_other
-- The listing that is followed under an address already.
select c.id from channel c join listing l on l.channel_id = c.id
where c.platform = %(platform)s and c.key = %(key)s and c.scope = '' and c.id <> %(channel_id)s

-- name: brings_other_series
-- Whether two listings send the same entries to different series: only a person can say which is right.
select exists (
    select from series_source a join series_source b on b.pattern = a.pattern and b.series_id <> a.series_id
    where a.channel_id = %(from_id)s and b.channel_id = %(into_id)s
)

-- name: note_double
-- The listing moved onto one that brings another series; said until a person removes one of them.
update listing set moved_onto = %(into_id)s where channel_id = %(channel_id)s and moved_onto is distinct from %(into_id)s

-- name: note_alias
-- An address under which a listing was followed before.
insert into listing_alias (channel_id, key, at) values (%(channel_id)s, %(key)s, %(now)s)
on conflict (channel_id, key) do update set at = excluded.at

-- name: move_aliases
-- The addresses that the other had before.
insert into listing_alias (channel_id, key, at)
select %(into_id)s, key, at from listing_alias where channel_id = %(from_id)s
on conflict (channel_id, key) do nothing

-- name: move_follows
-- Whoever follows both hears of it once.
update follow f set channel_id = %(into_id)s
where f.channel_id = %(from_id)s
  and not exists (select from follow o where o.user_id = f.user_id and o.channel_id = %(into_id)s)

-- name: move_sources
-- The series that it brings; where both bring one, the other's pattern stays.
update series_source s set channel_id = %(into_id)s
where s.channel_id = %(from_id)s
  and not exists (select from series_source o where o.series_id = s.series_id and o.channel_id = %(into_id)s)

-- name: move_releases
-- What the other has already stays as it is.
update release r set channel_id = %(into_id)s
where r.channel_id = %(from_id)s
  and not exists (select from release o where o.channel_id = %(into_id)s and o.entry_key = r.entry_key)

-- name: list_left
-- Chapters of releases that the other has too: these go with their listing.
select distinct chapter_id from release where channel_id = %(from_id)s

-- name: move_items
-- Posts that only this one has.
update item i set channel_id = %(into_id)s
where i.channel_id = %(from_id)s
  and not exists (select from item o where o.channel_id = %(into_id)s and o.content_key = i.content_key)

-- name: move_sightings
-- With their items, and those that were rejected.
update sighting s set channel_id = %(into_id)s
where s.channel_id = %(from_id)s
  and not exists (select from sighting o where o.channel_id = %(into_id)s and o.message_key = s.message_key
                  and o.attachment_key = s.attachment_key)
  and (s.item_id is null or exists (select from item i where i.id = s.item_id and i.channel_id = %(into_id)s))

-- name: move_messages
-- What was said with them.
update message m set channel_id = %(into_id)s
where m.channel_id = %(from_id)s
  and not exists (select from message o where o.channel_id = %(into_id)s and o.key = m.key)

-- name: move_news
-- What is yet to be told; that of doubles goes with them.
update news n set channel_id = %(into_id)s
where n.channel_id = %(from_id)s
  and (exists (select from release r where r.id = n.release_id and r.channel_id = %(into_id)s)
       or exists (select from item i where i.id = n.item_id and i.channel_id = %(into_id)s))

-- name: move_notifications
-- What was told of it is not told again of the other.
update notification set channel_id = %(into_id)s where channel_id = %(from_id)s
