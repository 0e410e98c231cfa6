-- name: list_notifications
-- A page of what a user was told, newest first, below a place in that total order.
select n.id, n.series_id, n.chapter_id, n.channel_id, n.item_id, n.title, n.body, n.url, n.at, n.read_at
from notification n
where n.user_id = %(user_id)s and n.in_app and (n.at, n.id) < (%(at)s::timestamptz, %(id)s::uuid)
  and (not %(unread_only)s::boolean or n.read_at is null)
order by n.at desc, n.id desc
limit %(limit)s::int

-- name: get_notification
-- Only the user's own.
select n.id, n.series_id, n.chapter_id, n.channel_id, n.item_id, n.title, n.body, n.url, n.at, n.read_at
from notification n
where n.id = %(id)s and n.user_id = %(user_id)s and n.in_app

-- name: count_unread
-- Counting stops at a cap: beyond it nobody reads the figure.
select count(*) from (
    select from notification where user_id = %(user_id)s and in_app and read_at is null limit %(cap)s::int
) as capped

-- name: mark_read
-- Only the user's own.
update notification set read_at = %(now)s where id = %(id)s and user_id = %(user_id)s and read_at is null

-- name: mark_all_read
-- Not what came after the page was shown: the user has not seen it.
update notification set read_at = %(now)s
where user_id = %(user_id)s and in_app and read_at is null and at <= %(until)s::timestamptz

-- name: empty_old
-- What was read long ago is taken out of the list. Of a chapter only the subject stays, so that nobody is told of it again
-- when another source brings it years later.
update notification set title = '', body = '', url = '', in_app = false, push = false
where id in (
    select id from notification
    where title <> '' and at < %(before)s and (read_at < %(before)s or not in_app) and chapter_id is not null
    order by at limit %(limit)s::int
)

-- name: delete_old
-- An item is caught once, and a chapter that is gone comes back as another: neither can be told again.
delete from notification
where id in (
    select id from notification
    where title <> '' and at < %(before)s and (read_at < %(before)s or not in_app) and chapter_id is null
    order by at limit %(limit)s::int
)

-- name: delete_old_pushes
-- Of what was pushed, only the notifications are kept longer.
delete from push where id in (select id from push where ended_at < %(before)s order by ended_at limit %(limit)s::int)

-- name: delete_lost_secrets
-- Addresses go with their user, but secrets know no users.
delete from secret s where s.owner like 'push:%%' and s.name = 'url'
  and not exists (select from push_address a where s.owner = 'push:' || a.id)
