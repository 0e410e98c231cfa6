-- Lanes: the durable pace of one account's or host's calls of one kind.

create table lane (
    owner text not null,
    kind text not null,
    -- The lane of the same owner that this kind draws on as well.
    shared text,
    ceiling double precision not null check (ceiling > 0 and ceiling <= 60000000),
    -- One call of the burst would leave no room for a call that is made a moment late.
    burst int not null check (burst >= 2),
    daily_cap int check (daily_cap > 0),
    established boolean not null,
    -- A person set the pace; a connector's defaults do not change it any more.
    pinned boolean not null default false,
    rate double precision not null check (rate > 0),
    rate_at timestamptz not null,
    rate_cause text not null,
    -- Stock of an older epoch is void. A limit signal counts against the rate from `rate_epoch` on.
    epoch bigint not null default 1,
    rate_epoch bigint not null default 1,
    tat timestamptz not null,
    cool_until timestamptz not null,
    warm_days int not null default 0,
    warm_at timestamptz,
    use_slot bigint not null,
    uses int[] not null default array_fill(0, array[98]),
    primary key (owner, kind)
) with (fillfactor = 40);

create table lane_change (
    id bigint generated always as identity primary key,
    owner text not null,
    kind text not null,
    at timestamptz not null,
    from_rate double precision not null,
    to_rate double precision not null,
    cause text not null,
    cool_until timestamptz,
    foreign key (owner, kind) references lane (owner, kind) on delete cascade
);

-- Calls by the server's day, for people; written with every permit.
create table lane_day (
    owner text not null,
    kind text not null,
    day date not null,
    calls bigint not null,
    primary key (owner, kind, day),
    foreign key (owner, kind) references lane (owner, kind) on delete cascade
);

create index lane_change_newest on lane_change (owner, kind, id desc);

-- Whoever changes a rate, it is recorded; whoever voids the stock, the other processes hear of it.
create function lane_changed() returns trigger language plpgsql as $$
begin
    if old.rate is distinct from new.rate or old.rate_epoch <> new.rate_epoch then
        insert into lane_change (owner, kind, at, from_rate, to_rate, cause, cool_until)
        values (
            new.owner, new.kind, new.rate_at, old.rate, new.rate, new.rate_cause,
            case when new.cool_until > new.rate_at then new.cool_until end
        );
    end if;
    if old.epoch <> new.epoch then
        perform pg_notify(
            'headgate_lane',
            json_build_object('owner', new.owner, 'kind', new.kind, 'epoch', new.epoch)::text
        );
    end if;
    return null;
end
$$;

create trigger lane_changed after update on lane for each row
when (old.rate is distinct from new.rate or old.epoch <> new.epoch)
execute function lane_changed();

-- The rules of pacing, the same as in the pure model (headgate.domain.pacing); a test compares the two.

create function lane_grace_s(ceiling double precision, burst int) returns double precision
language sql immutable parallel safe
return least(2.0, 30.0 * (burst - 1) / ceiling);

create function lane_tolerance_s(ceiling double precision, burst int) returns double precision
language sql immutable parallel safe
return 60.0 * (burst - 1) / ceiling - least(2.0, 30.0 * (burst - 1) / ceiling);

create function lane_limit(ceiling double precision, established boolean, warm_days int)
returns double precision
language sql immutable parallel safe
return case when established then ceiling else least(ceiling, 10.0 + 0.25 * ceiling * warm_days) end;

create function lane_recovered(
    rate double precision, rate_limit double precision, ceiling double precision, quiet_s double precision
) returns double precision
language sql immutable parallel safe
return least(rate_limit, rate + 0.1 * ceiling * floor(greatest(quiet_s, 0.0) / 600.0));

create function lane_seconds(span interval) returns double precision
language sql immutable parallel safe
return extract(epoch from span)::double precision;

create function lane_slot(at timestamptz) returns bigint
language sql stable parallel safe
return floor(extract(epoch from at) / 900)::bigint;

-- The uses as they stand in a later slot: what is older than the ring falls out at its front.
create function lane_uses_at(uses int[], later int) returns int[]
language sql immutable parallel safe
return uses[least(greatest(later, 0), 98) + 1:98] || array_fill(0, array[least(greatest(later, 0), 98)]);

-- The times of the next calls over lanes that all of them draw on, and where each lane stands after each of them: from
-- none, up to as many as are asked for or the first beyond the horizon.
create function lane_schedule(
    starts_s double precision[], first_tats_s double precision[], tolerances_s double precision[],
    intervals_s double precision[], calls int, horizon_s double precision
) returns table (number int, at_s double precision, tats_s double precision[])
language plpgsql immutable as $$
declare
    lanes int := coalesce(array_length(first_tats_s, 1), 0);
begin
    number := 0;
    at_s := 0.0;
    tats_s := first_tats_s;
    return next;
    while number < calls and at_s <= horizon_s loop
        at_s := null;
        for lane in 1..lanes loop
            at_s := greatest(at_s, starts_s[lane], tats_s[lane] - tolerances_s[lane]);
        end loop;
        for lane in 1..lanes loop
            tats_s[lane] := greatest(tats_s[lane], at_s) + intervals_s[lane];
        end loop;
        number := number + 1;
        return next;
    end loop;
end
$$;

-- Permits for the next calls, in one statement. The lanes are locked in the order of their names; only then is the time
-- read, so that a wait for the lock cannot make it old. Everything that decides stands in the locked rows themselves:
-- after such a wait, other tables would still show what they held before it. Seconds count from that moment. Nothing is
-- written unless something is granted. A function, because to plan the statement takes longer than to carry it out.
create function lane_take(caller text, call_kind text, wanted int, horizon_s double precision) returns table (
    delays_s double precision[], come_back_s double precision, kinds text[], epochs bigint[], rates double precision[],
    grace_s double precision
)
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    with locked as materialized (
        select *
        from lane
        where owner = caller
            and kind in (
                call_kind,
                (select shared from lane where owner = caller and kind = call_kind)
            )
        order by kind
        for update
    ),
    moment as materialized (
        select headgate_real_now() as at, count(*) as lanes from locked
    ),
    warmed as (
        select
            l.*,
            m.at,
            coalesce(m.at >= l.warm_at + interval '24 hours', false) as day_passed
        from locked l
        cross join moment m
    ),
    recovered as (
        select
            w.*,
            w.warm_days + w.day_passed::int as new_warm_days,
            lane_recovered(
                w.rate,
                lane_limit(w.ceiling, w.established, w.warm_days + w.day_passed::int),
                w.ceiling,
                lane_seconds(w.at - w.rate_at)
            ) as new_rate,
            greatest(w.use_slot, lane_slot(w.at)) as new_slot,
            lane_uses_at(w.uses, least(lane_slot(w.at) - w.use_slot, 98)::int) as new_uses
        from warmed w
    ),
    counted as (
        select
            r.*,
            60.0 / r.new_rate as interval_s,
            lane_tolerance_s(r.ceiling, r.burst) as tolerance_s,
            r.daily_cap - (select sum(use) from unnest(r.new_uses) as use) as calls_left
        from recovered r
    ),
    paced as materialized (
        select
            c.*,
            row_number() over (order by c.kind) as place,
            least(lane_seconds(c.tat - c.at), 7.0 + c.tolerance_s + c.interval_s) as tat_s,
            greatest(
                0.0,
                lane_seconds(c.cool_until - c.at),
                case
                    when c.calls_left <= 0 then (
                        select min(900.0 * (c.new_slot + ring.place) - extract(epoch from c.at))
                        from (
                            select u.place, sum(u.use) over (order by u.place) as freed
                            from unnest(c.new_uses) with ordinality as u (use, place)
                        ) as ring
                        where ring.freed + c.calls_left > 0
                    )::double precision
                end
            ) as start_s
        from counted c
    ),
    schedule as materialized (
        select s.*
        from (
            select array_agg(start_s order by place) as starts_s, array_agg(tat_s order by place) as tats_s,
                array_agg(tolerance_s order by place) as tolerances_s, array_agg(interval_s order by place) as intervals_s
            from paced
        ) as p
        cross join lateral lane_schedule(
            p.starts_s, p.tats_s, p.tolerances_s, p.intervals_s, wanted, horizon_s
        ) as s
    ),
    granted as materialized (
        select
            coalesce(array_agg(s.at_s order by s.number) filter (where s.fits), '{}') as delays_s,
            min(s.at_s) filter (where not s.fits) as come_back_s,
            count(*) filter (where s.fits) as calls
        from (
            select
                number,
                at_s,
                at_s <= horizon_s and number <= coalesce(lanes.calls_left, number) as fits
            from schedule
            cross join (select min(calls_left) as calls_left from paced) as lanes
            where number > 0
        ) as s
    ),
    written as (
        update lane l
        set
            tat = p.at + make_interval(secs => ceil(s.tats_s[p.place] * 1e6) / 1e6),
            rate = p.new_rate,
            rate_at = case when p.new_rate <> p.rate then p.at else p.rate_at end,
            rate_cause = case
                when p.new_rate = p.rate then p.rate_cause
                when p.day_passed then 'warmed_up'
                else 'recovered'
            end,
            warm_days = p.new_warm_days,
            warm_at = case when p.warm_at is null or p.day_passed then p.at else p.warm_at end,
            use_slot = p.new_slot,
            uses = p.new_uses[1:97] || (p.new_uses[98] + g.calls)::int
        from paced p
        cross join granted g
        join schedule s on s.number = g.calls
        where l.owner = p.owner and l.kind = p.kind and g.calls > 0
    ),
    noted as (
        insert into lane_day as d (owner, kind, day, calls)
        select caller, call_kind, (m.at at time zone 'UTC')::date, g.calls
        from granted g cross join moment m where g.calls > 0
        on conflict (owner, kind, day) do update set calls = d.calls + excluded.calls
    )
    select
        g.delays_s, g.come_back_s, lanes.kinds, lanes.epochs, lanes.rates, lanes.grace_s
    from granted g
    cross join (
        select
            array_agg(kind order by place) as kinds,
            array_agg(epoch order by place) as epochs,
            array_agg(new_rate order by place) as rates,
            min(lane_grace_s(ceiling, burst)) as grace_s
        from paced
    ) as lanes
    where lanes.kinds is not null;
end
$$;

-- Accounts, whose calls the lanes pace, and what each has seen.

create table account (
    id uuid primary key,
    platform text not null,
    name text not null,
    state text not null default 'active' check (state in ('active', 'needs_login', 'restricted', 'banned')),
    state_reason text not null default '',
    established boolean not null default false,
    -- Which sign-in this is: what an older session meets is no news about this one.
    sign_in int not null default 0,
    -- Its listener's last sign of life, in real time; with a healthy one the schedule is only a safety net.
    listening_at timestamptz,
    -- The same in product time, kept when it ends: what happened since was not heard.
    heard_at timestamptz,
    -- When its channels are listed again, empty until it follows one; raised when something unknown was heard.
    discover_at timestamptz,
    discover_seq bigint not null default 0,
    discovered_at timestamptz,
    discover_error text not null default '',
    created_at timestamptz not null,
    unique (platform, name)
);

create index account_discover on account (discover_at);

-- What an account has been able to see: only what is not here is new.
create table seen_channel (
    account_id uuid not null references account (id) on delete cascade,
    key text not null,
    first_at timestamptz not null,
    primary key (account_id, key)
);

-- Channels that a person removed: discovery does not bring them back.
create table removed_channel (
    platform text not null,
    key text not null,
    scope text not null,
    removed_at timestamptz not null,
    primary key (platform, key, scope)
);

-- Whether a listener that gave its last sign of life then is there.
create function headgate_listens(listening_at timestamptz) returns boolean language sql volatile parallel safe
return coalesce(listening_at > headgate_real_now() - interval '90 seconds', false);
