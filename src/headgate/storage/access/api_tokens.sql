-- name: insert_api_token
-- Only the hash is kept: the token itself is shown once, to its owner.
insert into api_token (id, user_id, name, token_hash, scopes, created_at, expires_at)
values (
    %(id)s::uuid, %(user_id)s::uuid, %(name)s::text, %(token_hash)s::bytea, %(scopes)s::text[],
    %(now)s::timestamptz, %(expires_at)s::timestamptz
)
returning id, name, scopes, created_at, last_used_at, expires_at

-- name: get_api_token
-- The user comes along: a token can never do more than its owner may today.
select t.id, t.user_id, u.name as user_name, u.role, t.scopes, t.last_used_at
from api_token t
join app_user u on u.id = t.user_id
where t.token_hash = %(token_hash)s::bytea and t.expires_at > %(now)s::timestamptz

-- name: touch_api_token
-- For the list of tokens, where one that nobody uses any more stands out.
update api_token set last_used_at = %(now)s::timestamptz
where id = %(id)s::uuid and (last_used_at is null or last_used_at < %(now)s::timestamptz)

-- name: list_api_tokens
-- A user's own tokens, expired ones too until they are revoked; nobody sees another one's.
select id, name, scopes, created_at, last_used_at, expires_at
from api_token
where user_id = %(user_id)s::uuid
order by created_at desc, id desc

-- name: delete_api_token
-- By its owner alone; it counts nowhere from the next request on.
delete from api_token where id = %(id)s::uuid and user_id = %(user_id)s::uuid

-- name: delete_api_tokens
-- All of a user's, when the password was changed because somebody else may know it.
delete from api_token where user_id = %(user_id)s::uuid
