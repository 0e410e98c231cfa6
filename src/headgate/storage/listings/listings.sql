-- name: insert_listing
-- A channel that answers with its entries, due at once; a known one keeps everything.
with added as (
    insert into channel (id, platform, key, kind, title, created_at)
    values (%(id)s, %(platform)s, %(key)s, 'listing', %(title)s, %(now)s)
    on conflict (platform, key, scope) do nothing
    returning id
), found as (
    select id from added union all
    select id from channel where platform = %(platform)s and key = %(key)s and scope = '' and kind = 'listing'
    limit 1
), listed as (
    insert into listing (channel_id, platform, host, reader_id, due_at, planned_at)
    select id, %(platform)s, %(host)s, %(reader_id)s, %(now)s, %(now)s from found
    on conflict (channel_id) do nothing
), watched as (
    insert into watch (channel_id, account_id, created_at) select id, %(reader_id)s, %(now)s from found
    on conflict do nothing
)
select f.id as channel_id, exists (select from added) as is_new from found f

-- name: list_due_listings
-- Due listings without a job, the longest due first, with their tiers. Those of a host that is left alone are put off
-- until it is tried again; they cost nothing until then. Who is claimed by another tick is passed over.
with due as (
    select l.channel_id, l.tier, l.asked, l.due_at, h.open_until
    from listing l join host h on h.platform = l.platform and h.name = l.host
    where l.due_at <= %(now)s
      and not exists (select from live_job where dedupe_key = 'poll:' || l.channel_id)
    order by l.due_at limit %(limit)s
    for update of l skip locked
), put_off as (
    update listing l set due_at = d.open_until, planned_at = %(now)s, reason = 'host_open'
    from due d where l.channel_id = d.channel_id and d.open_until > %(now)s and not d.asked
)
select channel_id::text as key, tier, asked from due
where asked or open_until is null or open_until <= %(now)s
order by due_at

-- name: list_listings
-- Listings with all that polls of them need to know.
select l.channel_id, l.platform, c.key, c.title, l.host, l.cursor, l.due_at, l.wake_seq, l.reason, l.tier, l.tier_pinned,
       l.polls, l.tier_reason, l.arrivals, l.rest_until, l.asked, l.gone_at is not null as gone, l.succeeded_at, l.warning,
       l.unchanged_at, l.blind,
       h.failures as host_failures, h.opened as host_opened, h.open_until as host_open_until, h.swept,
       coalesce(w.failures, 0) as failures, coalesce(w.opened, 0) as opened, w.open_until,
       exists (select from miss m where m.channel_id = l.channel_id and m.stage = 'entry') as has_misses,
       a.id as account_id, coalesce(a.name, '') as account_name, coalesce(a.established, false) as established,
       coalesce(a.sign_in, 0) as sign_in, t.last_value as notified_before
from listing l
cross join release_told t
join channel c on c.id = l.channel_id
join host h on h.platform = l.platform and h.name = l.host
left join account a on a.id = l.reader_id and a.state = 'active'
left join watch w on w.channel_id = l.channel_id and w.account_id = l.reader_id
where l.channel_id = any(%(channel_ids)s::uuid[])

-- name: list_sources
-- Which series these listings bring, the most particular pattern first.
select s.channel_id, s.series_id, s.pattern, s.language, e.title as series_title, e.numbers_reset
from series_source s join series e on e.id = s.series_id
where s.channel_id = any(%(channel_ids)s)
order by s.channel_id, length(s.pattern) desc, s.series_id

-- name: lock_listings
-- Takes listings for this transaction, in the order of their ids: who writes sightings of one writes alone.
select channel_id from listing where channel_id = any(%(channel_ids)s::uuid[]) order by channel_id for no key update

-- name: plan_listing
-- The end of a look. Whoever wanted something meanwhile has raised `wake_seq`: then it is due now, or switched off.
update listing set
    due_at = case when wake_seq = %(seen)s then %(due_at)s::timestamptz when due_at is not null then %(now)s end,
    planned_at = %(now)s, reason = case when wake_seq = %(seen)s then %(reason)s else reason end, asked = asked and wake_seq <> %(seen)s,
    checked_at = coalesce(%(checked_at)s::timestamptz, checked_at),
    polls = polls + (%(checked_at)s::timestamptz is not null)::int
where channel_id = %(channel_id)s
returning due_at <= %(now)s

-- name: plan_after_answers
-- The same after answers, with what they say of the listings themselves. Only a channel that is still called by its address
-- takes the name that it gives itself. A change of tier is kept with its reason; the oldest fall out.
with answer as materialized (
    select * from unnest(
        %(channel_id)s::uuid[], %(seen)s::bigint[], %(due_at)s::timestamptz[], %(reason)s::text[], %(cursor)s::text[],
        %(arrivals)s::text[], %(rest_until)s::timestamptz[], %(tier)s::text[], %(tier_reason)s::text[], %(warning)s::text[],
        %(unchanged)s::boolean[], %(changed)s::boolean[], %(blind)s::boolean[], %(title)s::text[], %(from_tier)s::text[],
        %(now)s::timestamptz[]
    ) as a (channel_id, seen, due_at, reason, cursor, arrivals, rest_until, tier, tier_reason, warning, unchanged, changed,
            blind, title, from_tier, now)
), titled as (
    update channel c set title = a.title from answer a where c.id = a.channel_id and c.title = c.key and a.title <> ''
    returning c.id
), numbered as (
    insert into tier_change (channel_id, number, at, from_tier, to_tier, reason)
    select a.channel_id, coalesce((select max(t.number) from tier_change t where t.channel_id = a.channel_id), 0) + 1,
           a.now, a.from_tier, a.tier, a.tier_reason
    from answer a where a.from_tier <> a.tier
    returning channel_id, number
), pruned as (
    delete from tier_change t using numbered n where t.channel_id = n.channel_id and t.number <= n.number - 50
)
update listing l set
    due_at = case when l.wake_seq = a.seen then a.due_at when l.due_at is not null then a.now end,
    planned_at = a.now, reason = case when l.wake_seq = a.seen then a.reason else l.reason end,
    asked = l.asked and l.wake_seq <> a.seen, checked_at = a.now, succeeded_at = a.now, polls = l.polls + 1,
    cursor = a.cursor::jsonb, arrivals = a.arrivals::timestamptz[], rest_until = a.rest_until, tier = a.tier,
    tier_reason = a.tier_reason, warning = a.warning, blind = a.blind,
    unchanged_at = case when a.unchanged then a.now end,
    changed_at = case when a.changed then a.now else l.changed_at end
from answer a
-- The channel before its listing, as everybody takes them.
where l.channel_id = a.channel_id and (select count(*) from titled) >= 0
returning l.channel_id, l.due_at <= a.now as due

-- name: note_unchanged
-- The same after an answer without news, as nobody needs to hear of it: sent together with those of others.
update listing as l
set
    due_at = case when l.wake_seq = a.seen then a.due_at when l.due_at is not null then a.now end,
    planned_at = a.now, reason = case when l.wake_seq = a.seen then a.reason else l.reason end,
    asked = l.asked and l.wake_seq <> a.seen, checked_at = a.now, succeeded_at = a.now, polls = l.polls + 1,
    rest_until = a.rest_until, tier_reason = a.tier_reason, unchanged_at = a.now
from unnest(
    %(channel_id)s::uuid[], %(seen)s::bigint[], %(due_at)s::timestamptz[], %(reason)s::text[],
    %(rest_until)s::timestamptz[], %(tier_reason)s::text[], %(now)s::timestamptz[]
) as a (channel_id, seen, due_at, reason, rest_until, tier_reason, now)
where l.channel_id = a.channel_id

-- name: put_off_listing
-- Its host has no room: it waits behind those of the host that wait already. What a person asked for waits for nobody,
-- and stays asked. Whoever wanted something meanwhile has raised `wake_seq`, as ever.
update listing l set
    due_at = case when l.wake_seq <> %(seen)s then case when l.due_at is not null then %(now)s::timestamptz end
        when l.asked then %(due_at)s::timestamptz
        else greatest(%(due_at)s::timestamptz, %(apart)s::interval + (
            select max(o.due_at) from listing o
            where o.platform = l.platform and o.host = l.host and o.reason in ('paced', 'limited')
              and o.due_at > %(now)s::timestamptz and o.channel_id <> l.channel_id))
    end,
    planned_at = %(now)s, reason = case when l.wake_seq = %(seen)s then %(reason)s else l.reason end
where l.channel_id = %(channel_id)s

-- name: end_listing
-- The source says that it is gone for good: nothing looks at it until a person asks.
update listing set gone_at = %(now)s, due_at = null, reason = 'gone', checked_at = %(now)s, asked = false
where channel_id = %(channel_id)s

-- name: move_listing
-- The source has moved for good; a channel that is there already under that address stays as it is.
update channel set key = %(key)s
where id = %(channel_id)s and not exists (
    select from channel o where o.platform = channel.platform and o.key = %(key)s and o.scope = channel.scope
)

-- name: set_listing_host
-- Where it is answered for now.
update listing set host = %(host)s, blind = false where channel_id = %(channel_id)s

-- name: title_listing
-- Only a channel that is still called by its address takes the name that it gives itself.
update channel set title = %(title)s where id = %(channel_id)s and title = key

-- name: note_reset
-- Whether chapter numbers begin anew with each volume, as the source tells.
update series s set numbers_reset = %(numbers_reset)s
from series_source o
where o.series_id = s.id and o.channel_id = %(channel_id)s and o.pattern = '' and s.numbers_reset <> %(numbers_reset)s

-- name: ask_listing
-- A person wants it looked at now; what was said to be gone gets another chance.
update listing set asked = true, gone_at = null, due_at = %(now)s, planned_at = %(now)s, reason = 'asked',
    wake_seq = wake_seq + 1
where channel_id = %(channel_id)s

-- name: set_listing_due
-- Parks a listing (no due time) or makes it due; either way a running poll notices.
update listing set due_at = %(due_at)s, planned_at = %(now)s, wake_seq = wake_seq + 1 where channel_id = %(channel_id)s

-- name: pin_tier
-- A person's choice outranks the rhythm; without one the rhythm decides again.
update listing set tier = coalesce(%(tier)s, tier), tier_pinned = %(tier)s is not null,
    tier_reason = case when %(tier)s is null then tier_reason else 'pinned' end,
    due_at = least(due_at, %(now)s), wake_seq = wake_seq + 1
where channel_id = %(channel_id)s

-- name: hold_listings
-- Switched off: nothing polls them, and a poll under way notices.
update listing set due_at = null, reason = 'disabled', planned_at = %(now)s, wake_seq = wake_seq + 1
where channel_id = any(%(channel_ids)s)

-- name: wake_listings
-- Switched on, if all that they are in is on too.
update listing set due_at = %(now)s, planned_at = %(now)s, wake_seq = wake_seq + 1
where channel_id = any(%(channel_ids)s) and gone_at is null and headgate_may_be_due(channel_id)
