-- name: lock_room
-- For one machine at a time, until the end of the transaction.
select pg_advisory_xact_lock(7421, hashtext(%(machine)s))

-- name: list_reserved
-- What is promised on a machine.
select key, size_bytes from room_reservation where machine = %(machine)s and expires_at > headgate_real_now()

-- name: upsert_reservations
-- Once for a key, renewed when asked for again.
insert into room_reservation (machine, key, size_bytes, expires_at)
select %(machine)s, n.key, n.size_bytes, headgate_real_now() + make_interval(secs => %(ttl_s)s)
from unnest(%(keys)s::text[], %(sizes)s::bigint[]) as n (key, size_bytes) order by n.key
on conflict (machine, key) do update set size_bytes = excluded.size_bytes, expires_at = excluded.expires_at

-- name: renew_reservations
-- What has expired may be promised to another.
update room_reservation set expires_at = headgate_real_now() + make_interval(secs => %(ttl_s)s)
where machine = %(machine)s and key = any(%(keys)s::text[]) and expires_at > headgate_real_now()

-- name: shrink_reservation
-- Never below nothing.
update room_reservation set size_bytes = greatest(0, size_bytes - %(by_bytes)s)
where machine = %(machine)s and key = %(key)s

-- name: delete_reservations
-- The work is done, or given up.
delete from room_reservation where machine = %(machine)s and key = any(%(keys)s::text[])

-- name: renew_begun
-- What has begun to come keeps its room while the rest waits for its turn, however long that is; not in a channel that
-- is off. Keys of other things are not ids.
update room_reservation r set expires_at = headgate_real_now() + make_interval(secs => %(ttl_s)s)
from item_file f
where r.expires_at <= headgate_real_now() and headgate_has_begun(f) and headgate_switched_off(f.channel_id) is null
  and f.sighting_id = case when r.key ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then r.key::uuid end

-- name: delete_expired
-- Of all machines: some do not come back.
delete from room_reservation where expires_at <= headgate_real_now()
