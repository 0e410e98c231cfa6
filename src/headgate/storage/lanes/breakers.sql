-- name: count_breakers
-- How many breakers of each kind are open or half open, for metrics.
select of_kind, count(*) filter (where open_until > %(now)s) as open,
       count(*) filter (where open_until <= %(now)s) as half_open
from (
    select 'host' as of_kind, open_until from host where open_until is not null
    union all select 'watch', open_until from watch where open_until is not null
    union all select 'push address', open_until from push_address where open_until is not null
) as b
group by of_kind

-- name: count_waiting_pushes
-- Notifications that have yet to go out, for metrics.
select count(*) from push_notification w left join push p on p.id = w.push_id
where w.push_id is null or p.state = 'planned'
