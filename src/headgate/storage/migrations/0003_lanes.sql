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

-- Calls of accounts by the server's day, for people; written with every permit.
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

-- Grants permits for the next calls of a kind, which draws on its own lane and on the one that it shares.
--
-- The lanes are locked in the order of their names. The time is read after that, so that a wait for a lock cannot make it
-- old; for the same reason everything that decides is in the locked rows. Seconds count from that moment. Nothing is
-- written unless a call is granted. Step by step, because to start one statement that does it all takes longer than this.
create function lane_take(caller text, call_kind text, wanted int, horizon_s double precision) returns table (
    delays_s double precision[], come_back_s double precision, kinds text[], epochs bigint[], rates double precision[],
    grace_s double precision
)
language plpgsql as $$
declare
    locked lane[];
    one lane;
    at timestamptz;
    slot bigint;
    day_passed boolean;
    new_rate double precision;
    tolerance_s double precision;
    start_s double precision;
    lane_calls_left bigint;
    calls_left bigint;
    starts_s double precision[];
    tats_s double precision[];
    tolerances_s double precision[];
    intervals_s double precision[];
    at_s double precision;
    granted int;
begin
    select array_agg(l order by l.kind) into locked
    from (
        select *
        from lane
        where owner = caller and kind in (call_kind, (select shared from lane where owner = caller and kind = call_kind))
        order by kind
        for update
    ) as l;
    if locked is null then
        return;
    end if;
    at := headgate_real_now();
    slot := lane_slot(at);
    for place in 1..cardinality(locked) loop
        one := locked[place];
        day_passed := coalesce(at >= one.warm_at + interval '24 hours', false);
        one.warm_days := one.warm_days + day_passed::int;
        new_rate := lane_recovered(
            one.rate,
            lane_limit(one.ceiling, one.established, one.warm_days),
            one.ceiling,
            lane_seconds(at - one.rate_at)
        );
        if new_rate <> one.rate then
            one.rate := new_rate;
            one.rate_at := at;
            one.rate_cause := case when day_passed then 'warmed_up' else 'recovered' end;
        end if;
        if one.warm_at is null or day_passed then
            one.warm_at := at;
        end if;
        if slot > one.use_slot then
            one.uses := lane_uses_at(one.uses, least(slot - one.use_slot, 98)::int);
            one.use_slot := slot;
        end if;
        locked[place] := one;
        tolerance_s := lane_tolerance_s(one.ceiling, one.burst);
        start_s := greatest(0.0, lane_seconds(one.cool_until - at));
        if one.daily_cap is not null then
            lane_calls_left := one.daily_cap - (select sum(use) from unnest(one.uses) as use);
            calls_left := least(calls_left, lane_calls_left);
            if lane_calls_left <= 0 then
                start_s := greatest(start_s, (
                    select min(900.0 * (one.use_slot + ring.place) - extract(epoch from at))
                    from (
                        select u.place, sum(u.use) over (order by u.place) as freed
                        from unnest(one.uses) with ordinality as u (use, place)
                    ) as ring
                    where ring.freed + lane_calls_left > 0
                )::double precision);
            end if;
        end if;
        starts_s[place] := start_s;
        tolerances_s[place] := tolerance_s;
        intervals_s[place] := 60.0 / one.rate;
        tats_s[place] := least(lane_seconds(one.tat - at), 7.0 + tolerance_s + 60.0 / one.rate);
        kinds[place] := one.kind;
        epochs[place] := one.epoch;
        rates[place] := one.rate;
        grace_s := least(grace_s, lane_grace_s(one.ceiling, one.burst));
    end loop;

    delays_s := '{}';
    for number in 1..wanted loop
        at_s := null;
        for place in 1..cardinality(locked) loop
            at_s := greatest(at_s, starts_s[place], tats_s[place] - tolerances_s[place]);
        end loop;
        if at_s > horizon_s or number > calls_left then
            come_back_s := at_s;
            exit;
        end if;
        delays_s := delays_s || at_s;
        for place in 1..cardinality(locked) loop
            tats_s[place] := greatest(tats_s[place], at_s) + intervals_s[place];
        end loop;
    end loop;

    granted := cardinality(delays_s);
    if granted > 0 then
        for place in 1..cardinality(locked) loop
            one := locked[place];
            one.uses[98] := one.uses[98] + granted;
            update lane
            set tat = at + make_interval(secs => ceil(tats_s[place] * 1e6) / 1e6),
                rate = one.rate,
                rate_at = one.rate_at,
                rate_cause = one.rate_cause,
                warm_days = one.warm_days,
                warm_at = one.warm_at,
                use_slot = one.use_slot,
                uses = one.uses
            where owner = caller and kind = one.kind;
        end loop;
        -- Only what accounts call is shown by day.
        if left(caller, 5) <> 'host:' then
            insert into lane_day as d (owner, kind, day, calls)
            values (caller, call_kind, (at at time zone 'UTC')::date, granted)
            on conflict (owner, kind, day) do update set calls = d.calls + excluded.calls;
        end if;
    end if;
    return next;
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
