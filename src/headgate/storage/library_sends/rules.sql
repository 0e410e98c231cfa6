-- name: list_rules
-- With what became of what they sent, counted up to a cap.
select r.id, r.name, r.query, r.target_id, t.title as target_title, t.platform, r.account_id, coalesce(a.name, '') as account_name,
    r.enabled, r.enabled_at, r.backfill, r.sweeping as backfilling, r.created_at,
    counted.asked, counted.sent, counted.verified, counted.missing
from send_rule r
join target t on t.id = r.target_id
left join account a on a.id = r.account_id
cross join lateral (
    select count(*)::int as asked, count(*) filter (where q.state = 'sent')::int as sent,
        count(*) filter (where q.verification = 'found')::int as verified,
        count(*) filter (where q.verification = 'missing')::int as missing
    from (select q.state, q.verification from send_request q where q.rule_id = r.id limit %(cap)s) as q
) as counted
where %(id)s::uuid is null or r.id = %(id)s::uuid
order by r.created_at, r.id

-- name: lock_rules
-- Whatever changes rules or sends by them comes one after another.
select pg_advisory_xact_lock(hashtextextended('headgate send rules', 0))

-- name: insert_rule
-- Off, until a person has seen what it would send.
insert into send_rule (id, name, query, target_id, account_id, user_id, created_at)
values (%(id)s, %(name)s, %(query)s, %(target_id)s, %(account_id)s, %(user_id)s, %(now)s)

-- name: update_rule
-- What it asked for before stays asked for.
update send_rule set name = %(name)s, query = %(query)s, target_id = %(target_id)s, account_id = %(account_id)s
where id = %(id)s

-- name: switch_on
-- From now on; with backfill also what is there.
update send_rule
set enabled = true, enabled_at = %(now)s, backfill = %(backfill)s, sweeping = %(backfill)s,
    due_at = case when %(backfill)s then %(now)s::timestamptz end, sweep_after = null, wake_seq = wake_seq + 1
where id = %(id)s

-- name: switch_off
-- What was asked for is still sent.
update send_rule set enabled = false, sweeping = false, due_at = null, sweep_after = null, wake_seq = wake_seq + 1 where id = %(id)s

-- name: delete_rule
-- What it sent stays in the list.
delete from send_rule where id = %(id)s

-- name: list_due
-- Changed items, and rules that go through what is there, without a job; after a dead letter they rest for a while.
select w.key from (
    (select 'new' as key from send_rule_queue limit 1)
    union all
    (select id::text from send_rule where due_at <= %(now)s order by due_at limit %(limit)s)
) as w
where not exists (select from live_job where dedupe_key = 'send_rule:' || w.key)
  and not exists (
      select from dead_letter d where d.kind = 'send_rule' and d.key = w.key
        and d.state <> 'replayed' and d.died_at > %(rested_since)s
  )

-- name: get_sweep
-- How far a rule has come with what is there.
select sweep_after, wake_seq from send_rule where id = %(id)s and sweeping

-- name: count_open
-- What a rule has asked for and has not ended, up to a cap.
select count(*) from (
    select from send_request where rule_id = %(id)s and state in ('waiting', 'queued') limit %(cap)s
) as capped

-- name: advance_sweep
-- Unless it began anew meanwhile.
update send_rule set sweep_after = %(after)s, due_at = %(due_at)s where id = %(id)s and wake_seq = %(seen)s and sweeping

-- name: end_sweep
-- Unless it began anew meanwhile.
update send_rule set sweeping = false, due_at = null, sweep_after = null where id = %(id)s and wake_seq = %(seen)s

-- name: list_items
-- The next visible items.
select id from item where (%(after)s::uuid is null or id > %(after)s::uuid) and not hidden order by id limit %(limit)s

-- name: list_newest
-- Visible items, the newest first, below one of them.
select i.id, i.title, i.caught_at from item i
where not i.hidden and (%(id)s::uuid is null or (i.caught_at, i.id) < (%(caught_at)s::timestamptz, %(id)s::uuid))
order by i.caught_at desc, i.id desc limit %(limit)s

-- name: list_unsent
-- Those of the items that a rule may send, one for each content: caught since it is on, not in the target or on the way there, not asked
-- for by it before, and not out of a channel that rules send to, so that nothing goes round in circles.
select distinct on (coalesce(i.content_hash, uuid_send(i.id))) i.id
from unnest(%(item_ids)s::uuid[]) as t (id)
join item i on i.id = t.id and not i.hidden and i.removed_at is null and i.caught_at >= coalesce(%(since)s::timestamptz, '-infinity')
join channel c on c.id = i.channel_id
where not exists (
    select from target g where g.platform = c.platform and g.key = c.key
        and (g.id = %(target_id)s or exists (select from send_rule r where r.enabled and r.target_id = g.id))
) and not exists (
    select from (
        select i.id
        union
        select o.id from item o where o.content_hash = i.content_hash and i.content_hash is not null
    ) as same
    join send_request q on q.item_id = same.id and q.target_id = %(target_id)s
    where q.rule_id = %(rule_id)s or q.state in ('waiting', 'queued', 'uncertain', 'sent')
)
order by coalesce(i.content_hash, uuid_send(i.id)), least(i.sent_at, i.caught_at), i.id

-- name: list_to_verify
-- Requests that rules sent and that were not looked for yet, without a job.
select q.id::text from send_request q
where q.verify_at <= %(now)s and not exists (select from live_job where dedupe_key = 'verify_send:' || q.id)
order by q.verify_at, q.id limit %(limit)s

-- name: set_verify_at
-- Only while it waits for that.
update send_request set verify_at = %(verify_at)s where id = %(id)s and verification = 'due'

-- name: list_sent_messages
-- What a request sent: the first and the last messages of many.
select q.account_id, q.verify_tries, t.key as target_key, p.key, p.message_key, q.created_at - interval '5 minutes' as since
from send_request q
join target t on t.id = q.target_id
join part p on p.run_id = q.run_id and p.state = 'sent'
where q.id = %(id)s and q.verification = 'due'
  and (p.number <= %(most)s or p.number > (select max(l.number) from part l where l.run_id = q.run_id) - %(most)s)
order by p.number

-- name: set_verification
-- What was found out.
update send_request set verification = %(verification)s, verify_at = %(verify_at)s, verify_tries = verify_tries + 1
where id = %(id)s and verification = 'due'
