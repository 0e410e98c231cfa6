-- name: publish
select pg_notify('headgate_event', %(payload)s::text)
