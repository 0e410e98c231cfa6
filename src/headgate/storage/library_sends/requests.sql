-- name: insert_requests
-- One open request for each thing and target: whoever asks second, at the same moment too, joins the first. The account is the one that
-- was named, or one that can send now and sees the channel, so that nothing needs an upload.
insert into send_request (id, item_id, target_id, account_id, account_name, user_id, rule_id, due_at, created_at)
select w.id, i.id, %(target_id)s, a.id, a.name, %(user_id)s, %(rule_id)s, %(now)s, %(now)s
from unnest(%(ids)s::uuid[], %(item_ids)s::uuid[]) as w (id, item_id)
join item i on i.id = w.item_id
cross join lateral (
    select o.id, o.name from target_account t
    join account o on o.id = t.account_id
    where t.target_id = %(target_id)s and t.gone_at is null
        and (%(account_id)s::uuid is null or o.id = %(account_id)s)
    order by o.state = 'active' desc,
        exists (select from watch v where v.account_id = o.id and v.channel_id = i.channel_id) desc, o.name, o.id
    limit 1
) as a
where i.removed_at is null
order by i.id
on conflict (item_id, target_id) where state in ('waiting', 'queued', 'uncertain') do nothing
returning id

-- name: list_open
-- The open requests of some things to a target.
select id from send_request
where item_id = any(%(item_ids)s::uuid[]) and target_id = %(target_id)s and state in ('waiting', 'queued', 'uncertain')

-- name: get_request
-- A request as it stands.
select q.id, q.item_id, q.target_id, q.account_id, q.account_name, q.state, q.way, q.forward_refused, q.asked_at, q.run_id, q.created_at
from send_request q where q.id = %(id)s

-- name: lock_request
-- The same, kept so until the transaction ends. Whoever also needs its item, its files or its run locks them before.
select q.id, q.item_id, q.target_id, q.account_id, q.account_name, q.state, q.way, q.forward_refused, q.asked_at, q.run_id, q.created_at
from send_request q where q.id = %(id)s for update

-- name: list_due
-- Requests to be planned that have no job, the longest due first.
select q.id::text from send_request q
where q.due_at <= %(now)s and not exists (select from live_job where dedupe_key = 'send_on:' || q.id)
order by q.due_at, q.id
limit %(limit)s

-- name: set_due
-- Only while it waits; a request that is on its way has a run.
update send_request set due_at = %(due_at)s where id = %(id)s and state = 'waiting'

-- name: wait
-- It waits, and says for what.
update send_request set reason = %(reason)s, due_at = %(due_at)s, asked_at = coalesce(asked_at, %(asked_at)s::timestamptz)
where id = %(id)s and state = 'waiting'

-- name: queue
-- A run sends it from now on.
update send_request set state = 'queued', way = %(way)s, run_id = %(run_id)s, reason = '', due_at = null, ended_at = null
where id = %(id)s

-- name: end_request
-- It ends without a run, or a person gives it up.
update send_request set state = %(state)s, reason = %(reason)s, due_at = null, ended_at = %(now)s
where id = %(id)s and state in ('waiting', 'uncertain')

-- name: settle_request
-- What came of its run. What could not be sent by reference is uploaded instead.
update send_request q
set state = o.state, reason = o.reason, way = case when o.state = 'waiting' then '' else q.way end,
    forward_refused = q.forward_refused or o.state = 'waiting',
    due_at = case when o.state = 'waiting' then %(now)s::timestamptz end,
    asked_at = case when o.state = 'waiting' then null else q.asked_at end,
    ended_at = case when o.state in ('sent', 'failed', 'cancelled') then %(now)s::timestamptz end,
    verification = case when o.state = 'sent' and q.rule_id is not null then 'due' else '' end,
    verify_at = case when o.state = 'sent' and q.rule_id is not null then %(now)s::timestamptz + interval '1 minute' end,
    verify_tries = 0
from (
    select d.run_id, d.error as reason,
        case when d.state = 'failed' and w.way = 'forward' and r.state <> 'cancelled' then 'waiting'
            when d.state = 'skipped' then 'cancelled' else d.state end as state
    from delivery d
    join run r on r.id = d.run_id
    join send_request w on w.run_id = d.run_id
    where d.run_id = %(run_id)s and d.state in ('sent', 'failed', 'uncertain', 'skipped')
) as o
where q.run_id = o.run_id and q.state in ('queued', 'uncertain', 'cancelled')

-- name: reopen_request
-- Its run goes on. The unique key refuses it while a newer request is open.
update send_request set state = 'queued', reason = '', due_at = null, ended_at = null where run_id = %(run_id)s

-- name: start_over
-- A person wants it after all: it is planned once more.
update send_request set state = 'waiting', reason = '', due_at = %(now)s, asked_at = null, ended_at = null
where id = %(id)s and state in ('failed', 'cancelled')

-- name: get_thing
-- What decides how an item is sent: whether it is still there, and whether the account reads its channel.
select i.title, c.key as stream,
    c.kind = 'stream' and c.gone_at is null and exists (
        select from watch w where w.channel_id = c.id and w.account_id = %(account_id)s) as seen
from item i join channel c on c.id = i.channel_id
where i.id = %(item_id)s and i.removed_at is null

-- name: list_places
-- Where an item was seen, the first time first, and whether each message holds anything else.
select s.id as sighting_id, s.message_key, s.mime_type, s.url, s.deleted_at is not null as deleted, m.text,
    not exists (
        select from sighting o
        where o.channel_id = s.channel_id and o.message_key = s.message_key and o.item_id is distinct from s.item_id
    ) as alone
from sighting s
join message m on m.channel_id = s.channel_id and m.key = s.message_key
where s.item_id = %(item_id)s
order by s.position, s.id
limit %(limit)s

-- name: list_sent_volumes
-- Volumes of which an earlier try has sent everything.
select v.volume
from run_part t
cross join lateral unnest(t.volumes) as v (volume)
left join part p on p.run_id = t.run_id and p.number = t.number
where t.run_id = %(run_id)s
group by v.volume
having bool_and(coalesce(p.state = 'sent', false))

-- name: insert_messages
-- The messages of a run that sends a thing on.
insert into run_part (run_id, number, text, media_id, forward_stream, forward_key, volumes)
select %(run_id)s, p.number, p.text, p.media_id, p.stream, p.key, p.volumes::int[]
from unnest(
    %(texts)s::text[], %(media_ids)s::uuid[], %(streams)s::text[], %(keys)s::text[], %(volumes)s::text[]
) with ordinality as p (text, media_id, stream, key, volumes, number)
