-- name: list_due_judging
-- Channels to be judged that have no job, the longest due first.
select j.channel_id::text from judging j
where j.due_at <= %(now)s
  and not exists (select from live_job where dedupe_key = 'judge:' || j.channel_id)
order by j.due_at limit %(limit)s

-- name: set_judging_due
-- Parks a channel's judging (no due time) or makes it due.
update judging set due_at = %(due_at)s, wake_seq = wake_seq + 1 where channel_id = %(channel_id)s

-- name: get_judging
-- What is to be judged; nothing if that was done meanwhile.
select j.channel_id, c.platform, j.wake_seq from judging j join channel c on c.id = j.channel_id
where j.channel_id = %(channel_id)s

-- name: list_stale
-- Sightings that were judged under other settings than those of now. The recursion hops over the index from one
-- pair of topic and hash to the next, so that it costs the same whether a pair has one sighting or a million.
with recursive pair as (
    (select topic, settings_hash from sighting where channel_id = %(channel_id)s
     order by topic, settings_hash limit 1)
    union all
    select n.topic, n.settings_hash
    from pair p cross join lateral (
        select s.topic, s.settings_hash from sighting s
        where s.channel_id = %(channel_id)s and (s.topic, s.settings_hash) > (p.topic, p.settings_hash)
        order by s.topic, s.settings_hash limit 1
    ) as n
), stale as (
    select p.topic, p.settings_hash from pair p
    left join unnest(%(topics)s::text[], %(hashes)s::text[]) as own (topic, settings_hash) on own.topic = p.topic
    where p.settings_hash <> coalesce(own.settings_hash, %(base_hash)s::text)
)
select s.id, s.message_key, s.topic, m.author, m.from_bot, m.from_webhook, s.url, s.file_name, s.size_bytes,
       s.mime_type, s.verdict, s.position, s.volume_key, s.author_key, s.assembled
from stale cross join lateral (
    select * from sighting
    where channel_id = %(channel_id)s and topic = stale.topic and settings_hash = stale.settings_hash
    limit %(limit)s
) as s
join message m on m.channel_id = %(channel_id)s and m.key = s.message_key
limit %(limit)s

-- name: judge_sightings
-- In the order in which messages are taken in and ingested.
with judged as (
    select * from unnest(%(ids)s::uuid[], %(verdicts)s::text[], %(hashes)s::text[]) as j (id, verdict, settings_hash)
), locked as (
    select s.id from sighting s join judged on judged.id = s.id order by s.message_key, s.attachment_key for no key update of s
)
update sighting s set verdict = judged.verdict, settings_hash = judged.settings_hash
from locked join judged on judged.id = locked.id
where s.id = locked.id

-- name: has_waiting
-- Whether something of these waits to become an item.
select exists (
    select from sighting where id = any(%(ids)s::uuid[]) and item_id is null and not missed and not assembled
)

-- name: lock_known_items
-- Items whose sightings may have changed, in the order in which everybody locks them.
select id from item where id = any(%(item_ids)s::uuid[]) order by id for no key update

-- name: lock_items
-- The items of these sightings, before a statement of its own looks whether anything of them is kept: two who
-- change different sightings of one item come to see each other's.
select i.id from item i
where i.id in (select item_id from sighting where id = any(%(ids)s::uuid[]))
order by i.id for no key update

-- name: show_items
-- An item is shown if any of its sightings is kept, and hidden if none is; nothing of it is lost. One whose
-- message has been edited since, and that nothing else speaks of, stays as it is. The limits keep the planner from
-- reading every sighting that there is.
update item i set hidden = not i.hidden
where i.id = any(%(item_ids)s::uuid[])
  and i.hidden = ((select true from sighting s where s.item_id = i.id and s.verdict = 'kept' limit 1) is not null)
  and (select true from sighting s where s.item_id = i.id limit 1) is not null and i.removed_at is null

-- name: note_progress
-- How far the judging has come.
update judging set judged = judged + %(judged)s, changed = changed + %(changed)s
where channel_id = %(channel_id)s

-- name: end_judging
-- Nothing differs any more, unless somebody has asked again meanwhile.
delete from judging where channel_id = %(channel_id)s and wake_seq = %(seen)s
