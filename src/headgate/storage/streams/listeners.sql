-- name: note_listening
-- A sign of life of the account's listener, or its end.
update account set listening_at = case when %(listening)s then headgate_real_now() end, heard_at = %(now)s where id = %(account_id)s
