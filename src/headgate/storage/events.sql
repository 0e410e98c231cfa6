-- name: publish
-- Sent with the commit, so that nobody hears of what did not happen.
select pg_notify('headgate_event', payload) from unnest(%(payloads)s::text[]) as payload
