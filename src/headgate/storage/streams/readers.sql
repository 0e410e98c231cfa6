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
