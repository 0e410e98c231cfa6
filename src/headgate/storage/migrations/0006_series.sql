-- Listings and their hosts; series, chapters and releases.

-- A listing's decisions are kept as a stream's are.
alter table decision drop constraint decision_channel_id_fkey;
alter table decision add foreign key (channel_id) references channel (id) on delete cascade;

alter table item drop constraint item_kind_check;
alter table item add check (kind in ('package', 'clip', 'picture', 'file', 'link', 'post'));

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
) returns table (
    of_channel uuid, new_releases int, changed_releases int, news_rows int, new_chapters int, changed_chapters int
)
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
    new_chapters := cardinality(made);

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

    changed_chapters := headgate_derive_chapters(array(select id from unnest(chapters) as id where id <> all(made)));
    perform headgate_settle_latest(series_ids);
    if left_behind is not null then
        perform headgate_leave_chapters(left_behind, moved_to);
    end if;

    return query
    with told as (
        insert into news (channel_id, release_id, at)
        select r.channel_id, r.id, taken_at
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
    select e.channel_id, count(*) filter (where e.id = any(added))::int,
           count(*) filter (where e.id <> all(coalesce(added, '{}')))::int,
           (select count(*) from told t where t.channel_id = e.channel_id)::int,
           headgate_take_releases.new_chapters, headgate_take_releases.changed_chapters
    from unnest(channel_ids, release_ids) as e (channel_id, id)
    group by e.channel_id;
end
$$;
