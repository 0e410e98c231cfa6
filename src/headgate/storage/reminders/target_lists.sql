-- name: insert_list
-- Nothing if there is one of this name already, whatever its case.
insert into target_list (id, name, created_at) values (%(id)s, %(name)s, %(now)s)
on conflict (lower(name)) do nothing

-- name: rename_list
-- Its members and the reminders that send to it stay.
update target_list set name = %(name)s where id = %(id)s

-- name: delete_list
-- Its members stay targets.
delete from target_list where id = %(id)s

-- name: lock_list
-- Its members keep their places while it is held.
select id, name from target_list where id = %(id)s for update

-- name: add_members
-- Behind those that are there, in the order given; a member stays where it is.
with last as (
    select coalesce(max(place), 0) as place from target_list_member where list_id = %(list_id)s
)
insert into target_list_member (list_id, target_id, place)
select %(list_id)s, t.id, last.place + n.number
from unnest(%(target_ids)s::uuid[]) with ordinality as n (id, number) join target t on t.id = n.id, last
order by t.id
on conflict (list_id, target_id) do nothing

-- name: remove_members
-- The others keep their order.
delete from target_list_member where list_id = %(list_id)s and target_id = any(%(target_ids)s::uuid[])

-- name: list_lists
-- All lists by name, with their sizes and how many reminders send to them.
select l.id, l.name, l.created_at,
    (select count(*) from target_list_member m where m.list_id = l.id)::int as members,
    (select count(*) from reminder_list u join reminder r on r.id = u.reminder_id
     where u.list_id = l.id and r.state <> 'archived')::int as reminders
from target_list l order by lower(l.name), l.id

-- name: list_members
-- In the order in which they are sent to; places are never shared, because the list is locked when some are added.
select m.place, t.id, t.platform, t.key, t.title
from target_list_member m join target t on t.id = m.target_id
where m.list_id = %(list_id)s and m.place > %(after)s
order by m.place
limit %(limit)s::int

-- name: list_users_of
-- Titles of the reminders that send to a list.
select r.title from reminder_list u join reminder r on r.id = u.reminder_id
where u.list_id = %(list_id)s and r.state <> 'archived' order by lower(r.title), r.id
