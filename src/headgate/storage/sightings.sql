-- name: upsert_sightings
-- Every attachment is seen once a message, whatever is read again; only what changed is written. A page that was
-- read before an edit does not undo it, and another content is another item.
insert into sighting as s (
    id, channel_id, message_key, attachment_key, position, topic, album, author, file_name, size_bytes,
    mime_type, content_id, sent_at, version_at, seen_at, verdict
)
select n.id, %(channel_id)s, n.message_key, n.attachment_key, n.position, n.topic, n.album, n.author,
       n.file_name, n.size_bytes, n.mime_type, n.content_id, n.sent_at, n.version_at, %(now)s, n.verdict
from unnest(
    %(ids)s::uuid[], %(message_keys)s::text[], %(attachment_keys)s::text[], %(positions)s::bigint[],
    %(topics)s::text[], %(albums)s::text[], %(authors)s::text[], %(file_names)s::text[], %(sizes)s::bigint[],
    %(mime_types)s::text[], %(content_ids)s::text[], %(sent_ats)s::timestamptz[],
    %(version_ats)s::timestamptz[], %(verdicts)s::text[]
) as n (id, message_key, attachment_key, position, topic, album, author, file_name, size_bytes, mime_type,
        content_id, sent_at, version_at, verdict)
order by n.message_key, n.attachment_key
on conflict (channel_id, message_key, attachment_key) do update
set topic = excluded.topic, album = excluded.album, file_name = excluded.file_name,
    size_bytes = excluded.size_bytes, mime_type = excluded.mime_type, content_id = excluded.content_id,
    version_at = excluded.version_at, verdict = excluded.verdict,
    item_id = case when s.content_id = excluded.content_id then s.item_id end
where excluded.version_at >= s.version_at
  and (s.topic, s.album, s.file_name, s.size_bytes, s.mime_type, s.content_id, s.verdict)
    is distinct from (excluded.topic, excluded.album, excluded.file_name, excluded.size_bytes,
                      excluded.mime_type, excluded.content_id, excluded.verdict)

-- name: mark_deleted
-- The message is gone on the platform; what was caught from it stays.
update sighting set deleted_at = %(now)s
where channel_id = %(channel_id)s and message_key = any(%(message_keys)s) and deleted_at is null

-- name: list_waiting_channels
-- Channels with sightings that are not items yet, without a job and without a dead letter; a discarded one holds
-- until something new comes. The recursion hops from channel to channel on the index, so that it costs the same
-- whether one sighting waits or a million.
with recursive waiting as (
    (select channel_id from sighting where verdict = 'kept' and item_id is null
     order by channel_id limit 1)
    union all
    select (select s.channel_id from sighting s
            where s.verdict = 'kept' and s.item_id is null and s.channel_id > w.channel_id
            order by s.channel_id limit 1)
    from waiting w where w.channel_id is not null
)
select w.channel_id::text from waiting w
where w.channel_id is not null
  and not exists (select from pgqueuer where dedupe_key = 'ingest:' || w.channel_id
                  and status in ('queued', 'picked'))
  and not exists (
      select from dead_letter d where d.kind = 'ingest' and d.key = w.channel_id::text
        and (d.state = 'open' or d.state = 'discarded' and not exists (
            select from sighting s where s.channel_id = w.channel_id and s.verdict = 'kept'
              and s.item_id is null and s.seen_at > d.died_at))
  )
limit %(limit)s

-- name: take_waiting
-- The oldest sightings of a channel that are not items yet.
select id, channel_id, message_key, attachment_key, file_name, size_bytes, mime_type, content_id, sent_at
from sighting
where channel_id = %(channel_id)s and verdict = 'kept' and item_id is null
order by id limit %(limit)s
for update

-- name: insert_items
-- Many sightings can be one item: the first makes it, the others find it.
insert into item (id, channel_id, content_key, kind, title, size_bytes, sent_at, caught_at)
select distinct on (n.content_key) n.id, %(channel_id)s, n.content_key, n.kind, n.title, n.size_bytes, n.sent_at,
       %(now)s
from unnest(
    %(ids)s::uuid[], %(content_keys)s::text[], %(kinds)s::text[], %(titles)s::text[], %(sizes)s::bigint[],
    %(sent_ats)s::timestamptz[]
) as n (id, content_key, kind, title, size_bytes, sent_at)
order by n.content_key, n.id
on conflict (channel_id, content_key) do nothing

-- name: link_items
-- Each sighting learns its item, whether it was made just now or long ago.
update sighting s set item_id = i.id
from unnest(%(sighting_ids)s::uuid[], %(content_keys)s::text[]) as n (sighting_id, content_key)
join item i on i.channel_id = %(channel_id)s and i.content_key = n.content_key
where s.id = n.sighting_id
