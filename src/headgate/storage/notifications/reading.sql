-- name: read_up_to
-- Never back: who looks at an old chapter again has still read the newer ones. A chapter that is going just now is waited
-- for, and then not there.
insert into reading as r (user_id, series_id, place, chapter_id, at)
select %(user_id)s, c.series_id, c.place, c.id, %(now)s
from (select * from chapter where id = %(chapter_id)s for key share) as c
on conflict (user_id, series_id) do update set place = excluded.place, chapter_id = excluded.chapter_id, at = excluded.at
where excluded.place > r.place

-- name: unread_from
-- Back to the chapter before this one; without one nothing is read.
with here as (
    select c.series_id, c.place from chapter c where c.id = %(chapter_id)s
), before as (
    select c.series_id, c.place, c.id from here h
    join chapter c on c.series_id = h.series_id and c.place < h.place
    order by c.place desc, c.id desc limit 1
), nothing as (
    delete from reading r using here h
    where r.user_id = %(user_id)s and r.series_id = h.series_id and r.place >= h.place
      and not exists (select from before)
)
update reading r set place = b.place, chapter_id = b.id, at = %(now)s
from before b, here h
where r.user_id = %(user_id)s and r.series_id = b.series_id and r.place >= h.place

-- name: chapter_exists
-- To tell a person of a chapter that is gone.
select exists (select from chapter where id = %(chapter_id)s)

-- name: read_notifications
-- Whoever has read a chapter needs not be told of it, nor of those before it.
update notification n set read_at = %(now)s
from reading r join chapter c on c.series_id = r.series_id and c.place <= r.place
where r.user_id = %(user_id)s and r.series_id = (select series_id from chapter where id = %(chapter_id)s)
  and n.chapter_id = c.id and n.user_id = %(user_id)s and n.read_at is null

-- name: count_unread_chapters
-- Chapters after the last one read that some source still has, for many series at once.
select s.id as series_id, (
    select count(*) from chapter c
    where c.series_id = s.id and (r.place is null or c.place > r.place)
      and exists (select from release e where e.chapter_id = c.id and e.removed_at is null)
)::int as unread
from unnest(%(series_ids)s::uuid[]) as s (id)
left join reading r on r.series_id = s.id and r.user_id = %(user_id)s
