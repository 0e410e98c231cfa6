-- name: get_reader
-- Where one message of a channel is to be fetched, and by whom; without an account if nobody can at the moment.
select c.platform, c.key as stream_key, c.message_scan_enabled and coalesce(p.message_scan_enabled, true) as enabled,
       a.id as account_id, coalesce(a.name, '') as account_name, coalesce(a.established, false) as established,
       coalesce(a.sign_in, 0) as sign_in
from channel c
join stream s on s.channel_id = c.id
left join channel p on p.id = c.parent_id
left join account a on a.id = s.reader_id and a.state = 'active'
where c.id = %(channel_id)s
