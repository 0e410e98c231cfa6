-- name: insert_login
-- Due at once, and claimed by nobody.
insert into account_login (id, platform, name, established, account_id, ask_at, claimed_until, expires_at)
values (%(id)s, %(platform)s, %(name)s, %(established)s, %(account_id)s, %(now)s, %(now)s, %(expires_at)s)

-- name: get_login
-- One that has expired is as good as gone.
select id, platform, name, established, account_id, signed_in, ask_at, expires_at from account_login
where id = %(id)s and expires_at > %(now)s

-- name: claim_login
-- The right to take the next step; nothing if another process has it, or it is too early to ask the platform again.
update account_login set claim = %(claim)s, claimed_until = %(until)s
where id = %(id)s and not signed_in and expires_at > %(now)s and claimed_until <= %(now)s
  and (ask_at <= %(now)s or not %(poll)s::boolean)
returning id, platform, name, established, account_id, signed_in, ask_at, expires_at

-- name: end_step
-- Only for who still has the claim.
update account_login set claim = null, claimed_until = %(now)s, ask_at = %(ask_at)s, expires_at = %(expires_at)s
where id = %(id)s and claim = %(claim)s

-- name: end_login
-- Kept until it expires, so that whoever else watches it learns how it ended.
update account_login set claim = null, signed_in = true, account_id = %(account_id)s
where id = %(id)s and claim = %(claim)s

-- name: delete_login
-- A person gave it up.
delete from account_login where id = %(id)s

-- name: delete_expired_logins
-- With what was sealed for them, also for those that went with their account.
with expired as (
    delete from account_login where expires_at <= %(now)s returning id
)
delete from secret s
where s.owner like 'login:%%' and not exists (
    select from account_login l where 'login:' || l.id = s.owner and l.id not in (select id from expired)
)
