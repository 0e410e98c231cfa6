-- name: upsert_targets
-- What an account can write to; a known one keeps everything but its title.
insert into target (id, platform, key, title, created_at)
select f.id, %(platform)s, f.key, f.title, %(now)s
from unnest(%(ids)s::uuid[], %(keys)s::text[], %(titles)s::text[]) as f (id, key, title)
order by f.key
on conflict (platform, key) do update set title = excluded.title where target.title <> excluded.title

-- name: see_targets
-- Those that the account sees now; returns how many of them it did not see before.
with known as (
    select target_id from target_account where account_id = %(account_id)s and gone_at is null
), seen as (
    insert into target_account (account_id, target_id, seen_at)
    select %(account_id)s, t.id, %(now)s
    from target t where t.platform = %(platform)s and t.key = any(%(keys)s::text[])
    order by t.id
    on conflict (account_id, target_id) do update set seen_at = excluded.seen_at, gone_at = null
    returning target_id
)
select count(*) from seen where target_id not in (select target_id from known)

-- name: lose_targets
-- Those that the account saw before and does not see any more.
update target_account a set gone_at = %(now)s
from target t
where a.account_id = %(account_id)s and a.gone_at is null and t.id = a.target_id and t.key <> all(%(keys)s::text[])

-- name: search_targets
-- Targets by title, after a place in that total order, whose title holds every word.
select t.id, t.platform, t.key, t.title,
    (select count(*) from target_account a where a.target_id = t.id and a.gone_at is null)::int as accounts
from target t
where (lower(t.title), t.id) > (lower(%(title)s::text), %(id)s::uuid)
  and t.title ilike all(%(patterns)s::text[])
  and (%(among)s::uuid[] is null or t.id = any(%(among)s::uuid[]))
  and (%(account_id)s::uuid is null or exists (
      select from target_account a
      where a.account_id = %(account_id)s and a.target_id = t.id and a.gone_at is null
  ))
order by lower(t.title), t.id
limit %(limit)s::int

-- name: find_targets
-- By id, by the platform's key, or by title, whatever its case; each with the words that named it.
with wanted as (
    select r.reference from unnest(%(references)s::text[]) as r (reference)
), found as (
    select r.reference, t.id, 0 as rank
    from unnest(%(id_references)s::text[], %(ids)s::uuid[]) as r (reference, id) join target t on t.id = r.id
    union all
    select w.reference, t.id, 1 from wanted w join target t on t.platform = %(platform)s and t.key = w.reference
    union all
    select w.reference, t.id, 2 from wanted w join target t on lower(t.title) = lower(w.reference)
), nearest as (
    select reference, id, rank, min(rank) over (partition by reference) as best from found
)
select n.reference, t.id, t.platform, t.key, t.title
from nearest n join target t on t.id = n.id
where n.rank = n.best and t.platform = %(platform)s
order by n.reference, t.key

-- name: list_target_names
-- Titles and keys of a platform, to guess what a person meant.
select title from target where platform = %(platform)s
union select key from target where platform = %(platform)s limit 20000
