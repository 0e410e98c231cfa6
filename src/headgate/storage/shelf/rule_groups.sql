-- name: list_on
-- The rules that are on; earlier ones go first.
select id, kind, pattern from group_rule where enabled order by created_at, id

-- name: list_titled
-- What rules read of items: titles, and the creators that count.
select i.id as item_id, i.channel_id, i.title, l.key as creator
from unnest(%(item_ids)s::uuid[]) as t (id)
join item i on i.id = t.id
cross join lateral (select l.key from headgate_item_labels(i.id) as l where l.kind = 'creator' limit 1) as l

-- name: list_ruled
-- Items that rules put into groups which no person has named, covered, added to or taken anything out of.
select i.id as item_id, i.group_id
from unnest(%(item_ids)s::uuid[]) as t (id)
join item i on i.id = t.id and i.grouped_by = 'rule'
join item_group g on g.id = i.group_id and g.kind = 'rule' and g.rule_id = any(%(rule_ids)s::uuid[])
where g.name_by = 'automatic'
  and not exists (select from group_picture p where p.group_id = g.id)
  and not exists (select from group_exclusion x where x.group_id = g.id)
  and not exists (select from item o where o.group_id = g.id and o.grouped_by = 'person')

-- name: leave
-- Locked items whose rule no longer finds them.
update item set group_id = null, grouped_by = '' where id = any(%(item_ids)s::uuid[])

-- name: delete_empty
-- Groups of rules without members. Whoever would join one needs the lock that this transaction has.
delete from item_group g
where g.id = any(%(ids)s::uuid[]) and g.kind = 'rule' and not exists (select from item i where i.group_id = g.id)

-- name: list_roots
-- The chains of replies that items are in, each by its first message.
select distinct s.channel_id, headgate_reply_root(s.channel_id, s.message_key) as root, i.id as item_id
from unnest(%(item_ids)s::uuid[]) as i (id)
cross join lateral (
    select s.channel_id, s.message_key from sighting s where s.item_id = i.id order by s.id limit %(max_seen)s
) as s
where exists (select from message m where m.channel_id = s.channel_id and m.key = s.message_key and m.reply_to <> '')
   or exists (select from message m where m.channel_id = s.channel_id and m.reply_to = s.message_key and m.reply_to <> '')

-- name: try_locks
-- Of several transactions that find the same group, one goes on; the others leave it to the job. Nobody waits.
select l.id from unnest(%(ids)s::uuid[]) as l (id)
where pg_try_advisory_xact_lock(('x' || substr(encode(uuid_send(l.id), 'hex'), 1, 15))::bit(60)::bigint)

-- name: write_candidates
-- What rules found in locked items takes the place of what they found before.
with found as (
    select * from unnest(
        %(rule_id)s::uuid[], %(item_id)s::uuid[], %(channel_id)s::uuid[], %(source_key)s::text[], %(name)s::text[]
    ) as f (rule_id, item_id, channel_id, source_key, name)
), gone as (
    delete from group_candidate c using unnest(%(item_ids)s::uuid[]) as t (id)
    where c.item_id = t.id and c.rule_id = any(%(rule_ids)s::uuid[]) and not exists (
        select from found f where f.item_id = c.item_id and f.rule_id = c.rule_id
    )
)
insert into group_candidate as c (rule_id, item_id, channel_id, source_key, name)
select f.rule_id, f.item_id, f.channel_id, f.source_key, f.name from found f order by f.item_id, f.rule_id
on conflict (item_id, rule_id) do update set source_key = excluded.source_key, name = excluded.name
where (c.source_key, c.name) is distinct from (excluded.source_key, excluded.name)

-- name: list_candidates
-- Who could be in groups by title: visible items in no group, the first posted first. What a person took out of a group stays apart.
select k.group_id, i.id as item_id, c.name
from unnest(%(group_ids)s::uuid[], %(rule_ids)s::uuid[], %(channel_ids)s::uuid[], %(source_keys)s::text[])
    as k (group_id, rule_id, channel_id, source_key)
cross join lateral (
    (select c.item_id, c.name from group_candidate c
     where c.rule_id = k.rule_id and c.channel_id = k.channel_id and c.source_key = k.source_key limit 2 * %(max_members)s)
    union
    select c.item_id, c.name from unnest(%(item_ids)s::uuid[]) as own (id)
    join group_candidate c on c.item_id = own.id and c.rule_id = k.rule_id
    where c.channel_id = k.channel_id and c.source_key = k.source_key
) as c
join item i on i.id = c.item_id and i.group_id is null and not i.hidden
where not exists (select from group_exclusion x where x.item_id = i.id)
order by k.group_id, least(i.sent_at, i.caught_at), i.id

-- name: list_chained
-- The same for chains of replies. A chain has several messages; a message that is not stored can be the first.
with message_of as materialized (
    select k.channel_id, k.root, m.key, m.position
    from unnest(%(channel_ids)s::uuid[], %(roots)s::text[]) as k (channel_id, root)
    cross join lateral headgate_reply_chain(k.channel_id, k.root) as c (key)
    cross join lateral (
        select m.key, m.position from message m where m.channel_id = k.channel_id and m.key = c.key offset 0
    ) as m
), held as (
    select m.channel_id, m.root, s.item_id, min(m.position) as position
    from message_of m
    cross join lateral (
        select s.item_id from sighting s where s.channel_id = m.channel_id and s.message_key = m.key and s.item_id is not null
        order by s.message_key, s.attachment_key offset 0
    ) as s
    group by m.channel_id, m.root, s.item_id
)
select h.channel_id, h.root, i.id as item_id
from held h
join item i on i.id = h.item_id and i.group_id is null and not i.hidden
where (select count(*) from message_of m where m.channel_id = h.channel_id and m.root = h.root) > 1
  and not exists (select from group_exclusion x where x.item_id = i.id)
order by h.channel_id, h.root, h.position, i.id

-- name: list_chain_groups
-- Groups that a rule has already made of parts of chains: a chain grows when its older messages are read.
select distinct k.channel_id, k.root, g.id, g.dissolved_at is not null as dissolved, g.created_at
from unnest(%(channel_ids)s::uuid[], %(roots)s::text[]) as k (channel_id, root)
cross join lateral headgate_reply_chain(k.channel_id, k.root) as c (key)
join item_group g on g.kind = 'rule' and g.rule_id = %(rule_id)s and g.channel_id = k.channel_id and g.source_key = c.key
order by k.channel_id, k.root, g.created_at, g.id

-- name: describe_chains
-- What chains are called: by what their first stored message says, else by its first file.
select k.channel_id, k.root, coalesce(said.text, '') as caption, coalesce(said.title, '') as first_title
from unnest(%(channel_ids)s::uuid[], %(roots)s::text[]) as k (channel_id, root)
left join lateral (
    select m.text, (
        select i.title from sighting s join item i on i.id = s.item_id
        where s.channel_id = k.channel_id and s.message_key = m.key order by s.attachment_key limit 1
    ) as title
    from headgate_reply_chain(k.channel_id, k.root) as c (key)
    cross join lateral (
        select m.key, m.text, m.position from message m where m.channel_id = k.channel_id and m.key = c.key offset 0
    ) as m
    order by m.position, m.key limit 1
) as said on true

-- name: list_known
-- Which of the groups are there, also dissolved ones.
select id, dissolved_at is not null as dissolved from item_group where id = any(%(ids)s::uuid[])

-- name: insert_groups
-- There can be only one of each, whoever makes it first.
insert into item_group (id, kind, channel_id, source_key, rule_id, name, name_key, created_at)
select n.id, 'rule', n.channel_id, n.source_key, n.rule_id, n.name, n.name_key, n.created_at
from unnest(
    %(id)s::uuid[], %(rule_id)s::uuid[], %(channel_id)s::uuid[], %(source_key)s::text[], %(name)s::text[],
    %(name_key)s::text[], %(created_at)s::timestamptz[]
) as n (id, rule_id, channel_id, source_key, name, name_key, created_at)
order by n.id
on conflict do nothing

-- name: name_groups
-- A person's name stays.
update item_group g set name = n.name, name_key = n.name_key
from unnest(%(id)s::uuid[], %(name)s::text[], %(name_key)s::text[]) as n (id, name, name_key)
where g.id = n.id and g.name_by = 'automatic' and g.name <> n.name

-- name: join_groups
-- Locked items that are in no group join one, unless a person took them out of any.
update item i set group_id = n.group_id, grouped_by = 'rule'
from unnest(%(item_ids)s::uuid[], %(group_ids)s::uuid[]) as n (item_id, group_id)
where i.id = n.item_id and i.group_id is null
  and not exists (select from group_exclusion x where x.item_id = n.item_id)
returning i.id, i.group_id

-- name: leave_full
-- Locked items leave locked groups that others have filled: those that were there before stay.
update item i set group_id = null, grouped_by = ''
from (
    select m.id, row_number() over (
        partition by m.group_id order by m.id = any(%(item_ids)s::uuid[]), least(m.sent_at, m.caught_at), m.id
    ) as place
    from item m where m.group_id = any(%(group_ids)s::uuid[])
) as member
where i.id = member.id and member.place > %(max_members)s and i.id = any(%(item_ids)s::uuid[])
