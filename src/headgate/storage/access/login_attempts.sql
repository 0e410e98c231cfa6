-- name: count_attempt
-- Counts an attempt before the password is looked at, so that attempts at the same time cannot slip past the
-- limit. A key that is blocked is left alone and nothing is returned. The wait doubles after the free failures.
insert into login_attempt as known (key, failures, tried_at, blocked_until)
values (%(key)s::text, 1, %(now)s::timestamptz, %(now)s::timestamptz)
on conflict (key) do update set
    failures = case
        when known.tried_at < %(forget_before)s::timestamptz then 1
        else known.failures + 1
    end,
    tried_at = excluded.tried_at,
    blocked_until = excluded.tried_at + case
        when known.tried_at < %(forget_before)s::timestamptz or known.failures < %(free_failures)s::int
        then interval '0 s'
        else least(
            %(longest_s)s::float8, power(2, least(known.failures - %(free_failures)s::int, 20))
        ) * interval '1 s'
    end
where known.blocked_until <= excluded.tried_at
returning failures

-- name: blocked_until
-- Asked before the password is looked at, which costs time on purpose.
select blocked_until from login_attempt where key = %(key)s::text

-- name: forget_attempts
-- A right password wipes the slate of its user, or of its browser.
delete from login_attempt where key = %(key)s::text

-- name: take_back_attempt
-- Of an address only this attempt is taken back: who has one account must not try others freely.
update login_attempt
set failures = greatest(0, failures - 1), blocked_until = tried_at
where key = %(key)s::text

-- name: delete_old_attempts
-- Old attempts protect nobody and name people.
delete from login_attempt where tried_at < %(forget_before)s::timestamptz
