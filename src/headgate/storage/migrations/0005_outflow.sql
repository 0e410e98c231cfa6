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

-- When a reminder last reached a target: who waited longest comes first the next time.
create table reminder_reach (
    reminder_id uuid not null references reminder (id) on delete cascade,
    target_id uuid not null references target (id) on delete cascade,
    sent_at timestamptz not null,
    primary key (reminder_id, target_id)
);

create index reminder_reach_target on reminder_reach (target_id);

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
    saturated_until timestamptz
);

-- The preset key of a message: short enough for every platform, and the same whoever sends it.
create function headgate_part_key(run_id uuid, delivery int, number int) returns text
language sql immutable parallel safe
return left(encode(sha256(convert_to(run_id::text || ':' || delivery || ':' || number, 'UTF8')), 'hex'), 24);

-- What came of the last messages of a run, and the next ones that are about to be sent: in one round trip, and the
-- latter only while the lease is the sender's, which it renews, and the run goes on. Few rows at a time, each found by
-- its key: as one set statement the planner would now and then read the whole run.
create function headgate_write_round(
    of_run uuid, lease_name text, lease_token uuid, ttl_s double precision, product_now timestamptz,
    results json, marks json, out held boolean, out places text
) language plpgsql as $$
declare
    real_now timestamptz := headgate_real_now();
    ends_at timestamptz;
    r record;
begin
    select expires_at into ends_at from lease
    where name = lease_name and token = lease_token and expires_at > real_now;
    held := found;
    -- One that was renewed a moment ago need not be written again.
    if held and ends_at < real_now + make_interval(secs => ttl_s * 0.95) then
        update lease set expires_at = real_now + make_interval(secs => ttl_s)
        where name = lease_name and token = lease_token and expires_at > real_now;
        held := found;
    end if;
    places := '';
    for r in
        select * from json_to_recordset(results) as given (
            delivery int, number int, state text, message_key text, error text, attempts int, retry_s float8,
            sent_at timestamptz, took_ms int, delivery_state text)
    loop
        update part
        set state = r.state, message_key = r.message_key, error = r.error, attempts = r.attempts,
            sent_at = r.sent_at, took_ms = r.took_ms, token = null,
            retry_at = real_now + make_interval(secs => r.retry_s),
            doubtful_since = case when r.state = 'sending' then doubtful_since end
        where run_id = of_run and delivery = r.delivery and number = r.number
            and state = 'sending' and token = lease_token;
        if found and r.delivery_state <> '' then
            update delivery
            set state = r.delivery_state, error = r.error, ended_at = product_now,
                latency_ms = case when r.number = 1 then r.took_ms else (
                    select sum(p.took_ms) from part p where p.run_id = of_run and p.delivery = r.delivery) end
            where run_id = of_run and number = r.delivery and state = 'sending';
        end if;
    end loop;
    if not held or not exists (select from run where id = of_run and state = 'running') then
        return;
    end if;
    for r in select * from json_to_recordset(marks) as given (delivery int, number int) loop
        update part p
        set state = 'sending', token = lease_token, sending_at = real_now,
            doubtful_since = coalesce(p.doubtful_since, real_now)
        where p.run_id = of_run and p.delivery = r.delivery and p.number = r.number
            and p.state in ('planned', 'sending')
            and exists (
                select from delivery d
                where d.run_id = of_run and d.number = r.delivery and d.state in ('pending', 'sending'));
        if found then
            update delivery set state = 'sending', started_at = product_now
            where run_id = of_run and number = r.delivery and state = 'pending';
            places := places || ' ' || r.delivery || ':' || r.number;
        end if;
    end loop;
end
$$;
