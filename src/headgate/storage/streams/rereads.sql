-- name: plan_rereads
-- Streams that no listener hears, and that are not planned yet: what was edited since they were last heard is found in time.
insert into reread as r (channel_id, unheard_since, due_at)
select s.channel_id, u.since, u.since + make_interval(secs => %(every_s)s)
from stream s
join channel c on c.id = s.channel_id
join account a on a.id = s.reader_id
left join reread known on known.channel_id = s.channel_id
cross join lateral (select greatest(c.created_at, a.heard_at, known.unheard_since) as since) as u
where s.scanned_at is not null and not headgate_listens(a.listening_at) and known.due_at is null
order by s.channel_id
on conflict (channel_id) do update set unheard_since = excluded.unheard_since, due_at = excluded.due_at, seq = r.seq + 1
where r.due_at is null

-- name: ask_rereads
-- A listener begins. Nobody heard what was edited since the last one: after a long gap that is looked for at once, and only
-- among what was there before it, because the rest is read anyway; short gaps are gathered.
insert into reread as r (channel_id, unheard_since, due_at, bound)
select s.channel_id, greatest(c.created_at, a.heard_at),
       case when g.long then %(now)s else a.heard_at + make_interval(secs => %(every_s)s) end,
       case when g.long then s.head + 1 end
from stream s
join channel c on c.id = s.channel_id
join account a on a.id = s.reader_id
cross join lateral (select a.heard_at < %(gap_began)s as long) as g
where s.reader_id = %(account_id)s and s.scanned_at is not null
  and s.head_at >= a.heard_at - make_interval(secs => %(window_s)s)
order by s.channel_id
on conflict (channel_id) do update
set unheard_since = case when r.due_at is null then greatest(r.unheard_since, excluded.unheard_since)
                         else least(r.unheard_since, excluded.unheard_since) end,
    due_at = least(r.due_at, excluded.due_at), seq = r.seq + 1, attempts = 0,
    began_at = null, bound = excluded.bound, lenses = '{}', below = null

-- name: rest_quiet_rereads
-- Where nothing is recent nothing can have been edited: no call tells more.
with quiet as (
    select r.channel_id, headgate_listens(a.listening_at) as listening
    from reread r
    join stream s on s.channel_id = r.channel_id
    join account a on a.id = s.reader_id
    join unnest(%(platforms)s::text[], %(windows_s)s::float8[]) as w (platform, window_s) on w.platform = a.platform
    where r.due_at <= %(now)s
      and (w.window_s = 0 or s.head_at is null or s.head_at < r.unheard_since - make_interval(secs => w.window_s))
    order by r.channel_id for update of r
)
update reread r set unheard_since = %(now)s, seq = r.seq + 1, attempts = 0, began_at = null, bound = null, lenses = '{}',
    below = null, due_at = case when not quiet.listening then %(now)s + make_interval(secs => %(every_s)s) end
from quiet where r.channel_id = quiet.channel_id

-- name: list_rereading_accounts
-- Accounts with something to read again and without a job.
select a.id::text from account a
where a.state = 'active'
  and exists (select from reread r join stream s on s.channel_id = r.channel_id
              where s.reader_id = a.id and r.due_at <= %(now)s
                and headgate_rereadable(s.channel_id, a.id, %(now)s))
  and not exists (select from live_job where dedupe_key = 'reread:' || a.id)
order by a.id limit %(limit)s

-- name: get_next_reread
-- The stream whose turn it is, with where its reading stands.
select r.channel_id, c.key, r.seq, r.unheard_since, r.attempts, coalesce(r.began_at, %(now)s) as began_at, s.floor,
       coalesce(s.head, -1) + 1 as head_end, coalesce(r.bound, s.head + 1, 0) as bound,
       case when r.lenses = '{}' then s.lenses else r.lenses end as lenses,
       coalesce(r.below, r.bound, s.head + 1, 0) as below
from reread r
join stream s on s.channel_id = r.channel_id
join channel c on c.id = r.channel_id
where s.reader_id = %(account_id)s and r.due_at <= %(now)s and headgate_rereadable(s.channel_id, s.reader_id, %(now)s)
order by r.due_at, r.channel_id limit 1

-- name: continue_reread
-- The next page now, unless there was another gap: then it has begun anew.
update reread set began_at = %(began_at)s, bound = %(bound)s, lenses = %(lenses)s, below = %(below)s, attempts = 0,
    due_at = %(now)s
where channel_id = %(channel_id)s and seq = %(seen)s

-- name: end_reread
-- Everything recent was read again: what was edited before that began is known. Without a listener it is wanted again.
update reread r set unheard_since = %(began_at)s::timestamptz, attempts = 0, began_at = null, bound = null, lenses = '{}', below = null,
    due_at = case when headgate_listens(a.listening_at) then null else %(began_at)s::timestamptz + make_interval(secs => %(every_s)s) end
from stream s left join account a on a.id = s.reader_id
where r.channel_id = %(channel_id)s and r.seq = %(seen)s and s.channel_id = r.channel_id

-- name: postpone_reread
-- It is tried again later, from where it stands.
update reread set due_at = %(due_at)s, attempts = %(attempts)s where channel_id = %(channel_id)s and seq = %(seen)s

-- name: set_rereads_due
-- Puts off what an account has to read again, or makes it due.
update reread r set due_at = %(due_at)s from stream s
where s.channel_id = r.channel_id and s.reader_id = %(account_id)s and r.due_at <= %(now)s

-- name: list_vanished
-- Messages in a range that was read whole, stored before it was asked for, and not there any more.
select distinct message_key from sighting
where channel_id = %(channel_id)s and position >= %(start)s and position < %(end)s and deleted_at is null
  and seen_at < %(asked_at)s and message_key <> all(%(keys)s::text[])
