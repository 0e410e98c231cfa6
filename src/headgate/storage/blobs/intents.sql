-- name: begin_uploads
-- Locks are taken in the order of the hashes, here and below, so that two batches cannot wait for each other. A blob that
-- is being collected is waited for and then not there.
with known as (
    select id from blob
    where sha256 = any(%(hashes)s::bytea[]) and left(object_name, 6) <> 'place:' and damaged_at is null
    order by sha256 for no key update
), kept as (
    update blob b set unreferenced_since = null from known where b.id = known.id
    returning b.id, b.sha256, b.size_bytes, b.object_name
), begun as (
    insert into upload_intent (id, sha256, size_bytes, object_name, expires_at)
    select given.id, given.sha256, given.size_bytes, given.object_name,
           headgate_real_now() + make_interval(secs => %(ttl_s)s)
    from unnest(%(ids)s::uuid[], %(hashes)s::bytea[], %(sizes)s::bigint[], %(names)s::text[])
        as given (id, sha256, size_bytes, object_name)
    where not exists (select from kept where kept.sha256 = given.sha256)
)
select id, sha256, size_bytes, object_name from kept

-- name: renew_uploads
-- One that has expired may be given up at any moment, and is not renewed.
update upload_intent set expires_at = headgate_real_now() + make_interval(secs => %(ttl_s)s)
where id = any(%(ids)s::uuid[]) and expires_at > headgate_real_now()

-- name: settle_uploads
-- The first upload of some content becomes the blob; those of others are doomed at once, because no backup knows them. A
-- damaged blob takes over the new object.
with ended as (
    delete from upload_intent where id = any(%(ids)s::uuid[]) returning id, sha256, size_bytes, object_name
), damaged as (
    select b.sha256, b.object_name from blob b join ended using (sha256)
    where b.damaged_at is not null and left(b.object_name, 6) <> 'place:'
), stored as (
    insert into blob as b (id, sha256, size_bytes, object_name, created_at)
    select distinct on (sha256) id, sha256, size_bytes, object_name, %(now)s::timestamptz from ended order by sha256, id
    on conflict (sha256) where left(object_name, 6) <> 'place:' do update set unreferenced_since = null, damaged_at = null,
        object_name = case when b.damaged_at is null then b.object_name else excluded.object_name end
    returning b.id, b.sha256, b.size_bytes, b.object_name
), doomed as (
    insert into doomed_object (object_name, reason, doomed_at, delete_at)
    select ended.object_name, 'duplicate', %(now)s, %(now)s::timestamptz
    from ended join stored using (sha256) where stored.object_name <> ended.object_name
    union all
    select damaged.object_name, 'replaced', %(now)s, %(delete_at)s::timestamptz
    from damaged join stored using (sha256) where stored.object_name <> damaged.object_name
    on conflict (object_name) do nothing
)
select ended.id as upload_id, stored.id, stored.sha256, stored.size_bytes, stored.object_name,
       case when stored.object_name <> ended.object_name then ended.object_name end as duplicate
from ended join stored using (sha256)

-- name: give_up_expired
-- An upload that is being settled is locked, and passed over.
with expired as (
    select id from upload_intent where expires_at <= headgate_real_now()
    order by expires_at limit %(limit)s for update skip locked
), ended as (
    delete from upload_intent u using expired where u.id = expired.id returning u.object_name
)
insert into doomed_object (object_name, reason, doomed_at, delete_at)
select object_name, 'abandoned', %(now)s, %(delete_at)s::timestamptz from ended
on conflict (object_name) do nothing
