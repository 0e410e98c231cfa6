-- name: take_permits
-- Permits for the next calls of some lanes, or when there will be room for one; in the order of the list, which
-- is that of the owners, so that nobody waits in a circle.
select w.place::int as place, t.delays_s, t.come_back_s, t.kinds, t.epochs, t.rates, t.grace_s
from unnest(%(owners)s::text[], %(kinds)s::text[], %(counts)s::int[], %(horizons_s)s::float8[])
    with ordinality as w (owner, kind, count, horizon_s, place)
cross join lateral lane_take(w.owner, w.kind, w.count, w.horizon_s) as t

-- name: signal_limit
-- A signal counts against the rate only if its call drew on the present rate; a signal of an older call
-- can only lengthen the cool-down. Both void the stock, which would be fired into the cool-down.
with told as (
    select * from unnest(%(kinds)s::text[], %(epochs)s::bigint[]) as t (kind, epoch)
),
locked as materialized (
    select * from lane where owner = %(owner)s and kind = any(%(kinds)s) order by kind for update
),
moment as materialized (
    select headgate_real_now() as at, count(*) as lanes from locked
),
judged as materialized (
    select
        k.*,
        m.at,
        t.epoch >= k.rate_epoch as counts,
        greatest(k.cool_until, m.at + make_interval(secs => %(retry_after_s)s)) as new_cool_until
    from locked k
    join told t using (kind)
    cross join moment m
)
update lane l
set
    epoch = j.epoch + 1,
    cool_until = j.new_cool_until,
    rate = case when j.counts then greatest(least(1.0, j.ceiling), j.rate / 2) else j.rate end,
    rate_at = case when j.counts then j.at else j.rate_at end,
    rate_cause = case when j.counts then 'limit_signal' else j.rate_cause end,
    rate_epoch = case when j.counts then j.epoch + 1 else j.rate_epoch end,
    warm_at = null
from judged j
where l.owner = j.owner and l.kind = j.kind and (j.counts or j.new_cool_until > j.cool_until)
returning l.kind, l.epoch, l.rate

-- name: insert_lanes
-- A lane that exists keeps its state; `change_lanes` brings its settings up to date.
insert into lane (
    owner, kind, shared, by_day, ceiling, burst, daily_cap, established,
    rate, rate_at, rate_cause, tat, cool_until, use_slot
)
select
    o.owner, w.kind, w.shared, w.by_day, w.ceiling, w.burst, w.daily_cap, %(established)s,
    lane_limit(w.ceiling, %(established)s, 0), m.at, 'created', m.at, m.at, lane_slot(m.at)
from unnest(
    %(kinds)s::text[], %(ceilings)s::float8[], %(bursts)s::int[], %(daily_caps)s::int[], %(shareds)s::text[],
    %(by_days)s::boolean[]
) as w (kind, ceiling, burst, daily_cap, shared, by_day)
cross join unnest(%(owners)s::text[]) as o (owner)
cross join (select headgate_real_now() as at) as m
order by o.owner, w.kind
on conflict (owner, kind) do nothing

-- name: change_lanes
-- A new ceiling or burst starts the lane anew, without an allowance, from the moment at which the last
-- permit of the old pace is void: the two paces never add up. A lane that was slowed stays slowed.
with wished as (
    select *
    from unnest(
        %(kinds)s::text[], %(ceilings)s::float8[], %(bursts)s::int[], %(daily_caps)s::int[], %(shareds)s::text[]
    ) as w (kind, ceiling, burst, daily_cap, shared)
),
locked as materialized (
    select * from lane where owner = any(%(owners)s) and kind = any(%(kinds)s) order by owner, kind for update
),
moment as materialized (
    select headgate_real_now() as at, count(*) as lanes from locked
),
settled as (
    select
        k.owner, k.kind, k.tat, k.epoch, k.rate_epoch, k.rate, k.rate_at, k.rate_cause,
        m.at,
        w.shared as new_shared,
        coalesce(%(established)s, k.established) as new_established,
        k.pinned or %(by_person)s as new_pinned,
        case when kept then k.ceiling else w.ceiling end as new_ceiling,
        case when kept then k.burst else w.burst end as new_burst,
        case when kept then k.daily_cap else w.daily_cap end as new_daily_cap,
        not kept and (k.ceiling, k.burst) is distinct from (w.ceiling, w.burst) as repaced,
        lane_grace_s(k.ceiling, k.burst) as old_grace_s,
        k.rate < lane_limit(k.ceiling, k.established, k.warm_days) as slowed,
        k.warm_days
    from locked k
    join wished w using (kind)
    cross join moment m
    cross join lateral (select k.pinned and not %(by_person)s as kept) as person
),
rated as materialized (
    select
        s.*,
        case when s.slowed then least(s.rate, limits.top) else limits.top end as new_rate
    from settled s
    cross join lateral (
        select lane_limit(s.new_ceiling, s.new_established, s.warm_days) as top
    ) as limits
)
update lane l
set
    shared = r.new_shared,
    ceiling = r.new_ceiling,
    burst = r.new_burst,
    daily_cap = r.new_daily_cap,
    established = r.new_established,
    pinned = r.new_pinned,
    rate = r.new_rate,
    rate_at = case when r.repaced or r.new_rate <> r.rate then r.at else r.rate_at end,
    rate_cause = case when r.repaced or r.new_rate <> r.rate then %(cause)s else r.rate_cause end,
    epoch = r.epoch + r.repaced::int,
    rate_epoch = case when r.repaced then r.epoch + 1 else r.rate_epoch end,
    tat = case
        when r.repaced then
            greatest(
                r.at, least(r.tat, r.at + interval '5 seconds') + make_interval(secs => r.old_grace_s)
            )
            + make_interval(secs => lane_tolerance_s(r.new_ceiling, r.new_burst) + 60.0 / r.new_rate)
        else r.tat
    end
from rated r
where l.owner = r.owner
    and l.kind = r.kind
    and (l.shared, l.ceiling, l.burst, l.daily_cap, l.established, l.pinned, l.rate)
    is distinct from (
        r.new_shared, r.new_ceiling, r.new_burst, r.new_daily_cap, r.new_established, r.new_pinned, r.new_rate
    )

-- name: unpin_lane
-- A person takes the choice of a pace back.
update lane set pinned = false where owner = %(owner)s and kind = %(kind)s

-- name: list_lanes
-- All lanes, or those of one owner, as people see them.
select
    l.owner, l.kind, l.shared, l.ceiling, l.burst, l.daily_cap, l.established, l.pinned,
    l.rate, l.rate_at, l.rate_cause, l.epoch, l.warm_days,
    greatest(0.0, lane_seconds(l.cool_until - m.at)) as cool_down_s,
    greatest(
        0.0,
        lane_seconds(l.cool_until - m.at),
        lane_seconds(l.tat - m.at) - lane_tolerance_s(l.ceiling, l.burst)
    ) as next_call_s,
    (
        select sum(use)::int
        from unnest(lane_uses_at(l.uses, least(lane_slot(m.at) - l.use_slot, 98)::int)) as use
    ) as used_today
from lane l
cross join (select headgate_real_now() as at) as m
where %(owner)s::text is null or l.owner = %(owner)s
order by l.owner, l.kind

-- name: get_real_s
-- The time that lanes go by, in seconds.
select extract(epoch from headgate_real_now())::float8

-- name: list_lane_states
-- All that the lanes of a call remember: its kind's, and the one that it shares with others.
select
    l.ceiling, l.burst, l.daily_cap, l.established, l.rate, extract(epoch from l.rate_at)::float8 as rate_at_s,
    extract(epoch from l.tat)::float8 as tat_s, extract(epoch from l.cool_until)::float8 as cool_until_s,
    l.use_slot, l.uses, l.epoch, l.rate_epoch, l.warm_days, extract(epoch from l.warm_at)::float8 as warm_at_s
from lane l
where l.owner = %(owner)s
    and l.kind in (%(kind)s::text, (select shared from lane where owner = %(owner)s and kind = %(kind)s))
order by l.kind <> %(kind)s, l.kind

-- name: list_lane_changes
-- How a lane's rate came to be what it is, newest first.
select at, from_rate, to_rate, cause, cool_until
from lane_change
where owner = %(owner)s and kind = %(kind)s
order by id desc
limit %(count)s

-- name: list_calls
-- Calls by account, day and kind, newest day first; today is the first of the days.
select a.id as account_id, d.day, d.kind, d.calls
from account a join lane_day d on d.owner = a.id::text
where d.day > (headgate_real_now() at time zone 'UTC')::date - %(days)s::int
order by d.day desc, d.kind, a.id

-- name: delete_old_lane_changes
-- What a lane was long ago explains nothing today.
delete from lane_change where at < headgate_real_now() - make_interval(secs => %(keep_s)s)

-- name: delete_old_lane_days
-- Calls by day are for people who look back a season at most.
delete from lane_day where day < ((headgate_real_now() - make_interval(secs => %(keep_s)s)) at time zone 'UTC')::date

-- name: delete_lanes
-- The owner is gone.
delete from lane where owner = %(owner)s
