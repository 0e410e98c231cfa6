-- name: upsert_account
-- The id of an account; an existing one keeps everything.
insert into account (id, platform, name, established, created_at)
values (%(id)s, %(platform)s, %(name)s, %(established)s, %(now)s)
on conflict (platform, name) do update set name = excluded.name
returning id

-- name: insert_account
-- Nothing if there is one of this name already.
insert into account (id, platform, name, state, state_reason, established, created_at)
values (%(id)s, %(platform)s, %(name)s, %(state)s, %(reason)s, %(established)s, %(now)s)
on conflict (platform, name) do nothing

-- name: list_accounts
-- For those who look after them, in the order in which they are shown.
select id, platform, name, state, state_reason, established, sign_in from account order by platform, name

-- name: set_established
-- Whether an account is in use for long; its lanes follow in the same transaction.
update account set established = %(established)s where id = %(id)s

-- name: set_account_state
-- The reason is shown to people; a change back to active clears it, and is another sign-in.
update account set state = %(state)s, state_reason = %(reason)s, sign_in = sign_in + (%(state)s = 'active')::int
where id = %(id)s and (state <> %(state)s or %(state)s = 'active')

-- name: suspend_account
-- What a session met concerns the account only if no newer one was begun since.
update account set state = %(state)s, state_reason = %(reason)s
where id = %(id)s and sign_in = %(sign_in)s and (state, state_reason) is distinct from (%(state)s, %(reason)s)

-- name: delete_account
-- Its watches go with it; what it caught is the channels'.
delete from account where id = %(id)s

-- name: find_streams
-- Which of these streams an account reads, by the platform's key.
select c.key, c.id from channel c join stream s on s.channel_id = c.id
where c.platform = (select platform from account where id = %(account_id)s) and c.key = any(%(keys)s::text[])
  and s.reader_id = %(account_id)s
