-- name: list_memory
-- All that a connector remembers of an account.
select name, value from account_memory where account_id = %(account_id)s

-- name: save_memory
-- An empty value is forgotten.
with forgotten as (
    delete from account_memory where account_id = %(account_id)s and name = any(%(forgotten)s::text[])
)
insert into account_memory (account_id, name, value)
select %(account_id)s, name, value from unnest(%(names)s::text[], %(values)s::text[]) as n (name, value) order by name
on conflict (account_id, name) do update set value = excluded.value

-- name: lock_sign_in
-- Whether an account is still signed in as it was.
select exists (select from account where id = %(account_id)s and sign_in = %(sign_in)s for no key update) as same
