-- name: upsert_secret
-- The newest value is the only one that is kept.
insert into secret (owner, name, key_id, ciphertext)
values (%(owner)s::text, %(name)s::text, %(key_id)s::text, %(ciphertext)s::bytea)
on conflict (owner, name) do update set key_id = excluded.key_id, ciphertext = excluded.ciphertext

-- name: get_secret
-- With the name of its key, so that a lost key is told apart from a damaged secret.
select owner, name, key_id, ciphertext from secret
where owner = %(owner)s::text and name = %(name)s::text

-- name: insert_secret
-- The first value is the one that is kept.
insert into secret (owner, name, key_id, ciphertext)
values (%(owner)s::text, %(name)s::text, %(key_id)s::text, %(ciphertext)s::bytea)
on conflict (owner, name) do nothing

-- name: list_secrets
-- One secret of each of some owners, for those that have it.
select owner, name, key_id, ciphertext from secret where owner = any(%(owners)s::text[]) and name = %(name)s::text

-- name: list_secret_names
-- What is set can be shown; the values cannot.
select name from secret where owner = %(owner)s::text order by name

-- name: delete_secret
-- Gone from the table; older backups still hold it.
delete from secret where owner = %(owner)s::text and name = %(name)s::text

-- name: count_secrets
-- A new key may be made only while nothing depends on an old one.
select count(*) from secret

-- name: list_secrets_of_old_keys
-- Locked, so that a secret written meanwhile is not put back to its old value.
select owner, name, key_id, ciphertext from secret
where key_id <> %(key_id)s::text
order by owner, name
for update

-- name: update_ciphertexts
-- All secrets change to a new key in one statement, or none does.
update secret
set key_id = %(key_id)s::text, ciphertext = fresh.ciphertext
from unnest(%(owners)s::text[], %(names)s::text[], %(ciphertexts)s::bytea[]) as fresh (owner, name, ciphertext)
where secret.owner = fresh.owner and secret.name = fresh.name
