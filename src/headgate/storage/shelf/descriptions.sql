-- let members: select id from item where s.group_id is not null and group_id = s.group_id and not hidden
--          union all
--          select id from item
--          where s.group_id is null and content_hash = s.content_hash and group_id is null and not hidden
--          union all
--          select s.item_id where s.group_id is null and s.content_hash is null

-- name: describe_rows
-- What rows of a page show beside their own columns: the smallest picture, the names of channels, and where links lead.
select s.id, cover.sha256 as cover_sha256, cover.media_type as cover_type, named.ids as channel_ids, named.titles as channel_titles,
    case when s.group_id is null and s.kind in ('post', 'link') then coalesce((
        select seen.url from sighting seen where seen.item_id = s.item_id order by seen.id limit 1
    ), '') else '' end as url
from unnest(%(ids)s::uuid[]) as wanted (id)
cross join lateral (select * from shelf where id = wanted.id offset 0) as s
cross join lateral (select i.channel_id from item i where i.id = s.item_id) as first
cross join lateral (
    select array_agg(c.id order by c.id <> first.channel_id, c.title, c.id) as ids,
           array_agg(c.title order by c.id <> first.channel_id, c.title, c.id) as titles
    from channel c where c.id = any(s.channel_ids)
) as named
left join lateral (
    select b.sha256, p.media_type
    from (
        (select 0 as place, g.blob_id, g.media_type from group_picture g where g.group_id = s.group_id
         order by g.width_px, g.media_type limit 1)
        union all
        (select 1, p.blob_id, p.media_type from picture p where p.item_id = s.cover_item_id
         order by p.width_px, p.media_type limit 1)
    ) as p
    join blob b on b.id = p.blob_id
    order by p.place limit 1
) as cover on true

-- name: list_members
-- The members of all rows of a page at once, up to a number for each, in the order in which they were posted.
select s.id as row_id, i.id, i.kind, i.type, i.title, i.size_bytes, i.sent_at, i.caught_at, i.channel_id,
    c.title as channel_title, i.grouped_by, headgate_item_state(i.id, i.content_hash) as state,
    headgate_item_problem(i.id) as problem, label.creators, label.tags, cover.sha256 as cover_sha256,
    cover.media_type as cover_type,
    case when coalesce(p.entry_count, 0) > 0 then p.entry_count
         else greatest(coalesce((select v.present from item_set v where v.item_id = i.id), 1), 1) end as file_count
from unnest(%(ids)s::uuid[]) as wanted (id)
cross join lateral (select * from shelf where id = wanted.id offset 0) as s
cross join lateral (
    select i.* from ({members}) as member join item i on i.id = member.id
    order by least(i.sent_at, i.caught_at), i.id limit %(limit)s::int
) as i
join channel c on c.id = i.channel_id
left join inspection p on p.item_id = i.id
cross join lateral (
    select coalesce(array_agg(l.name order by l.key) filter (where l.kind = 'creator'), '{}') as creators,
           coalesce(array_agg(l.name order by l.key) filter (where l.kind = 'tag'), '{}') as tags
    from headgate_item_labels(i.id) as l
) as label
left join lateral (
    select b.sha256, x.media_type from picture x join blob b on b.id = x.blob_id
    where x.item_id = i.id order by x.width_px, x.media_type limit 1
) as cover on true
order by s.id, least(i.sent_at, i.caught_at), i.id

-- name: list_channel_titles
-- What channels are called.
select id, title from channel where id = any(%(ids)s::uuid[])

-- name: list_topic_titles
-- What topics are called.
select t.channel_id, t.key, t.title from topic t
where (t.channel_id, t.key) in (select * from unnest(%(channel_ids)s::uuid[], %(keys)s::text[]))

-- name: list_label_names
-- How creators and tags are written, by the keys under which they count.
select w.kind, w.key, coalesce(
    (select n.name from label_name n where n.kind = w.kind and n.shown_key = w.key order by n.key limit 1),
    (select l.name from item_label l where l.kind = w.kind and l.key = w.key order by l.item_id limit 1),
    w.key
) as name
from unnest(%(kinds)s::text[], %(keys)s::text[]) as w (kind, key)
