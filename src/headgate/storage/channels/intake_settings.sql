-- name: lock_settings
-- Nobody changes settings before this transaction ends; or, for a change, nobody judges by them either.
select headgate_lock_settings(%(for_change)s)

-- name: list_layers
-- All layers of many channels at once: everything's first, then from the outermost parent inwards. Of topics
-- only those that differ.
with recursive line as (
    select c.id as channel_id, c.parent_id, c.message_scan_enabled, c.settings, 0 as height
    from channel c where c.id = any(%(channel_ids)s::uuid[])
    union all
    select l.channel_id, p.parent_id, p.message_scan_enabled, p.settings, l.height + 1
    from line l join channel p on p.id = l.parent_id where l.height < 8
), lines as (
    select channel_id, bool_and(message_scan_enabled) as enabled, jsonb_agg(settings order by height desc) as layers
    from line group by channel_id
)
select l.channel_id, l.enabled, jsonb_build_array(g.settings) || l.layers as layers,
       coalesce(t.topics, '[]') as topics
from lines l
cross join intake_settings g
left join lateral (
    select jsonb_agg(jsonb_build_array(key, message_scan_enabled, settings) order by key) as topics
    from topic where channel_id = l.channel_id and (not message_scan_enabled or settings <> '{}')
) as t on true

-- name: get_everything
-- The layer below all others.
select settings from intake_settings

-- name: get_channel
-- One channel's or parent's own layer.
select message_scan_enabled as enabled, settings from channel where id = %(channel_id)s

-- name: get_topic
-- One topic's own layer.
select message_scan_enabled as enabled, settings from topic
where channel_id = %(channel_id)s and key = %(topic)s

-- name: set_everything
-- Replaces the layer below all others.
update intake_settings set settings = %(settings)s where settings <> %(settings)s

-- name: set_channel
-- Replaces one channel's or parent's own layer.
update channel set settings = %(settings)s where id = %(channel_id)s and settings <> %(settings)s

-- name: set_topic
-- Replaces one topic's own layer.
update topic set settings = %(settings)s
where channel_id = %(channel_id)s and key = %(topic)s and settings <> %(settings)s

-- name: switch_channel
-- A parent's switch is a switch of all that is in it; each keeps its own.
update channel set message_scan_enabled = %(enabled)s
where id = %(channel_id)s and message_scan_enabled <> %(enabled)s

-- name: switch_topic
-- A topic has no stream of its own: what is seen in it is judged otherwise.
update topic set message_scan_enabled = %(enabled)s
where channel_id = %(channel_id)s and key = %(topic)s and message_scan_enabled <> %(enabled)s

-- name: raise_version
-- Every cache of rules is old from now on; the notice says so sooner than the next check.
with raised as (update intake_settings set version = version + 1 returning version)
select raised.version from raised, pg_notify('headgate_settings', raised.version::text)

-- name: list_tree
-- A channel, and all that is in it at any depth.
with recursive tree as (
    select id, 0 as depth from channel where id = %(channel_id)s
    union
    select c.id, t.depth + 1 from tree t join channel c on c.parent_id = t.id where t.depth < 8
)
select distinct id from tree

-- name: arm_judging
-- These channels are to be judged again, from the start if they were being judged.
insert into judging (channel_id, due_at, asked_at)
select id, %(now)s, %(now)s from channel where id = any(%(channel_ids)s::uuid[]) and kind <> 'parent' order by id
on conflict (channel_id) do update
set due_at = excluded.due_at, wake_seq = judging.wake_seq + 1, asked_at = excluded.asked_at, judged = 0,
    changed = 0

-- name: arm_judging_of_all
-- The same for every channel there is.
insert into judging (channel_id, due_at, asked_at)
select id, %(now)s, %(now)s from channel where kind <> 'parent' order by id
on conflict (channel_id) do update
set due_at = excluded.due_at, wake_seq = judging.wake_seq + 1, asked_at = excluded.asked_at, judged = 0,
    changed = 0

-- name: wake_streams
-- A switch was moved: whoever looks at these streams notices. What has no due time is under way, or off.
with locked as (
    select channel_id from stream where channel_id = any(%(channel_ids)s::uuid[]) order by channel_id for update
)
update stream s
set wake_seq = s.wake_seq + 1, woken = true,
    due_at = case when s.due_at is not null then least(s.due_at, %(now)s) end,
    reason = case when s.due_at is not null then 'woken' else s.reason end
from locked where s.channel_id = locked.channel_id
