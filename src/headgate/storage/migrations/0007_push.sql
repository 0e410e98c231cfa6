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
    check (num_nonnulls(release_id, item_id) = 1)
);

create index news_channel on news (channel_id, id);

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
