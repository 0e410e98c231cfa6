-- name: insert_session
-- Only the hash is kept: a copy of the table lets nobody in.
insert into user_session
    (id, user_id, token_hash, user_agent, address, created_at, last_seen_at, expires_at)
values (
    %(id)s::uuid, %(user_id)s::uuid, %(token_hash)s::bytea, %(user_agent)s::text, %(address)s::text,
    %(now)s::timestamptz, %(now)s::timestamptz, %(expires_at)s::timestamptz
)

-- name: get_session
-- The user comes along: every request asks for both.
select s.id, s.user_id, u.name as user_name, u.role, s.last_seen_at
from user_session s
join app_user u on u.id = s.user_id
where s.token_hash = %(token_hash)s::bytea and s.expires_at > %(now)s::timestamptz

-- name: is_session_open
-- Asked again and again by long connections, which outlive a sign-out otherwise.
select exists (
    select from user_session where id = %(id)s::uuid and expires_at > %(now)s::timestamptz
)

-- name: touch_session
-- Last seen, for the list of sessions; a late request does not set it back.
update user_session set last_seen_at = %(now)s::timestamptz
where id = %(id)s::uuid and last_seen_at < %(now)s::timestamptz

-- name: list_sessions
-- A user's own open sessions, to find one that is not theirs.
select id, user_agent, address, created_at, last_seen_at, expires_at
from user_session
where user_id = %(user_id)s::uuid and expires_at > %(now)s::timestamptz
order by last_seen_at desc, id desc

-- name: delete_session
-- A sign-out, or the end of a session elsewhere; by its owner alone.
delete from user_session where id = %(id)s::uuid and user_id = %(user_id)s::uuid

-- name: delete_other_sessions
-- With no session to keep, all of them go.
delete from user_session where user_id = %(user_id)s::uuid and id is distinct from %(keep_id)s::uuid

-- name: delete_expired_sessions
-- Expired ones are refused anyway; this only keeps the table small.
delete from user_session where expires_at <= %(now)s::timestamptz
