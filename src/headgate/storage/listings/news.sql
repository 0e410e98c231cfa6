-- name: list_channels_with_news
-- Channels with news that is due, that have no job and did not give up a moment ago, unless something new came since.
-- The recursion hops from channel to channel on the index, so that it costs the same however much is new.
with recursive waiting as (
    (select channel_id from news order by channel_id limit 1)
    union all
    select (select n.channel_id from news n where n.channel_id > w.channel_id order by n.channel_id limit 1)
    from waiting w where w.channel_id is not null
)
select w.channel_id::text from waiting w
where w.channel_id is not null
  and (select due_at from news n where n.channel_id = w.channel_id order by n.due_at limit 1) <= %(now)s
  and not exists (select from live_job where dedupe_key = 'notify:' || w.channel_id)
  and not exists (
      select from dead_letter d where d.kind = 'notify' and d.key = w.channel_id::text
        and d.state <> 'replayed' and d.died_at > %(rested_since)s and not exists (
            select from news n where n.channel_id = w.channel_id and n.at > d.died_at)
  )
limit %(limit)s

-- name: lock_news
-- The next news of a channel, with what is said of its chapters; items say themselves.
select n.id, coalesce(c.number, '') as number, coalesce(c.title, '') as title, coalesce(c.volume, '') as volume,
       coalesce(nullif(r.scan_group, ''), ch.title, '') as source
from news n
join channel ch on ch.id = n.channel_id
left join release r on r.id = n.release_id
left join chapter c on c.id = r.chapter_id
where n.channel_id = %(channel_id)s and n.due_at <= %(now)s
order by n.due_at, n.id limit %(limit)s::int
for update of n

-- name: create_notifications
-- News of a channel becomes a notification for each user with a follow that wants it, and is news no more. A
-- user is told once a chapter, or once a chapter and source if one of the matching follows says so; what was told
-- before in the other way is not told again. What a user has read past is noted as read, and not pushed. Addresses
-- get what is to be pushed, and are due when enough time has passed for others to join. One of several that are told
-- at once is the newest, in the order of the chapters. Rows are written in the order of their keys, so that two
-- channels with the same followers never wait for each other in a circle.
with taken as materialized (
    select n.id, n.release_id, n.item_id, n.at, u.body
    from unnest(%(news_ids)s::bigint[], %(bodies)s::text[]) as u (id, body)
    join news n on n.id = u.id
), ended as (
    delete from news n using taken t where n.id = t.id
), thing as materialized (
    select t.id as news_id, coalesce(r.published_at, t.at) as published_at, r.language, r.url,
           c.id as chapter_id, c.series_id, null::uuid as item_id, c.place,
           s.title, t.body, headgate_words(s.title || ' ' || c.number || ' ' || c.title) as words
    from taken t
    join release r on r.id = t.release_id and r.removed_at is null
    join chapter c on c.id = r.chapter_id
    join series s on s.id = c.series_id
    union all
    select t.id, i.sent_at, '', coalesce(link.url, ''), null, null, i.id, '', ch.title, i.title, headgate_words(i.title)
    from taken t
    join item i on i.id = t.item_id and not i.hidden
    join channel ch on ch.id = i.channel_id
    left join lateral (
        select g.url from sighting g where g.item_id = i.id and g.url <> '' order by g.id limit 1
    ) as link on true
), matching as (
    select x.news_id, f.user_id, f.per, f.in_app, f.push
    from thing x join follow f on f.series_id = x.series_id
    where f.since <= x.published_at and headgate_language_wanted(x.language, f.languages)
    union all
    select x.news_id, f.user_id, f.per, f.in_app, f.push
    from thing x join follow f on f.channel_id = %(channel_id)s
    where f.since <= x.published_at and headgate_language_wanted(x.language, f.languages)
    union all
    select x.news_id, f.user_id, f.per, f.in_app, f.push
    from thing x
    join (select *, headgate_words(search) as words from follow where search is not null offset 0) as f
        on headgate_words_match(f.words, x.words)
    where f.since <= x.published_at and headgate_language_wanted(x.language, f.languages)
), wanted as (
    select m.user_id, x.chapter_id, x.item_id, bool_or(m.per = 'source') as per_source, bool_or(m.in_app) as in_app,
           bool_or(m.push) as push, min(m.news_id) as news_id
    from matching m join thing x on x.news_id = m.news_id
    group by m.user_id, x.chapter_id, x.item_id
), told as (
    select w.user_id, w.in_app, w.push, x.chapter_id, x.series_id, x.item_id, x.title, x.body, x.url, x.place, x.news_id,
           case when x.item_id is not null then 'item:' || x.item_id
                when w.per_source then 'release:' || %(channel_id)s::text || ':' || x.chapter_id
                else 'chapter:' || x.chapter_id end as subject,
           exists (select from reading d
                   where d.user_id = w.user_id and d.series_id = x.series_id and d.place >= x.place) as is_read
    from wanted w join thing x on x.news_id = w.news_id
    where (w.in_app or w.push) and not exists (
        select from notification n
        where n.chapter_id = x.chapter_id and n.user_id = w.user_id
          and (not w.per_source or n.channel_id = %(channel_id)s)
    )
), inserted as (
    insert into notification (id, user_id, subject, series_id, chapter_id, channel_id, item_id, title, body, url, at, in_app,
                              push, read_at)
    -- The id follows from what must be unique, so that either constraint can meet another's row first.
    select md5(t.user_id::text || ':' || t.subject)::uuid, t.user_id, t.subject, t.series_id, t.chapter_id, %(channel_id)s,
           t.item_id, t.title, t.body, t.url,
           %(now)s::timestamptz
               + interval '1 microsecond' * (row_number() over (partition by t.user_id order by t.place, t.news_id) - 1),
           t.in_app, t.push and not t.is_read, case when t.is_read then %(now)s::timestamptz end
    from told t
    order by t.user_id, t.subject
    on conflict do nothing
    returning id, user_id, push
), waiting as (
    insert into push_notification (address_id, notification_id)
    select a.id, i.id from inserted i join push_address a on a.user_id = i.user_id and a.enabled
    where i.push
    order by a.id, i.id
    returning address_id
), locked as (
    select a.id from push_address a where a.id in (select address_id from waiting) order by a.id for update
), due as (
    update push_address a set due_at = coalesce(a.due_at, greatest(%(push_at)s::timestamptz, a.open_until))
    from locked l where a.id = l.id
)
select distinct user_id from inserted
