-- name: upsert_account
-- The id of an account; an existing one keeps everything.
insert into account (id, platform, name, established, created_at)
values (%(id)s, %(platform)s, %(name)s, %(established)s, %(now)s)
on conflict (platform, name) do update set name = excluded.name
returning id

-- name: list_accounts
-- For those who look after them, in the order in which they are shown.
select id, platform, name, state, state_reason, established from account order by platform, name

-- name: set_account_state
-- The reason is shown to people; a change back to active clears it.
update account set state = %(state)s, state_reason = %(reason)s where id = %(id)s and state <> %(state)s

-- name: follow_streams
-- Channels, their streams and coverage, and who reads them, for all found at once; known ones are left alone.
with found as (
    select * from unnest(%(ids)s::uuid[], %(keys)s::text[], %(titles)s::text[]) as f (id, key, title)
), added as (
    insert into channel (id, platform, key, scope, kind, title, created_at)
    select id, %(platform)s, key, %(scope)s, 'stream', title, %(now)s from found
    on conflict (platform, key, scope) do nothing
    returning id
), streams as (
    insert into stream (channel_id, due_at) select id, %(now)s from added returning channel_id
), covered as (
    insert into coverage (channel_id, lens) select channel_id, 'everything' from streams
)
insert into watch (channel_id, account_id) select channel_id, %(account_id)s from streams

-- name: streams_of_account
-- Which streams an account reads, by the platform's key.
select c.key, c.id from watch w join channel c on c.id = w.channel_id
where w.account_id = %(account_id)s and w.role = 'reads' and c.kind = 'stream'
