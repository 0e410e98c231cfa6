-- name: list_queued
-- The oldest changes.
select id, item_ids from send_rule_queue order by id limit %(limit)s

-- name: delete_queued
-- What is looked at now; what came since stays.
delete from send_rule_queue where id = any(%(ids)s::bigint[])
