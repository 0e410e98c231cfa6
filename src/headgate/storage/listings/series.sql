-- name: insert_series
-- A work without chapters yet.
insert into series (id, title, created_at) values (%(id)s, %(title)s, %(now)s)

-- name: rename_series
-- A person's name for it stays: nothing else changes a title.
update series set title = %(title)s where id = %(id)s

-- name: delete_series
-- With its chapters and releases; its listings stay channels.
delete from series where id = %(id)s

-- name: upsert_source
-- A listing brings a series; entries that were taken otherwise before are classified again by the next poll.
with put as (
    insert into series_source as s (series_id, channel_id, pattern, language, created_at)
    values (%(series_id)s, %(channel_id)s, %(pattern)s, %(language)s, %(now)s)
    on conflict (series_id, channel_id) do update set pattern = excluded.pattern, language = excluded.language
    returning channel_id
)
update listing l set cursor = '{}', due_at = %(now)s, planned_at = %(now)s, asked = succeeded_at is not null,
    wake_seq = wake_seq + 1
from put where l.channel_id = put.channel_id

-- name: delete_source
-- What it brought stays, as removed.
with gone as (
    delete from series_source where series_id = %(series_id)s and channel_id = %(channel_id)s returning channel_id
)
update release r set removed_at = %(now)s
from gone g, chapter c
where r.channel_id = g.channel_id and c.id = r.chapter_id and c.series_id = %(series_id)s and r.removed_at is null

-- name: find_series
-- By id, by title whatever its case, or by the key of a listing that brings it.
select s.id, s.title from series s
where s.id::text = lower(%(reference)s::text) or right(s.id::text, 12) = lower(%(reference)s::text)
   or lower(s.title) = lower(%(reference)s)
   or exists (select from series_source o join channel c on c.id = o.channel_id
              where o.series_id = s.id and c.key = %(reference)s and o.pattern = '')
order by s.created_at limit 20

-- name: list_titled
-- The series that are called so, whatever the case: of several the oldest.
select distinct on (t.title) s.id, t.title from unnest(%(titles)s::text[]) as t (title)
join series s on lower(s.title) = lower(t.title)
order by t.title, s.created_at, s.id

-- name: list_sourced
-- The listings of a platform with the series that each brings: one row a series, one for a listing without any.
select c.id as channel_id, c.key, c.title, s.id as series_id, coalesce(s.title, '') as series_title,
       coalesce(o.pattern, '') as pattern, coalesce(o.language, '') as language
from channel c join listing l on l.channel_id = c.id
left join series_source o on o.channel_id = c.id
left join series s on s.id = o.series_id
where c.platform = %(platform)s and (%(keys)s::text[] is null or c.key = any(%(keys)s))
order by lower(c.title), c.id, lower(s.title), s.id

-- name: list_titles
-- To guess what a person meant.
select title from series order by lower(title) limit 20000

-- name: list_series
-- A page by title, after a place in that total order, as a user sees it.
select s.id, s.title, s.latest_chapter, s.latest_published_at, s.numbers_reset, s.created_at,
       (select count(*) from chapter c where c.series_id = s.id) as chapters,
       (select count(*) from series_source o where o.series_id = s.id) as sources,
       f.id is not null as followed, coalesce(r.place, '') as read_place, coalesce(rc.number, '') as read_chapter
from series s
left join follow f on f.series_id = s.id and f.user_id = %(user_id)s
left join reading r on r.series_id = s.id and r.user_id = %(user_id)s
left join chapter rc on rc.id = r.chapter_id
where (lower(s.title), s.id) > (lower(%(after_title)s::text), %(after_id)s::uuid)
  and (%(pattern)s::text is null or s.title ilike %(pattern)s)
  and (not %(followed)s or f.id is not null)
order by lower(s.title), s.id limit %(limit)s

-- name: get_series
-- One, as a user sees it.
select s.id, s.title, s.latest_chapter, s.latest_published_at, s.numbers_reset, s.created_at,
       (select count(*) from chapter c where c.series_id = s.id) as chapters,
       (select count(*) from series_source o where o.series_id = s.id) as sources,
       f.id is not null as followed, coalesce(r.place, '') as read_place, coalesce(rc.number, '') as read_chapter
from series s
left join follow f on f.series_id = s.id and f.user_id = %(user_id)s
left join reading r on r.series_id = s.id and r.user_id = %(user_id)s
left join chapter rc on rc.id = r.chapter_id
where s.id = %(id)s

-- name: list_chapters
-- A page of a series, the last first, below a place in its order.
select c.id, c.key, c.place, c.number, c.volume, c.title, c.published_at, c.seen_at
from chapter c
where c.series_id = %(series_id)s
  and (%(below)s::text is null or (c.place, c.id) < (%(below)s::text collate "C", %(below_id)s::uuid))
order by c.place desc, c.id desc limit %(limit)s

-- name: find_chapter
-- By id, or by number as people write it.
select c.id, c.key, c.place, c.number, c.volume, c.title, c.published_at, c.seen_at
from chapter c
where c.series_id = %(series_id)s and (c.id::text = %(reference)s::text or c.key = %(key)s or c.number = %(reference)s)
order by c.place limit 2

-- name: list_releases
-- The releases of chapters, the earliest first.
select r.id, r.chapter_id, r.channel_id, c.title as channel_title, c.platform, r.entry_key, r.title, r.url, r.language,
       r.scan_group, r.external, r.published_at, r.seen_at, r.removed_at
from release r join channel c on c.id = r.channel_id
where r.chapter_id = any(%(chapter_ids)s)
order by r.chapter_id, coalesce(r.published_at, r.seen_at), r.id

-- name: list_series_sources
-- The listings that bring a series.
select o.channel_id, c.platform, c.key, c.title, o.pattern, o.language
from series_source o join channel c on c.id = o.channel_id
where o.series_id = %(series_id)s order by o.created_at, o.channel_id

-- name: drop_empty_chapters
-- Chapters that no source has ever had any more.
delete from chapter c
where c.series_id = %(series_id)s and not exists (select from release r where r.chapter_id = c.id)

-- name: list_series_of_channels
-- Which series these listings bring or have brought.
select series_id from series_source where channel_id = any(%(channel_ids)s::uuid[])
union
select c.series_id from release r join chapter c on c.id = r.chapter_id where r.channel_id = any(%(channel_ids)s::uuid[])

-- name: settle_latest
-- What the latest chapter is now that a source is gone.
select headgate_settle_latest(%(series_ids)s::uuid[])
