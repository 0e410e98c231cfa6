-- name: get_place
-- Where the round over all blobs is. The lock makes two collectors take turns.
select collected_to from blob_store for no key update

-- name: set_place
-- Empty: the next round begins.
update blob_store set collected_to = %(place)s::uuid

-- name: mark_unreferenced
-- Rows that somebody else has locked are passed over: they are in use, and waiting here could be waiting in a circle.
with seen as (
    select id from blob where id > %(after)s order by id limit %(limit)s
), judged as (
    select b.id, b.unreferenced_since, exists (select from blob_reference r where r.blob_id = b.id) as referenced
    from blob b where b.id in (select id from seen)
), changing as (
    select b.id, judged.referenced from blob b join judged on judged.id = b.id
    where judged.referenced = (b.unreferenced_since is not null)
    for no key update of b skip locked
), changed as (
    update blob b set unreferenced_since = case when changing.referenced then null else %(now)s::timestamptz end
    from changing where b.id = changing.id
)
select (array_agg(id order by id desc))[1] as last, count(*)::int as seen from seen

-- name: lock_unreferenced
-- A reference that is being written holds a lock on its blob, which is passed over.
select id from blob b
where unreferenced_since <= %(before)s and not exists (select from blob_reference r where r.blob_id = b.id)
order by unreferenced_since limit %(limit)s for update skip locked

-- name: doom_unreferenced
-- Checked once more: a reference that was committed just before the lock is seen by this statement alone.
with gone as (
    delete from blob b where id = any(%(ids)s::uuid[]) and unreferenced_since is not null
        and not exists (select from blob_reference r where r.blob_id = b.id)
    returning object_name
)
insert into doomed_object (object_name, reason, doomed_at, delete_at)
select object_name, 'unreferenced', %(now)s, %(delete_at)s::timestamptz from gone where left(object_name, 6) <> 'place:'
on conflict (object_name) do nothing
