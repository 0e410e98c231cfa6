-- name: list_newest
-- The newest chapters of the series that a user follows, below one of them. Series by series from the index, so that it costs the same
-- however many chapters there are.
select c.id, c.series_id, s.title as series_title, c.number, c.volume, c.title, c.published_at, c.seen_at,
    coalesce(r.url, '') as url, coalesce(r.channel_title, '') as source
from (
    select c.* from follow f
    cross join lateral (
        select c.* from chapter c
        where c.series_id = f.series_id
          and (%(id)s::uuid is null or (c.seen_at, c.id) < (%(seen_at)s::timestamptz, %(id)s::uuid))
        order by c.seen_at desc, c.id desc limit %(limit)s
    ) as c
    where f.user_id = %(user_id)s and f.series_id is not null
    order by c.seen_at desc, c.id desc limit %(limit)s
) as c
join series s on s.id = c.series_id
left join lateral (
    select r.url, h.title as channel_title from release r join channel h on h.id = r.channel_id
    where r.chapter_id = c.id order by r.removed_at nulls first, r.external, r.seen_at, r.id limit 1
) as r on true
order by c.seen_at desc, c.id desc
