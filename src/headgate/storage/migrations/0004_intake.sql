-- Accounts, channels and streams; what was read of them, seen in them and caught from them.

create table account (
    id uuid primary key,
    platform text not null,
    name text not null,
    state text not null default 'active' check (state in ('active', 'needs_login', 'restricted', 'banned')),
    state_reason text not null default '',
    established boolean not null default false,
    created_at timestamptz not null,
    unique (platform, name)
);

create table channel (
    id uuid primary key,
    platform text not null,
    key text not null,
    -- Empty, or the account's id where positions are per account (the manifest says so).
    scope text not null default '',
    kind text not null check (kind in ('stream', 'listing')),
    title text not null,
    parent_id uuid references channel (id),
    message_scan_enabled boolean not null default true,
    created_at timestamptz not null,
    unique (platform, key, scope)
);

create table watch (
    channel_id uuid not null references channel (id) on delete cascade,
    account_id uuid not null references account (id) on delete cascade,
    role text not null default 'reads' check (role in ('reads', 'stands_by')),
    primary key (channel_id, account_id)
);

create unique index watch_reader on watch (channel_id) where role = 'reads';
create index watch_account on watch (account_id);

create table stream (
    channel_id uuid primary key references channel (id) on delete cascade,
    floor bigint not null default 0,
    head bigint,
    head_checked_at timestamptz,
    -- Until then the newest messages are too young to be proven, and reading them again would prove nothing.
    tip_after timestamptz,
    due_at timestamptz,
    wake_seq bigint not null default 0,
    scanned_at timestamptz,
    message_count bigint not null default 0,
    total_messages_scanned bigint not null default 0
);

create index stream_due on stream (due_at);

create table coverage (
    channel_id uuid not null references stream (channel_id) on delete cascade,
    lens text not null,
    epoch int not null default 1,
    ranges int8multirange not null default '{}',
    primary key (channel_id, lens)
);

create table item (
    id uuid primary key,
    channel_id uuid not null references channel (id) on delete cascade,
    -- The platform's name of the content, or the message and attachment where it has none.
    content_key text not null,
    kind text not null check (kind in ('package', 'clip', 'picture', 'file')),
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
    attachment_key text not null,
    position bigint not null,
    topic text not null default '',
    album text not null default '',
    author text not null default '',
    file_name text not null,
    size_bytes bigint not null,
    mime_type text not null,
    -- What the platform calls the content itself, equal for reposts; empty where it has no name.
    content_id text not null default '',
    sent_at timestamptz not null,
    -- When the message got the form in which it was seen: an older form never replaces a newer one.
    version_at timestamptz not null,
    seen_at timestamptz not null,
    -- 'kept', or the reason why not.
    verdict text not null,
    deleted_at timestamptz,
    item_id uuid references item (id) on delete set null,
    unique (channel_id, message_key, attachment_key)
);

create index sighting_waiting on sighting (channel_id, id) where verdict = 'kept' and item_id is null;
create index sighting_item on sighting (item_id);
create index sighting_position on sighting (channel_id, position);
