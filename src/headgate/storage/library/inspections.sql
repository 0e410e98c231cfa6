-- name: note_inspections
-- A look that is under way does not count any more: what it read may be out of date.
insert into inspection as i (item_id, due_at)
select item.id, %(now)s from item where item.id = any(%(item_ids)s::uuid[]) order by item.id
on conflict (item_id) do update set seq = i.seq + 1, attempts = 0, due_at = excluded.due_at
