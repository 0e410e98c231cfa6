-- name: get_marks
-- What the clocks showed when they were last looked at.
select product_at, real_at, headgate_real_now() as real_now from clock_mark for update

-- name: set_marks
-- What they show now.
insert into clock_mark (product_at, real_at) values (%(now)s, headgate_real_now())
on conflict (single) do update set product_at = excluded.product_at, real_at = excluded.real_at

-- name: replan_from_the_future
-- A machine whose clock is ahead writes due times that are ahead too, and no step tells. What claims to have been planned
-- later than now is planned anew.
with streams as (
    update stream set planned_at = %(now)s, wake_seq = wake_seq + 1,
        due_at = case when due_at > %(now)s then %(now)s else due_at end,
        idle_at = case when idle_at > %(now)s then %(now)s else idle_at end,
        head_checked_at = case when head_checked_at > %(now)s then %(now)s else head_checked_at end,
        reason = case when due_at is not null then 'clock_changed' else reason end
    where planned_at > %(now)s::timestamptz + %(tolerance)s
)
update listing set due_at = case when due_at > %(now)s then %(now)s else due_at end, planned_at = %(now)s
where planned_at > %(now)s::timestamptz + %(tolerance)s

-- name: move_product_times
-- Whatever lies ahead was written before the clock was set back, and lies as far ahead as it did then. The fires and
-- windows of reminders are times of day, and come when they come.
with streams as (
    update stream set reason = case when due_at > %(now)s then 'clock_changed' else reason end, wake_seq = wake_seq + 1,
        due_at = headgate_moved(due_at, %(now)s, %(step)s), planned_at = headgate_moved(planned_at, %(now)s, %(step)s),
        head_checked_at = headgate_moved(head_checked_at, %(now)s, %(step)s), head_at = headgate_moved(head_at, %(now)s, %(step)s),
        idle_at = headgate_moved(idle_at, %(now)s, %(step)s),
        tip_after = headgate_moved(tip_after, %(now)s, %(step)s), rated_at = headgate_moved(rated_at, %(now)s, %(step)s)
    where greatest(due_at, planned_at, head_checked_at, head_at, idle_at, tip_after, rated_at) > %(now)s
), scans as (
    update scan set due_at = headgate_moved(due_at, %(now)s, %(step)s)
    where due_at > %(now)s and status in ('QUEUED', 'RUNNING')
), holes as (
    update hole set next_try_at = headgate_moved(next_try_at, %(now)s, %(step)s) where next_try_at > %(now)s
), listings as (
    update listing set due_at = headgate_moved(due_at, %(now)s, %(step)s), planned_at = headgate_moved(planned_at, %(now)s, %(step)s),
        rest_until = headgate_moved(rest_until, %(now)s, %(step)s)
    where greatest(due_at, planned_at, rest_until) > %(now)s
), hosts as (
    update host set due_at = headgate_moved(due_at, %(now)s, %(step)s), open_until = headgate_moved(open_until, %(now)s, %(step)s)
    where greatest(due_at, open_until) > %(now)s
), watches as (
    update watch set open_until = headgate_moved(open_until, %(now)s, %(step)s) where open_until > %(now)s
), misses as (
    update miss set due_at = headgate_moved(due_at, %(now)s, %(step)s) where due_at > %(now)s
), rechecks as (
    update recheck set due_at = headgate_moved(due_at, %(now)s, %(step)s) where due_at > %(now)s
), rereads as (
    update reread set due_at = headgate_moved(due_at, %(now)s, %(step)s), began_at = headgate_moved(began_at, %(now)s, %(step)s),
        unheard_since = headgate_moved(unheard_since, %(now)s, %(step)s)
    where greatest(due_at, began_at, unheard_since) > %(now)s
), buckets as (
    update volume_bucket set due_at = headgate_moved(due_at, %(now)s, %(step)s) where due_at > %(now)s
), sets as (
    update item_set set arrived_at = headgate_moved(arrived_at, %(now)s, %(step)s) where arrived_at > %(now)s
), news_later as (
    update news set due_at = headgate_moved(due_at, %(now)s, %(step)s) where due_at > %(now)s
), judgings as (
    update judging set due_at = headgate_moved(due_at, %(now)s, %(step)s) where due_at > %(now)s
), accounts as (
    update account set discover_at = headgate_moved(discover_at, %(now)s, %(step)s),
        discovered_at = headgate_moved(discovered_at, %(now)s, %(step)s), heard_at = headgate_moved(heard_at, %(now)s, %(step)s)
    where greatest(discover_at, discovered_at, heard_at) > %(now)s
), crons as (
    update cron set due_at = headgate_moved(due_at, %(now)s, %(step)s) where due_at > %(now)s
), addresses as (
    update push_address set due_at = headgate_moved(due_at, %(now)s, %(step)s), open_until = headgate_moved(open_until, %(now)s, %(step)s)
    where greatest(due_at, open_until) > %(now)s
), inspections as (
    update inspection set due_at = headgate_moved(due_at, %(now)s, %(step)s) where due_at > %(now)s
), files as (
    update item_file set due_at = headgate_moved(due_at, %(now)s, %(step)s),
        spool_until = headgate_moved(spool_until, %(now)s, %(step)s)
    where state = 'wanted' and greatest(due_at, spool_until) > %(now)s
), lines as (
    update fetch_line set due_at = headgate_moved(due_at, %(now)s, %(step)s),
        served_at = headgate_moved(served_at, %(now)s, %(step)s)
    where greatest(due_at, served_at) > %(now)s
), slots as (
    update fetch_slot set due_at = headgate_moved(due_at, %(now)s, %(step)s) where due_at > %(now)s
), requests as (
    update send_request set due_at = headgate_moved(due_at, %(now)s, %(step)s),
        verify_at = headgate_moved(verify_at, %(now)s, %(step)s)
    where greatest(due_at, verify_at) > %(now)s
), send_rules as (
    update send_rule set due_at = headgate_moved(due_at, %(now)s, %(step)s),
        enabled_at = headgate_moved(enabled_at, %(now)s, %(step)s)
    where greatest(due_at, enabled_at) > %(now)s
), doomed as (
    update doomed_object set delete_at = headgate_moved(delete_at, %(now)s, %(step)s) where delete_at > %(now)s
)
update run set due_at = greatest(opens_at, headgate_moved(due_at, %(now)s, %(step)s))
where due_at > %(now)s and state in ('waiting', 'running')

-- name: move_real_times
-- The same for what real time decides: the delays and heartbeats of jobs, leases, the pace of calls, doubtful messages.
with moment as materialized (
    select headgate_real_now() as at, %(step)s::interval as step
), jobs as (
    update pgqueuer q set execute_after = headgate_moved(q.execute_after, m.at, m.step),
        heartbeat = headgate_moved(q.heartbeat, m.at, m.step), updated = headgate_moved(q.updated, m.at, m.step),
        created = headgate_moved(q.created, m.at, m.step)
    from moment m where greatest(q.execute_after, q.heartbeat, q.updated, q.created) > m.at
), leases as (
    update lease l set expires_at = headgate_moved(l.expires_at, m.at, m.step) from moment m where l.expires_at > m.at
), lanes as (
    update lane l set tat = headgate_moved(l.tat, m.at, m.step), cool_until = headgate_moved(l.cool_until, m.at, m.step),
        rate_at = headgate_moved(l.rate_at, m.at, m.step), warm_at = headgate_moved(l.warm_at, m.at, m.step),
        use_slot = least(l.use_slot, lane_slot(m.at))
    from moment m where greatest(l.tat, l.cool_until, l.rate_at, l.warm_at) > m.at or l.use_slot > lane_slot(m.at)
), logins as (
    update account_login a set ask_at = headgate_moved(a.ask_at, m.at, m.step),
        claimed_until = headgate_moved(a.claimed_until, m.at, m.step), expires_at = headgate_moved(a.expires_at, m.at, m.step)
    from moment m where greatest(a.ask_at, a.claimed_until, a.expires_at) > m.at
), uploads as (
    update upload_intent u set expires_at = headgate_moved(u.expires_at, m.at, m.step) from moment m where u.expires_at > m.at
), downloads as (
    update item_file f set taken_until = headgate_moved(f.taken_until, m.at, m.step)
    from moment m where f.state = 'wanted' and f.taken_until > m.at
), reservations as (
    update room_reservation r set expires_at = headgate_moved(r.expires_at, m.at, m.step) from moment m where r.expires_at > m.at
)
update part p set sending_at = headgate_moved(p.sending_at, m.at, m.step),
    doubtful_since = headgate_moved(p.doubtful_since, m.at, m.step), retry_at = headgate_moved(p.retry_at, m.at, m.step)
from moment m
where p.state in ('planned', 'sending') and greatest(p.sending_at, p.doubtful_since, p.retry_at) > m.at
