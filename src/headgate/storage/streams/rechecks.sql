-- name: ask_rechecks
-- A new wish outranks the fetch that is under way, and everything that failed before it.
insert into recheck as r (channel_id, message_key, reason, due_at, asked_at)
select %(channel_id)s, key, %(reason)s, %(due_at)s, %(now)s from unnest(%(message_keys)s::text[]) as key order by key
on conflict (channel_id, message_key) do update
set seq = r.seq + 1, reason = excluded.reason, attempts = 0, asked_at = excluded.asked_at,
    due_at = least(r.due_at, excluded.due_at)

-- name: list_due_rechecks
-- Due rechecks without a job, the longest due first.
select r.channel_id || '/' || r.message_key from recheck r
where r.due_at <= %(now)s
  and not exists (select from live_job where dedupe_key = 'recheck:' || r.channel_id || '/' || r.message_key)
order by r.due_at limit %(limit)s

-- name: get_recheck
-- The wish as it is before the fetch begins.
select channel_id, message_key, seq, reason, attempts, due_at from recheck
where channel_id = %(channel_id)s and message_key = %(message_key)s

-- name: clear_recheck
-- Only a fetch that began after the last wish fulfils it.
delete from recheck
where channel_id = %(channel_id)s and message_key = %(message_key)s and seq = %(seen)s

-- name: postpone_recheck
-- A newer wish keeps the time that it asked for.
update recheck set attempts = %(attempts)s, due_at = %(due_at)s
where channel_id = %(channel_id)s and message_key = %(message_key)s and seq = %(seen)s

-- name: set_recheck_due
-- Parks a recheck (no due time) or makes it due.
update recheck set due_at = %(due_at)s where channel_id = %(channel_id)s and message_key = %(message_key)s
