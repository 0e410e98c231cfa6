-- name: take_lease
-- A free or expired lease changes hands; a repeated request finds its own. The time is read again once
-- the row is locked, so that a wait for the lock cannot shorten the lease nor judge it by an old time.
insert into lease (name, token, holder, span_s, expires_at)
values (
    %(name)s, %(token)s, %(holder)s, %(ttl_s)s, headgate_real_now() + make_interval(secs => %(ttl_s)s)
)
on conflict (name) do update set
    token = excluded.token,
    holder = excluded.holder,
    span_s = excluded.span_s,
    expires_at = headgate_real_now() + make_interval(secs => %(ttl_s)s)
where lease.expires_at <= headgate_real_now() or lease.token = excluded.token
returning true as done

-- name: shorten_lease
-- No lease reaches further than its own time, unless the clock was set back since. It gets that time once more, because
-- its holder may still rely on it.
update lease set expires_at = headgate_real_now() + make_interval(secs => span_s)
where name = %(name)s and expires_at > headgate_real_now() + make_interval(secs => span_s + 1)

-- name: renew_lease
-- What has expired is lost, even if nobody else wanted it.
update lease set expires_at = headgate_real_now() + make_interval(secs => %(ttl_s)s)
where name = %(name)s and token = %(token)s and expires_at > headgate_real_now()
returning true as done

-- name: release_lease
-- Only the holder's own; a lease that went to somebody else stays theirs.
delete from lease where name = %(name)s and token = %(token)s
returning true as done

