-- name: lock_users
-- Two setup forms at once must not make two first administrators.
lock table app_user in share row exclusive mode

-- name: count_users
-- Whether the first administrator is still to be made.
select count(*) from app_user

-- name: insert_user
-- The name may be taken in another spelling; then no row comes back.
insert into app_user (id, name, password_hash, role, created_at)
values (%(id)s::uuid, %(name)s::text, %(password_hash)s::text, %(role)s::text, %(now)s::timestamptz)
on conflict (lower(name)) do nothing
returning id, name, role, password_hash

-- name: get_user
-- By id, for sessions and tokens.
select id, name, role, password_hash from app_user where id = %(id)s::uuid

-- name: get_user_by_name
-- Names are compared without case, as people type them.
select id, name, role, password_hash from app_user where lower(name) = lower(%(name)s::text)

-- name: set_password_hash
-- Hashed before it comes here; a plain password never reaches the database.
update app_user set password_hash = %(password_hash)s::text where id = %(id)s::uuid

-- name: replace_password_hash
-- A rehash after a sign-in must not undo a password that was changed meanwhile.
update app_user set password_hash = %(password_hash)s::text
where id = %(id)s::uuid and password_hash = %(old_hash)s::text

-- name: insert_setup_link
-- Only the hash is kept; whoever holds the link becomes the administrator.
insert into setup_link (token_hash, created_at, expires_at)
values (%(token_hash)s::bytea, %(now)s::timestamptz, %(expires_at)s::timestamptz)

-- name: is_setup_link_open
-- Once there is a user, no setup link opens anything.
select exists (
    select from setup_link where token_hash = %(token_hash)s::bytea and expires_at > %(now)s::timestamptz
) and not exists (select from app_user)

-- name: delete_setup_links
-- A newer link, or the first user, ends all of them.
delete from setup_link

-- name: list_users
-- Everybody who may sign in, and when they were last here.
select u.id, u.name, u.role, u.created_at, max(s.last_seen_at) as last_seen_at
from app_user u left join user_session s on s.user_id = u.id
group by u.id order by lower(u.name)

-- name: delete_user
-- Never the last administrator: nobody could let anybody in again.
delete from app_user u where u.id = %(id)s::uuid
  and (u.role <> 'admin' or exists (select from app_user o where o.role = 'admin' and o.id <> u.id))

-- name: set_role
-- Never takes the role of the last administrator.
update app_user u set role = %(role)s::text where u.id = %(id)s::uuid
  and (%(role)s::text = 'admin' or u.role <> 'admin'
       or exists (select from app_user o where o.role = 'admin' and o.id <> u.id))
