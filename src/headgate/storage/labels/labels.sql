-- name: list_texts
-- What rules read of items: where each was seen first, in an order that is the platform's and not that of our reading,
-- and what was said there or in a message of the same album.
select i.id as item_id, s.file_name, coalesce(t.title, s.topic) as topic, m.text, coalesce(album.texts, '{}') as album
from unnest(%(item_ids)s::uuid[]) as i (id)
cross join lateral (
    select * from sighting s where s.item_id = i.id
    order by s.sent_at, s.position, s.message_key, s.attachment_key limit %(max_seen)s
) as s
join message m on m.channel_id = s.channel_id and m.key = s.message_key
left join topic t on t.channel_id = s.channel_id and t.key = s.topic and s.topic <> ''
left join lateral (
    select array_agg(said.text order by said.position, said.key) as texts from (
        select a.text, a.position, a.key from message a
        where m.album <> '' and a.channel_id = m.channel_id and a.album = m.album and a.album <> ''
        order by a.position, a.key limit %(max_album)s
    ) as said where said.text <> ''
) as album on m.album <> ''
order by i.id, s.sent_at, s.position, s.message_key, s.attachment_key

-- name: list_labels
-- What rules read and what people said, by the names under which it counts; what was said last comes last.
select l.item_id, l.kind, l.source, coalesce(n.name, l.name) as name, l.rule, l.removed
from item_label l
left join label_name n on n.kind = l.kind and n.key = l.key
where l.item_id = any(%(item_ids)s::uuid[])
order by l.item_id, l.said_at nulls first, l.key

-- name: list_names
-- Under which names these labels count, where people changed it.
select kind, key, name from label_name
where (kind, key) in (select * from unnest(%(kinds)s::text[], %(keys)s::text[]))

-- name: hold_items
-- Those of the items that are there, and stay until the transaction ends.
select id from item where id = any(%(item_ids)s::uuid[]) order by id for key share

-- name: lock_items
-- In the order in which everybody locks them.
select id from item where id = any(%(item_ids)s::uuid[]) order by id for no key update

-- name: write_found
-- What rules read takes the place of what they read before; what people said is left alone, and only what changed is
-- written. Returns the items that have other labels now.
with labelled as (
    select id from unnest(%(labelled_ids)s::uuid[]) as i (id)
), found as (
    select * from unnest(
        %(item_id)s::uuid[], %(kind)s::text[], %(key)s::text[], %(name)s::text[], %(rule)s::text[]
    ) as f (item_id, kind, key, name, rule)
), gone as (
    delete from item_label l using labelled i
    where l.item_id = i.id and l.source = 'rule' and not exists (
        select from found f where f.item_id = l.item_id and f.kind = l.kind and f.key = l.key
    )
    returning l.item_id
), written as (
    insert into item_label as l (item_id, kind, source, key, name, rule)
    select f.item_id, f.kind, 'rule', f.key, f.name, f.rule from found f order by f.item_id, f.kind, f.key
    on conflict (item_id, kind, source, key) do update set name = excluded.name, rule = excluded.rule
    where (l.name, l.rule) is distinct from (excluded.name, excluded.rule)
    returning l.item_id
), noted as (
    insert into labelled_item as l (item_id, rules_version)
    select i.id, %(rules_version)s from labelled i order by i.id
    on conflict (item_id) do update set rules_version = excluded.rules_version
    where l.rules_version <> excluded.rules_version
)
select item_id from gone union select item_id from written

-- name: clear_creators
-- A person says something else, or nothing any more.
delete from item_label where item_id = any(%(item_ids)s::uuid[]) and kind = 'creator' and source = 'person'

-- name: clear_tags
-- A person says something else of these tags, or nothing any more. Whatever counts under the same name goes with them.
delete from item_label l
where l.item_id = any(%(item_ids)s::uuid[]) and l.kind = 'tag' and l.source = 'person'
  and coalesce((select n.shown_key from label_name n where n.kind = 'tag' and n.key = l.key), l.key)
    in (select coalesce((select n.shown_key from label_name n where n.kind = 'tag' and n.key = k.key), k.key)
        from unnest(%(keys)s::text[]) as k (key))

-- name: say_labels
-- What a person says of items, the same of each.
insert into item_label (item_id, kind, source, key, name, removed, said_at)
select i.id, %(kind)s, 'person', s.key, s.name, %(removed)s, %(now)s
from unnest(%(item_ids)s::uuid[]) as i (id)
cross join unnest(%(keys)s::text[], %(names)s::text[]) as s (key, name)
order by i.id, s.key

-- name: count_said
-- How many tags people said of the item with most of them.
select coalesce(max(many), 0) from (
    select count(*) as many from item_label
    where item_id = any(%(item_ids)s::uuid[]) and kind = 'tag' and source = 'person' group by item_id
) as said

-- name: hand_over
-- What people said of items that became part of others goes with them; where both speak, the later word stays.
with moved as (
    delete from item_label l using unnest(%(from_ids)s::uuid[], %(to_ids)s::uuid[]) as m (from_id, to_id)
    where l.item_id = m.from_id and l.source = 'person' and m.from_id <> m.to_id
    returning m.to_id, l.kind, l.key, l.name, l.removed, l.said_at
)
insert into item_label as l (item_id, kind, source, key, name, removed, said_at)
select distinct on (to_id, kind, key) to_id, kind, 'person', key, name, removed, said_at
from moved order by to_id, kind, key, said_at desc, removed
on conflict (item_id, kind, source, key) do update
set name = excluded.name, removed = excluded.removed, said_at = excluded.said_at
where excluded.said_at > l.said_at

-- name: list_used
-- Names in use, by key, with how many items have them; counting stops at a cap. The recursion hops from key to key on
-- the index, so that it costs the same whether a name has one item or a million.
with recursive used as (
    (select key from item_label where kind = %(kind)s and key > %(after)s order by key limit 1)
    union all
    select (select l.key from item_label l where l.kind = %(kind)s and l.key > u.key order by l.key limit 1)
    from used u where u.key is not null
)
select u.key, written.name, coalesce(n.name, written.name) as shown_as, counted.items
from used u
left join label_name n on n.kind = %(kind)s and n.key = u.key
cross join lateral (
    select l.name from item_label l where l.kind = %(kind)s and l.key = u.key order by l.item_id limit 1
) as written
cross join lateral (
    select count(*) as items from (
        select from item_label l where l.kind = %(kind)s and l.key = u.key and not l.removed
          and (l.source = 'person' or not exists (
              select from item_label p where p.item_id = l.item_id and p.kind = l.kind and p.source = 'person'
                and (p.key = l.key or p.kind = 'creator')))
        limit %(cap)s
    ) as capped
) as counted
where u.key <> '' and counted.items > 0
  and (%(pattern)s::text is null or written.name ilike %(pattern)s::text or n.name ilike %(pattern)s::text)
order by u.key limit %(limit)s

-- name: is_known
-- Whether anything is or was called so.
select exists (select from item_label where kind = %(kind)s and key = %(key)s)
    or exists (select from label_name where kind = %(kind)s and %(key)s in (key, shown_key))

-- name: rename
-- What counted as the old name counts as the new one from now on, also what was renamed to it before; and the new one is
-- written as the person wrote it.
insert into label_name (kind, key, shown_key, name)
select %(kind)s, changed.key, %(to_key)s, %(name)s from (
    select %(key)s::text as key
    union select %(to_key)s::text
    union select n.key from label_name n where n.kind = %(kind)s and n.shown_key in (%(key)s, %(to_key)s)
) as changed
order by changed.key
on conflict (kind, key) do update set shown_key = excluded.shown_key, name = excluded.name

-- name: restore_name
-- What was renamed counts under what was read again.
delete from label_name where kind = %(kind)s and key = %(key)s
