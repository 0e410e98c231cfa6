-- name: has_queued
-- Whether anything waits for its row, without a job; after a dead letter it rests for a while.
select 'all' from (select from shelf_queue limit 1) as queued
where not exists (select from live_job where dedupe_key = 'shelf:all')
  and not exists (
      select from dead_letter d where d.kind = 'shelf' and d.state <> 'replayed' and d.died_at > %(rested_since)s
  )

-- name: list_queued
-- The oldest wishes.
select id, item_ids, group_ids from shelf_queue order by id limit %(limit)s

-- name: delete_queued
-- What is written now; what came since stays.
delete from shelf_queue where id = any(%(ids)s::bigint[])
