-- name: list_buckets
-- Which of these names have volumes already.
select volume_key, author_key from volume_bucket
where channel_id = %(channel_id)s and volume_key = any(%(volume_keys)s::text[])

-- name: touch_buckets
-- Their volumes are assembled anew.
insert into volume_bucket as b (channel_id, volume_key, author_key, due_at, changed_from, changed_to)
select %(channel_id)s, volume_key, author_key, %(now)s, min(position), max(position)
from unnest(%(volume_key)s::text[], %(author_key)s::text[], %(position)s::bigint[]) as n (volume_key, author_key, position)
group by volume_key, author_key
order by volume_key, author_key
on conflict (channel_id, volume_key, author_key) do update
set due_at = least(b.due_at, excluded.due_at), changed_from = least(b.changed_from, excluded.changed_from),
    changed_to = greatest(b.changed_to, excluded.changed_to)

-- name: list_due_channels
-- Channels with names that are due and without a job. The recursion hops from channel to channel on the index.
with recursive waiting as (
    (select channel_id from volume_bucket where due_at is not null order by channel_id limit 1)
    union all
    select (select b.channel_id from volume_bucket b where b.due_at is not null and b.channel_id > w.channel_id
            order by b.channel_id limit 1)
    from waiting w where w.channel_id is not null
)
select w.channel_id::text from waiting w
where w.channel_id is not null
  and (select due_at from volume_bucket b where b.channel_id = w.channel_id and b.due_at is not null
       order by b.due_at limit 1) <= %(now)s
  and not exists (select from live_job where dedupe_key = 'assemble:' || w.channel_id)
limit %(limit)s

-- name: postpone_buckets
-- All that is due in a channel waits; what arrives meanwhile does not.
update volume_bucket set due_at = %(until)s where channel_id = %(channel_id)s and due_at <= %(now)s

-- name: reopen_buckets
-- What was postponed is due.
update volume_bucket set due_at = %(now)s where channel_id = %(channel_id)s and changed_from is not null

-- name: list_due_buckets
-- The longest due first. Whoever touches a bucket has the stream's lock, as the caller has.
select volume_key, author_key, changed_from, changed_to from volume_bucket
where channel_id = %(channel_id)s and due_at <= %(now)s
order by due_at, volume_key, author_key limit %(limit)s

-- name: settle_bucket
-- It is assembled; `due_at` says when time alone changes something.
update volume_bucket set due_at = %(due_at)s, changed_from = null, changed_to = null
where channel_id = %(channel_id)s and volume_key = %(volume_key)s and author_key = %(author_key)s

-- name: lock_loose
-- Volumes of a name that ingesting may be making items of, in the order in which it takes them.
select id from sighting
where channel_id = %(channel_id)s and volume_key = %(volume_key)s and author_key = %(author_key)s and not assembled
order by message_key, attachment_key limit %(limit)s for update

-- name: list_volumes
-- The volumes of a name from a position on, and those that a person put there.
with member as (
    (select id from sighting
     where channel_id = %(channel_id)s and volume_key = %(volume_key)s and author_key = %(author_key)s
       and position >= %(position)s
     order by position, attachment_key limit %(limit)s)
    union
    select sighting_id from volume_choice
    where volume_key = %(volume_key)s and author_key = %(author_key)s and item_id is not null
)
select s.id, s.message_key, s.attachment_key, s.position, s.topic, s.url, s.file_name, s.size_bytes, s.mime_type,
       s.content_id, s.sent_at, s.seen_at, s.verdict, s.settings_hash, s.item_id, s.assembled, s.evidence,
       m.author, m.from_bot, m.from_webhook, c.item_id as pinned_to,
       c.sighting_id is not null and c.item_id is null as separated,
       s.deleted_at is not null and coalesce(f.state, '') <> 'stored' as vanished
from member
join sighting s on s.id = member.id and s.channel_id = %(channel_id)s
join message m on m.channel_id = s.channel_id and m.key = s.message_key
left join volume_choice c on c.sighting_id = s.id
left join item_file f on f.sighting_id = s.id
where c.sighting_id is null or (c.volume_key, c.author_key) = (%(volume_key)s, %(author_key)s)
order by s.position, s.attachment_key

-- name: find_position_before
-- Where to begin to have so many volumes of a name before a position.
select min(position) from (
    select position from sighting
    where channel_id = %(channel_id)s and volume_key = %(volume_key)s and author_key = %(author_key)s
      and position < %(position)s
    order by position desc limit %(limit)s
) as earlier

-- name: list_sets
-- What is known of sets, by their items.
select item_id, state, reason, present, total, missing_count, missing, problem, dismissed_at, arrived_at, told
from item_set where item_id = any(%(item_ids)s::uuid[])

-- name: list_totals
-- How many volumes items have, as far as the headers of their files tell.
select item_id, proven_total as total from inspection
where item_id = any(%(item_ids)s::uuid[]) and proven_total is not null

-- name: reassemble_items
-- Something new is known of the volumes of items. The caller has the stream's lock.
insert into volume_bucket as b (channel_id, volume_key, author_key, due_at, changed_from, changed_to)
select s.channel_id, coalesce(c.volume_key, s.volume_key), coalesce(c.author_key, s.author_key), %(now)s,
       min(s.position), max(s.position)
from sighting s left join volume_choice c on c.sighting_id = s.id
where s.item_id = any(%(item_ids)s::uuid[]) and s.assembled
group by 1, 2, 3
order by 1, 2, 3
on conflict (channel_id, volume_key, author_key) do update
set due_at = least(b.due_at, excluded.due_at), changed_from = least(b.changed_from, excluded.changed_from),
    changed_to = greatest(b.changed_to, excluded.changed_to)

-- name: place_volumes
-- Volumes learn their item and verdict.
update sighting s set item_id = n.item_id, verdict = n.verdict, settings_hash = n.settings_hash, assembled = true
from unnest(%(id)s::uuid[], %(item_id)s::uuid[], %(verdict)s::text[], %(settings_hash)s::text[])
    as n (id, item_id, verdict, settings_hash)
where s.id = n.id

-- name: release_strangers
-- An item that has become a set is no longer what others posted by the content of one of its volumes; they get items of
-- their own. Those that are volumes themselves are assembled anew.
with released as (
    update sighting s set item_id = null
    where s.item_id = any(%(item_ids)s::uuid[]) and s.id <> all(%(member_ids)s::uuid[])
      and (s.volume_key, s.author_key) <> (%(volume_key)s, %(author_key)s)
    returning s.channel_id, s.volume_key, s.author_key, s.position, s.assembled
)
select volume_key, author_key, position from released where assembled

-- name: update_items
-- What a set is called, and how large it is, follows its volumes.
update item i
set content_key = n.content_key, kind = n.kind, type = n.type, title = n.title, name_key = n.name_key,
    size_bytes = n.size_bytes, sent_at = n.sent_at
from unnest(%(id)s::uuid[], %(content_key)s::text[], %(kind)s::text[], %(type)s::text[], %(title)s::text[],
            %(name_key)s::text[], %(size_bytes)s::bigint[], %(sent_at)s::timestamptz[])
    as n (id, content_key, kind, type, title, name_key, size_bytes, sent_at)
where i.id = n.id and i.removed_at is null
  and (i.content_key, i.kind, i.type, i.title, i.name_key, i.size_bytes, i.sent_at)
    is distinct from (n.content_key, n.kind, n.type, n.title, n.name_key, n.size_bytes, n.sent_at)
  -- A file that left its set is known by its content again, unless another item has taken that place.
  and not exists (select from item o where o.channel_id = i.channel_id and o.content_key = n.content_key and o.id <> i.id)

-- name: save_sets
-- Only what changed is written.
insert into item_set as s (item_id, state, reason, present, total, missing_count, missing, problem, arrived_at)
select * from jsonb_to_recordset(%(sets)s::jsonb) as n (
    item_id uuid, state text, reason text, present int, total int, missing_count int, missing text[], problem boolean,
    arrived_at timestamptz
)
order by item_id
on conflict (item_id) do update
set state = excluded.state, reason = excluded.reason, present = excluded.present, total = excluded.total,
    missing_count = excluded.missing_count, missing = excluded.missing, problem = excluded.problem,
    arrived_at = excluded.arrived_at,
    -- A new volume is a new chance: what a person dismissed may be a problem again.
    dismissed_at = case when s.arrived_at = excluded.arrived_at then s.dismissed_at end
where (s.state, s.reason, s.present, s.total, s.missing_count, s.missing, s.problem, s.arrived_at)
    is distinct from (excluded.state, excluded.reason, excluded.present, excluded.total, excluded.missing_count,
                      excluded.missing, excluded.problem, excluded.arrived_at)

-- name: delete_sets
-- Of items that are single files again.
delete from item_set where item_id = any(%(item_ids)s::uuid[])

-- name: tell_sets
-- Sets that are complete are news, once, where somebody follows their channel or a search that they match.
with complete as (
    update item_set set told = true where item_id = any(%(item_ids)s::uuid[]) and not told returning item_id
), unasked as (
    -- The news of the file that it was before waits no longer.
    delete from news n using complete c where n.item_id = c.item_id
)
insert into news (channel_id, item_id, at, due_at)
select i.channel_id, i.id, %(now)s, %(now)s
from complete c join item i on i.id = c.item_id
where exists (select from follow f where f.channel_id = i.channel_id and f.since <= i.sent_at)
   or exists (select from follow f where f.search is not null and f.since <= i.sent_at
              and headgate_words_match(headgate_words(f.search), headgate_words(i.title)))

-- name: hush_sets
-- A set that is not complete is no news yet, whatever one of its volumes was on its own.
delete from news where item_id = any(%(item_ids)s::uuid[])

-- name: merge_items
-- Items that are parts of sets now: their addresses lead on, and what people have of them is handed over.
with merged as materialized (
    select * from unnest(%(old_ids)s::uuid[], %(item_ids)s::uuid[]) as n (old_id, item_id)
), followed as (
    update item_alias a set item_id = m.item_id from merged m where a.item_id = m.old_id
), led_on as (
    insert into item_alias (old_id, item_id) select old_id, item_id from merged order by old_id
), grouped as (
    -- The set is where its volumes were, unless it is in a group of its own; what a person did goes before.
    update item i set group_id = g.group_id, grouped_by = g.grouped_by
    from (select distinct on (m.item_id) m.item_id, o.group_id, o.grouped_by
          from merged m join item o on o.id = m.old_id where o.group_id is not null
          order by m.item_id, o.grouped_by = 'person' desc, o.id) as g
    where i.id = g.item_id and (i.group_id is null or (g.grouped_by = 'person' and i.grouped_by <> 'person'))
), excluded_too as (
    insert into group_exclusion (item_id, group_id)
    select m.item_id, x.group_id from merged m join group_exclusion x on x.item_id = m.old_id order by 1, 2
    on conflict do nothing
), chosen as (
    update volume_choice c set item_id = m.item_id from merged m where c.item_id = m.old_id
), sent_on as (
    -- What was to be sent on is sent as a whole, once.
    update send_request q set item_id = m.item_id
    from merged m
    where q.item_id = m.old_id and q.state = 'waiting'
      and not exists (select from send_request o where o.item_id = m.item_id and o.target_id = q.target_id
                      and o.state in ('waiting', 'queued', 'uncertain'))
      and not exists (select from send_request o join merged p on p.old_id = o.item_id and p.item_id = m.item_id
                      where o.target_id = q.target_id and o.state = 'waiting' and o.id < q.id)
), told as (
    -- Of several that one user was told of, one speaks for the set.
    update notification n set item_id = m.item_id, subject = 'item:' || m.item_id
    from merged m
    where n.item_id = m.old_id
      and not exists (select from notification o where o.user_id = n.user_id and o.subject = 'item:' || m.item_id)
      and not exists (select from notification o join merged p on p.old_id = o.item_id and p.item_id = m.item_id
                      where o.user_id = n.user_id and o.id < n.id)
)
select count(*) from merged

-- name: delete_items
-- What was merged into others, after all that it had was handed over.
delete from item where id = any(%(item_ids)s::uuid[])

-- name: find_alias
-- Where an item's address leads that is a part of a set now.
select item_id from item_alias where old_id = %(old_id)s

-- name: choose
-- A person's word on volumes: they belong to this item, or to none.
insert into volume_choice (sighting_id, item_id, volume_key, author_key)
select id, %(item_id)s::uuid, coalesce(%(volume_key)s, s.volume_key), coalesce(%(author_key)s, s.author_key)
from sighting s where id = any(%(sighting_ids)s::uuid[]) order by id
on conflict (sighting_id) do update
set item_id = excluded.item_id, volume_key = excluded.volume_key, author_key = excluded.author_key

-- name: list_files_of
-- The volumes of items, as choices are made about them.
select s.id, s.channel_id, s.volume_key, s.author_key, s.position, s.item_id, s.file_name, s.size_bytes, s.content_id,
       s.deleted_at is not null and coalesce(f.state, '') <> 'stored' as vanished
from sighting s
left join item_file f on f.sighting_id = s.id
where s.item_id = any(%(item_ids)s::uuid[]) and s.url = '' order by s.id

-- name: dismiss
-- A person has seen the problem of a set.
update item_set set dismissed_at = %(now)s where item_id = %(item_id)s and problem and dismissed_at is null

-- name: note_evidence
-- What the bytes of volumes say; theirs is assembled anew where it says something new.
with told as (
    update sighting s set evidence = n.evidence
    from unnest(%(id)s::uuid[], %(evidence)s::text[]) as n (id, evidence)
    where s.id = n.id and s.volume_key <> '' and s.evidence <> n.evidence
    returning s.item_id, s.volume_key, s.author_key, s.position, s.evidence, s.assembled
), hastened as (
    -- What is a whole archive is no volume, and its news need not wait.
    update news n set due_at = %(now)s from told
    where n.item_id = told.item_id and told.evidence = 'whole' and n.due_at > %(now)s
)
select volume_key, author_key, position from told where assembled or evidence = 'volume'
