-- name: wish_files
-- Only files that are kept and have an item; links and posts have no content. A file that was edited to be another is
-- wanted anew, and so is one whose deleted message is back; a person's drop stays. The line comes last, so that whoever
-- serves it finds the files. A set is as large as its item.
with chosen as (
    select s.id, s.size_bytes, headgate_file_source(s.content_id, s.file_name, s.mime_type, s.size_bytes) as source,
           case when s.sent_at > %(now)s::timestamptz - interval '1 day' then 10 else 0 end as priority
    from sighting s
    left join unnest(%(topics)s::text[], %(fetches)s::text[], %(limits)s::bigint[]) as own (topic, what, max_bytes)
        on own.topic = s.topic
    where s.id = any(%(ids)s::uuid[]) and s.verdict = 'kept' and s.item_id is not null and s.url = ''
      and s.mime_type <> 'text/x-post' and s.deleted_at is null
      and not exists (select from item i where i.id = s.item_id and i.removed_at is not null)
      and headgate_fetches(
          coalesce(own.what, %(base_fetch)s), coalesce(own.max_bytes, %(base_limit)s),
          case when coalesce(own.max_bytes, %(base_limit)s) > 0
               then greatest(s.size_bytes, (select i.size_bytes from item i where i.id = s.item_id)) else 0 end,
          s.mime_type, s.file_name, %(pictures)s::text[])
), wished as (
    insert into item_file as f (sighting_id, channel_id, state, source, size_bytes, priority, due_at)
    select id, %(channel_id)s, 'wanted', source, size_bytes, priority, %(now)s from chosen order by id
    on conflict (sighting_id) do update
    set state = 'wanted', blob_id = null, stored_at = null, source = excluded.source, size_bytes = excluded.size_bytes,
        priority = greatest(f.priority, excluded.priority), due_at = excluded.due_at, wait_reason = '', needs_bytes = 0,
        taken_by = null, taken_until = null, starts = 0, attempts = 0, error_class = '', error_message = ''
    where f.state = 'gone' or (f.source <> excluded.source and f.state <> 'dropped')
    returning f.priority
), lined as (
    insert into fetch_line as l (channel_id, top, due_at)
    select %(channel_id)s, max(priority), %(now)s from wished having count(*) > 0
    on conflict (channel_id) do update
    set top = greatest(l.top, excluded.top), due_at = least(l.due_at, excluded.due_at), seq = l.seq + 1
)
select count(*) from wished

-- name: withdraw_files
-- A download under way notices when it ends. What has failed is no problem any more.
with withdrawn as (
    select f.sighting_id
    from item_file f
    join sighting s on s.id = f.sighting_id
    left join unnest(%(topics)s::text[], %(fetches)s::text[], %(limits)s::bigint[]) as own (topic, what, max_bytes)
        on own.topic = s.topic
    where f.sighting_id = any(%(ids)s::uuid[]) and f.state in ('wanted', 'failed') and f.asked_at is null
      and not (s.verdict = 'kept' and headgate_fetches(
          coalesce(own.what, %(base_fetch)s), coalesce(own.max_bytes, %(base_limit)s),
          greatest(s.size_bytes, (select i.size_bytes from item i where i.id = s.item_id)),
          s.mime_type, s.file_name, %(pictures)s::text[]))
    order by f.sighting_id for update of f
)
delete from item_file f using withdrawn w where f.sighting_id = w.sighting_id
