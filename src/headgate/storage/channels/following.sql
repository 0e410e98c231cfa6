-- name: upsert_found
-- Channels that an account sees; a known one keeps everything but its title. What was known as a mere parent
-- can turn out to be a stream of its own.
insert into channel (id, platform, key, scope, kind, title, created_at)
select f.id, %(platform)s, f.key, %(scope)s, 'stream', f.title, %(now)s
from unnest(%(ids)s::uuid[], %(keys)s::text[], %(titles)s::text[]) as f (id, key, title)
order by f.key
on conflict (platform, key, scope) do update
set title = excluded.title, kind = case channel.kind when 'parent' then 'stream' else channel.kind end
where channel.title <> excluded.title or channel.kind = 'parent'

-- name: insert_parents
-- Parents that are no channels of their own; a known one keeps everything but its title.
insert into channel (id, platform, key, scope, kind, title, created_at)
select p.id, %(platform)s, p.key, %(scope)s, 'parent', p.title, %(now)s
from unnest(%(ids)s::uuid[], %(keys)s::text[], %(titles)s::text[]) as p (id, key, title)
order by p.key
on conflict (platform, key, scope) do update
set title = excluded.title
where channel.kind = 'parent' and channel.title <> excluded.title

-- name: relate_channels
-- Under which parent each stands now, and which channel it goes on from; returns those whose parent changed,
-- because they inherit other settings.
with found as (
    select c.id, c.parent_id as old_parent_id, p.id as parent_id, coalesce(o.id, c.continues_id) as continues_id
    from unnest(%(keys)s::text[], %(parents)s::text[], %(continued)s::text[]) as f (key, parent, continued)
    join channel c on c.platform = %(platform)s and c.key = f.key and c.scope = %(scope)s
    left join channel p on p.platform = %(platform)s and p.key = f.parent and p.scope = %(scope)s
        and p.id <> c.id
    left join channel o on o.platform = %(platform)s and o.key = f.continued and o.scope = %(scope)s
        and o.id <> c.id
), related as (
    update channel c set parent_id = f.parent_id, continues_id = f.continues_id
    from found f
    where c.id = f.id
      and (c.parent_id, c.continues_id) is distinct from (f.parent_id, f.continues_id)
    returning c.id
)
select id from related join found using (id) where parent_id is distinct from old_parent_id

-- name: insert_streams
-- Streams for those that have none, due at once unless they or what they stand in is off; returns the new ones.
with recursive off as (
    select id from channel where not message_scan_enabled
    union
    select c.id from channel c join off on c.parent_id = off.id
), added as (
    insert into stream (channel_id, reader_id, due_at, planned_at, reason)
    select c.id, %(account_id)s,
        case when not exists (select from off where off.id = c.id) then %(now)s::timestamptz end,
        %(now)s, 'never_scanned'
    from unnest(%(keys)s::text[]) as f (key)
    join channel c on c.platform = %(platform)s and c.key = f.key and c.scope = %(scope)s
    where c.kind = 'stream'
    order by c.id
    on conflict (channel_id) do nothing
    returning channel_id
), covered as (
    insert into coverage (channel_id, lens) select channel_id, 'everything' from added
    on conflict do nothing
)
select channel_id from added

-- name: insert_watches
-- The account can read them: it reads if it was first, and stands by otherwise.
insert into watch (channel_id, account_id, created_at)
select s.channel_id, %(account_id)s, %(now)s
from unnest(%(keys)s::text[]) as f (key)
join channel c on c.platform = %(platform)s and c.key = f.key and c.scope = %(scope)s
join stream s on s.channel_id = c.id
on conflict do nothing
returning channel_id

-- name: count_stand_bys
-- Of the streams that the account can read since just now, those that others read.
select count(*) from stream
where channel_id = any(%(channel_ids)s::uuid[]) and reader_id is distinct from %(account_id)s

-- name: adopt_streams
-- What nobody reads, or nobody can read now, is read by this account from now on; due at once unless it is
-- switched off or being scanned, when it has no due time.
with orphans as (
    select s.channel_id
    from watch w join stream s on s.channel_id = w.channel_id
    where w.account_id = %(account_id)s
      and s.reader_id is distinct from %(account_id)s
      and not exists (select from account a where a.id = s.reader_id and a.state = 'active')
    order by s.channel_id
    for update of s
)
update stream s set reader_id = %(account_id)s, wake_seq = s.wake_seq + 1,
    due_at = case when s.due_at is not null then least(s.due_at, %(now)s::timestamptz) end,
    reason = case when s.due_at is not null then 'reader_changed' else s.reason end
from orphans o where s.channel_id = o.channel_id

-- name: upsert_topics
-- New topics, and those that are back.
insert into topic (channel_id, key, title, created_at)
select c.id, t.topic, t.topic, %(now)s
from unnest(%(channels)s::text[], %(topics)s::text[]) as t (channel, topic)
join channel c on c.platform = %(platform)s and c.key = t.channel and c.scope = %(scope)s
order by c.id, t.topic
on conflict (channel_id, key) do update set gone_at = null where topic.gone_at is not null

-- name: end_topics
-- Topics that are not listed any more, where the account reads: one that stands by may see fewer.
update topic set gone_at = %(now)s
from channel c
join stream s on s.channel_id = c.id
where c.id = topic.channel_id and s.reader_id = %(account_id)s and topic.gone_at is null
  and c.platform = %(platform)s and c.scope = %(scope)s and c.key = any(%(keys)s::text[])
  and not exists (
    select from unnest(%(channels)s::text[], %(topics)s::text[]) as t (channel, topic)
    where t.channel = c.key and t.topic = topic.key
  )

-- name: followed_keys
-- Which of these are streams already, and whether the account watches them.
select c.key, exists (
    select from watch w where w.channel_id = c.id and w.account_id = %(account_id)s
) as watched
from channel c
where c.platform = %(platform)s and c.scope = %(scope)s and c.kind = 'stream' and c.key = any(%(keys)s::text[])
