-- name: upsert_sightings
-- Every candidate is seen once a message, whatever is read again; only what changed is written. A page that was
-- read before an edit does not undo it, and another content is another item. What has changed is tried
-- anew, and a message that is seen is not deleted. The count of messages that hold something kept follows: what they
-- held before is looked up message by message, which costs the same however much is in the channel.
with seen as (
    select * from unnest(
        %(ids)s::uuid[], %(message_keys)s::text[], %(attachment_keys)s::text[], %(positions)s::bigint[],
        %(topics)s::text[], %(albums)s::text[], %(authors)s::text[], %(from_bots)s::boolean[],
        %(from_webhooks)s::boolean[], %(urls)s::text[], %(file_names)s::text[], %(sizes)s::bigint[],
        %(mime_types)s::text[], %(content_ids)s::text[], %(sent_ats)s::timestamptz[],
        %(version_ats)s::timestamptz[], %(verdicts)s::text[], %(settings_hashes)s::text[]
    ) as n (id, message_key, attachment_key, position, topic, album, author, from_bot, from_webhook, url, file_name,
            size_bytes, mime_type, content_id, sent_at, version_at, verdict, settings_hash)
), kept_before as (
    select held.message_key, held.attachment_key
    from (select distinct message_key from seen) as m
    cross join lateral (
        select s.message_key, s.attachment_key from sighting s
        where s.channel_id = %(channel_id)s and s.message_key = m.message_key and s.verdict = 'kept'
        -- The order is that of the unique index, which an empty table alone does not recommend to the planner.
        order by s.message_key, s.attachment_key offset 0
    ) as held
), written as (
    insert into sighting as s (
        id, channel_id, message_key, attachment_key, position, topic, album, author, from_bot, from_webhook, url,
        file_name, size_bytes, mime_type, content_id, sent_at, version_at, seen_at, verdict, settings_hash
    )
    select n.id, %(channel_id)s, n.message_key, n.attachment_key, n.position, n.topic, n.album, n.author, n.from_bot,
           n.from_webhook, n.url, n.file_name, n.size_bytes, n.mime_type, n.content_id, n.sent_at, n.version_at,
           %(now)s, n.verdict, n.settings_hash
    from seen n
    order by n.message_key, n.attachment_key
    on conflict (channel_id, message_key, attachment_key) do update
    set topic = excluded.topic, album = excluded.album, author = excluded.author, from_bot = excluded.from_bot,
        from_webhook = excluded.from_webhook, file_name = excluded.file_name,
        size_bytes = excluded.size_bytes, mime_type = excluded.mime_type, content_id = excluded.content_id,
        url = excluded.url, version_at = excluded.version_at, verdict = excluded.verdict,
        settings_hash = excluded.settings_hash, missed = false,
        deleted_at = case when s.deleted_at > %(seen_at)s then s.deleted_at end,
        item_id = case when s.content_id = excluded.content_id then s.item_id end
    where excluded.version_at >= s.version_at
      and (s.topic, s.album, s.author, s.from_bot, s.from_webhook, s.file_name, s.size_bytes, s.mime_type, s.content_id,
           s.url, s.verdict, s.settings_hash,
           s.deleted_at is not null and s.deleted_at <= %(seen_at)s)
        is distinct from (excluded.topic, excluded.album, excluded.author, excluded.from_bot,
                          excluded.from_webhook, excluded.file_name, excluded.size_bytes,
                          excluded.mime_type, excluded.content_id, excluded.url, excluded.verdict,
                          excluded.settings_hash, false)
    returning s.message_key, s.attachment_key, s.verdict = 'kept' as kept, s.xmax = 0 as added
), kept_after as (
    select message_key from written where kept
    union
    select message_key from kept_before b
    where not exists (select from written w
                      where w.message_key = b.message_key and w.attachment_key = b.attachment_key)
), counted as (
    update stream set message_count = message_count + changed.by
    from (select (select count(*) from kept_after) - (select count(distinct message_key) from kept_before)) as changed (by)
    where channel_id = %(channel_id)s and changed.by <> 0
)
select count(*) from written where added and kept

-- name: count_kept_messages
-- How many of these messages hold something kept; message by message, which costs the same however much there is.
select count(*) from unnest(%(message_keys)s::text[]) as m (message_key)
cross join lateral (
    select from sighting s
    where s.channel_id = %(channel_id)s and s.message_key = m.message_key and s.verdict = 'kept'
    order by s.message_key, s.attachment_key limit 1
) as held

-- name: shift_message_count
-- The count of messages with something kept follows the sightings.
update stream set message_count = message_count + %(by)s where channel_id = %(channel_id)s

-- name: note_topics
-- Topics are known as soon as a message names them; one that is back is not gone any more.
insert into topic as t (channel_id, key, title, created_at)
select %(channel_id)s, n.key, n.key, %(now)s from unnest(%(topics)s::text[]) as n (key)
where not exists (select from topic k where k.channel_id = %(channel_id)s and k.key = n.key and k.gone_at is null)
order by n.key
on conflict (channel_id, key) do update set gone_at = null

-- name: mark_deleted
-- The message is gone on the platform; what was caught from it stays.
update sighting set deleted_at = %(now)s
where channel_id = %(channel_id)s and message_key = any(%(message_keys)s) and deleted_at is null

-- name: list_waiting_channels
-- Channels with sightings that are not items yet (misses have their own jobs), without a job and without a dead letter; a discarded one holds
-- until something new comes. The recursion hops from channel to channel on the index, so that it costs the same
-- whether one sighting waits or a million.
with recursive waiting as (
    (select channel_id from sighting where verdict = 'kept' and item_id is null and not missed
     order by channel_id limit 1)
    union all
    select (select s.channel_id from sighting s
            where s.verdict = 'kept' and s.item_id is null and not s.missed and s.channel_id > w.channel_id
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
              and s.item_id is null and not s.missed and s.seen_at > d.died_at))
  )
limit %(limit)s

-- name: take_waiting
-- The oldest sightings of a channel that are not items yet. They are locked in the order in which messages are taken in,
-- so that nobody waits in a circle.
select s.id, s.channel_id, s.message_key, s.attachment_key, s.url, s.file_name, s.size_bytes, s.mime_type, s.content_id,
       s.sent_at
from (
    select id from sighting where channel_id = %(channel_id)s and verdict = 'kept' and item_id is null and not missed
    order by id limit %(limit)s
) as waiting
join sighting s on s.id = waiting.id
where s.verdict = 'kept' and s.item_id is null and not s.missed
order by s.message_key, s.attachment_key
for update of s

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
-- Each sighting learns its item, whether it was made just now or long ago; each item is found by its key.
update sighting s set item_id = i.id
from unnest(%(sighting_ids)s::uuid[], %(content_keys)s::text[]) as n (sighting_id, content_key)
cross join lateral (
    select id from item where channel_id = %(channel_id)s and content_key = n.content_key limit 1
) as i
where s.id = n.sighting_id

-- name: rename_posts
-- A feed that gives an entry another title means the same post.
update item i set title = s.file_name
from sighting s
where s.channel_id = %(channel_id)s and s.message_key = any(%(message_keys)s) and s.attachment_key = 'entry'
  and i.id = s.item_id and i.kind = 'post' and s.file_name <> '' and i.title <> s.file_name
