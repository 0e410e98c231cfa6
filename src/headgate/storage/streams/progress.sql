-- name: list_read_facts
-- How much of streams has been read, for every place that shows it. What a wider lens has covered is covered, and what
-- is not wanted any more counts for nothing. What a sample left out is history that was not read.
select s.channel_id, f.floor, s.head, coalesce(total.covered, 0) as covered,
       lower(r.ranges) as first_start, (select upper(p) from unnest(r.ranges) as p order by p limit 1) as first_end,
       (select lower(p) from unnest(r.ranges) as p order by p desc limit 1) as last_start, upper(r.ranges) as last_end,
       (select min(g.position) from sighting g where g.channel_id = s.channel_id) as first_seen,
       s.total_messages_scanned as messages_read, greatest(s.head_checked_at, s.scanned_at) as checked_at
from stream s
cross join lateral (select coalesce(s.sampled_floor, s.floor) as floor) as f
cross join lateral (
    select range_intersect_agg(one.ranges) * int8multirange(int8range(f.floor, greatest(f.floor, s.head + 1))) as ranges
    from unnest(s.lenses) as wanted (lens)
    cross join lateral (
        select coalesce(range_agg(v.ranges), '{}') as ranges from coverage v
        where v.channel_id = s.channel_id and v.lens in (wanted.lens, 'everything')
    ) as one
) as r
cross join lateral (select sum(upper(p) - lower(p))::bigint as covered from unnest(r.ranges) as p) as total
where s.channel_id = any(%(channel_ids)s::uuid[])
