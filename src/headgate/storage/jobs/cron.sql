-- name: upsert_cron
-- A changed schedule is reckoned anew; an unchanged one keeps its due time through restarts.
insert into cron (kind, key, schedule, due_at) values (%(kind)s, %(key)s, %(schedule)s, %(due_at)s)
on conflict (kind, key) do update set schedule = excluded.schedule, due_at = excluded.due_at
where cron.schedule <> excluded.schedule

-- name: list_due_cron
-- Due rows of a kind that have no job yet.
select key from cron
where kind = %(kind)s and due_at <= %(now)s
  and not exists (select from pgqueuer where dedupe_key = cron.kind || ':' || cron.key
                  and status in ('queued', 'picked'))
order by due_at limit %(limit)s

-- name: get_cron
-- What a run starts from: its schedule, and which wake-ups it has seen.
select schedule, wake_seq from cron where kind = %(kind)s and key = %(key)s

-- name: end_cron
-- A wake-up that came during the run makes it due again at once.
update cron set due_at = case when wake_seq = %(seen)s then %(next)s::timestamptz else %(now)s end
where kind = %(kind)s and key = %(key)s

-- name: wake_cron
-- Now instead of at its time; the sequence tells a run under way that it was asked for again.
update cron set due_at = least(coalesce(due_at, %(now)s), %(now)s), wake_seq = wake_seq + 1
where kind = %(kind)s and key = %(key)s

-- name: set_cron_due
-- The next time, once it is known.
update cron set due_at = %(due_at)s where kind = %(kind)s and key = %(key)s
