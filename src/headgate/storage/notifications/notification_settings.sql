-- name: get_settings
-- Without a row: no quiet hours.
select time_zone, quiet_from_min, quiet_to_min from notification_settings where user_id = %(user_id)s

-- name: put_settings
-- The newest wish is the only one.
insert into notification_settings (user_id, time_zone, quiet_from_min, quiet_to_min)
values (%(user_id)s, %(time_zone)s, %(quiet_from_min)s, %(quiet_to_min)s)
on conflict (user_id) do update
set time_zone = excluded.time_zone, quiet_from_min = excluded.quiet_from_min, quiet_to_min = excluded.quiet_to_min

-- name: recheck
-- What was put off to the end of quiet hours may go out now, or later than was thought.
update push_address set due_at = %(now)s where user_id = %(user_id)s and due_at > %(now)s
