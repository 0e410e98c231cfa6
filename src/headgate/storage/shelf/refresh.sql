-- name: list_album_items
-- The albums that these items are in, and those that are named, each with the items that could join its group, in the order
-- in which they were posted. Members and what people took out are not among them: nobody waits for items that stay as they are.
with album as (
    select m.channel_id, m.album
    from unnest(%(item_ids)s::uuid[]) as i (id)
    cross join lateral (
        select s.channel_id, s.message_key from sighting s where s.item_id = i.id order by s.id limit %(max_seen)s
    ) as s
    join message m on m.channel_id = s.channel_id and m.key = s.message_key
    where m.album <> ''
    union
    select * from unnest(%(channel_ids)s::uuid[], %(albums)s::text[]) as named (channel_id, album)
)
select a.channel_id, a.album, g.dissolved_at is not null as dissolved, held.item_id
from album a
left join item_group g on g.kind = 'album' and g.channel_id = a.channel_id and g.source_key = a.album
left join lateral (
    select s.item_id, min(m.position) as position
    from (
        select key, position from message
        where channel_id = a.channel_id and album = a.album and album <> '' order by position, key limit %(max_album)s
    ) as m
    cross join lateral (
        select s.item_id from sighting s where s.channel_id = a.channel_id and s.message_key = m.key and s.item_id is not null
        order by s.message_key, s.attachment_key offset 0
    ) as s
    join item i on i.id = s.item_id and i.group_id is null and not i.hidden
    where not exists (select from group_exclusion x where x.item_id = i.id and x.group_id = g.id)
    group by s.item_id
) as held on g.dissolved_at is null
order by a.channel_id, a.album, held.position, held.item_id

-- name: lock_items
-- Items before groups, and by their ids, as everybody locks them.
select id, group_id, content_hash, hidden, caught_at,
       content_hash is not null or exists (select from inspection n where n.item_id = item.id) as has_content
from item where id = any(%(ids)s::uuid[]) order by id for no key update

-- name: lock_others
-- Items that nobody mentioned. Whoever has one of them may wait for a group that the caller has, so it is not waited for.
select id, group_id, content_hash, hidden, caught_at, content_hash is not null as has_content from item
where id = any(%(ids)s::uuid[]) order by id for no key update skip locked

-- name: list_album_groups
-- Which albums have a group, also one that was dissolved.
select id, dissolved_at is not null as dissolved from item_group where id = any(%(ids)s::uuid[])

-- name: insert_album_groups
-- They are named in the same transaction, by what was said with them.
insert into item_group (id, kind, channel_id, source_key, name, name_key, created_at)
select n.id, 'album', n.channel_id, n.album, '', '', n.created_at
from unnest(%(id)s::uuid[], %(channel_id)s::uuid[], %(album)s::text[], %(created_at)s::timestamptz[])
    as n (id, channel_id, album, created_at)
order by n.id
on conflict do nothing

-- name: join_groups
-- Locked items that are in no group join one, unless a person took them out of it.
update item i set group_id = n.group_id, grouped_by = 'album'
from unnest(%(item_ids)s::uuid[], %(group_ids)s::uuid[]) as n (item_id, group_id)
where i.id = n.item_id and i.group_id is null
  and not exists (select from group_exclusion x where x.item_id = n.item_id and x.group_id = n.group_id)
returning i.id, i.group_id

-- name: lock_groups
-- After all items. Returns those that were dissolved.
with locked as (
    select id, dissolved_at from item_group where id = any(%(ids)s::uuid[]) order by id for no key update
)
select id from locked where dissolved_at is not null

-- name: leave_groups
-- Locked items that joined a group while it was being dissolved.
update item set group_id = null, grouped_by = '' where id = any(%(item_ids)s::uuid[]) and group_id = any(%(group_ids)s::uuid[])

-- name: describe_albums
-- What albums are named by: the text of the first message, and the title of the first member.
select g.id, coalesce(said.text, '') as caption, coalesce(held.title, '') as first_title, g.name
from item_group g
left join lateral (
    select m.text from message m where m.channel_id = g.channel_id and m.album = g.source_key and m.album <> ''
    order by m.position, m.key limit 1
) as said on true
left join lateral (
    select i.title from message m
    join sighting s on s.channel_id = m.channel_id and s.message_key = m.key
    join item i on i.id = s.item_id and i.group_id = g.id
    where m.channel_id = g.channel_id and m.album = g.source_key and m.album <> ''
    order by m.position, m.key, s.attachment_key limit 1
) as held on true
where g.id = any(%(ids)s::uuid[]) and g.kind = 'album' and g.name_by = 'automatic' and g.channel_id is not null

-- name: name_groups
-- A person's name stays.
update item_group g set name = n.name, name_key = n.name_key
from unnest(%(id)s::uuid[], %(name)s::text[], %(name_key)s::text[]) as n (id, name, name_key)
where g.id = n.id and g.name_by = 'automatic'

-- name: settle_contents
-- What locked items consist of, as far as the last look into them found all of it.
update item i set content_hash = n.content_hash
from (
    select t.id, (
        select case
            when count(b.id) < cardinality(p.volumes) then null
            when count(b.id) = 1 then string_agg(b.sha256, ''::bytea)
            else sha256(string_agg(b.sha256, ''::bytea order by v.place))
        end
        from inspection p
        cross join lateral unnest(p.volumes) with ordinality as v (blob_id, place)
        left join blob b on b.id = v.blob_id
        where p.item_id = t.id and p.due_at is null
          and not exists (select from item_set c where c.item_id = t.id and c.state not in ('proven', 'assumed'))
        group by p.volumes
    ) as content_hash
    from unnest(%(ids)s::uuid[]) as t (id)
) as n
where i.id = n.id and i.content_hash is distinct from n.content_hash
returning i.content_hash

-- name: lock_contents
-- Whoever changes one of several copies waits for whoever changes another; in one order, until the end.
select count(pg_advisory_xact_lock(lock)) from (
    select distinct ('x' || substr(encode(hash, 'hex'), 1, 15))::bit(60)::bigint as lock
    from unnest(%(hashes)s::bytea[]) as h (hash) order by 1 offset 0
) as locks

-- name: count_members
-- Which groups are too large to be written anew with each change.
select g.id from unnest(%(ids)s::uuid[]) as g (id)
where (select count(*) from (select from item i where i.group_id = g.id limit %(limit)s) as counted) >= %(limit)s

-- name: note_items
-- What follows from changed items, by jobs: their documents for search are written again, in rows of bounded length; rules
-- that send things on look at them while one is on; new ones that answer others, or are answered, are grouped while a rule
-- for that is on. Nothing is locked that another transaction wants.
with documents as (
    insert into search_due (ids)
    select array_agg(numbered.id) from (
        select i.id, row_number() over (order by i.id) as place from unnest(%(document_ids)s::uuid[]) as i (id)
    ) as numbered
    group by (numbered.place - 1) / %(row_length)s::int
), offered as (
    insert into send_rule_queue (item_ids)
    select %(item_ids)s::uuid[] where cardinality(%(item_ids)s::uuid[]) > 0 and exists (select from send_rule where enabled)
)
insert into shelf_queue (item_ids)
select array_agg(i.id) from unnest(%(new_ids)s::uuid[]) as i (id)
where exists (select from group_rule r where r.enabled and r.kind = 'replies')
  and exists (
      select from sighting s join message m on m.channel_id = s.channel_id and m.key = s.message_key
      where s.item_id = i.id and (m.reply_to <> '' or exists (
          select from message a where a.channel_id = m.channel_id and a.reply_to = m.key and a.reply_to <> ''
      ))
  )
having count(*) > 0

-- name: write_rows
-- The rows of items, groups and contents, from their members as they are now; rows without members go. The caller has the
-- locks of all of them, and this statement is later than the locks, so it sees what others wrote before. Returns the rows
-- that were other than they should be.
with member as materialized (
    select i.id as item_id, i.group_id as row_id, i.group_id, null::bytea as content_hash
    from unnest(%(group_ids)s::uuid[]) as g (id) join item i on i.group_id = g.id
    where not i.hidden
    union all
    select i.id, first_value(i.id) over (partition by i.content_hash order by least(i.sent_at, i.caught_at), i.id), null,
           i.content_hash
    from unnest(%(hashes)s::bytea[]) as c (hash) join item i on i.content_hash = c.hash
    where not i.hidden and i.group_id is null
    union all
    select i.id, i.id, null, null from item i
    where i.id = any(%(item_ids)s::uuid[]) and not i.hidden and i.group_id is null and i.content_hash is null
), fact as materialized (
    select m.row_id, m.group_id, m.content_hash, i.id, i.kind, i.type, i.title, i.name_key, i.size_bytes, i.channel_id,
           coalesce(i.content_hash, uuid_send(i.id)) as content, least(i.sent_at, i.caught_at) as posted_at,
           case when coalesce(p.entry_count, 0) > 0 then p.entry_count
                else greatest(coalesce((select c.present from item_set c where c.item_id = i.id), 1), 1) end as files,
           headgate_item_state(i.id, i.content_hash) as state, headgate_item_problem(i.id) as problem,
           exists (select from picture x where x.item_id = i.id) as pictured
    from member m
    join item i on i.id = m.item_id
    left join inspection p on p.item_id = i.id
), label as materialized (
    select distinct on (m.row_id, l.kind, l.key) m.row_id, l.kind, l.key, l.name
    from member m cross join lateral headgate_item_labels(m.item_id) as l
    order by m.row_id, l.kind, l.key, l.name
), sum as (
    select f.row_id as id, (array_agg(f.group_id))[1] as group_id, (array_agg(f.content_hash))[1] as content_hash,
           (array_agg(f.id order by f.posted_at, f.id))[1] as item_id,
           case when count(distinct f.kind) = 1 then min(f.kind) else 'mixed' end as kind,
           case when count(distinct f.type) = 1 then min(f.type) else 'mixed' end as type,
           sum(f.size_bytes) as size_bytes, min(f.size_bytes) as min_bytes, max(f.size_bytes) as max_bytes,
           (array_agg(f.size_bytes order by f.posted_at, f.id))[1] as first_bytes,
           sum(f.files) as files, (array_agg(f.files order by f.posted_at, f.id))[1] as first_files,
           count(*) as member_count, count(distinct f.content) as content_count,
           array_agg(distinct f.channel_id) as channel_ids,
           (array_agg(f.id order by f.kind <> 'picture', f.posted_at, f.id) filter (where f.pictured))[1] as cover_item_id,
           case when bool_or(f.state = 'waiting') then 'waiting'
                when bool_and(f.state = 'stored') then 'stored'
                when bool_or(f.state in ('stored', 'partial')) then 'partial'
                when bool_or(f.state = 'dropped') then 'dropped' else 'listed' end as state,
           bool_or(f.problem) as problem, min(f.posted_at) as oldest_at, max(f.posted_at) as newest_at,
           array_agg(distinct f.kind) as kinds, array_agg(distinct f.type) as types, array_agg(distinct f.state) as states
    from fact f group by f.row_id
), said as (
    select row_id, coalesce(array_agg(name order by key) filter (where kind = 'tag'), '{}') as tags,
           coalesce(array_agg(name order by key) filter (where kind = 'creator'), '{}') as creators
    from label group by row_id
), dated as (
    select row_id, array_agg(distinct facet order by facet) as facets from (
        select row_id, headgate_facet(kind, key) as facet from label
        union all
        select row_id, headgate_facet('topic', topic) from (
            select distinct m.row_id, s.channel_id || '/' || s.topic as topic
            from member m cross join lateral (
                select channel_id, topic from sighting s where s.item_id = m.item_id and s.topic <> ''
                order by s.item_id offset 0
            ) as s
        ) as named
        union all
        select row_id, headgate_facet('channel', channel_id::text) from (select distinct row_id, channel_id from fact) as home
    ) as facet group by row_id
), row as materialized (
    select s.id, s.group_id, s.item_id, s.content_hash, coalesce(g.name, i.title) as name,
           coalesce(g.name_key, i.name_key) as name_key, s.kind, s.type,
           (case when s.group_id is null then s.first_bytes else s.size_bytes end)::bigint as size_bytes,
           s.min_bytes, s.max_bytes, s.oldest_at,
           (case when s.group_id is null then s.first_files else s.files end)::bigint as file_count,
           s.member_count::int, s.content_count::int, coalesce(l.tags, '{}') as tags,
           coalesce(l.creators, '{}') as creators, s.channel_ids, s.cover_item_id, s.state, s.problem,
           case when s.group_id is null then s.oldest_at else s.newest_at end as sort_at,
           (select array_agg(distinct facet order by facet) from (
               select unnest(d.facets) as facet
               union all select headgate_facet('kind', k) from unnest(s.kinds) as k
               union all select headgate_facet('type', k) from unnest(s.types) as k
               union all select headgate_facet('state', k) from unnest(s.states) as k
               union all select headgate_facet('problem', '') where s.problem
               union all select headgate_facet('ungrouped', '') where s.group_id is null
           ) as facet) as facets,
           d.facets as dated_facets
    from sum s
    join dated d on d.row_id = s.id
    left join said l on l.row_id = s.id
    join item i on i.id = s.item_id
    left join item_group g on g.id = s.group_id
), old as materialized (
    select id, sort_at, name_key, size_bytes, dated_facets from shelf where id = any(%(item_ids)s::uuid[])
    union select id, sort_at, name_key, size_bytes, dated_facets from shelf where id = any(%(group_ids)s::uuid[])
    union select id, sort_at, name_key, size_bytes, dated_facets from shelf where content_hash = any(%(hashes)s::bytea[])
), gone as (
    delete from shelf s using old where s.id = old.id and not exists (select from row where row.id = old.id)
    returning s.id
), written as (
    insert into shelf as s (
        id, group_id, item_id, content_hash, name, name_key, kind, type, size_bytes, min_bytes, max_bytes, oldest_at, file_count,
        member_count, content_count, tags, creators, channel_ids, cover_item_id, state, problem, sort_at, facets, dated_facets
    )
    select * from row
    on conflict (id) do update
    set group_id = excluded.group_id, item_id = excluded.item_id, content_hash = excluded.content_hash, name = excluded.name,
        name_key = excluded.name_key, kind = excluded.kind, type = excluded.type, size_bytes = excluded.size_bytes,
        min_bytes = excluded.min_bytes, max_bytes = excluded.max_bytes, oldest_at = excluded.oldest_at,
        file_count = excluded.file_count, member_count = excluded.member_count, content_count = excluded.content_count,
        tags = excluded.tags, creators = excluded.creators, channel_ids = excluded.channel_ids,
        cover_item_id = excluded.cover_item_id, state = excluded.state, problem = excluded.problem,
        sort_at = excluded.sort_at, facets = excluded.facets, dated_facets = excluded.dated_facets
    where s is distinct from excluded
    returning s.id
), facet_gone as (
    delete from shelf_facet f using (
        select d.facet, old.sort_at, old.id from old cross join lateral unnest(old.dated_facets) as d (facet)
        except
        select d.facet, row.sort_at, row.id from row cross join lateral unnest(row.dated_facets) as d (facet)
    ) as n
    where f.facet = n.facet and f.sort_at = n.sort_at and f.shelf_id = n.id
), facet_written as (
    insert into shelf_facet (facet, sort_at, shelf_id, name_key, size_bytes)
    select d.facet, row.sort_at, row.id, row.name_key, row.size_bytes
    from row cross join lateral unnest(row.dated_facets) as d (facet)
    except
    select d.facet, old.sort_at, old.id, old.name_key, old.size_bytes
    from old cross join lateral unnest(old.dated_facets) as d (facet)
    on conflict (facet, sort_at, shelf_id) do update set name_key = excluded.name_key, size_bytes = excluded.size_bytes
)
select id from written union all select id from gone

-- name: add_rows
-- The rows of lone items that the caller's transaction has made: as `write_rows` would write them, without what such an item
-- cannot have yet (a group, copies, labels, a picture, contents, further volumes).
with row as materialized (
    select i.id, i.title, i.name_key, i.kind, i.type, i.size_bytes, i.channel_id, least(i.sent_at, i.caught_at) as posted_at,
           headgate_item_state(i.id, null) as state, headgate_item_problem(i.id) as problem,
           array(
               select headgate_facet('channel', i.channel_id::text)
               union
               select headgate_facet('topic', s.channel_id || '/' || s.topic)
               from sighting s where s.item_id = i.id and s.topic <> ''
               order by 1
           ) as dated
    from item i
    where i.id = any(%(item_ids)s::uuid[]) and not i.hidden
), listed as (
    insert into shelf_facet (facet, sort_at, shelf_id, name_key, size_bytes)
    select facet, posted_at, id, name_key, size_bytes from row cross join lateral unnest(dated) as d (facet)
)
insert into shelf (
    id, item_id, name, name_key, kind, type, size_bytes, min_bytes, max_bytes, oldest_at, file_count, member_count, content_count,
    tags, creators, channel_ids, state, problem, sort_at, facets, dated_facets
)
select id, id, title, name_key, kind, type, size_bytes, size_bytes, size_bytes, posted_at, 1, 1, 1,
       '{}', '{}', array[channel_id], state, problem, posted_at,
       array(
           select unnest(dated)
           union select headgate_facet('kind', kind)
           union select headgate_facet('type', type)
           union select headgate_facet('state', state)
           union select headgate_facet('problem', '') where problem
           union select headgate_facet('ungrouped', '')
           order by 1
       ), dated
from row

-- name: queue_rows
-- Their rows are written by a job.
insert into shelf_queue (item_ids, group_ids) values (%(item_ids)s::uuid[], %(group_ids)s::uuid[])
