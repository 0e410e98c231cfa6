-- name: search_slices
-- Inside each slice the best documents first, the newest of them first; visibility and filters are checked one by one until
-- there are enough. `limit 1` keeps the planner from reading all items or the whole shelf for a word that is common.
select found.id::text, found.is_group, found.rank, found.shelf_id::text, extract(epoch from found.sort_at)::float8 as sort_s
from unnest(%(slices)s::int[], %(queries)s::text[]) as q (number, query)
cross join lateral (
    select d.id, d.is_group, d.rank, s.id as shelf_id, s.sort_at
    from (
        select id, is_group, posted_at,
            case when names @@ %(begun)s::tsquery then 1 + (names @@ %(whole)s::tsquery)::int else 0 end as rank
        from search_document where words @@ q.query::tsquery
        order by rank desc, posted_at desc, id
    ) as d
    left join lateral (
        select i.id, i.group_id, i.content_hash, i.size_bytes, least(i.sent_at, i.caught_at) as posted_at from item i
        where not d.is_group and i.id = d.id and not i.hidden limit 1
    ) as i on true
    cross join lateral (
        select r.id, r.sort_at, r.oldest_at, r.min_bytes, r.max_bytes, r.facets from shelf r
        where r.id = case
            when d.is_group then d.id
            when i.group_id is not null then i.group_id
            when i.content_hash is not null
                then (select c.id from shelf c where c.content_hash = i.content_hash limit 1)
            else i.id
        end
        limit 1
    ) as s
    where not exists (
        select from unnest(%(facets)s::text[]) as wanted (one_of) where not s.facets && wanted.one_of::int[]
    )
      and coalesce(i.size_bytes, s.max_bytes) >= coalesce(%(min_bytes)s, -1)
      and (%(max_bytes)s::bigint is null or coalesce(i.size_bytes, s.min_bytes) <= %(max_bytes)s)
      and (%(since)s::timestamptz is null or coalesce(i.posted_at, s.sort_at) >= %(since)s)
      and (%(until)s::timestamptz is null or coalesce(i.posted_at, s.oldest_at) < %(until)s)
    order by d.rank desc, d.posted_at desc, d.id
    limit %(limit)s
) as found

-- name: list_rows
-- What is shown of hits.
select id, group_id, name, sort_at from shelf where id = any(%(shelf_ids)s::uuid[])

-- name: list_inside
-- Files inside archives that may have one of the words: those whose path contains it, and those with other letters than
-- ASCII, which are compared outside.
select i.id, entry.path from unnest(%(item_ids)s::uuid[]) as i (id)
cross join lateral (
    select e.path, e.number from content_entry e
    where e.item_id = i.id and not e.is_directory
      and (e.path ilike any(%(patterns)s::text[]) or octet_length(e.path) > length(e.path))
    order by e.number limit %(max_paths)s
) as entry
order by i.id, entry.number

-- name: list_shown_before
-- What matches of rows in newer slices: they were shown with that. Only rows of several members can.
select d.id::text, d.is_group, 0 as rank, s.id::text as shelf_id, extract(epoch from s.sort_at)::float8 as sort_s
from shelf s
cross join lateral (
    select i.id, i.size_bytes, i.sent_at, i.caught_at from item i
    where not i.hidden and (i.group_id = s.group_id or (i.group_id is null and i.content_hash = s.content_hash)) offset 0
) as i
join search_document d on d.id = i.id
join unnest(%(slices)s::int[], %(queries)s::text[]) as q (number, query) on q.number = d.slice
where s.id = any(%(shelf_ids)s::uuid[]) and s.member_count > 1 and d.words @@ q.query::tsquery
  and i.size_bytes >= coalesce(%(min_bytes)s, -1)
  and (%(max_bytes)s::bigint is null or i.size_bytes <= %(max_bytes)s)
  and (%(since)s::timestamptz is null or least(i.sent_at, i.caught_at) >= %(since)s)
  and (%(until)s::timestamptz is null or least(i.sent_at, i.caught_at) < %(until)s)
union all
select d.id::text, d.is_group, 0, s.id::text, extract(epoch from s.sort_at)::float8
from search_document d
join unnest(%(slices)s::int[], %(queries)s::text[]) as q (number, query) on q.number = d.slice
join shelf s on s.id = d.id
where d.id = any(%(shelf_ids)s::uuid[]) and d.is_group and d.words @@ q.query::tsquery
