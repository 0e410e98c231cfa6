-- name: list_account_lines
-- Accounts as people see them, with how many channels each reads and stands by for.
select a.id, a.platform, a.name, a.state, a.state_reason, a.established, headgate_listens(a.listening_at) as listening,
    headgate_held_by(a.id) as held_by, headgate_jobs_awaiting_holder(a.id) as awaiting_holder,
    a.created_at, a.discovered_at, a.discover_at, a.discover_error,
    (select count(*) from stream s where s.reader_id = a.id) as reads,
    (select count(*) from watch w join stream s on s.channel_id = w.channel_id
     where w.account_id = a.id and s.reader_id is distinct from a.id) as stands_by
from account a order by a.platform, a.name
