-- name: bury
-- One open letter a kind and key: a second death of the same work renews it.
insert into dead_letter (
    id, kind, key, error_class, message, stack, attempts, crashes, first_tried_at, died_at
) values (
    %(id)s, %(kind)s, %(key)s, %(error_class)s, %(message)s, %(stack)s, %(attempts)s, %(crashes)s,
    %(first_tried_at)s, %(died_at)s
)
on conflict (kind, key) where state = 'open' do update
set error_class = excluded.error_class, message = excluded.message, stack = excluded.stack,
    attempts = excluded.attempts, crashes = excluded.crashes, died_at = excluded.died_at

-- name: list_dead_letters
-- Newest first, by key of the page before.
select id, kind, key, error_class, message, stack, attempts, crashes, first_tried_at, died_at, state,
       closed_at, kept
from dead_letter
where (%(state)s::text is null or state = %(state)s)
  and (%(kind)s::text is null or kind = %(kind)s)
order by died_at desc, id desc
limit %(limit)s

-- name: get_dead_letter
-- All that a person needs to judge it.
select id, kind, key, error_class, message, stack, attempts, crashes, first_tried_at, died_at, state,
       closed_at, kept
from dead_letter where id = %(id)s

-- name: list_by_ending
-- A person types only the last group of an id, the one that is random.
select id from dead_letter where right(id::text, 12) = %(ending)s limit 2

-- name: close_dead_letter
-- Only an open letter can be closed, and only once.
update dead_letter set state = %(state)s, closed_at = %(now)s
where id = %(id)s and state = 'open'

-- name: keep_dead_letter
-- What a person keeps, retention leaves alone.
update dead_letter set kept = %(kept)s where id = %(id)s

-- name: count_open_by_class
-- For the metrics: what kinds of error wait for a person.
select error_class, count(*) as letters from dead_letter where state = 'open' group by 1 order by 1

-- name: count_open_by_kind
-- For the overview of all kinds.
select kind, count(*) as letters from dead_letter where state = 'open' group by 1 order by 1

-- name: prune_dead_letters
-- At most so many and so old, unless a person keeps them. Open ones go in small numbers, the oldest first, and
-- are returned: their work is tried again at once.
with surplus as (
    select id, row_number() over (partition by state = 'open' order by died_at, id) as turn
    from dead_letter
    where not kept
      and (died_at < %(before)s
           or id in (select id from dead_letter where not kept
                     order by died_at desc, id desc offset %(keep)s))
), pruned as (
    delete from dead_letter using surplus
    where dead_letter.id = surplus.id and (state <> 'open' or turn <= %(most_open)s)
    returning kind, key, state
)
select kind, key from pruned where state = 'open' order by kind, key
