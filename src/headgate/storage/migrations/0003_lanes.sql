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
