-- each order newest: key=sort_at type=timestamptz beyond=< way=desc
-- each order oldest: key=sort_at type=timestamptz beyond=> way=asc
-- each order name: key=name_key type=text beyond=> way=asc
-- each order name_back: key=name_key type=text beyond=< way=desc
-- each order size: key=size_bytes type=bigint beyond=< way=desc
-- each order smallest: key=size_bytes type=bigint beyond=> way=asc
-- each date newest: beyond=< way=desc
-- each date oldest: beyond=> way=asc
-- let columns: s.id, s.group_id, s.item_id, s.name, s.name_key, s.kind, s.type, s.size_bytes, s.file_count, s.member_count,
--      s.content_count, s.tags, s.creators, s.channel_ids, s.cover_item_id, s.state, s.problem, s.sort_at
-- let ranges: s.sort_at >= %(begins_at)s::timestamptz and s.oldest_at < %(ends_at)s::timestamptz
--      and s.max_bytes >= %(min_bytes)s::bigint and s.min_bytes <= %(max_bytes)s::bigint
-- let some: (%(any_1)s::int[] is null or s.facets && %(any_1)s::int[])
--      and (%(any_2)s::int[] is null or s.facets && %(any_2)s::int[])
--      and (%(any_3)s::int[] is null or s.facets && %(any_3)s::int[])
--      and (%(any_4)s::int[] is null or s.facets && %(any_4)s::int[])
--      and (%(any_5)s::int[] is null or s.facets && %(any_5)s::int[])
--      and (%(any_6)s::int[] is null or s.facets && %(any_6)s::int[])
-- let by_facets: unnest(%(pivot)s::int[]) with ordinality as p (facet, number)
--      cross join lateral (
--          select {narrow} from shelf where facets @> (%(all_facets)s::int[] || p.facet) offset 0
--      ) as s
--      where (p.number = 1 or not s.facets && (%(pivot)s::int[])[1:p.number - 1])
-- let by_ranges: (
--          select {narrow} from shelf
--          where sort_at >= %(begins_at)s::timestamptz and sort_at < %(reach_at)s::timestamptz
--              and size_bytes between %(min_bytes)s::bigint and %(max_bytes)s::bigint
--          union all
--          select {narrow} from (
--              select id from shelf
--              where sort_at - oldest_at > interval '1 hour' and sort_at >= %(reach_at)s::timestamptz
--                  and oldest_at < %(ends_at)s::timestamptz
--              union
--              select id from shelf
--              where (min_bytes <> size_bytes or max_bytes <> size_bytes)
--                  and min_bytes <= %(max_bytes)s::bigint and max_bytes >= %(min_bytes)s::bigint
--                  and size_bytes not between %(min_bytes)s::bigint and %(max_bytes)s::bigint
--          ) as spread
--          join lateral (select * from shelf where shelf.id = spread.id offset 0) as whole using (id)
--      ) as s
--      where true
-- let narrow: id, facets, sort_at, oldest_at, name_key, size_bytes, min_bytes, max_bytes, group_id, item_id, content_hash
-- let members: (
--          select id from item where s.group_id is not null and group_id = s.group_id
--          union all
--          select id from item where s.group_id is null and content_hash = s.content_hash and group_id is null
--          union all
--          select s.item_id where s.group_id is null and s.content_hash is null
--      ) as member
-- let matches: not i.hidden
--      and (%(channels)s::uuid[] is null or i.channel_id = any(%(channels)s::uuid[]))
--      and (%(types)s::text[] is null or i.type = any(%(types)s::text[]))
--      and (%(kinds)s::text[] is null or i.kind = any(%(kinds)s::text[]))
--      and (not %(ungrouped)s::boolean or i.group_id is null)
--      and i.size_bytes between %(min_bytes)s::bigint and %(max_bytes)s::bigint
--      and case when s.group_id is null then s.sort_at else least(i.sent_at, i.caught_at) end >= %(begins_at)s::timestamptz
--      and case when s.group_id is null then s.sort_at else least(i.sent_at, i.caught_at) end < %(ends_at)s::timestamptz
--      and (%(states)s::text[] is null or headgate_item_state(i.id, i.content_hash) = any(%(states)s::text[]))
--      and (not %(problems)s::boolean or headgate_item_problem(i.id))
--      and (%(topic_keys)s::text[] is null or exists (
--          select from sighting seen
--          where seen.item_id = i.id
--              and (seen.channel_id, seen.topic) in (select * from unnest(%(topic_channels)s::uuid[], %(topic_keys)s::text[]))
--      ))
--      and (%(creators)s::text[] is null or exists (
--          select from headgate_item_labels(i.id) as l where l.kind = 'creator' and l.key = any(%(creators)s::text[])
--      ))
--      and (%(tags)s::text[] is null or cardinality(%(tags)s::text[]) = (
--          select count(*) from headgate_item_labels(i.id) as l where l.kind = 'tag' and l.key = any(%(tags)s::text[])
--      ))

-- name: page_{order}
-- A page without filters, beyond a place in the total order of its key and the row's id.
select {columns} from shelf s
where (s.{key}, s.id) {beyond} (%(key)s::{type}, %(id)s::uuid)
order by s.{key} {way}, s.id {way} limit %(limit)s::int

-- name: walk_{order}
-- What passes of the next rows in order. So many rows and no more are looked at, whatever the planner believes of the filters.
with s as materialized (
    select id, {key} as key, facets, sort_at, oldest_at, min_bytes, max_bytes from shelf
    where ({key}, id) {beyond} (%(key)s::{type}, %(id)s::uuid)
    order by {key} {way}, id {way} limit %(walk)s::int
)
select walked.many as walked, found.id, found.key
from (select count(*) as many from s) as walked
left join (
    select s.id, s.key from s where s.facets @> %(all_facets)s::int[] and {some} and {ranges} order by s.key {way}, s.id {way} limit %(limit)s::int
) as found on true
order by found.key {way}, found.id {way}

-- name: walk_spread
-- Rows that are later than a date and have members before it. Where members lie less than an hour apart, the row is found by
-- a walk that begins an hour later; the few others have an index of their own.
with s as materialized (
    select {narrow} from (
        select id from shelf
        where sort_at - oldest_at > interval '1 hour' and (sort_at, id) < (%(key)s::timestamptz, %(id)s::uuid)
            and sort_at >= %(reach_at)s::timestamptz and oldest_at < %(ends_at)s::timestamptz
        order by sort_at desc, id desc limit %(walk)s::int
    ) as spread
    join lateral (select * from shelf where shelf.id = spread.id offset 0) as whole using (id)
)
select walked.many as walked, found.id, found.key
from (select count(*) as many from s) as walked
left join (
    select s.id, s.sort_at as key from s where s.facets @> %(all_facets)s::int[] and {some} and {ranges}
    order by s.sort_at desc, s.id desc limit %(limit)s::int
) as found on true
order by found.key desc, found.id desc

-- name: walk_facet_{date}
-- The next rows of a channel, topic, creator or tag by date, or of several of one kind.
with walked as materialized (
    select listed.sort_at, listed.shelf_id
    from unnest(%(facets)s::int[]) as wanted (facet)
    cross join lateral (
        select f.sort_at, f.shelf_id from shelf_facet f
        where f.facet = wanted.facet and (f.sort_at, f.shelf_id) {beyond} (%(key)s::timestamptz, %(id)s::uuid)
            and f.sort_at >= %(begins_at)s::timestamptz
        order by f.sort_at {way}, f.shelf_id {way} limit %(walk)s::int
    ) as listed
    group by listed.sort_at, listed.shelf_id
    order by listed.sort_at {way}, listed.shelf_id {way} limit %(walk)s::int
)
select walked.many as walked, found.id, found.key
from (select count(*) as many from walked) as walked
left join (
    select s.id, s.sort_at as key
    from walked cross join lateral (select * from shelf where id = walked.shelf_id offset 0) as s
    where s.facets @> %(all_facets)s::int[] and {some} and {ranges}
    order by s.sort_at {way}, s.id {way} limit %(limit)s::int
) as found on true
order by found.key {way}, found.id {way}

-- name: listed_{order}
-- All rows of a channel, topic, creator or tag, or of several of one kind, then sorted: the index alone has what that needs.
select listed.id, listed.key
from unnest(%(facets)s::int[]) as wanted (facet)
cross join lateral (
    select f.shelf_id as id, f.{key} as key from shelf_facet f
    where f.facet = wanted.facet and f.sort_at >= %(begins_at)s::timestamptz
        and (f.{key}, f.shelf_id) {beyond} (%(key)s::{type}, %(id)s::uuid)
    order by f.{key} {way}, f.shelf_id {way} limit %(limit)s::int
) as listed
group by listed.key, listed.id
order by listed.key {way}, listed.id {way} limit %(limit)s::int

-- name: found_{order}
-- All rows that have some facets, then sorted: for filters that match too little for a walk.
select s.id, s.{key} as key from {by_facets}
    and {some} and {ranges} and (s.{key}, s.id) {beyond} (%(key)s::{type}, %(id)s::uuid)
order by s.{key} {way}, s.id {way} limit %(limit)s::int

-- name: ranges_{order}
-- The same for filters of dates and sizes alone.
select s.id, s.{key} as key from {by_ranges}
    and {ranges} and (s.{key}, s.id) {beyond} (%(key)s::{type}, %(id)s::uuid)
order by s.{key} {way}, s.id {way} limit %(limit)s::int

-- name: list_matching
-- Those of the rows of which one member matches everything.
select {columns}
from unnest(%(ids)s::uuid[]) as wanted (id)
cross join lateral (select * from shelf where id = wanted.id offset 0) as s
where exists (select from {members} join item i on i.id = member.id where {matches})

-- name: list_matching_items
-- Those of the items that match everything themselves.
select i.id
from unnest(%(ids)s::uuid[]) as wanted (id)
join item i on i.id = wanted.id
cross join lateral (select i.group_id, least(i.sent_at, i.caught_at) as sort_at) as s
where {matches}

-- name: count_facets
-- How common facets are, up to a cap.
select wanted.facet, counted.found
from unnest(%(facets)s::int[]) as wanted (facet)
cross join lateral (
    select count(*) as found from (
        select from shelf_facet f where f.facet = wanted.facet limit %(cap)s::int
    ) as capped
) as counted

-- name: count_rows
-- All rows, up to a cap.
select count(*) from (select from shelf limit %(cap)s::int) as capped

-- name: count_found
-- The rows with some facets of which a member matches, up to a cap.
select count(*) from (
    select from {by_facets} and {some} and {ranges}
        and exists (select from {members} join item i on i.id = member.id where {matches})
    limit %(cap)s::int
) as capped

-- name: count_ranges
-- The rows between two dates or sizes of which a member matches, up to a cap.
select count(*) from (
    select from {by_ranges} and {ranges}
        and exists (select from {members} join item i on i.id = member.id where {matches})
    limit %(cap)s::int
) as capped

-- name: forbid_full_scans
-- Of a table of a million rows; the planner takes one when it overestimates a filter.
set local enable_seqscan = off

-- name: allow_full_scans
-- For what else the transaction does.
set local enable_seqscan to default

-- name: limit_time
-- Counting is worth only so much.
select set_config('statement_timeout', %(limit_ms)s::int::text, true)

-- name: unlimit_time
-- As before.
set local statement_timeout to default
