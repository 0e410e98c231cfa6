-- name: upsert_sightings
-- Every message that holds something, and each thing in it, whatever is read again; only what changed is written. A page that was
-- read before an edit does not undo it, and another content is another item. Volumes have what the caller knows of them
-- already; their set is assembled anew if one of them changed. What has changed is tried anew, and a message that is seen is not deleted. The count of messages that hold something kept follows: what they
-- held before is looked up message by message, which costs the same however much is in the channel. Topics are known
-- as soon as a message names them; one that is back is not gone any more.
with seen as (
    select * from unnest(
        %(id)s::uuid[], %(message_key)s::text[], %(attachment_key)s::text[], %(position)s::bigint[],
        %(topic)s::text[], %(url)s::text[], %(file_name)s::text[], %(size_bytes)s::bigint[], %(mime_type)s::text[],
        %(content_id)s::text[], %(sent_at)s::timestamptz[], %(version_at)s::timestamptz[], %(verdict)s::text[],
        %(settings_hash)s::text[], %(mark)s::bigint[], %(volume_key)s::text[], %(author_key)s::text[],
        %(assembled)s::boolean[], %(item_id)s::uuid[]
    ) as n (id, message_key, attachment_key, position, topic, url, file_name, size_bytes, mime_type, content_id,
            sent_at, version_at, verdict, settings_hash, mark, volume_key, author_key, assembled, item_id)
), said as (
    insert into message as m (
        channel_id, key, position, topic, album, author_key, author, from_bot, from_webhook, text, reply_to, sent_at,
        version_at, seen_at
    )
    select %(channel_id)s, n.*, %(now)s
    from unnest(
        %(said_key)s::text[], %(said_position)s::bigint[], %(said_topic)s::text[], %(said_album)s::text[],
        %(said_author_key)s::text[], %(said_author)s::text[], %(said_from_bot)s::boolean[],
        %(said_from_webhook)s::boolean[], %(said_text)s::text[], %(said_reply_to)s::text[],
        %(said_sent_at)s::timestamptz[], %(said_version_at)s::timestamptz[]
    ) as n (key, position, topic, album, author_key, author, from_bot, from_webhook, text, reply_to, sent_at, version_at)
    order by n.key
    on conflict (channel_id, key) do update
    set topic = excluded.topic, album = excluded.album, author_key = excluded.author_key, author = excluded.author,
        from_bot = excluded.from_bot, from_webhook = excluded.from_webhook, text = excluded.text,
        reply_to = excluded.reply_to, version_at = excluded.version_at
    where excluded.version_at >= m.version_at
      and (m.topic, m.album, m.author_key, m.author, m.from_bot, m.from_webhook, m.text, m.reply_to)
        is distinct from (excluded.topic, excluded.album, excluded.author_key, excluded.author, excluded.from_bot,
                          excluded.from_webhook, excluded.text, excluded.reply_to)
    returning m.key
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
        id, channel_id, message_key, attachment_key, position, topic, url, file_name, size_bytes, mime_type,
        content_id, sent_at, version_at, seen_at, verdict, settings_hash, mark, volume_key, author_key, assembled,
        item_id
    )
    select n.id, %(channel_id)s, n.message_key, n.attachment_key, n.position, n.topic, n.url, n.file_name,
           n.size_bytes, n.mime_type, n.content_id, n.sent_at, n.version_at, %(now)s, n.verdict, n.settings_hash,
           n.mark, n.volume_key, n.author_key, n.assembled, n.item_id
    from seen n
    order by n.message_key, n.attachment_key
    on conflict (channel_id, message_key, attachment_key) do update
    set topic = excluded.topic, file_name = excluded.file_name, size_bytes = excluded.size_bytes, mime_type = excluded.mime_type, content_id = excluded.content_id,
        url = excluded.url, version_at = excluded.version_at, mark = excluded.mark, missed = false,
        deleted_at = case when s.deleted_at >= %(seen_at)s then s.deleted_at end,
        evidence = case when s.content_id = excluded.content_id and s.size_bytes = excluded.size_bytes then s.evidence
                        else 'none' end,
        verdict = excluded.verdict, settings_hash = excluded.settings_hash, volume_key = excluded.volume_key,
        author_key = excluded.author_key, assembled = excluded.assembled,
        item_id = case when s.content_id = excluded.content_id
                        and (not s.assembled or (s.volume_key, s.author_key) = (excluded.volume_key, excluded.author_key))
                       then coalesce(s.item_id, excluded.item_id) else excluded.item_id end
    where excluded.version_at >= s.version_at
      and (s.topic, s.file_name, s.size_bytes, s.mime_type, s.content_id, s.url, s.verdict, s.settings_hash, s.mark,
           s.volume_key, s.author_key, s.assembled, s.deleted_at is not null and s.deleted_at < %(seen_at)s)
        is distinct from (excluded.topic, excluded.file_name, excluded.size_bytes, excluded.mime_type,
                          excluded.content_id, excluded.url, excluded.verdict, excluded.settings_hash, excluded.mark,
                          excluded.volume_key, excluded.author_key, excluded.assembled, false)
    returning s.message_key, s.attachment_key, s.verdict = 'kept' as kept, s.xmax = 0 as added, s.assembled,
        s.volume_key, s.author_key, s.position
), touched as (
    insert into volume_bucket as b (channel_id, volume_key, author_key, due_at, changed_from, changed_to)
    select %(channel_id)s, volume_key, author_key, %(now)s, min(position), max(position)
    from written where assembled
    group by volume_key, author_key
    order by volume_key, author_key
    on conflict (channel_id, volume_key, author_key) do update
    set due_at = least(b.due_at, excluded.due_at), changed_from = least(b.changed_from, excluded.changed_from),
        changed_to = greatest(b.changed_to, excluded.changed_to)
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
), noted as (
    insert into topic (channel_id, key, title, created_at)
    select %(channel_id)s, n.topic, n.topic, %(now)s from (select distinct topic from seen) as n
    where n.topic <> ''
      and not exists (select from topic k where k.channel_id = %(channel_id)s and k.key = n.topic and k.gone_at is null)
    order by n.topic
    on conflict (channel_id, key) do update set gone_at = null
), unlabelled as (
    -- One row a batch: what is new or has changed is labelled by a job.
    insert into label_queue (channel_id, message_keys)
    select %(channel_id)s, array_agg(key)
    from (select key from said union select message_key from written) as changed (key) having count(*) > 0
)
select count(*) from written where added and kept

-- name: list_known
-- What is known of messages, message by message as above.
select held.* from unnest(%(message_keys)s::text[]) as m (message_key)
cross join lateral (
    select s.id, s.message_key, s.attachment_key, s.position, s.version_at, s.content_id, s.verdict, s.settings_hash,
           s.item_id, s.volume_key, s.author_key, s.assembled, s.deleted_at is not null as deleted
    from sighting s
    where s.channel_id = %(channel_id)s and s.message_key = m.message_key
    order by s.message_key, s.attachment_key offset 0
) as held

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

-- name: mark_deleted
-- The message is gone on the platform; what was caught from it stays. A set may have lost a volume with it: the caller has
-- the stream's lock.
with gone as (
    update sighting set deleted_at = %(now)s
    where channel_id = %(channel_id)s and message_key = any(%(message_keys)s) and deleted_at is null
    returning assembled, volume_key, author_key, position
), touched as (
    insert into volume_bucket as b (channel_id, volume_key, author_key, due_at, changed_from, changed_to)
    select %(channel_id)s, volume_key, author_key, %(now)s, min(position), max(position)
    from gone where assembled
    group by volume_key, author_key
    order by volume_key, author_key
    on conflict (channel_id, volume_key, author_key) do update
    set due_at = least(b.due_at, excluded.due_at), changed_from = least(b.changed_from, excluded.changed_from),
        changed_to = greatest(b.changed_to, excluded.changed_to)
)
select count(*) from gone

-- name: list_waiting_channels
-- Channels with sightings that are not items yet (misses have their own jobs), without a job and without a dead letter; a discarded one holds
-- until something new comes. The recursion hops from channel to channel on the index, so that it costs the same
-- whether one sighting waits or a million.
with recursive waiting as (
    (select channel_id from sighting where verdict = 'kept' and item_id is null and not missed and not assembled
     order by channel_id limit 1)
    union all
    select (select s.channel_id from sighting s
            where s.verdict = 'kept' and s.item_id is null and not s.missed and not s.assembled and s.channel_id > w.channel_id
            order by s.channel_id limit 1)
    from waiting w where w.channel_id is not null
)
select w.channel_id::text from waiting w
where w.channel_id is not null
  and not exists (select from live_job where dedupe_key = 'ingest:' || w.channel_id)
  and not exists (
      select from dead_letter d where d.kind = 'ingest' and d.key = w.channel_id::text
        and d.state <> 'replayed' and d.died_at > %(rested_since)s and not exists (
            select from sighting s where s.channel_id = w.channel_id and s.verdict = 'kept'
              and s.item_id is null and not s.missed and not s.assembled and s.seen_at > d.died_at)
  )
limit %(limit)s

-- name: take_waiting
-- The oldest sightings of a channel that are not items yet. They are locked in the order in which messages are taken in,
-- so that nobody waits in a circle, and each is found by its id, whatever the planner believes of how many wait.
with waiting as materialized (
    select id from (
        select id, message_key, attachment_key from sighting
        where channel_id = %(channel_id)s and verdict = 'kept' and item_id is null and not missed and not assembled
        order by id limit %(limit)s
    ) as oldest
    order by message_key, attachment_key
)
select s.id, s.channel_id, s.message_key, s.attachment_key, s.url, s.file_name, s.size_bytes, s.mime_type, s.content_id,
       s.sent_at
from waiting
cross join lateral (
    select * from sighting s
    where s.channel_id = %(channel_id)s and s.id = waiting.id and s.verdict = 'kept' and s.item_id is null
      and not s.missed and not s.assembled
    limit 1 for update
) as s

-- name: insert_items
-- Items that are not there yet, in the order of their keys, so that nobody waits in a circle; it is the order of their
-- bytes, in which callers sort them too. They are news where somebody follows their channel or a search that they match,
-- once that began; where nobody does, the first condition is all that is looked at. Few titles have even the first word
-- of a search, and to look for one word costs little.
with made as (
    insert into item (id, channel_id, content_key, kind, type, title, name_key, size_bytes, sent_at, caught_at)
    select n.id, %(channel_id)s, n.content_key, n.kind, n.type, n.title, n.name_key, n.size_bytes, n.sent_at, %(now)s
    from unnest(
        %(id)s::uuid[], %(content_key)s::text[], %(kind)s::text[], %(type)s::text[], %(title)s::text[],
        %(name_key)s::text[], %(size_bytes)s::bigint[], %(sent_at)s::timestamptz[]
    ) as n (id, content_key, kind, type, title, name_key, size_bytes, sent_at)
    order by n.content_key collate "C"
    on conflict (channel_id, content_key) do nothing
    returning id, sent_at, title
), sought as materialized (
    select since, words, ' ' || split_part(words, ' ', 2) as first_word
    from (select since, headgate_words(search) as words from follow where search is not null offset 0) as f
), told as (
    insert into news (channel_id, item_id, at, due_at)
    select %(channel_id)s, i.id, %(now)s, case when i.id = any(%(later_ids)s::uuid[]) then %(later)s else %(now)s end
    from (select id, sent_at, headgate_words(title) as words from made offset 0) as i
    where (select exists (select from follow where channel_id = %(channel_id)s)
               or exists (select from follow where search is not null))
      and i.id <> all(%(silent_ids)s::uuid[])
      and (exists (select from follow f where f.channel_id = %(channel_id)s and f.since <= i.sent_at)
           or exists (select from sought f where f.since <= i.sent_at and strpos(i.words, f.first_word) > 0
                      and headgate_words_match(f.words, i.words)))
    order by i.sent_at, i.id
    returning id
)
select (select count(*) from made) as new_items, (select count(*) from told) as news

-- name: find_items
-- What is known by these keys.
select n.content_key, i.id from unnest(%(content_keys)s::text[]) as n (content_key)
cross join lateral (
    select id from item where channel_id = %(channel_id)s and content_key = n.content_key limit 1
) as i

-- name: link_items
-- Each sighting learns its item, whether it was made just now or long ago.
update sighting s set item_id = n.item_id
from unnest(%(sighting_ids)s::uuid[], %(item_ids)s::uuid[]) as n (sighting_id, item_id)
where s.id = n.sighting_id

-- name: rename_posts
-- A feed that gives an entry another title means the same post.
update item i set title = s.file_name
from sighting s
where s.channel_id = %(channel_id)s and s.message_key = any(%(message_keys)s) and s.attachment_key = 'entry'
  and i.id = s.item_id and i.kind = 'post' and s.file_name <> '' and i.title <> s.file_name
returning i.id, i.title

-- name: write_name_keys
-- How renamed items are sorted.
update item i set name_key = n.name_key
from unnest(%(ids)s::uuid[], %(name_keys)s::text[]) as n (id, name_key) where i.id = n.id
