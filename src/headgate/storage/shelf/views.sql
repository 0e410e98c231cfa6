-- name: lock_user
-- Whoever changes the views of one user takes turns: there is a limit, and one default.
select id from app_user where id = %(user_id)s for no key update

-- name: list_views
-- A user's views by name, the default first.
select id, name, query, is_default, created_at from library_view
where user_id = %(user_id)s order by not is_default, lower(name), id

-- name: get_view
-- One view of a user.
select id, name, query, is_default, created_at from library_view where id = %(id)s and user_id = %(user_id)s

-- name: insert_view
-- Nothing is returned if the user has a view of that name.
insert into library_view (id, user_id, name, query, created_at)
values (%(id)s, %(user_id)s, %(name)s, %(query)s, %(now)s)
on conflict do nothing
returning id

-- name: change_view
-- Its name, or what it shows.
update library_view set name = coalesce(%(name)s::text, name), query = coalesce(%(query)s::text, query)
where id = %(id)s and user_id = %(user_id)s

-- name: is_name_taken
-- By another view of the user.
select exists (
    select from library_view where user_id = %(user_id)s and lower(name) = lower(%(name)s) and id <> %(id)s
)

-- name: clear_default
-- Before another view becomes it: there is at most one.
update library_view set is_default = false where user_id = %(user_id)s and is_default

-- name: set_default
-- What the library begins with.
update library_view set is_default = true where id = %(id)s and user_id = %(user_id)s

-- name: delete_view
-- Only the view goes; what it shows stays.
delete from library_view where id = %(id)s and user_id = %(user_id)s
