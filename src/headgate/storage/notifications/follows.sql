-- name: upsert_follow
-- Who follows again changes the switches; what is news still counts from the first time.
insert into follow as f (id, user_id, series_id, channel_id, search, in_app, push, per, languages, since)
values (%(id)s, %(user_id)s, %(series_id)s::uuid, %(channel_id)s::uuid, %(search)s::text, %(in_app)s, %(push)s, %(per)s,
        %(languages)s::text[], %(now)s)
on conflict (user_id, series_id, channel_id, search) do update
set in_app = excluded.in_app, push = excluded.push, per = excluded.per, languages = excluded.languages
returning f.id

-- name: update_follow
-- Only the owner's; what it is about stays.
update follow set in_app = %(in_app)s, push = %(push)s, per = %(per)s, languages = %(languages)s::text[]
where id = %(id)s and user_id = %(user_id)s

-- name: delete_follow
-- What was told stays told.
delete from follow where id = %(id)s and user_id = %(user_id)s

-- name: get_follow
-- With the name of what is followed.
select f.id, f.user_id, f.series_id, f.channel_id, f.search, f.in_app, f.push, f.per, f.languages, f.since,
       coalesce(s.title, c.title, f.search) as title
from follow f left join series s on s.id = f.series_id left join channel c on c.id = f.channel_id
where f.id = %(id)s and f.user_id = %(user_id)s

-- name: find_follow
-- The follow of exactly this, if there is one.
select f.id, f.user_id, f.series_id, f.channel_id, f.search, f.in_app, f.push, f.per, f.languages, f.since,
       coalesce(s.title, c.title, f.search) as title
from follow f left join series s on s.id = f.series_id left join channel c on c.id = f.channel_id
where f.user_id = %(user_id)s and f.series_id is not distinct from %(series_id)s::uuid
  and f.channel_id is not distinct from %(channel_id)s::uuid and f.search is not distinct from %(search)s::text

-- name: list_follows
-- What a user follows, by name, after a place in that total order.
select f.id, f.user_id, f.series_id, f.channel_id, f.search, f.in_app, f.push, f.per, f.languages, f.since,
       coalesce(s.title, c.title, f.search) as title
from follow f left join series s on s.id = f.series_id left join channel c on c.id = f.channel_id
where f.user_id = %(user_id)s
  and (lower(coalesce(s.title, c.title, f.search)), f.id) > (lower(%(after_title)s::text), %(after_id)s::uuid)
order by lower(coalesce(s.title, c.title, f.search)), f.id
limit %(limit)s::int

-- name: list_followed_channels
-- Those of some channels that a user follows.
select channel_id from follow where user_id = %(user_id)s and channel_id = any(%(channel_ids)s)

-- name: list_followed_series
-- Those of some series that a user follows.
select series_id from follow where user_id = %(user_id)s and series_id = any(%(series_ids)s)

-- name: count_follows
-- How many a user has.
select count(*) from follow where user_id = %(user_id)s

-- name: is_there
-- Whether what is to be followed exists.
select case when %(series_id)s::uuid is not null then exists (select from series where id = %(series_id)s::uuid)
            when %(channel_id)s::uuid is not null then exists (select from channel where id = %(channel_id)s::uuid)
            else true end

-- name: words_of
-- A search as it is kept and compared: its words in small letters.
select ltrim(headgate_words(%(text)s::text))

-- name: list_watched_channels
-- Those of some channels that somebody follows.
select distinct channel_id from follow where channel_id = any(%(channel_ids)s::uuid[])
