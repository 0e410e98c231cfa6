-- name: list_channels
-- Channels by title, after a place in that total order, each with how much of its wanted range is covered.
-- The widest lens counts: what a wider one has read need not be read again.
select
    c.id, c.platform, c.kind, c.title, s.floor, s.head, s.due_at, s.scanned_at,
    coalesce(s.message_count, 0) as message_count,
    coalesce(s.total_messages_scanned, 0) as messages_scanned,
    case
        when s.head is null or s.head < s.floor then null
        else coalesce(covered.positions, 0) / (s.head - s.floor + 1)::numeric
    end::float8 as covered_share
from channel c
left join stream s on s.channel_id = c.id
left join lateral (
    select max(part.positions) as positions
    from coverage v
    cross join lateral (
        select sum(upper(r) - lower(r)) as positions
        from unnest(v.ranges * int8multirange(int8range(s.floor, s.head + 1))) as r
    ) as part
    where v.channel_id = c.id and s.head >= s.floor
) as covered on true
where (lower(c.title), c.id) > (lower(%(title)s::text), %(id)s::uuid)
order by lower(c.title), c.id
limit %(limit)s::int
