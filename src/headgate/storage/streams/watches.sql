-- name: get_watcher
-- An account as those who call its platform need it.
select id, platform, name, state, established, sign_in, headgate_listens(listening_at) as listening from account where id = %(account_id)s

-- name: get_breaker
-- The breaker of one account at one channel, kept as it is until the transaction ends.
select failures, opened, open_until from watch
where channel_id = %(channel_id)s and account_id = %(account_id)s for update

-- name: fail_watch
-- A reading by this account failed; how long it is left alone was decided by the breaker.
update watch set failures = %(failures)s, opened = %(opened)s, open_until = %(open_until)s, error_class = %(error_class)s,
    error_message = %(error_message)s, failed_at = %(now)s
where channel_id = %(channel_id)s and account_id = %(account_id)s

-- name: close_breaker
-- A reading succeeded: the breaker is closed.
update watch set failures = 0, opened = 0, open_until = null, error_class = '', error_message = ''
where channel_id = %(channel_id)s and account_id = %(account_id)s and failures > 0

-- name: pass_on
-- Another account takes over what this one cannot read: one that is active, whose own breaker lets it.
with standing_by as (
    select distinct on (s.channel_id) s.channel_id, w.account_id
    from stream s
    join watch w on w.channel_id = s.channel_id and w.account_id <> s.reader_id
    join account a on a.id = w.account_id and a.state = 'active'
    where s.reader_id = %(account_id)s and (%(channel_id)s::uuid is null or s.channel_id = %(channel_id)s)
      and (w.open_until is null or w.open_until <= %(now)s)
    order by s.channel_id, w.failures, w.created_at, w.account_id
), locked as (
    select s.channel_id, b.account_id from stream s join standing_by b on b.channel_id = s.channel_id
    order by s.channel_id for update of s
)
update stream s set reader_id = l.account_id, wake_seq = s.wake_seq + 1,
    due_at = case when s.due_at is not null then least(s.due_at, %(now)s::timestamptz) end,
    reason = case when s.due_at is not null then 'reader_changed' else s.reason end
from locked l where s.channel_id = l.channel_id
returning s.channel_id

-- name: list_idle_readers
-- Accounts that cannot read and yet should: somebody who stands by may be able to by now.
select a.id from account a
where a.state <> 'active' and exists (select from stream s where s.reader_id = a.id)

-- name: get_reader
-- Where one message of a channel is to be fetched, and by whom; without an account if nobody can at the moment. While
-- its breaker is open nothing is tried.
select c.platform, c.key as stream_key, headgate_switched_off(c.id) is null as enabled,
       a.id as account_id, coalesce(a.name, '') as account_name, coalesce(a.established, false) as established,
       coalesce(a.sign_in, 0) as sign_in
from channel c
join stream s on s.channel_id = c.id
left join account a on a.id = s.reader_id and a.state = 'active'
    and not exists (select from watch w where w.channel_id = s.channel_id and w.account_id = a.id
                    and w.open_until > %(now)s)
where c.id = %(channel_id)s
