-- What the engine needs beside its own tables: leases, dead letters, recurring work, the product clock.

-- Real time, for leases and lanes alone: the moment at which it is asked, also after a wait for a lock.
-- One function, so that a simulator can put its own in its place.
create function headgate_real_now() returns timestamptz
language sql volatile parallel safe
return clock_timestamp();

-- The fence of jobs that end with their effects: completes them, or fails the whole statement if another
-- worker owns one of them now. An update, not a delete: a delete makes the engine notify, and notifying commits one
-- after the other. The rows go with the next flush or sweep.
create function headgate_complete_jobs(job_ids bigint[], owners uuid[]) returns void
language plpgsql volatile as $$
declare
    completed int;
begin
    update pgqueuer as q
    set status = 'successful', queue_manager_id = null, slot = null, updated = headgate_real_now()
    from unnest(job_ids, owners) as ended (job_id, owner)
    where q.id = ended.job_id and q.queue_manager_id = ended.owner and q.status = 'picked';
    get diagnostics completed = row_count;
    if completed <> cardinality(job_ids) then
        raise exception 'another worker owns a job now' using errcode = 'HG001';
    end if;
end
$$;

-- Jobs that are waiting or under way. What is not the engine's own asks here, and not in its tables.
create view live_job as select dedupe_key from pgqueuer where status in ('queued', 'picked');

-- The kind of a job, wherever it runs: a suspect is at an entrypoint of its own.
create function headgate_job_kind(headers jsonb, entrypoint text) returns text
language sql immutable parallel safe
return coalesce(headers ->> 'kind', entrypoint);

-- For how long a job that could run has waited for a slot; empty if it runs, rests, or is not there.
create function headgate_job_wait_s(dedupe text) returns double precision
language plpgsql stable
as $$
begin
    return (
        select extract(epoch from headgate_real_now() - max(greatest(q.created, q.execute_after)))
        from pgqueuer q
        where q.dedupe_key = dedupe and q.status = 'queued' and q.execute_after <= headgate_real_now()
    );
end
$$;

create table lease (
    name text primary key,
    token uuid not null,
    holder text not null,
    expires_at timestamptz not null,
    -- For how long it is held at once, at most.
    span_s double precision not null default 60
);

-- What the clocks showed last, by which one that was set back is noticed.
create table clock_mark (
    single boolean primary key default true check (single),
    product_at timestamptz not null,
    real_at timestamptz not null
);

-- A stored time after its clock was set back: what lies ahead lies as far ahead as before, what is past stays.
create function headgate_moved(stored timestamptz, at timestamptz, step interval) returns timestamptz
language sql immutable parallel safe
return case when stored > at then greatest(at, stored - step) else stored end;

create table dead_letter (
    id uuid primary key,
    kind text not null,
    key text not null,
    error_class text not null,
    message text not null,
    stack text not null,
    attempts int not null,
    crashes int not null,
    first_tried_at timestamptz not null,
    died_at timestamptz not null,
    state text not null default 'open' check (state in ('open', 'replayed', 'discarded')),
    closed_at timestamptz,
    kept boolean not null default false
);

create index dead_letter_newest on dead_letter (died_at desc, id desc);
create unique index dead_letter_open on dead_letter (kind, key) where state = 'open';

create table cron (
    kind text not null,
    key text not null,
    schedule text not null,
    due_at timestamptz,
    wake_seq bigint not null default 0,
    primary key (kind, key)
);

create index cron_due on cron (due_at);

create table product_clock (
    single boolean primary key default true check (single),
    opened_at timestamptz not null,
    real_anchor timestamptz not null,
    product_anchor timestamptz not null,
    scale double precision not null check (scale > 0)
);


-- Who may come in, and how: users, sign-ins, API tokens, the first link, throttling; and secrets at rest.

create table app_user (
    id uuid primary key,
    name text not null,
    password_hash text not null,
    role text not null check (role in ('admin', 'member')),
    created_at timestamptz not null
);

create unique index app_user_name on app_user (lower(name));

-- Tokens are stored as SHA-256 only: a stolen backup signs nobody in.
create table user_session (
    id uuid primary key,
    user_id uuid not null references app_user (id) on delete cascade,
    token_hash bytea not null unique,
    user_agent text not null,
    address text not null,
    created_at timestamptz not null,
    last_seen_at timestamptz not null,
    expires_at timestamptz not null
);

create index user_session_user on user_session (user_id);
create index user_session_expires on user_session (expires_at);

create table api_token (
    id uuid primary key,
    user_id uuid not null references app_user (id) on delete cascade,
    name text not null,
    token_hash bytea not null unique,
    scopes text[] not null check (scopes <@ array['read', 'write', 'admin'] and scopes <> '{}'),
    created_at timestamptz not null,
    last_used_at timestamptz,
    expires_at timestamptz not null
);

create index api_token_user on api_token (user_id);

-- Browsers that signed in before; a stranger's wrong guesses at a user do not count against them.
create table known_browser (
    token_hash bytea primary key,
    user_id uuid not null references app_user (id) on delete cascade,
    seen_at timestamptz not null
);

create index known_browser_user on known_browser (user_id, seen_at);

-- The one-time link that makes the first administrator.
create table setup_link (
    token_hash bytea primary key,
    created_at timestamptz not null,
    expires_at timestamptz not null
);

-- One row a user, unknown name, address or known browser that people try to sign in with.
create table login_attempt (
    key text primary key,
    failures int not null,
    tried_at timestamptz not null,
    blocked_until timestamptz not null
);

create index login_attempt_tried on login_attempt (tried_at);

create table secret (
    owner text not null,
    name text not null,
    key_id text not null,
    ciphertext bytea not null,
    primary key (owner, name)
);


-- Lanes: the durable pace of one account's or host's calls of one kind.

create table lane (
    owner text not null,
    kind text not null,
    -- The lane of the same owner that this kind draws on as well.
    shared text,
    -- Its calls are counted by day, for people to see.
    by_day boolean not null default true,
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
        if one.by_day then
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

-- Logins under way, in real time. Answers and what the connector needs between two steps are in `secret`, sealed.
create table account_login (
    id uuid primary key,
    platform text not null,
    name text not null default '',
    established boolean not null default false,
    -- The account that signs in again, or the one that this login has signed in.
    account_id uuid references account on delete cascade,
    signed_in boolean not null default false,
    -- The platform is asked no sooner, however many clients poll.
    ask_at timestamptz not null,
    -- One process at a time takes a step; a crashed one holds the login no longer than this.
    claim uuid,
    claimed_until timestamptz not null,
    expires_at timestamptz not null
);

-- What connectors remember of accounts: a place in the platform's own stream of events, and the like.
create table account_memory (
    account_id uuid not null references account (id) on delete cascade,
    name text not null,
    value text not null,
    primary key (account_id, name)
);

-- The one process that may use an exclusive account. It has no expiry: whoever sees no renewal for some seconds, by a clock
-- that nobody can set, ends it.
create table account_hold (
    account_id uuid primary key references account (id) on delete cascade,
    token uuid not null,
    -- Machine and process, for people.
    holder text not null,
    renewals bigint not null default 0
);

-- Who holds an account, empty if nobody does or anyone may use it.
create function headgate_held_by(account uuid) returns text
language sql stable
return coalesce((select h.holder from account_hold h where h.account_id = account), '');

-- How many jobs wait for the process that holds an account.
create function headgate_jobs_awaiting_holder(account uuid) returns bigint
language sql stable
return (select count(*) from pgqueuer q where q.status = 'queued' and q.entrypoint like '%@' || account);

-- The process that a job waits for, because it holds the job's account; empty if it waits for none.
create function headgate_job_awaits(dedupe text) returns text
language sql stable
return coalesce((
    select h.holder from pgqueuer q join account_hold h on q.entrypoint like '%@' || h.account_id
    where q.dedupe_key = dedupe and q.status = 'queued'
), '');

-- Questions to accounts that another process holds: it answers by a job.
create table account_question (
    id uuid primary key,
    account_id uuid not null references account (id) on delete cascade,
    created_at timestamptz not null,
    answered boolean not null default false,
    -- What the account sees, or why that cannot be told.
    found jsonb not null default '[]',
    error_class text not null default '',
    error text not null default ''
);

create index account_question_account on account_question (account_id);

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


-- Channels and streams; what was read of them, seen in them and caught from them.

-- One row: what holds for every channel, and a version that rises with each change of any settings.
create table intake_settings (
    only_row boolean primary key default true check (only_row),
    settings jsonb not null default '{}',
    version bigint not null default 1
);

insert into intake_settings default values;

-- Keeps settings as they are until the transaction ends, or for changing them alone, and tells their version. The
-- version is read by a statement that begins after the wait: an earlier one would not see what was waited for.
create function headgate_lock_settings(for_change boolean) returns bigint language plpgsql as $$
begin
    if for_change then
        perform pg_advisory_xact_lock(7420004);
    else
        perform pg_advisory_xact_lock_shared(7420004);
    end if;
    return (select version from intake_settings);
end
$$;

create table channel (
    id uuid primary key,
    platform text not null,
    key text not null,
    -- Empty, or the account's id where positions are per account (the manifest says so).
    scope text not null default '',
    kind text not null check (kind in ('stream', 'listing', 'parent')),
    title text not null,
    parent_id uuid references channel (id) on delete set null,
    -- The channel that this one goes on from: a group that has moved.
    continues_id uuid references channel (id) on delete set null,
    message_scan_enabled boolean not null default true,
    settings jsonb not null default '{}',
    created_at timestamptz not null,
    -- Its reader does not see it any more; what was caught from it stays.
    gone_at timestamptz,
    unique (platform, key, scope)
);

create index channel_parent on channel (parent_id);

-- Title of the nearest switch that keeps a channel off, its own or that of anything above it; null if all are on.
create function headgate_switched_off(of_channel uuid) returns text language sql stable parallel safe
begin atomic
    with recursive line as (
        select c.parent_id, c.title, c.message_scan_enabled, 0 as height from channel c where c.id = of_channel
        union all
        select p.parent_id, p.title, p.message_scan_enabled, l.height + 1
        from line l join channel p on p.id = l.parent_id where l.height < 8
    )
    select title from line where not message_scan_enabled order by height limit 1;
end;

create table topic (
    channel_id uuid not null references channel (id) on delete cascade,
    key text not null,
    title text not null,
    message_scan_enabled boolean not null default true,
    settings jsonb not null default '{}',
    created_at timestamptz not null,
    -- The platform does not list it any more; what was caught from it stays.
    gone_at timestamptz,
    primary key (channel_id, key)
);

create table watch (
    channel_id uuid not null references channel (id) on delete cascade,
    account_id uuid not null references account (id) on delete cascade,
    -- Closed without `open_until`, open until then, half open afterwards: one probe decides.
    failures int not null default 0,
    opened int not null default 0,
    open_until timestamptz,
    error_class text not null default '',
    error_message text not null default '',
    failed_at timestamptz,
    created_at timestamptz not null,
    primary key (channel_id, account_id)
);

create index watch_account on watch (account_id);

create table stream (
    channel_id uuid primary key references channel (id) on delete cascade,
    -- The watch that reads; the channel's others stand by.
    reader_id uuid references account (id) on delete set null,
    floor bigint not null default 0,
    -- Only a page was read so far because a person asked for no more: where the floor goes back to when one asks for more.
    sampled_floor bigint,
    head bigint,
    head_checked_at timestamptz,
    -- Where positions are allotted: the newest message that a head check told of.
    head_key text not null default '',
    -- When the newest message came: older than the window for edits, and nothing can have been edited.
    head_at timestamptz,
    -- Raised when a person wants everything read again: pages asked for before prove nothing any more.
    epoch int not null default 1,
    -- What is asked for; what a wider lens has covered is covered.
    lenses text[] not null default '{everything}',
    -- Until then the newest messages are too young to be proven, and reading them again would prove nothing.
    tip_from bigint,
    tip_after timestamptz,

    -- When to look; empty while a scan is under way, and for a channel that is switched off.
    due_at timestamptz,
    -- When that was decided, by which a clock that was set back is noticed.
    planned_at timestamptz,
    reason text not null default 'never_scanned',
    wake_seq bigint not null default 0,
    -- Something was heard of it since the last look.
    woken boolean not null default false,
    tier text not null default 'WARM' check (tier in ('HOT', 'WARM', 'COLD')),
    tier_pinned boolean not null default false,
    -- Messages an hour, the older the lighter.
    arrival_rate double precision not null default 0,
    rated_at timestamptz,
    idle_scans int not null default 0,
    -- How long hints are gathered before one reading verifies them; grows while nothing was missed.
    verify_s double precision not null default 0,
    idle_at timestamptz,
    scanned_at timestamptz,

    message_count bigint not null default 0,
    total_messages_scanned bigint not null default 0,
    head_checks bigint not null default 0,
    reads bigint not null default 0,
    reads_saved bigint not null default 0
);

create index stream_due on stream (reader_id, due_at);
create index stream_planned on stream (planned_at);

create table coverage (
    channel_id uuid not null references stream (channel_id) on delete cascade,
    lens text not null check (lens in ('documents', 'photos', 'everything')),
    ranges int8multirange not null default '{}',
    -- What was covered before a person reset it: it is read again, and its messages are not counted again.
    past_ranges int8multirange not null default '{}',
    primary key (channel_id, lens)
);

-- What is known of a hole beyond its being one: that reading it failed, and when to try again.
create table hole (
    channel_id uuid not null references stream (channel_id) on delete cascade,
    lens text not null,
    span int8range not null,
    attempts int not null,
    next_try_at timestamptz not null,
    error_class text not null,
    error_message text not null,
    failed_at timestamptz not null,
    primary key (channel_id, lens, span)
);

-- Where a platform's own bookmark leads on below a position.
create table bookmark (
    channel_id uuid not null references stream (channel_id) on delete cascade,
    lens text not null,
    position bigint not null,
    bookmark text not null,
    primary key (channel_id, lens, position)
);

-- Where messages of platforms without usable numbers stand in their streams: allotted on arrival, and kept.
create table placed_message (
    channel_id uuid not null references stream (channel_id) on delete cascade,
    key text not null,
    position bigint not null,
    primary key (channel_id, key)
);

-- Each reading of a stream: while under way the work itself, afterwards its history.
create table scan (
    id uuid primary key,
    channel_id uuid not null references stream (channel_id) on delete cascade,
    account_id uuid references account (id) on delete set null,
    trigger text not null check (trigger in ('schedule', 'person', 'reset')),
    reason text not null,
    direction text not null default 'both' check (direction in ('both', 'forward', 'backward')),
    page_limit int not null default 100 check (page_limit > 0),
    auto_continue boolean not null default true,
    status text not null default 'QUEUED'
        check (status in ('QUEUED', 'RUNNING', 'SUCCEEDED', 'CANCELLED', 'FAILED')),
    error_message text not null default '',
    -- When its next page is due; empty when it has ended, and while a dead letter holds it.
    due_at timestamptz,
    -- The end of what it reads, known when it began: what comes later is the next one's.
    bound bigint,
    -- When it last waited for a fresh head, in the middle of a long reading.
    head_asked_at timestamptz,
    ranges int8multirange not null default '{}',
    pages int not null default 0,
    messages int not null default 0,
    items int not null default 0,
    head_calls int not null default 0,
    read_calls int not null default 0,
    queued_at timestamptz not null,
    started_at timestamptz,
    ended_at timestamptz
);

create unique index scan_active on scan (channel_id) where status in ('QUEUED', 'RUNNING');
create index scan_due on scan (due_at) where status in ('QUEUED', 'RUNNING');
create index scan_history on scan (channel_id, queued_at desc, id desc);
create index scan_ended on scan (ended_at) where ended_at is not null;

-- Why a stream was read or a listing polled, or not: decisions that repeat are one row.
create table decision (
    channel_id uuid not null references channel (id) on delete cascade,
    number int not null,
    reason text not null,
    first_at timestamptz not null,
    last_at timestamptz not null,
    times bigint not null default 1,
    primary key (channel_id, number)
);

-- What is there to read through a lens: [floor, bound) minus what it or a wider one has covered.
create function headgate_uncovered(of_channel uuid, of_lens text, floor bigint, bound bigint)
returns int8multirange language sql stable parallel safe
begin atomic
    select int8multirange(int8range(floor, greatest(floor, bound)))
        - coalesce((select v.ranges from coverage v where v.channel_id = of_channel and v.lens = of_lens), '{}')
        - coalesce((select v.ranges from coverage v where v.channel_id = of_channel and v.lens = 'everything'), '{}');
end;

-- Whether a stream belongs into the schedule: it and all that it is in are on, and no scan is at it. A scan that waits
-- for its head waits for the schedule.
create function headgate_may_be_due(of_channel uuid) returns boolean language sql stable parallel safe
begin atomic
    with recursive above as (
        select c.parent_id, c.message_scan_enabled from channel c where c.id = of_channel
        union all
        select c.parent_id, c.message_scan_enabled from channel c join above a on c.id = a.parent_id
    )
    select (select bool_and(message_scan_enabled) from above) and not exists (
        select from scan n
        where n.channel_id = of_channel and n.status in ('QUEUED', 'RUNNING') and n.bound is not null);
end;

-- Whether a stream has something to read below its head that does not wait for another try.
create function headgate_behind(of_channel uuid, lenses text[], floor bigint, head bigint, at timestamptz)
returns boolean language sql stable parallel safe
return coalesce(head >= floor, false) and exists (
    select from unnest(lenses) as wanted (lens)
    where not isempty(
        headgate_uncovered(of_channel, wanted.lens, floor, head + 1)
        - coalesce((select range_agg(h.span) from hole h where h.channel_id = of_channel
                    and h.lens = wanted.lens and h.next_try_at > at), '{}'))
);

-- Items that are shown as one: an album, what a person put together, or what a rule found to belong together. One that was
-- dissolved stays as a row, so that automation does not make it again, and so that dissolving can be undone.
create table item_group (
    id uuid primary key,
    kind text not null check (kind in ('album', 'hand', 'rule')),
    -- Of an album, or of what a rule found in one channel.
    channel_id uuid references channel (id) on delete set null,
    -- What its members share: the album's name on the platform, or what the rule found; empty for a group made by hand.
    source_key text not null default '',
    rule_id uuid,
    name text not null,
    -- The name as it is sorted: `domain/library/name_keys.py`.
    name_key text collate "C" not null,
    name_by text not null default 'automatic' check (name_by in ('automatic', 'person')),
    created_at timestamptz not null,
    dissolved_at timestamptz,
    -- What it had when it was dissolved, for whoever undoes that.
    dissolved_items uuid[] not null default '{}'
);

create unique index item_group_album on item_group (channel_id, source_key) where kind = 'album';

create unique index item_group_rule on item_group (rule_id, channel_id, source_key) where kind = 'rule';

create table item (
    id uuid primary key,
    channel_id uuid not null references channel (id) on delete cascade,
    -- The platform's name of the content, or the message and attachment where it has none.
    content_key text not null,
    kind text not null check (kind in ('package', 'clip', 'picture', 'file', 'link', 'post')),
    -- What its file is, by its ending: zip, stl, mp4.
    type text not null default '',
    title text not null,
    -- The title as it is sorted: `domain/library/name_keys.py`.
    name_key text collate "C" not null default '',
    size_bytes bigint not null,
    sent_at timestamptz not null,
    caught_at timestamptz not null,
    hidden boolean not null default false,
    -- A person removed it for ever. The row stays, so that the same content does not come back.
    removed_at timestamptz,
    -- The SHA-256 of all that it consists of, while all of that is stored: items that share it are copies.
    content_hash bytea,
    group_id uuid references item_group (id) on delete set null,
    grouped_by text not null default '' check (grouped_by in ('', 'album', 'person', 'rule')),
    check ((group_id is null) = (grouped_by = '')),
    unique (channel_id, content_key)
);

create index item_shown on item (caught_at desc, id desc) where not hidden;

create index item_content on item (content_hash) where content_hash is not null;

create index item_group_member on item (group_id) where group_id is not null;

-- A person took this item out of this group: automation does not put it back.
create table group_exclusion (
    item_id uuid not null references item (id) on delete cascade,
    group_id uuid not null references item_group (id) on delete cascade,
    primary key (item_id, group_id)
);

create index group_exclusion_group on group_exclusion (group_id);

-- Rules that group items; off until a person switches them on.
create table group_rule (
    id uuid primary key,
    name text not null unique,
    kind text not null check (kind in ('title', 'replies')),
    -- What titles share, for rules by creator and title.
    pattern text not null default '',
    enabled boolean not null default false,
    created_at timestamptz not null,
    -- What a job does with what is there: apply the rule to items, or dissolve its groups; empty when it is done.
    sweep text not null default '' check (sweep in ('', 'apply', 'dissolve')),
    -- The item or group that the last batch ended with.
    sweep_after uuid,
    -- Raised by each switch, so that a batch under way does not count for it.
    wake_seq bigint not null default 1
);

-- What a rule by creator and title found in an item, whether or not it is in a group: members find each other by it.
create table group_candidate (
    rule_id uuid not null references group_rule (id) on delete cascade,
    item_id uuid not null references item (id) on delete cascade,
    channel_id uuid not null references channel (id) on delete cascade,
    source_key text not null,
    name text not null,
    primary key (item_id, rule_id)
);

create index group_candidate_key on group_candidate (rule_id, channel_id, source_key);
create index group_candidate_channel on group_candidate (channel_id);

-- What was said with a file or link. Messages that hold neither are only counted.
create table message (
    channel_id uuid not null references channel (id) on delete cascade,
    key text not null,
    position bigint not null,
    topic text not null default '',
    -- Messages that were posted as one; empty for a message alone.
    album text not null default '',
    -- Who an author is on the platform, whatever they call themselves; the name where the platform has no key.
    author_key text not null default '',
    author text not null default '',
    from_bot boolean not null default false,
    from_webhook boolean not null default false,
    text text not null default '',
    -- The message of the same channel that it answers; empty for most.
    reply_to text not null default '',
    sent_at timestamptz not null,
    -- When the message got the form in which it was seen: an older form never replaces a newer one.
    version_at timestamptz not null,
    seen_at timestamptz not null,
    primary key (channel_id, key)
);

create index message_album on message (channel_id, album) where album <> '';
create index message_reply on message (channel_id, reply_to) where reply_to <> '';

-- The first message of a chain of replies; one that is not stored can be the first, too. A step at a time by the key, which costs
-- the same however much is in the channel.
create function headgate_reply_root(of_channel uuid, of_key text) returns text language sql stable parallel safe
begin atomic
    with recursive above as (
        select of_key as key, 0 as steps
        union all
        select answered.reply_to, a.steps + 1 from above a
        cross join lateral (
            select m.reply_to from message m where m.channel_id = of_channel and m.key = a.key and m.reply_to <> '' offset 0
        ) as answered
        where a.steps < 1000
    )
    select key from above order by steps desc limit 1;
end;

-- All keys of a chain of replies from its first message on, at most 1,000.
create function headgate_reply_chain(of_channel uuid, root text) returns table (key text)
language sql stable parallel safe rows 10
begin atomic
    with recursive chain as (
        select root as key
        union
        select answer.key from chain c
        cross join lateral (
            select m.key from message m where m.channel_id = of_channel and m.reply_to = c.key and m.reply_to <> ''
            order by m.reply_to limit 1000
        ) as answer
    )
    select c.key from chain c limit 1000;
end;

create table sighting (
    id uuid primary key,
    channel_id uuid not null references channel (id) on delete cascade,
    message_key text not null,
    -- The attachment's own key, or `link:` and its number; empty for a message that cannot be parsed.
    attachment_key text not null,
    position bigint not null,
    topic text not null default '',
    -- Empty for files.
    url text not null default '',
    file_name text not null,
    size_bytes bigint not null,
    mime_type text not null,
    -- What the platform calls the content itself, equal for reposts; empty where it has no name.
    content_id text not null default '',
    sent_at timestamptz not null,
    -- As of its message.
    version_at timestamptz not null,
    seen_at timestamptz not null,
    -- 'kept', or the reason why not; and under which settings it was judged.
    verdict text not null,
    settings_hash text not null default '',
    -- Of a post: all that the feed said of it, as a number; an entry with the same mark is not looked at again.
    mark bigint,
    deleted_at timestamptz,
    -- Its message counts as read, by a lens that sees only some messages of the range that it covers.
    counted boolean not null default false,
    -- Making an item of it failed; the miss says how, and when it is tried again.
    missed boolean not null default false,
    item_id uuid references item (id) on delete set null,
    -- Of a file that may be a volume: what all volumes of its set share, `<family>/<folded base>`; else empty.
    volume_key text not null default '',
    -- As of its message; what two authors post under one name are two sets.
    author_key text not null default '',
    -- Its verdict and item are decided with all volumes of its name.
    assembled boolean not null default false,
    -- What its first and last bytes say: one volume of several, or a whole archive.
    evidence text not null default 'none' check (evidence in ('none', 'volume', 'whole')),
    unique (channel_id, message_key, attachment_key)
);

create index sighting_waiting on sighting (channel_id, id)
    where verdict = 'kept' and item_id is null and not missed and not assembled;
create index sighting_volume on sighting (channel_id, volume_key, author_key, position) where volume_key <> '';
create index sighting_item on sighting (item_id);
create index sighting_position on sighting (channel_id, position);
create index sighting_judged on sighting (channel_id, topic, settings_hash);

-- A name under which an author posts volumes in a channel. All of them are assembled into sets together.
create table volume_bucket (
    channel_id uuid not null references channel (id) on delete cascade,
    volume_key text not null,
    author_key text not null,
    -- When something changed, or when time alone will complete a set or make it a problem; null: never.
    due_at timestamptz,
    -- Between which positions something changed; null: nowhere.
    changed_from bigint,
    changed_to bigint,
    primary key (channel_id, volume_key, author_key)
);

create index volume_bucket_due on volume_bucket (channel_id, due_at) where due_at is not null;

-- What is known of an item that has several volumes.
create table item_set (
    item_id uuid primary key references item (id) on delete cascade,
    state text not null check (state in ('proven', 'assumed', 'waiting', 'impossible')),
    reason text not null,
    present int not null,
    -- Null while nobody knows how many there are.
    total int,
    missing_count int not null,
    -- The first of the missing ones, by name.
    missing text[] not null,
    -- It waits for more than time; a person can retry, join by hand or dismiss.
    problem boolean not null,
    dismissed_at timestamptz,
    -- When its newest volume was read.
    arrived_at timestamptz not null,
    -- Those who follow it were told that it is complete.
    told boolean not null default false
);

create index item_set_problem on item_set (item_id) where problem and dismissed_at is null;

-- Items that became parts of sets: their addresses lead on.
create table item_alias (
    old_id uuid primary key,
    item_id uuid not null references item (id) on delete cascade
);

create index item_alias_item on item_alias (item_id);

-- A person's word on a volume: it belongs to this item, or to none.
create table volume_choice (
    sighting_id uuid primary key references sighting (id) on delete cascade,
    item_id uuid references item (id) on delete cascade,
    -- With which volumes it is assembled, whatever its own name says.
    volume_key text not null,
    author_key text not null
);

create index volume_choice_item on volume_choice (item_id) where item_id is not null;
create index volume_choice_bucket on volume_choice (volume_key, author_key);

-- Channels whose settings changed: their sightings are judged again, and their lenses follow.
create table judging (
    channel_id uuid primary key references channel (id) on delete cascade,
    due_at timestamptz,
    wake_seq bigint not null default 0,
    asked_at timestamptz not null,
    judged bigint not null default 0,
    changed bigint not null default 0
);

create index judging_due on judging (due_at);

-- Creators and tags of items: what rules read in messages, and what people said.

-- One row: a version that rises with each change of a rule.
create table label_ruleset (
    only_row boolean primary key default true check (only_row),
    version bigint not null default 1
);

insert into label_ruleset default values;

create table label_rule (
    id uuid primary key,
    -- Earlier rules go first.
    position int not null unique deferrable,
    name text not null unique deferrable,
    field text not null check (field in ('topic', 'caption', 'hashtag', 'file_name')),
    kind text not null check (kind in ('creator', 'tag')),
    normalisation text not null check (normalisation in ('as_written', 'spaced', 'lower')),
    pattern text not null,
    enabled boolean not null default true
);

-- The rules that a new instance starts with; a test compares them with the code.
insert into label_rule (id, position, name, field, kind, normalisation, pattern) values
    (gen_random_uuid(), 1, 'Hashtags', 'hashtag', 'tag', 'lower',
     '^(.+)$'),
    (gen_random_uuid(), 2, 'Creator line', 'caption', 'creator', 'spaced',
     '(?m)^\W*(?:creator|artist|designer|sculptor|author|studio|maker)\s*[:：–-]\s*(?P<label>[\pL\pN@][\pL\pN&''’._ -]{1,40})\W*$'),
    (gen_random_uuid(), 3, 'Made by', 'caption', 'creator', 'spaced',
     '(?m)\b(?:made|designed|sculpted|modelled|modeled|created)\s+by\s+(?P<label>[\pL\pN@][\pL\pN&''’._ -]{1,40})(?:[\n,.;(|!]|$)'),
    (gen_random_uuid(), 4, 'By, at the end of a line', 'caption', 'creator', 'spaced',
     '(?m)(?:^|[^\pL\pN])by\s+(?P<label>(?-i:\p{Lu})[\pL\pN&''’._ -]{1,40})\)?\s*$'),
    (gen_random_uuid(), 5, 'Shop link', 'caption', 'creator', 'spaced',
     '(?:patreon\.com/(?:c/)?|ko-fi\.com/|gumroad\.com/|printables\.com/@|makerworld\.com/(?:[a-z]{2}/)?@|cults3d\.com/(?:[a-z]{2}/)?users/|myminifactory\.com/users/|tribes\.[a-z]+\.com/)(?P<label>[\w-]{2,40})'),
    (gen_random_uuid(), 6, '[Creator] title', 'file_name', 'creator', 'spaced',
     '^\s*\[(?P<label>[^\]\[]{2,60})\]\s*\S'),
    (gen_random_uuid(), 7, 'Creator Patreon, in file names', 'file_name', 'creator', 'spaced',
     '^(?P<label>[\pL\pN&''’. ]{2,40}?)[ (\[–-]+patreon\b'),
    (gen_random_uuid(), 8, 'Creator - title', 'file_name', 'creator', 'spaced',
     '^(?P<label>[\pL\pN&''’.][\pL\pN&''’. ]{1,40}?)\s+-\s+\S'),
    (gen_random_uuid(), 9, 'By, in file names', 'file_name', 'creator', 'spaced',
     '\bby\s+(?P<label>(?-i:\p{Lu})[\pL\pN&''’._ -]{1,40})$'),
    (gen_random_uuid(), 10, 'Topic', 'topic', 'creator', 'as_written',
     '^(.+)$');

-- What rules read and what people said stand side by side, so that neither overwrites the other.
create table item_label (
    item_id uuid not null references item (id) on delete cascade,
    kind text not null check (kind in ('creator', 'tag')),
    source text not null check (source in ('rule', 'person')),
    -- Equal for names that differ in case, blanks, hyphens and underscores alone.
    key text not null,
    name text not null,
    -- The rule that read it; empty for people.
    rule text not null default '',
    -- A person said that the item does not have it. Of a creator: that it has none; key and name are empty.
    removed boolean not null default false,
    said_at timestamptz,
    primary key (item_id, kind, source, key),
    check ((source = 'person') = (said_at is not null)),
    check (source = 'person' or not removed)
);

create index item_label_key on item_label (kind, key, item_id);

-- Under which version of the rules an item was labelled.
create table labelled_item (
    item_id uuid primary key references item (id) on delete cascade,
    rules_version bigint not null
);

-- Names that people changed: what is read as `key` counts and is shown as `name`. Items keep what was read.
create table label_name (
    kind text not null check (kind in ('creator', 'tag')),
    key text not null,
    shown_key text not null,
    name text not null,
    primary key (kind, key)
);

create index label_name_shown on label_name (kind, shown_key);

-- Messages and items whose labels may be out of date: one row for each batch that is stored, not for each item.
create table label_queue (
    channel_id uuid not null references channel (id) on delete cascade,
    id bigint generated always as identity,
    message_keys text[] not null default '{}',
    item_ids uuid[] not null default '{}',
    primary key (channel_id, id)
);

-- Channels whose items are all labelled again, in the order of their content keys.
create table label_sweep (
    channel_id uuid primary key references channel (id) on delete cascade,
    -- Where the last batch ended.
    after text not null default '',
    -- Raised by each wish, so that a batch under way does not count for it.
    wake_seq bigint not null default 1
);

-- A sighting or message that failed after it was read; retried alone, by its key.
create table miss (
    id uuid primary key,
    channel_id uuid not null references channel (id) on delete cascade,
    message_key text not null,
    attachment_key text not null default '',
    -- 'read': the message cannot be parsed; 'ingest': no item could be made of it; 'entry': an entry of a listing
    -- cannot be understood, and is looked at again whenever the listing is.
    stage text not null check (stage in ('read', 'ingest', 'entry')),
    error_class text not null,
    error_message text not null,
    attempts int not null default 1,
    -- When it is tried again; empty when it was abandoned, and while a dead letter holds it.
    due_at timestamptz,
    wake_seq bigint not null default 0,
    state text not null default 'open' check (state in ('open', 'abandoned')),
    first_at timestamptz not null,
    last_at timestamptz not null,
    unique (channel_id, message_key, attachment_key)
);

create index miss_due on miss (due_at);
create index miss_open on miss (channel_id) where state = 'open';

-- A wish to look at one message again; cleared only by a fetch that began after it.
create table recheck (
    channel_id uuid not null references channel (id) on delete cascade,
    message_key text not null,
    seq bigint not null default 1,
    reason text not null,
    attempts int not null default 0,
    due_at timestamptz,
    asked_at timestamptz not null,
    primary key (channel_id, message_key)
);

create index recheck_due on recheck (due_at);

-- Edits of a stream that nobody may have heard of: its recent messages are read again, page by page.
create table reread (
    channel_id uuid primary key references channel (id) on delete cascade,
    -- Edits before this are known.
    unheard_since timestamptz not null,
    -- Empty while a listener hears every edit.
    due_at timestamptz,
    -- Raised by every new gap, so that a reading under way does not count for it.
    seq bigint not null default 1,
    attempts int not null default 0,
    -- A reading under way: when it began, below which position, which lenses are left, and how far down the first of them is.
    began_at timestamptz,
    bound bigint,
    lenses text[] not null default '{}',
    below bigint
);

create index reread_due on reread (due_at);

-- Whether a stream can be read again now: it is switched on, and its reader's breaker is closed.
create function headgate_rereadable(of_channel uuid, by_account uuid, now timestamptz) returns boolean
language sql stable parallel safe
return headgate_switched_off(of_channel) is null
    and not exists (select from watch w where w.channel_id = of_channel and w.account_id = by_account and w.open_until > now);


-- Outflow: where messages can go, what is to be sent and when, and what became of each message.

-- A group or person that accounts can write to.
create table target (
    id uuid primary key,
    platform text not null,
    key text not null,
    title text not null,
    created_at timestamptz not null,
    unique (platform, key)
);

create index target_title on target (lower(title), id);

-- Which accounts can write there, as they last said.
create table target_account (
    account_id uuid not null references account (id) on delete cascade,
    target_id uuid not null references target (id) on delete cascade,
    seen_at timestamptz not null,
    gone_at timestamptz,
    primary key (account_id, target_id)
);

create index target_account_target on target_account (target_id);

-- Targets that a person keeps together under a name.
create table target_list (
    id uuid primary key,
    name text not null,
    created_at timestamptz not null
);

create unique index target_list_name on target_list (lower(name));

create table target_list_member (
    list_id uuid not null references target_list (id) on delete cascade,
    target_id uuid not null references target (id) on delete cascade,
    place int not null,
    primary key (list_id, target_id)
);

create index target_list_member_target on target_list_member (target_id);

-- Pictures and files to be sent; equal ones are one. What people add for reminders is kept here. Of things of the library only
-- the place is noted: a blob, or a piece of one that is too large for the platform.
create table media (
    id uuid primary key,
    name text not null,
    mime_type text not null,
    size_bytes bigint not null,
    -- Of the content, or of the whole blob that it is a piece of.
    sha256 bytea not null,
    content bytea,
    -- Not a foreign key: what is about to be sent does not keep the files that a person gives up.
    blob_id uuid,
    offset_bytes bigint not null default 0,
    created_at timestamptz not null,
    unique (sha256, name, mime_type, offset_bytes, size_bytes),
    check (content is not null or blob_id is not null)
);

alter table media alter content set storage external;

-- What an account has uploaded, to be sent many times until it lapses.
create table upload (
    account_id uuid not null references account (id) on delete cascade,
    media_id uuid not null references media (id) on delete cascade,
    handle text not null,
    uploaded_at timestamptz not null,
    expires_at timestamptz,
    primary key (account_id, media_id)
);

create index upload_media on upload (media_id);

create table reminder (
    id uuid primary key,
    title text not null,
    account_id uuid references account (id) on delete set null,
    zone text not null,
    -- Wall time in the zone, or a cron expression; one of them.
    once_at timestamp,
    cron text not null default '',
    window_start int not null default 360 check (window_start between 0 and 1439),
    window_end int not null default 1080 check (window_end between 1 and 1440),
    at_close text not null default 'stop' check (at_close in ('stop', 'carry')),
    state text not null default 'active' check (state in ('active', 'paused', 'archived')),
    -- Fires up to then have been dealt with.
    fired_until timestamptz not null,
    -- The next fire; empty while it is paused, and when there is none.
    due_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    check ((once_at is null) <> (cron = '')),
    check (window_start <> window_end)
);

create index reminder_due on reminder (due_at);
create index reminder_newest on reminder (created_at desc, id desc);
create index reminder_account on reminder (account_id);

create table reminder_part (
    reminder_id uuid not null references reminder (id) on delete cascade,
    number int not null,
    text text not null default '',
    media_id uuid references media (id),
    primary key (reminder_id, number),
    check (text <> '' or media_id is not null)
);

create index reminder_part_media on reminder_part (media_id);

create table reminder_target (
    reminder_id uuid not null references reminder (id) on delete cascade,
    target_id uuid not null references target (id) on delete cascade,
    place int not null,
    primary key (reminder_id, target_id)
);

create index reminder_target_target on reminder_target (target_id);

create table reminder_list (
    reminder_id uuid not null references reminder (id) on delete cascade,
    list_id uuid not null references target_list (id) on delete cascade,
    primary key (reminder_id, list_id)
);

create index reminder_list_list on reminder_list (list_id);

-- How many groups a reminder sends to: those chosen one by one and those of its lists, each once.
create function headgate_count_groups(of_reminder uuid) returns int language sql stable
return (
    select count(*)::int from (
        select t.target_id from reminder_target t where t.reminder_id = of_reminder
        union
        select m.target_id from reminder_list l join target_list_member m on m.list_id = l.list_id
        where l.reminder_id = of_reminder
    ) as u
);

-- When a reminder last reached a target: who waited longest comes first the next time. Neither is checked: runs that
-- end at once would wait for each other at the groups that they share, a check takes as long as the row itself, and a
-- row too many does no harm.
create table reminder_reach (
    reminder_id uuid not null,
    target_id uuid not null,
    sent_at timestamptz not null,
    primary key (reminder_id, target_id)
);

create function reminder_gone() returns trigger language plpgsql as $$
begin
    delete from reminder_reach r using gone g where r.reminder_id = g.id;
    return null;
end
$$;

create trigger reminder_gone after delete on reminder
referencing old table as gone
for each statement execute function reminder_gone();

-- One firing: what is to be sent, as it was when it began, and what came of it.
create table run (
    id uuid primary key,
    reminder_id uuid references reminder (id) on delete cascade,
    -- The run whose remainder this one sends.
    remainder_of uuid references run (id) on delete set null,
    account_id uuid references account (id) on delete set null,
    account_name text not null,
    trigger text not null check (trigger in ('schedule', 'person', 'test', 'remainder', 'library')),
    title text not null,
    fire_at timestamptz not null,
    zone text not null,
    window_start int not null,
    window_end int not null,
    at_close text not null check (at_close in ('stop', 'carry')),
    state text not null default 'waiting'
        check (state in ('waiting', 'running', 'paused', 'success', 'partial', 'failed', 'cancelled', 'missed')),
    -- Why it waits or is paused.
    reason text not null default '',
    paused_by text check (paused_by in ('person', 'account')),
    -- The stretch of its window that is open or comes next; without an end for the whole day.
    opens_at timestamptz not null,
    closes_at timestamptz,
    -- When the account's sender must look at it; empty when there is nothing to do, and while a dead letter holds it.
    due_at timestamptz,
    -- When it last had its turn: runs of one account take turns.
    served_at timestamptz,
    priority int not null default 0,
    carried int not null default 0,
    -- Fires of its reminder that came while it was under way, and got no run of their own.
    joined int not null default 0,
    limit_signals int not null default 0,
    total int not null default 0,
    summary text not null default '',
    created_at timestamptz not null,
    started_at timestamptz,
    ended_at timestamptz
);

create unique index run_fire on run (reminder_id, fire_at) where trigger = 'schedule';
create index run_due on run (due_at);
create index run_active on run (account_id) where state in ('waiting', 'running', 'paused');
create index run_sender on run (account_id) where due_at is not null;
create index run_history on run (reminder_id, created_at desc, id desc);
create index run_newest on run (created_at desc, id desc);
create index run_remainder on run (remainder_of);
-- Things of the library share one turn, however many are sent.
create index run_library on run (account_id, served_at) where trigger = 'library';

create table run_part (
    run_id uuid not null references run (id) on delete cascade,
    number int not null,
    text text not null,
    media_id uuid references media (id),
    -- The message that is sent on by reference, as the platform names its stream and it; else empty.
    forward_stream text not null default '',
    forward_key text not null default '',
    -- Of a thing of the library: the volumes that this message holds, or holds a piece of.
    volumes int[] not null default '{}',
    primary key (run_id, number)
);

create index run_part_media on run_part (media_id);

-- One target's share of a run.
create table delivery (
    run_id uuid not null references run (id) on delete cascade,
    number int not null,
    target_id uuid references target (id) on delete set null,
    target_key text not null,
    target_title text not null,
    state text not null default 'pending'
        check (state in ('pending', 'sending', 'sent', 'failed', 'skipped', 'uncertain')),
    skip_reason text check (skip_reason in ('window_closed', 'cancelled', 'passed_on')),
    error text not null default '',
    started_at timestamptz,
    ended_at timestamptz,
    -- How long the platform took for its messages.
    latency_ms int,
    primary key (run_id, number),
    check (skip_reason is null or state = 'skipped')
) with (fillfactor = 60);

-- None by state, here and below: states change with every message, and without it such a change touches no index.
create index delivery_target on delivery (target_id);

-- One message of a delivery. The times of sending are real: they say how long a call may still be under way.
create table part (
    run_id uuid not null,
    delivery int not null,
    number int not null,
    account_id uuid,
    state text not null default 'planned' check (state in ('planned', 'sending', 'sent', 'failed', 'uncertain')),
    -- The same at every try, so that a platform that knows it sends nothing twice.
    key text not null,
    token uuid,
    sending_at timestamptz,
    -- Since when it is not known whether a try has sent it; a definite answer to a first try ends that.
    doubtful_since timestamptz,
    attempts int not null default 0,
    retry_at timestamptz,
    sent_at timestamptz,
    took_ms int,
    message_key text not null default '',
    error text not null default '',
    primary key (run_id, delivery, number),
    foreign key (run_id, delivery) references delivery (run_id, number) on delete cascade
) with (fillfactor = 50);

-- What an account's sender knows of itself.
create table sender (
    account_id uuid primary key references account (id) on delete cascade,
    -- Groups at once; empty for the deployment's number.
    group_concurrency int check (group_concurrency between 1 and 10),
    -- From when to when nothing but the pace kept it from sending more.
    saturated_since timestamptz,
    saturated_until timestamptz,
    -- Raised with every change of its pace: a sender that was told to wait before it does not go to rest after it.
    pace_seq bigint not null default 0
);

-- Rules that send things of the library on by themselves; off until a person switches them on.
create table send_rule (
    id uuid primary key,
    name text not null unique,
    -- Which things, as filters in the address of the library.
    query text not null,
    target_id uuid not null references target (id) on delete cascade,
    -- The account that sends; empty: any that can.
    account_id uuid references account (id) on delete set null,
    user_id uuid references app_user (id) on delete set null,
    enabled boolean not null default false,
    -- Things that were caught before are left alone, unless a person asked for them.
    enabled_at timestamptz,
    backfill boolean not null default false,
    -- A job goes through what is there; the item that its last batch ended with.
    sweeping boolean not null default false,
    sweep_after uuid,
    due_at timestamptz,
    wake_seq bigint not null default 1,
    created_at timestamptz not null,
    check ((due_at is not null) = sweeping)
);

create index send_rule_target on send_rule (target_id);
create index send_rule_account on send_rule (account_id);
create index send_rule_user on send_rule (user_id);

-- Items that are new or have changed while a rule is on: one row for each transaction.
create table send_rule_queue (
    id bigint generated always as identity primary key,
    item_ids uuid[] not null
);

-- A thing of the library that is to be sent on to a target. While it waits for its files it has a due time; then a run sends it,
-- and the end of that run is its end. An uncertain one stays open until a person decides.
create table send_request (
    id uuid primary key,
    item_id uuid not null references item (id) on delete cascade,
    target_id uuid not null references target (id) on delete cascade,
    account_id uuid references account (id) on delete set null,
    account_name text not null,
    user_id uuid references app_user (id) on delete set null,
    -- The rule that asked for it; empty: a person.
    rule_id uuid references send_rule (id) on delete set null,
    state text not null default 'waiting'
        check (state in ('waiting', 'queued', 'sent', 'failed', 'uncertain', 'cancelled')),
    -- Whether what a rule sent was found in its target afterwards; empty where that is not looked for.
    verification text not null default '' check (verification in ('', 'due', 'found', 'missing')),
    verify_at timestamptz,
    verify_tries int not null default 0,
    -- How it is sent; empty until that is decided.
    way text not null default '' check (way in ('', 'forward', 'upload', 'text')),
    -- Sending it by reference was refused: the rest of it is uploaded.
    forward_refused boolean not null default false,
    -- Why it waits, or why it was not sent.
    reason text not null default '',
    -- Since when its files have been asked for; empty before that.
    asked_at timestamptz,
    due_at timestamptz,
    run_id uuid references run (id) on delete set null,
    created_at timestamptz not null,
    ended_at timestamptz,
    check ((due_at is not null) = (state = 'waiting'))
);

-- One open request for each thing and target, whoever asks.
create unique index send_request_open on send_request (item_id, target_id) where state in ('waiting', 'queued', 'uncertain');
create index send_request_due on send_request (due_at) where due_at is not null;
create index send_request_item on send_request (item_id, created_at desc, id desc);
create index send_request_newest on send_request (created_at desc, id desc);
create index send_request_run on send_request (run_id);
create index send_request_target on send_request (target_id);
create index send_request_account on send_request (account_id);
create index send_request_user on send_request (user_id);
create index send_request_rule on send_request (rule_id);
create index send_request_verify on send_request (verify_at) where verify_at is not null;

-- The chat that a user has chosen for what they send to themselves.
create table user_target (
    user_id uuid primary key references app_user (id) on delete cascade,
    target_id uuid not null references target (id) on delete cascade,
    -- The account that writes there; empty: any that can.
    account_id uuid references account (id) on delete set null
);

create index user_target_target on user_target (target_id);
create index user_target_account on user_target (account_id);

-- The preset key of a message: short enough for every platform, and the same whoever sends it.
create function headgate_part_key(run_id uuid, delivery int, number int) returns text
language sql immutable parallel safe
return left(encode(sha256(convert_to(run_id::text || ':' || delivery || ':' || number, 'UTF8')), 'hex'), 24);

-- What came of the last messages of some runs, and the next ones that are about to be sent: in one round trip, and the
-- latter only while the lease is the sender's, which it renews, and the run goes on. Few rows at a time, each found by
-- its key. Left to itself the planner would now and then read the whole run for them, so all other ways are closed: the
-- settings exclude some, and `any` instead of `=` excludes a walk along the index, which only a join in its order needs.
create function headgate_write_rounds(
    rounds json, results json, marks json, ttl_s double precision, product_now timestamptz
) returns table (held boolean, places text)
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set plan_cache_mode = force_generic_plan
as $$
declare
    real_now timestamptz := headgate_real_now();
    renew_before timestamptz := real_now + make_interval(secs => ttl_s * 0.95);
    run_ids uuid[];
    names text[];
    tokens uuid[];
    ours boolean[];
    ends_at timestamptz;
begin
    select array_agg(g.run_id order by g.round), array_agg(g.lease order by g.round), array_agg(g.token order by g.round),
        array_agg(h.ends_at is not null order by g.round), min(h.ends_at)
    into run_ids, names, tokens, ours, ends_at
    from json_to_recordset(rounds) as g (round int, run_id uuid, lease text, token uuid)
    -- Locked: nobody else takes the lease before the marks that are made under it are committed.
    left join lateral (
        select l.expires_at as ends_at from lease l
        where l.name = g.lease and l.token = g.token and l.expires_at > real_now
        for no key update
    ) as h on true;

    -- One that was renewed a moment ago need not be written again.
    if ends_at < renew_before then
        update lease l set expires_at = real_now + make_interval(secs => ttl_s)
        from unnest(names, tokens) as g (name, token)
        where l.name = g.name and l.token = g.token and l.expires_at > real_now and l.expires_at < renew_before;
    end if;

    with told as (
        update part p
        set state = g.state, message_key = g.message_key, error = g.error, attempts = g.attempts,
            sent_at = g.sent_at, took_ms = g.took_ms, token = null,
            retry_at = real_now + make_interval(secs => g.retry_s),
            doubtful_since = case when g.state = 'sending' then p.doubtful_since end
        from json_to_recordset(results) as g (
            round int, delivery int, number int, state text, message_key text, error text, attempts int,
            retry_s float8, sent_at timestamptz, took_ms int, delivery_state text)
        where p.run_id = any(run_ids[g.round:g.round]) and p.delivery = g.delivery and p.number = g.number
            and p.state = 'sending' and p.token = tokens[g.round]
        returning p.run_id, p.delivery, p.number, p.took_ms, p.error, g.delivery_state
    )
    update delivery d
    set state = t.delivery_state, error = t.error, ended_at = product_now,
        latency_ms = case when t.number = 1 then t.took_ms else (
            select sum(case when p.number = t.number then t.took_ms else p.took_ms end) from part p
            where p.run_id = t.run_id and p.delivery = t.delivery) end
    from told t
    where d.run_id = any(array[t.run_id]) and d.number = t.delivery and t.delivery_state <> '' and d.state = 'sending';

    return query
    with given as materialized (
        select g.round, g.delivery, g.number, g.seen, (
            select d.state from delivery d
            where d.run_id = run_ids[g.round] and d.number = g.delivery and d.state in ('pending', 'sending')
        ) as state
        from json_to_recordset(marks) as g (round int, delivery int, number int, seen uuid)
        where ours[g.round] and exists (select from run r where r.id = run_ids[g.round] and r.state = 'running' offset 0)
    ),
    marked as (
        update part p
        set state = 'sending', token = tokens[g.round], sending_at = real_now,
            doubtful_since = coalesce(p.doubtful_since, real_now)
        from given g
        where p.run_id = any(run_ids[g.round:g.round]) and p.delivery = g.delivery and p.number = g.number
            and (p.state = 'planned' or p.state = 'sending' and p.token is not distinct from g.seen) and g.state is not null
        returning g.round, p.run_id, p.delivery, p.number, g.state
    ),
    begun as (
        update delivery d set state = 'sending', started_at = product_now
        from marked m
        where d.run_id = any(array[m.run_id]) and d.number = m.delivery and m.state = 'pending' and d.state = 'pending'
    )
    select ours[n.round], coalesce((
        select string_agg(m.delivery || ':' || m.number, ' ') from marked m where m.round = n.round), '')
    from generate_subscripts(run_ids, 1) as n (round)
    order by n.round;
end
$$;


-- Listings and their hosts; series, chapters and releases.

-- What answers for listings, and is left alone as one when it fails. Where a whole site can be swept, how far that is.
create table host (
    platform text not null,
    name text not null,
    -- As of a watch: closed without `open_until`, open until then, half open afterwards: one probe decides.
    failures int not null default 0,
    opened int not null default 0,
    open_until timestamptz,
    error_class text not null default '',
    error_message text not null default '',
    failed_at timestamptz,
    -- Only of sites that can be swept: the cursor of the last sweep, and when the next is due.
    swept boolean not null default false,
    cursor jsonb not null default '{}',
    due_at timestamptz,
    wake_seq bigint not null default 0,
    swept_at timestamptz,
    calls bigint not null default 0,
    created_at timestamptz not null,
    primary key (platform, name)
);

create index host_due on host (due_at);

create table listing (
    channel_id uuid primary key references channel (id) on delete cascade,
    platform text not null,
    host text not null,
    -- The account that looks; one without a sign-in where the platform needs none.
    reader_id uuid references account (id) on delete set null,
    -- Validators of the last answer, when one to them last said "unchanged", and whether that was seen to be untrue.
    cursor jsonb not null default '{}',
    unchanged_at timestamptz,
    blind boolean not null default false,

    -- When to look; empty for a channel that is switched off or gone.
    due_at timestamptz,
    planned_at timestamptz,
    reason text not null default 'never_polled',
    wake_seq bigint not null default 0,
    tier text not null default 'WARM' check (tier in ('HOT', 'WARM', 'COLD')),
    tier_pinned boolean not null default false,
    tier_reason text not null default 'new',
    -- When its newest entries were published, newest first: its rhythm.
    arrivals timestamptz[] not null default '{}',
    -- The source asked to be left alone until then.
    rest_until timestamptz,

    checked_at timestamptz,
    succeeded_at timestamptz,
    changed_at timestamptz,
    polls bigint not null default 0,
    warning text not null default '',
    -- A person wants it looked at, now.
    asked boolean not null default false,
    -- The source said that it is gone for good.
    gone_at timestamptz,
    -- In so many answers known entries came under other keys, and when last.
    key_changes int not null default 0,
    keys_changed_at timestamptz,
    -- It moved to the address of another one that brings another series: a person has to choose.
    moved_onto uuid references channel (id) on delete set null,
    foreign key (platform, host) references host (platform, name)
) with (fillfactor = 70);

create index listing_due on listing (due_at);
create index listing_planned on listing (planned_at);
create index listing_host on listing (platform, host);

-- Addresses under which a listing was followed before it moved, or was joined with another.
create table listing_alias (
    channel_id uuid not null references listing (channel_id) on delete cascade,
    key text not null,
    at timestamptz not null,
    primary key (channel_id, key)
);

create table tier_change (
    channel_id uuid not null references listing (channel_id) on delete cascade,
    number int not null,
    at timestamptz not null,
    from_tier text not null,
    to_tier text not null,
    reason text not null,
    primary key (channel_id, number)
);

create table series (
    id uuid primary key,
    title text not null,
    -- Chapter numbers begin anew with each volume, so that the volume is part of a chapter's key.
    numbers_reset boolean not null default false,
    -- Of the greatest numbered chapter that a source still lists.
    latest_order text collate "C",
    latest_chapter text not null default '',
    latest_published_at timestamptz,
    created_at timestamptz not null
);

create index series_title on series (lower(title), id);

-- Where a series comes from: a listing, and the pattern by which its entries are told apart; none takes all.
create table series_source (
    series_id uuid not null references series (id) on delete cascade,
    channel_id uuid not null references listing (channel_id) on delete cascade,
    pattern text not null default '',
    -- For entries that do not tell theirs.
    language text not null default '',
    created_at timestamptz not null,
    primary key (series_id, channel_id)
);

create index series_source_channel on series_source (channel_id);

create table chapter (
    id uuid primary key,
    series_id uuid not null references series (id) on delete cascade,
    -- The canonical key, and the place in the order of all chapters of a series.
    key text not null,
    place text collate "C" not null,
    number text not null,
    volume text not null,
    title text not null,
    published_at timestamptz,
    seen_at timestamptz not null,
    unique (series_id, key)
);

create index chapter_order on chapter (series_id, place, id);
create index chapter_newest on chapter (series_id, seen_at, id);

-- Numbers the times at which sources told something. One is used up, so that its last value was given to somebody.
create sequence release_told;
select nextval('release_told');

create table release (
    id uuid primary key,
    channel_id uuid not null references channel (id) on delete cascade,
    entry_key text not null,
    chapter_id uuid not null references chapter (id) on delete cascade,
    title text not null,
    -- What it says of its chapter: the chapter's own title and volume follow from these.
    chapter_title text not null,
    volume text not null,
    url text not null,
    language text not null,
    scan_group text not null,
    external boolean not null,
    published_at timestamptz,
    -- Of everything that the source says of it: what has the same is not looked at any further.
    fingerprint bigint not null,
    -- Of its link and title: by these it is known if its key changes; 0 where they identify nothing.
    identity bigint not null,
    seen_at timestamptz not null,
    -- Since when it is a release of this chapter.
    joined_at timestamptz not null,
    -- Rises whenever the source tells something new of it: a look that began before knows nothing of its absence.
    told_seq bigint not null default nextval('release_told'),
    -- The source does not list it any more.
    removed_at timestamptz,
    unique (channel_id, entry_key)
);

create index release_chapter on release (chapter_id);

-- Chapters say what their releases say: the title and the volume of the first that has one, and the earliest time. So a
-- source can always correct its own words, and another one only adds what is missing. Those still listed come first.
create function headgate_derive_chapters(chapter_ids uuid[]) returns int
language plpgsql as $$
declare
    changed int;
begin
    update chapter c set title = w.title, volume = w.volume, published_at = w.published_at
    from (
        select r.chapter_id,
               coalesce((array_agg(r.chapter_title order by r.removed_at is not null, r.joined_at, r.id)
                         filter (where r.chapter_title <> ''))[1], '') as title,
               coalesce((array_agg(r.volume order by r.removed_at is not null, r.joined_at, r.id)
                         filter (where r.volume <> ''))[1], '') as volume,
               min(r.published_at) as published_at
        from release r where r.chapter_id = any(chapter_ids)
        group by r.chapter_id
    ) as w
    where c.id = w.chapter_id
      and (c.title, c.volume, c.published_at) is distinct from (w.title, w.volume, w.published_at);
    get diagnostics changed = row_count;
    return changed;
end
$$;

-- The latest chapter of a series is the greatest numbered one that a source lists now. Places of numbered ones begin with
-- a one, so that however many extras there are, few rows are looked at.
create function headgate_settle_latest(in_series uuid[]) returns void
language plpgsql as $$
begin
    -- Locked by a statement of its own: the next one sees what others have committed until then.
    perform from series s where s.id = any(in_series) order by s.id for no key update;
    update series s
    set latest_order = g.place, latest_chapter = coalesce(g.number, ''), latest_published_at = g.published_at
    from (select distinct id from unnest(in_series) as i (id)) as i
    left join lateral (
        select c.place, c.number, c.published_at from chapter c
        where c.series_id = i.id and c.place < '2' and c.number <> ''
          and exists (select from release r where r.chapter_id = c.id and r.removed_at is null)
        order by c.place desc limit 1
    ) as g on true
    where s.id = i.id and (s.latest_order, s.latest_published_at) is distinct from (g.place, g.published_at);
end
$$;

-- What follows when releases were withdrawn, or moved from chapters to others (`moved_to` is as long as `left_behind`, or
-- empty): chapters say what is left, those without releases go, and so does a mark of what is read that stands on nothing.
-- That is one whose chapter has no release any more, or none that is listed while nothing at or after it is. It goes to
-- where its chapter went, or to the last chapter before it that was there when it was made, whichever is later: what
-- came after it was made was not read.
create function headgate_leave_chapters(left_behind uuid[], moved_to uuid[]) returns void
language plpgsql as $$
declare
    in_series uuid[];
begin
    select array_agg(distinct c.series_id) into in_series from chapter c where c.id = any(left_behind);
    perform from series s where s.id = any(in_series) order by s.id for no key update;
    -- Whoever sets a mark on one of them waits, and finds it gone.
    perform from chapter c where c.id = any(left_behind) order by c.id for update;
    perform headgate_derive_chapters(left_behind);

    with baseless as (
        select m.user_id, m.series_id, m.place, m.chapter_id, m.at from reading m
        where m.series_id = any(in_series)
          and not exists (select from release r where r.chapter_id = m.chapter_id and r.removed_at is null)
          and ((m.chapter_id = any(left_behind) and not exists (select from release r where r.chapter_id = m.chapter_id))
               or not exists (
                   select from chapter c join release r on r.chapter_id = c.id and r.removed_at is null
                   where c.series_id = m.series_id and c.place >= m.place))
    ), settled as (
        select m.user_id, m.series_id, best.place, best.id from baseless m
        left join lateral (
            select * from (
                select c.place, c.id from unnest(left_behind, moved_to) as v (old_id, new_id)
                join chapter c on c.id = v.new_id and c.series_id = m.series_id
                where v.old_id = m.chapter_id
                union all
                (select c.place, c.id from chapter c
                 where c.series_id = m.series_id and c.place <= m.place and c.id is distinct from m.chapter_id and c.seen_at <= m.at
                   and exists (select from release r where r.chapter_id = c.id and r.removed_at is null)
                 order by c.place desc limit 1)
            ) as found
            order by place desc limit 1
        ) as best on true
    ), forgotten as (
        delete from reading m using settled b
        where m.user_id = b.user_id and m.series_id = b.series_id and b.id is null
          and not exists (select from release r where r.chapter_id = m.chapter_id)
    )
    update reading m set place = b.place, chapter_id = b.id
    from settled b where m.user_id = b.user_id and m.series_id = b.series_id and b.id is not null;

    delete from chapter c
    where c.id = any(left_behind) and not exists (select from release r where r.chapter_id = c.id);
    perform headgate_settle_latest(in_series);
end
$$;

-- Takes new and changed entries of listings with all that follows from them, and tells what came of each listing. The
-- series are locked first and in their order, and each statement sees what was committed before it: so two sources of
-- one series cannot both make the same chapter, and none can miss the other's. A release that got another number moves
-- to that chapter.
create function headgate_take_releases(
    channel_ids uuid[], series_ids uuid[], chapter_ids uuid[], chapter_keys text[], places text[], numbers text[],
    volumes text[], chapter_titles text[], release_ids uuid[], entry_keys text[], titles text[], urls text[],
    languages text[], scan_groups text[], externals boolean[], published timestamptz[], fingerprints bigint[],
    first_looks boolean[], identities bigint[], taken_at timestamptz
) returns table (of_channel uuid, news_rows int)
language plpgsql as $$
declare
    chapters uuid[];
    made uuid[];
    left_behind uuid[];
    moved_to uuid[];
    added uuid[];
begin
    -- Whoever only refers to a series need not wait.
    perform from series s where s.id = any(series_ids) order by s.id for no key update;

    with entry as (
        select (array_agg(e.id order by e.n))[1] as id, e.series_id, e.key, min(e.place) as place, min(e.number) as number,
               coalesce((array_agg(e.volume order by e.n) filter (where e.volume <> ''))[1], '') as volume,
               coalesce((array_agg(e.title order by e.n) filter (where e.title <> ''))[1], '') as title,
               min(e.at) as first_at
        from unnest(series_ids, chapter_ids, chapter_keys, places, numbers, volumes, chapter_titles, published)
            with ordinality as e (series_id, id, key, place, number, volume, title, at, n)
        group by e.series_id, e.key
    ), written as (
        insert into chapter (id, series_id, key, place, number, volume, title, published_at, seen_at)
        select e.id, e.series_id, e.key, e.place, e.number, e.volume, e.title, e.first_at, taken_at from entry e
        order by e.series_id, e.key
        on conflict (series_id, key) do nothing
        returning chapter.id
    )
    select coalesce(array_agg(id), '{}') into made from written;

    select array_agg(c.id order by e.n) into chapters
    from unnest(series_ids, chapter_keys) with ordinality as e (series_id, key, n)
    join chapter c on c.series_id = e.series_id and c.key = e.key;

    select array_agg(r.chapter_id), array_agg(e.chapter_id) into left_behind, moved_to
    from unnest(channel_ids, entry_keys, chapters) as e (channel_id, key, chapter_id)
    join release r on r.channel_id = e.channel_id and r.entry_key = e.key and r.chapter_id <> e.chapter_id;

    with written as (
        insert into release as r (id, channel_id, entry_key, chapter_id, title, chapter_title, volume, url, language,
                                  scan_group, external, published_at, fingerprint, identity, seen_at, joined_at)
        select e.*, taken_at, taken_at
        from unnest(release_ids, channel_ids, entry_keys, chapters, titles, chapter_titles, volumes, urls, languages,
                    scan_groups, externals, published, fingerprints, identities) as e (id, channel_id, key)
        order by e.channel_id, e.key
        on conflict (channel_id, entry_key) do update set
            chapter_id = excluded.chapter_id, title = excluded.title, chapter_title = excluded.chapter_title,
            volume = excluded.volume, url = excluded.url,
            joined_at = case when r.chapter_id = excluded.chapter_id then r.joined_at else excluded.joined_at end,
            language = excluded.language, scan_group = excluded.scan_group, external = excluded.external,
            published_at = excluded.published_at, fingerprint = excluded.fingerprint, identity = excluded.identity,
            removed_at = null,
            told_seq = nextval('release_told')
        where r.fingerprint <> excluded.fingerprint or r.removed_at is not null
            or r.chapter_id <> excluded.chapter_id
        returning r.id, r.xmax = 0 as is_new
    )
    select array_agg(id) filter (where is_new) into added from written;

    perform headgate_derive_chapters(array(select id from unnest(chapters) as id where id <> all(made)));
    perform headgate_settle_latest(series_ids);
    if left_behind is not null then
        perform headgate_leave_chapters(left_behind, moved_to);
    end if;

    return query
    with told as (
        insert into news (channel_id, release_id, at, due_at)
        select r.channel_id, r.id, taken_at, taken_at
        from unnest(channel_ids, entry_keys, first_looks) as e (channel_id, key, first_look)
        join release r on r.channel_id = e.channel_id and r.entry_key = e.key
        join chapter c on c.id = r.chapter_id
        where r.id = any(added) and exists (
            select from follow f
            where (f.series_id = c.series_id or f.channel_id = r.channel_id or f.search is not null)
              and f.since <= coalesce(r.published_at, case when not e.first_look then taken_at end)
        )
        order by c.place, r.id
        returning news.channel_id
    )
    select e.channel_id, (select count(*) from told t where t.channel_id = e.channel_id)::int
    from unnest(channel_ids) as e (channel_id)
    group by e.channel_id;
end
$$;


-- Follows, news and notifications; pushing them out: quiet hours, addresses, and what became of each push.
-- Words in titles.

-- A user's wish to hear of new things: in a series, in a channel, or of what is called so.
create table follow (
    id uuid primary key,
    user_id uuid not null references app_user (id) on delete cascade,
    series_id uuid references series (id) on delete cascade,
    channel_id uuid references channel (id) on delete cascade,
    -- Words that all have to be in a title.
    search text,
    in_app boolean not null default true,
    push boolean not null default true,
    per text not null default 'chapter' check (per in ('chapter', 'source')),
    -- Only these, if there are any.
    languages text[] not null default '{}',
    -- Only what was published after this is news.
    since timestamptz not null,
    check (num_nonnulls(series_id, channel_id, search) = 1),
    unique nulls not distinct (user_id, series_id, channel_id, search)
);

create index follow_series on follow (series_id) where series_id is not null;
create index follow_channel on follow (channel_id) where channel_id is not null;
create index follow_search on follow (id) where search is not null;

-- What is new and has yet to be told: the work of the kind `notify`, by channel.
create table news (
    id bigint generated always as identity primary key,
    channel_id uuid not null references channel (id) on delete cascade,
    release_id uuid references release (id) on delete cascade,
    item_id uuid references item (id) on delete cascade,
    at timestamptz not null,
    -- Later where a name may turn out to be that of a volume.
    due_at timestamptz not null,
    check (num_nonnulls(release_id, item_id) = 1)
);

create index news_due on news (channel_id, due_at, id);
create index news_item on news (item_id) where item_id is not null;

-- One thing told to one user, once: `subject` says what, and is never told to the same user again.
create table notification (
    id uuid primary key,
    user_id uuid not null references app_user (id) on delete cascade,
    subject text not null,
    series_id uuid references series (id) on delete set null,
    chapter_id uuid references chapter (id) on delete set null,
    channel_id uuid references channel (id) on delete set null,
    item_id uuid references item (id) on delete set null,
    title text not null,
    body text not null,
    url text not null,
    at timestamptz not null,
    -- Whether it is in the user's list, and whether it is to be pushed.
    in_app boolean not null,
    push boolean not null,
    read_at timestamptz,
    unique (user_id, subject)
);

create index notification_newest on notification (user_id, at desc, id desc) where in_app;
create index notification_unread on notification (user_id) where in_app and read_at is null;

-- How far a user has read: up to this place, and everything before it.
create table reading (
    user_id uuid not null references app_user (id) on delete cascade,
    series_id uuid not null references series (id) on delete cascade,
    place text collate "C" not null,
    chapter_id uuid references chapter (id) on delete set null,
    at timestamptz not null,
    primary key (user_id, series_id)
);

create table notification_settings (
    user_id uuid primary key references app_user (id) on delete cascade,
    time_zone text not null,
    -- Minutes after midnight on the user's wall; an end before the start is on the next day.
    quiet_from_min int check (quiet_from_min between 0 and 1439),
    quiet_to_min int check (quiet_to_min between 0 and 1439),
    check (num_nulls(quiet_from_min, quiet_to_min) in (0, 2))
);

-- Where a user's notifications go out to. The address itself is sealed among the secrets; here is what may be shown.
create table push_address (
    id uuid primary key,
    user_id uuid not null references app_user (id) on delete cascade,
    name text not null,
    shown text not null,
    enabled boolean not null default true,
    -- What the one who added it might do: a push goes no further than this and the owner's role of today allow.
    added_as text not null check (added_as in ('admin', 'member')),
    -- When to look: something waits, or is to be tried again. Empty: nothing is to be done.
    due_at timestamptz,
    -- As of a watch: closed without `open_until`, open until then, half open afterwards: one probe decides.
    failures int not null default 0,
    opened int not null default 0,
    open_until timestamptz,
    error text not null default '',
    failed_at timestamptz,
    sent_at timestamptz,
    created_at timestamptz not null
);

create unique index push_address_name on push_address (user_id, lower(name));
create index push_address_due on push_address (due_at) where due_at is not null;

-- One message to one address: a notification, or several as a digest.
create table push (
    id uuid primary key,
    address_id uuid not null references push_address (id) on delete cascade,
    state text not null default 'planned' check (state in ('planned', 'sending', 'sent', 'failed', 'uncertain')),
    title text not null,
    body text not null,
    notifications int not null,
    attempts int not null default 0,
    made_at timestamptz not null,
    begun_at timestamptz,
    ended_at timestamptz,
    error text not null default '',
    unique (address_id, id)
);

-- At most one message is under way to an address.
create unique index push_under_way on push (address_id) where state in ('planned', 'sending');
create index push_newest on push (address_id, made_at desc, id desc);
create index push_ended on push (ended_at) where ended_at is not null;

-- A notification goes out at most once to an address; it waits for as long as it is in no push.
create table push_notification (
    address_id uuid not null references push_address (id) on delete cascade,
    notification_id uuid not null references notification (id) on delete cascade,
    push_id uuid,
    primary key (address_id, notification_id),
    foreign key (address_id, push_id) references push (address_id, id) on delete cascade
);

create index push_notification_waiting on push_notification (address_id) where push_id is null;
create index push_notification_push on push_notification (push_id) where push_id is not null;
create index push_notification_of on push_notification (notification_id);

-- Whether a user was told of a chapter before, and what is read with it.
create index notification_chapter on notification (chapter_id, user_id);
-- What has not been emptied yet, by age.
create index notification_old on notification (at) where title <> '';

-- The words of a text, in small letters, with a space before each.
create function headgate_words(of_text text) returns text
language sql immutable parallel safe as $$
    select rtrim(' ' || ltrim(lower(regexp_replace(of_text, '[^[:alnum:]]+', ' ', 'g'))))
$$;

-- Whether each word of a search begins a word of a title; both as `headgate_words` gives them.
create function headgate_words_match(search_words text, title_words text) returns boolean
language sql immutable parallel safe as $$
    select search_words <> '' and not exists (
        select from unnest(string_to_array(ltrim(search_words), ' ')) as word
        where strpos(title_words, ' ' || word) = 0
    )
$$;

-- Whether a release in a language is for somebody who wants these; `pt` wants `pt-br` too. Without a language: always.
create function headgate_language_wanted(language text, wanted text[]) returns boolean
language sql immutable parallel safe as $$
    select language = '' or wanted = '{}' or exists (
        select from unnest(wanted) as want
        where replace(lower(language), '_', '-') = lower(want)
           or starts_with(replace(lower(language), '_', '-'), lower(want) || '-')
    )
$$;


-- Stored content: once by SHA-256, in a store of objects (a folder, or a bucket).

-- Which store belongs to this database. The same id stands in the store, so that a disk that is not mounted, or the
-- store of another database, is never taken for ours.
create table blob_store (
    single boolean primary key default true check (single),
    id uuid not null,
    -- Whether the store has its mark; from then on a store without it is not ours.
    marked boolean not null default false,
    -- How far the collector is in its round over all blobs.
    collected_to uuid
);

-- Content that can be read: the object is whole and durable before the row is there. The id is that of its upload.
create table blob (
    id uuid primary key,
    sha256 bytea not null check (octet_length(sha256) = 32),
    size_bytes bigint not null check (size_bytes >= 0),
    -- `ab/<sha256>-<upload id>`, never used again: made of the upload's own id, so no two are alike. Or
    -- `place:<size>:<mtime>:<root>:<path>` of a file that is read where it lies, and is nobody else's content.
    object_name text collate "C" not null,
    created_at timestamptz not null,
    -- Since when the collector has seen nothing that refers to it.
    unreferenced_since timestamptz,
    -- When its object was found missing or damaged; the same content, stored again, replaces it.
    damaged_at timestamptz
);

create unique index blob_content on blob (sha256) where left(object_name, 6) <> 'place:';
-- By hash: the path of a file in place may be longer than an ordered index takes.
create index blob_object_name on blob using hash (object_name);

create index blob_unreferenced on blob (unreferenced_since) where unreferenced_since is not null;
create index blob_damaged on blob (damaged_at) where damaged_at is not null;

-- The latest reading of everything that is stored: how far it is, and what it found.
create table blob_audit (
    single boolean primary key default true check (single),
    started_at timestamptz not null,
    noted_at timestamptz not null,
    ended_at timestamptz,
    -- The last blob that was read, in the order of their ids.
    reached uuid not null,
    total bigint not null,
    total_bytes bigint not null,
    checked bigint not null default 0,
    checked_bytes bigint not null default 0,
    damaged bigint not null default 0,
    -- Files of damaged blobs that are to be fetched again, and files that cannot be, because their message is gone.
    refetched bigint not null default 0,
    lost bigint not null default 0
);

-- An object that is being made. It commits before the first byte and ends as a blob or as a doomed object.
create table upload_intent (
    id uuid primary key,
    sha256 bytea not null check (octet_length(sha256) = 32),
    size_bytes bigint not null check (size_bytes >= 0),
    object_name text collate "C" not null unique,
    -- In real time, renewed while the upload goes on. An expired upload is given up.
    expires_at timestamptz not null
);

create index upload_intent_expires on upload_intent (expires_at);

-- An object that nothing can read any more and that is to be deleted.
create table doomed_object (
    object_name text collate "C" primary key,
    reason text not null check (reason in ('unreferenced', 'duplicate', 'abandoned', 'replaced', 'orphan')),
    doomed_at timestamptz not null,
    delete_at timestamptz not null
);

create index doomed_object_due on doomed_object (delete_at);

-- What a platform calls content that is stored, so that it is linked without a download. An alias goes with its blob
-- and keeps none alive.
create table blob_alias (
    platform text not null,
    scope text not null,
    content_id text not null,
    size_bytes bigint not null,
    blob_id uuid not null references blob (id) on delete cascade,
    created_at timestamptz not null,
    primary key (platform, scope, content_id, size_bytes)
);

create index blob_alias_blob on blob_alias (blob_id);

-- What is known of the content of a file of an item; the file itself is a sighting, and its item is the sighting's. A
-- file without a row is only listed.
create table item_file (
    sighting_id uuid primary key references sighting (id) on delete cascade,
    -- Repeated, for the order in which files are fetched.
    channel_id uuid not null references channel (id) on delete cascade,
    -- 'dropped': a person gave its content up. 'gone': its message was deleted before it was fetched.
    state text not null check (state in ('wanted', 'stored', 'dropped', 'failed', 'gone')),
    blob_id uuid references blob (id),
    stored_at timestamptz,
    -- Which content is meant: an edit that replaces the file changes it, an edit of the caption does not.
    source text not null default '',
    -- As the platform says; 0: unknown.
    size_bytes bigint not null default 0,
    -- When a person asked for it: settings do not undo that.
    asked_at timestamptz,
    -- 20: asked for, 15: the rest of a set that was begun, 10: recent, 0: older.
    priority smallint not null default 0,
    due_at timestamptz not null default '-infinity',
    -- 'room': it waits until so many bytes may be written.
    wait_reason text not null default '' check (wait_reason in ('', 'room')),
    needs_bytes bigint not null default 0,
    -- The download that has it, and until when in real time.
    taken_by uuid,
    taken_until timestamptz,
    -- Downloads that began and did not end in order: the process died, or the file killed it.
    starts int not null default 0,
    -- Failed attempts in a row without a byte more than before.
    attempts int not null default 0,
    error_class text not null default '',
    error_message text not null default '',
    -- Where the bytes are that have come so far; other machines leave it alone until then, in product time.
    spool_machine text not null default '',
    spool_until timestamptz,
    spooled_bytes bigint not null default 0,
    check ((state = 'stored') = (blob_id is not null))
);

create index item_file_ready on item_file (channel_id, priority, due_at, sighting_id)
    where state = 'wanted' and wait_reason = '';
create index item_file_waiting on item_file (channel_id, needs_bytes) where state = 'wanted' and wait_reason <> '';
-- What is being downloaded: never many.
create index item_file_taken on item_file (taken_until) where taken_until is not null;
create index item_file_blob on item_file (blob_id) where blob_id is not null;

-- Whether something of a wanted file has come, or of the thing that it is a volume of. What waits for room has not begun:
-- it must not keep others from passing.
create function headgate_has_begun(of_file item_file) returns boolean language sql stable
begin atomic
    select of_file.state = 'wanted' and of_file.wait_reason = '' and (of_file.spooled_bytes > 0 or exists (
        select from sighting mine
        join sighting s on s.item_id = mine.item_id and s.id <> mine.id
        join item_file f on f.sighting_id = s.id
        where mine.id = of_file.sighting_id and (f.state = 'stored' or f.spooled_bytes > 0)
    ));
end;

-- Channels with files to fetch; each line is served by the account that reads the channel.
create table fetch_line (
    channel_id uuid primary key references channel (id) on delete cascade,
    -- The highest priority of what is due, for the order of lines.
    top smallint not null,
    due_at timestamptz not null,
    served_at timestamptz not null default '-infinity',
    -- Raised whenever a file is added.
    seq bigint not null default 1
);

create index fetch_line_due on fetch_line (due_at);

-- Until when a slot of an account rests; a slot without a row is free.
create table fetch_slot (
    account_id uuid not null references account (id) on delete cascade,
    slot int not null,
    due_at timestamptz not null,
    primary key (account_id, slot)
);

-- Which content of a sighting is meant. The platform's name of the content tells best; else what is known of the file.
create function headgate_file_source(content_id text, file_name text, mime_type text, size_bytes bigint) returns text
language sql immutable parallel safe
return case when content_id <> '' then 'c:' || content_id else 'f:' || file_name || '/' || mime_type end
    || ':' || size_bytes;

-- Whether settings want the content of a file; `pictures` are the endings of pictures, for files without a known type.
create function headgate_fetches(
    what text, max_bytes bigint, size_bytes bigint, mime_type text, file_name text, pictures text[]
) returns boolean
language sql immutable parallel safe
return (max_bytes = 0 or size_bytes <= max_bytes) and case what
    when 'all' then true
    when 'pictures' then case
        when lower(btrim(split_part(mime_type, ';', 1))) in ('', 'application/octet-stream', 'binary/octet-stream')
            then substring(lower(btrim(file_name)) from '[.][^.]*$') = any(pictures)
        else lower(btrim(split_part(mime_type, ';', 1))) like 'image/%' end
    else false end;

-- What is known of the inside of an item's stored files, and when to look (again). Whoever changes the files of an item
-- counts `seq` on, so that a result that was read before is never written over them.
create table inspection (
    item_id uuid primary key references item (id) on delete cascade,
    due_at timestamptz,
    seq bigint not null default 1,
    attempts int not null default 0,
    -- It waits until so many bytes may be written: content of a bucket is copied to be read.
    needs_bytes bigint not null default 0,
    -- 'pending' until the first look; the others say what came of the last one.
    state text not null default 'pending' check (state in (
        'pending', 'empty', 'plain', 'ok', 'partial', 'encrypted', 'hostile', 'incomplete', 'truncated', 'damaged',
        'unsupported', 'unreadable')),
    -- What is wrong, by the names of `domain/library/contents`; `detail` is what the reader said, for logs.
    problems text[] not null default '{}',
    detail text not null default '',
    format text not null default '',
    is_solid boolean not null default false,
    entry_count int not null default 0,
    unpacked_bytes bigint not null default 0,
    -- What was read: the blobs of the volumes in their order, null for one that is missing. Entries are numbered in these.
    volumes uuid[] not null default '{}',
    -- How many volumes the headers say that there are, and why.
    proven_total int,
    proof_reason text not null default '',
    -- Of which the picture was made: a reason of `domain/library/covers`, and the colour to show until it is there. The
    -- key stands for all that could be tried, so that nothing is made or fails again without need.
    picture_key text not null default '',
    picture_source text not null default '',
    picture_colour text not null default '',
    inspected_at timestamptz
);

create index inspection_due on inspection (due_at) where due_at is not null;

-- A file, folder or link inside the archive of an item. Paths are safe to show, and never used as paths.
create table content_entry (
    item_id uuid not null references inspection (item_id) on delete cascade,
    -- Its place in the archive, from 0: the only name by which it is extracted.
    number int not null,
    path text collate "C" not null,
    size_bytes bigint,
    packed_bytes bigint,
    modified_at timestamptz,
    is_directory boolean not null default false,
    is_encrypted boolean not null default false,
    is_link boolean not null default false,
    primary key (item_id, number)
);

-- A picture of an item, in one width and format.
create table picture (
    item_id uuid not null references inspection (item_id) on delete cascade,
    width_px int not null,
    height_px int not null,
    media_type text not null,
    blob_id uuid not null references blob (id),
    primary key (item_id, width_px, media_type)
);

create index picture_blob on picture (blob_id);

-- The cover that a person chose for a group, in one width and format; of a member's picture, the same blob.
create table group_picture (
    group_id uuid not null references item_group (id) on delete cascade,
    width_px int not null,
    height_px int not null,
    media_type text not null,
    blob_id uuid not null references blob (id),
    primary key (group_id, width_px, media_type)
);

create index group_picture_blob on group_picture (blob_id);

-- Everything that keeps a blob alive. Whoever adds a column with a foreign key to `blob` (`no action`, with an index)
-- adds it here with `union all`; the collector knows nothing else, and a test compares the two.
create view blob_reference as
select blob_id from item_file where blob_id is not null
union all
select blob_id from picture
union all
select blob_id from group_picture;

-- Room on a disk that is promised to what is about to be written; `machine` says whose disk.
create table room_reservation (
    machine text not null,
    key text not null,
    size_bytes bigint not null check (size_bytes >= 0),
    -- In real time; what is not renewed is free again.
    expires_at timestamptz not null,
    primary key (machine, key)
);

-- The library as it is shown: one row for each group and each item that is in none, or, of items with the same content, for
-- all of them. Derived from items and what hangs on them, by `storage/shelf/refresh.sql` alone.
create table shelf (
    -- The group's, or that of the first of the copies.
    id uuid primary key,
    group_id uuid,
    -- The first member.
    item_id uuid not null,
    content_hash bytea,
    name text not null,
    name_key text collate "C" not null,
    -- Of all members, or `mixed`.
    kind text not null,
    type text not null,
    size_bytes bigint not null,
    -- The smallest and the largest member, and the oldest: whether one of them can match a filter.
    min_bytes bigint not null,
    max_bytes bigint not null,
    oldest_at timestamptz not null,
    -- Files inside archives; others count as one.
    file_count bigint not null,
    member_count int not null,
    -- Members that are not copies of others.
    content_count int not null,
    tags text[] not null,
    creators text[] not null,
    channel_ids uuid[] not null,
    -- The item whose picture is shown; a group may have one of its own.
    cover_item_id uuid,
    state text not null check (state in ('stored', 'waiting', 'partial', 'listed', 'dropped')),
    problem boolean not null,
    -- When it was posted, as far as that can be believed: of a group the newest, of copies the oldest.
    sort_at timestamptz not null,
    -- What filters ask for, as numbers (`headgate_facet`), and those of them that are listed by date.
    facets int[] not null,
    dated_facets int[] not null
);

create index shelf_newest on shelf (sort_at, id);

create index shelf_name on shelf (name_key, id);

create index shelf_size on shelf (size_bytes, id);

-- Rows whose date says little of some of their members, and rows whose size does.
create index shelf_spread on shelf (sort_at, id) include (oldest_at) where sort_at - oldest_at > interval '1 hour';

create index shelf_parts on shelf (min_bytes) include (id, max_bytes, size_bytes)
    where min_bytes <> size_bytes or max_bytes <> size_bytes;

create index shelf_content on shelf (content_hash) where content_hash is not null;

create index shelf_facets on shelf using gin (facets) with (fastupdate = on, gin_pending_list_limit = 256);

-- Rows of the shelf by channel, topic, creator and tag, in the order of their dates. What they are sorted by otherwise is in the
-- index, too: sorting all rows of a creator by name then reads some hundred blocks, and not one of the shelf for each row.
create table shelf_facet (
    facet int not null,
    sort_at timestamptz not null,
    shelf_id uuid not null,
    name_key text collate "C" not null,
    size_bytes bigint not null,
    primary key (facet, sort_at, shelf_id) include (name_key, size_bytes)
);

-- Items and groups whose rows a job writes anew: what machines change of things that are there already. It is appended to
-- in the transaction that changes something, so nobody waits for anybody.
create table shelf_queue (
    id bigint generated always as identity primary key,
    item_ids uuid[] not null default '{}',
    group_ids uuid[] not null default '{}'
);

-- The number of a facet: a channel, topic, creator, tag, type, kind or state. Different facets can share one, so rows that
-- are found by it are checked again.
create function headgate_facet(kind text, key text) returns int language sql immutable parallel safe
return ('x' || substr(encode(sha256(convert_to(kind || ':' || key, 'UTF8')), 'hex'), 1, 8))::bit(32)::int;

-- How much of an item is stored. Of a single file one copy is enough; a set is whole when its content has a hash.
create function headgate_item_state(of_item uuid, content_hash bytea) returns text language sql stable parallel safe
return (
    select case
        when count(*) filter (where f.state = 'wanted') > 0 then 'waiting'
        when content_hash is not null then 'stored'
        when count(*) filter (where f.state = 'stored') > 0
            then case when exists (select from item_set where item_id = of_item) then 'partial' else 'stored' end
        when count(*) filter (where f.state = 'dropped') > 0 then 'dropped'
        else 'listed'
    end
    from sighting s join item_file f on f.sighting_id = s.id where s.item_id = of_item
);

-- Whether a person should look at an item: a download that gave up, volumes that are missing, content that is damaged.
create function headgate_item_problem(of_item uuid) returns boolean language sql stable parallel safe
return exists (
        select from sighting s join item_file f on f.sighting_id = s.id
        where s.item_id = of_item and (f.state = 'failed' or exists (
            select from blob b where b.id = f.blob_id and b.damaged_at is not null
        ))
    )
    or exists (select from item_set where item_id = of_item and problem and dismissed_at is null)
    or exists (
        select from inspection where item_id = of_item
          and state in ('hostile', 'incomplete', 'truncated', 'damaged', 'unreadable')
    );

-- The labels that count for an item: a person's word goes before a rule's, and a later word before an earlier one.
create function headgate_item_labels(of_item uuid) returns table (kind text, key text, name text)
language sql stable parallel safe rows 4
begin atomic
    select l.kind, l.key, l.name from (
        select distinct on (l.kind, case when l.kind = 'tag' then coalesce(n.shown_key, l.key) end)
               l.kind, coalesce(n.shown_key, l.key) as key, coalesce(n.name, l.name) as name, l.removed
        from item_label l left join label_name n on n.kind = l.kind and n.key = l.key
        where l.item_id = of_item
        order by l.kind, case when l.kind = 'tag' then coalesce(n.shown_key, l.key) end, l.source = 'person' desc,
                 l.said_at desc nulls last, case when l.kind = 'creator' then l.key end desc, l.key
    ) as l where not l.removed;
end;

-- A person's view of the library: filters and sort under a name. At most one of a user is what the library begins with.
create table library_view (
    id uuid primary key,
    user_id uuid not null references app_user (id) on delete cascade,
    name text not null,
    -- As in the address of the page.
    query text not null,
    is_default boolean not null default false,
    created_at timestamptz not null
);

create unique index library_view_name on library_view (user_id, lower(name));

create unique index library_view_default on library_view (user_id) where is_default;

-- Search, apart from the shelf and some seconds behind it. Everything below is derived by the job `search` alone.

-- One row: how far a rebuild of the whole index has come; null when none is under way.
create table search_index (
    only_row boolean primary key default true check (only_row),
    reindex_after uuid,
    reindexed bigint not null default 0
);

insert into search_index default values;

-- Documents are numbered off into slices as they arrive, and searched slice by slice, the newest first.
create table search_slice (
    number int primary key,
    -- When its first item was caught.
    since timestamptz not null,
    documents int not null
);

-- What can be found of an item that is shown, or of a group: its words without their order.
create table search_document (
    -- The item's or the group's.
    id uuid primary key,
    is_group boolean not null,
    slice int not null,
    posted_at timestamptz not null,
    -- Words of its name, creator and tags.
    names tsvector not null,
    -- All words, and the facets that filters ask for; each begins with the slice, so that one index serves as one for each slice.
    words tsvector not null
);

create index search_document_words on search_document using gin (words) with (fastupdate = off);

-- Words of names, creators and tags, for words that are typed wrong.
create table search_word (
    word text collate "C" primary key,
    -- What is left of it without one or two letters, as numbers: words that share one are spelled alike.
    variants int[] not null,
    -- A document lost it. If no other has it, it is removed.
    stale boolean not null default false
);

create index search_word_variants on search_word using gin (variants) with (fastupdate = off);

create index search_word_stale on search_word (word) where stale;

-- Items and groups whose documents are to be written; a row for each transaction that changed some.
create table search_due (
    id bigint generated always as identity primary key,
    ids uuid[] not null
);

-- Whatever deletes an item or a group, a channel's removal included, takes its document along.
create function search_source_gone() returns trigger language plpgsql as $$
begin
    insert into search_due (ids)
    select array_agg(numbered.id) from (select id, row_number() over (order by id) as place from gone) as numbered
    group by (numbered.place - 1) / 500;
    return null;
end
$$;

create trigger search_item_gone after delete on item
referencing old table as gone
for each statement execute function search_source_gone();

create trigger search_group_gone after delete on item_group
referencing old table as gone
for each statement execute function search_source_gone();
