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

-- Pictures and files to be sent; equal ones are one.
create table media (
    id uuid primary key,
    name text not null,
    mime_type text not null,
    size_bytes bigint not null,
    sha256 bytea not null,
    content bytea not null,
    created_at timestamptz not null,
    unique (sha256, name, mime_type)
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
    trigger text not null check (trigger in ('schedule', 'person', 'test', 'remainder')),
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

create table run_part (
    run_id uuid not null references run (id) on delete cascade,
    number int not null,
    text text not null,
    media_id uuid references media (id),
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
    error text not null default '',
    started_at timestamptz,
    ended_at timestamptz,
    -- How long the platform took for its messages.
    latency_ms int,
    primary key (run_id, number)
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
