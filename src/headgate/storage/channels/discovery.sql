-- name: list_discovering
-- Accounts that read something, switched on or not, whose channels are to be listed again, and that have no job.
select a.id::text from account a
where a.state = 'active' and a.discover_at <= %(now)s
  and exists (select from stream s where s.reader_id = a.id)
  and not exists (select from live_job where dedupe_key = 'discover:' || a.id)
order by a.discover_at limit %(limit)s

-- name: get_discovery
-- What a wish that comes during the call is told apart by.
select discover_at as due_at, discover_seq as seq from account where id = %(account_id)s

-- name: note_seen
-- Remembers what an account sees; returns what it saw for the first time.
insert into seen_channel (account_id, key, first_at)
select %(account_id)s, key, %(now)s from unnest(%(keys)s::text[]) as f (key) order by key
on conflict do nothing
returning key

-- name: begin_discovery
-- The first listing was just made by whoever chose channels from it.
update account set discover_at = %(due_at)s, discovered_at = %(now)s where id = %(account_id)s and discover_at is null

-- name: list_watched_parents
-- Which of these the account watches, or hold channels that it watches.
select p.key from channel p
where p.platform = %(platform)s and p.scope = %(scope)s and p.key = any(%(keys)s::text[])
  and exists (select from channel c join watch w on w.channel_id = c.id
              where p.id in (c.id, c.parent_id) and w.account_id = %(account_id)s)

-- name: list_removed
-- Which of these a person has removed.
select key from removed_channel
where platform = %(platform)s and scope = %(scope)s and key = any(%(keys)s::text[])

-- name: forget_removed
-- A person follows them again.
delete from removed_channel where platform = %(platform)s and scope = %(scope)s and key = any(%(keys)s::text[])

-- name: mark_gone
-- What the account reads and does not see any more is marked, and what is back is not marked any more.
update channel c set gone_at = case when c.key = any(%(keys)s::text[]) then null else %(now)s::timestamptz end
from stream s
where s.channel_id = c.id and s.reader_id = %(account_id)s and (c.gone_at is null) <> (c.key = any(%(keys)s::text[]))

-- name: end_discovery
-- Due again at its time, or now if something unknown was heard during the call.
update account set discovered_at = coalesce(%(discovered_at)s, discovered_at), discover_error = %(error)s,
    discover_at = case when discover_seq = %(seen)s then %(due_at)s else least(discover_at, %(now)s) end
where id = %(account_id)s

-- name: ask_discovery
-- Due now; after events no sooner than a while after the last one, because not everything heard is ever listed.
update account set discover_seq = discover_seq + 1,
    discover_at = least(discover_at, greatest(%(now)s, discovered_at + make_interval(secs => %(apart_s)s)))
where id = %(account_id)s

-- name: list_unknown
-- Which streams nobody follows and the account has never seen.
select f.key from unnest(%(keys)s::text[]) as f (key) join account a on a.id = %(account_id)s
where not exists (select from channel c where c.platform = a.platform and c.key = f.key)
  and not exists (select from seen_channel n where n.account_id = a.id and n.key = f.key)

-- name: set_discovery_due
-- Puts a listing off, or makes it due.
update account set discover_at = %(due_at)s where id = %(account_id)s
