-- name: list_namesakes
-- Which of a listing's entries are known, and what else is known by the same link and title. Posts have no number for
-- these, and are compared by title first.
select r.entry_key as key, r.identity, r.title, r.url, r.published_at, true as is_release
from release r
where r.channel_id = %(channel_id)s and (r.entry_key = any(%(keys)s::text[]) or r.identity = any(%(identities)s::bigint[]))
union all
select s.message_key, 0, s.file_name, s.url, s.sent_at, false
from sighting s
where s.channel_id = %(channel_id)s and s.attachment_key = 'entry'
  and (s.message_key = any(%(keys)s::text[]) or s.file_name = any(%(titles)s::text[]))

-- name: rename_releases
-- Another key for what is known, unless that is known as well by now.
update release r set entry_key = n.new_key
from unnest(%(old_keys)s::text[], %(new_keys)s::text[]) as n (old_key, new_key)
where r.channel_id = %(channel_id)s and r.entry_key = n.old_key
  and not exists (select from release o where o.channel_id = %(channel_id)s and o.entry_key = n.new_key)

-- name: rename_sightings
-- The same for posts.
update sighting s set message_key = n.new_key
from unnest(%(old_keys)s::text[], %(new_keys)s::text[]) as n (old_key, new_key)
where s.channel_id = %(channel_id)s and s.message_key = n.old_key and s.attachment_key = 'entry'
  and not exists (select from sighting o where o.channel_id = %(channel_id)s and o.message_key = n.new_key)

-- name: rename_messages
-- And what was said with them.
update message m set key = n.new_key
from unnest(%(old_keys)s::text[], %(new_keys)s::text[]) as n (old_key, new_key)
where m.channel_id = %(channel_id)s and m.key = n.old_key
  and not exists (select from message o where o.channel_id = %(channel_id)s and o.key = n.new_key)

-- name: note_key_changes
-- Said to people when it happens again and again.
update listing set key_changes = key_changes + 1, keys_changed_at = %(now)s where channel_id = %(channel_id)s
