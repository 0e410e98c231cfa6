-- name: insert_browser
-- Only the hash is kept, as of every token.
insert into known_browser (token_hash, user_id, seen_at)
values (%(token_hash)s::bytea, %(user_id)s::uuid, %(now)s::timestamptz)

-- name: is_known_browser
-- Known for this very user alone: one account must not give free guesses at another.
select exists (
    select from known_browser
    where token_hash = %(token_hash)s::bytea and user_id = %(user_id)s::uuid
      and seen_at > %(seen_after)s::timestamptz
)

-- name: forget_browsers
-- After a new password every browser has to prove itself again.
delete from known_browser where user_id = %(user_id)s::uuid

-- name: prune_browsers
-- What the browser had before, old ones, and all but the newest of a user: a program that keeps no cookies must not fill the table.
delete from known_browser
where token_hash = %(before)s::bytea
   or seen_at <= %(seen_after)s::timestamptz
   or token_hash in (
       select token_hash from known_browser
       where user_id = %(user_id)s::uuid
       order by seen_at desc, token_hash
       offset %(max_browsers)s::int
   )
