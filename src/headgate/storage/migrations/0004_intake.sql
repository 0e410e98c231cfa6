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

-- Why a stream was read or not: decisions that repeat are one row.
create table decision (
    channel_id uuid not null references stream (channel_id) on delete cascade,
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

create table item (
    id uuid primary key,
    channel_id uuid not null references channel (id) on delete cascade,
    -- The platform's name of the content, or the message and attachment where it has none.
    content_key text not null,
    kind text not null check (kind in ('package', 'clip', 'picture', 'file', 'link')),
    title text not null,
    size_bytes bigint not null,
    sent_at timestamptz not null,
    caught_at timestamptz not null,
    hidden boolean not null default false,
    unique (channel_id, content_key)
);

create index item_shown on item (caught_at desc, id desc) where not hidden;

create table sighting (
    id uuid primary key,
    channel_id uuid not null references channel (id) on delete cascade,
    message_key text not null,
    -- The attachment's own key, or `link:` and its number; empty for a message that cannot be parsed.
    attachment_key text not null,
    position bigint not null,
    topic text not null default '',
    album text not null default '',
    author text not null default '',
    from_bot boolean not null default false,
    from_webhook boolean not null default false,
    -- Empty for files.
    url text not null default '',
    file_name text not null,
    size_bytes bigint not null,
    mime_type text not null,
    -- What the platform calls the content itself, equal for reposts; empty where it has no name.
    content_id text not null default '',
    sent_at timestamptz not null,
    -- When the message got the form in which it was seen: an older form never replaces a newer one.
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
    unique (channel_id, message_key, attachment_key)
);

create index sighting_waiting on sighting (channel_id, id) where verdict = 'kept' and item_id is null and not missed;
create index sighting_item on sighting (item_id);
create index sighting_position on sighting (channel_id, position);
create index sighting_judged on sighting (channel_id, topic, settings_hash);

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
