-- name: listing_states
-- For people: how listings stand, and why.
select c.id as channel_id, c.platform, c.key, c.title, l.host, l.tier, l.tier_pinned, l.tier_reason, l.due_at, l.reason,
       l.checked_at, l.succeeded_at, l.changed_at, l.polls, l.warning, l.gone_at, l.rest_until,
       c.message_scan_enabled as enabled, coalesce(w.failures, 0) as failures, w.open_until,
       coalesce(w.error_class, '') as error_class, coalesce(w.error_message, '') as error_message,
       h.failures as host_failures, h.open_until as host_open_until, h.error_message as host_error,
       k.rate as host_per_minute, h.swept,
       h.swept_at, coalesce(a.name, '') as reader, l.key_changes, l.keys_changed_at,
       coalesce((select o.title from channel o where o.id = l.moved_onto), '') as moved_onto,
       array(select f.key from listing_alias f where f.channel_id = c.id order by f.at, f.key) as former_keys
from listing l
join channel c on c.id = l.channel_id
join host h on h.platform = l.platform and h.name = l.host
left join lane k on k.owner = 'host:' || l.platform || '/' || l.host and k.kind = 'list'
left join account a on a.id = l.reader_id
left join watch w on w.channel_id = l.channel_id and w.account_id = l.reader_id
where (%(channel_ids)s::uuid[] is null or c.id = any(%(channel_ids)s))
  and (%(platform)s::text is null or c.platform = %(platform)s)
  and (lower(c.title), c.id) > (lower(%(after_title)s::text), %(after_id)s::uuid)
order by lower(c.title), c.id limit %(limit)s

-- name: list_tier_changes
-- Newest first.
select at, from_tier, to_tier, reason from tier_change where channel_id = %(channel_id)s order by number desc limit %(limit)s

-- name: list_hosts
-- For people: how hosts stand.
select platform, name, failures, opened, open_until, error_class, error_message, failed_at, swept, due_at, swept_at, calls,
       n.listings, n.limited_until, n.gone, n.paced, k.ceiling as per_minute, k.rate, coalesce(k.pinned, false) as pace_set
from host h
left join lane k on k.owner = 'host:' || h.platform || '/' || h.name and k.kind = 'list'
cross join lateral (
    select count(*) as listings, max(l.due_at) filter (where l.reason = 'limited') as limited_until,
           count(l.gone_at) as gone, count(*) filter (where l.reason = 'paced') as paced
    from listing l where l.platform = h.platform and l.host = h.name
) as n
where %(name)s::text is null or h.name = %(name)s
order by platform, name

-- name: list_last_tier_changes
-- The last changes of each of some listings, newest first.
select c.id as channel_id, t.at, t.from_tier, t.to_tier, t.reason
from unnest(%(channel_ids)s::uuid[]) as c (id)
cross join lateral (
    select * from tier_change t where t.channel_id = c.id order by t.number desc limit %(limit)s::int
) as t
order by c.id, t.number desc

-- name: list_odd_listings
-- They work, but a person should know: their entries keep changing keys, or they moved onto another one.
select c.title, coalesce(o.title, '') as moved_onto
from listing l join channel c on c.id = l.channel_id left join channel o on o.id = l.moved_onto
where o.id is not null or (l.key_changes > 1 and l.keys_changed_at > %(since)s)
order by lower(c.title), c.id limit 100

-- name: list_troubled_listings
-- Listings that a person should hear of, some of each trouble by name, and how many there are.
select t.title, t.trouble, t.host, t.warning, t.due_at, t.total
from (
    select f.*, count(*) over (partition by f.trouble) as total,
           row_number() over (partition by f.trouble order by f.title, f.channel_id) as place
    from (
        select l.channel_id, c.title, l.host, l.warning, l.due_at,
               case when l.gone_at is not null then 'gone' when l.reason = 'limited' then 'limited'
                    when l.warning <> '' then 'partial' when l.blind then 'blind' else 'paced' end as trouble
        from listing l join channel c on c.id = l.channel_id
        where l.gone_at is not null or l.reason = 'limited' or l.warning <> '' or l.blind
           or (l.reason = 'paced' and l.due_at > l.planned_at + interval '10 minutes')
    ) as f
) as t
where t.place <= %(named)s
order by t.trouble, t.place
