-- name: list_reminders
-- Newest first, below a place in that total order, each with what it has and how it did last.
select r.id, r.title, r.account_id, coalesce(a.name, '') as account_name, coalesce(a.platform, '') as platform,
    r.zone, r.once_at, r.cron, r.window_start, r.window_end, r.at_close, r.state, r.fired_until, r.due_at,
    r.created_at, r.updated_at,
    (select count(*) from reminder_part p where p.reminder_id = r.id)::int as parts,
    headgate_count_groups(r.id) as targets,
    last.id as last_run_id, last.state as last_run_state, last.created_at as last_run_at,
    coalesce(last.total, 0) as last_run_total,
    (select count(*) from delivery d where d.run_id = last.id and d.state = 'sent')::int as last_run_sent
from reminder r
left join account a on a.id = r.account_id
left join lateral (
    select n.id, n.state, n.created_at, n.total from run n where n.reminder_id = r.id order by n.created_at desc, n.id desc limit 1
) as last on true
where (%(state)s::text is null or r.state = %(state)s)
  and (%(created_at)s::timestamptz is null or (r.created_at, r.id) < (%(created_at)s::timestamptz, %(id)s::uuid))
order by r.created_at desc, r.id desc
limit %(limit)s::int

-- name: get_reminder
-- One of them, with the account that sends.
select r.id, r.title, r.account_id, coalesce(a.name, '') as account_name, coalesce(a.platform, '') as platform,
    r.zone, r.once_at, r.cron, r.window_start, r.window_end, r.at_close, r.state, r.fired_until, r.due_at,
    r.created_at, r.updated_at
from reminder r left join account a on a.id = r.account_id
where r.id = %(id)s

-- name: count_groups
-- How many groups a reminder sends to.
select headgate_count_groups(%(id)s)

-- name: list_parts
-- In the order in which they are sent, with what is known of their files.
select p.number, p.text, p.media_id, coalesce(m.name, '') as media_name, coalesce(m.mime_type, '') as mime_type,
    coalesce(m.size_bytes, 0) as size_bytes
from reminder_part p left join media m on m.id = p.media_id
where p.reminder_id = %(id)s order by p.number

-- name: list_targets
-- Those that were chosen one by one, in the order in which they were; whether the account sees them.
select t.id, t.key, t.title, exists (
    select from target_account s where s.account_id = r.account_id and s.target_id = t.id and s.gone_at is null
) as seen
from reminder r join reminder_target u on u.reminder_id = r.id join target t on t.id = u.target_id
where r.id = %(id)s order by u.place

-- name: list_lists
-- The lists that it sends to, by name.
select l.id, l.name, (select count(*) from target_list_member m where m.list_id = l.id)::int as members
from reminder_list u join target_list l on l.id = u.list_id
where u.reminder_id = %(id)s order by lower(l.name), l.id

-- name: find_reminders
-- By id or by title, whatever its case.
select id, title, state from reminder
where id::text = lower(%(reference)s::text) or lower(title) = lower(%(reference)s)
order by created_at desc, id desc limit 20

-- name: list_titles
-- To guess what a person meant.
select title from reminder order by created_at desc limit 20000

-- name: list_first_titles
-- The targets of a plan in the order in which they were chosen, those of its lists behind them.
with wanted as (
    select u.id, 0 as source, '' as list, u.place
    from unnest(%(target_ids)s::uuid[]) with ordinality as u (id, place)
    union all
    select m.target_id, 1, lower(l.name), m.place
    from target_list l join target_list_member m on m.list_id = l.id where l.id = any(%(list_ids)s::uuid[])
), firsts as (
    select distinct on (id) id, source, list, place from wanted order by id, source, list, place
)
select t.title from firsts f join target t on t.id = f.id order by f.source, f.list, f.place limit %(limit)s::int
