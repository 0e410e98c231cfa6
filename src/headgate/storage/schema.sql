-- The schema after all migrations, without the engine's own tables. Written by `make schema`; never edited.

CREATE OR REPLACE FUNCTION public.headgate_behind(of_channel uuid, lenses text[], floor bigint, head bigint, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN (COALESCE((head >= floor), false) AND (EXISTS (SELECT FROM unnest(headgate_behind.lenses) wanted(lens) WHERE (NOT isempty((headgate_uncovered(headgate_behind.of_channel, wanted.lens, headgate_behind.floor, (headgate_behind.head + 1)) - COALESCE((SELECT range_agg(h.span) AS range_agg FROM hole h WHERE ((h.channel_id = headgate_behind.of_channel) AND (h.lens = wanted.lens) AND (h.next_try_at > headgate_behind.at))), '{}'::int8multirange)))))));

CREATE OR REPLACE FUNCTION public.headgate_complete_jobs(job_ids bigint[], owners uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
    completed int;
begin
    update pgqueuer as q
    set status = 'successful', queue_manager_id = null, slot = null, updated = headgate_real_now()
    from unnest(job_ids, owners) as ended (job_id, owner)
    where q.id = ended.job_id and q.queue_manager_id = ended.owner and q.status = 'picked';
    get diagnostics completed = row_count;
    if completed <> cardinality(job_ids) then
        raise exception 'another worker owns a job now' using errcode = 'HG001';
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION public.headgate_count_groups(of_reminder uuid)
 RETURNS integer
 LANGUAGE sql
 STABLE
RETURN (SELECT (count(*))::integer AS count FROM (SELECT t.target_id FROM reminder_target t WHERE (t.reminder_id = headgate_count_groups.of_reminder) UNION SELECT m.target_id FROM (reminder_list l JOIN target_list_member m ON ((m.list_id = l.list_id))) WHERE (l.reminder_id = headgate_count_groups.of_reminder)) u);

CREATE OR REPLACE FUNCTION public.headgate_derive_chapters(chapter_ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
    changed int;
begin
    update chapter c set title = w.title, volume = w.volume, published_at = w.published_at
    from (
        select r.chapter_id,
               coalesce((array_agg(r.chapter_title order by r.removed_at is not null, r.joined_at, r.id)
                         filter (where r.chapter_title <> ''))[1], '') as title,
               coalesce((array_agg(r.volume order by r.removed_at is not null, r.joined_at, r.id)
                         filter (where r.volume <> ''))[1], '') as volume,
               min(r.published_at) as published_at
        from release r where r.chapter_id = any(chapter_ids)
        group by r.chapter_id
    ) as w
    where c.id = w.chapter_id
      and (c.title, c.volume, c.published_at) is distinct from (w.title, w.volume, w.published_at);
    get diagnostics changed = row_count;
    return changed;
end
$function$;

CREATE OR REPLACE FUNCTION public.headgate_facet(kind text, key text)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((('x'::text || substr(encode(sha256(convert_to(((kind || ':'::text) || key), 'UTF8'::name)), 'hex'::text), 1, 8)))::bit(32))::integer;

CREATE OR REPLACE FUNCTION public.headgate_fetches(what text, max_bytes bigint, size_bytes bigint, mime_type text, file_name text, pictures text[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((max_bytes = 0) OR (size_bytes <= max_bytes)) AND CASE what WHEN 'all'::text THEN true WHEN 'pictures'::text THEN CASE WHEN (lower(btrim(split_part(mime_type, ';'::text, 1))) = ANY (ARRAY[''::text, 'application/octet-stream'::text, 'binary/octet-stream'::text])) THEN ("substring"(lower(btrim(file_name)), '[.][^.]*$'::text) = ANY (pictures)) ELSE (lower(btrim(split_part(mime_type, ';'::text, 1))) ~~ 'image/%'::text) END ELSE false END);

CREATE OR REPLACE FUNCTION public.headgate_file_source(content_id text, file_name text, mime_type text, size_bytes bigint)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((CASE WHEN (content_id <> ''::text) THEN ('c:'::text || content_id) ELSE ((('f:'::text || file_name) || '/'::text) || mime_type) END || ':'::text) || size_bytes);

CREATE OR REPLACE FUNCTION public.headgate_has_begun(of_file item_file)
 RETURNS boolean
 LANGUAGE sql
 STABLE
BEGIN ATOMIC
 SELECT (((of_file).state = 'wanted'::text) AND ((of_file).wait_reason = ''::text) AND (((of_file).spooled_bytes > 0) OR (EXISTS ( SELECT
            FROM ((sighting mine
              JOIN sighting s ON (((s.item_id = mine.item_id) AND (s.id <> mine.id))))
              JOIN item_file f ON ((f.sighting_id = s.id)))
           WHERE ((mine.id = (headgate_has_begun.of_file).sighting_id) AND ((f.state = 'stored'::text) OR (f.spooled_bytes > 0)))))));
END;

CREATE OR REPLACE FUNCTION public.headgate_held_by(account uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
RETURN COALESCE((SELECT h.holder FROM account_hold h WHERE (h.account_id = headgate_held_by.account)), ''::text);

CREATE OR REPLACE FUNCTION public.headgate_item_labels(of_item uuid)
 RETURNS TABLE(kind text, key text, name text)
 LANGUAGE sql
 STABLE PARALLEL SAFE ROWS 4
BEGIN ATOMIC
 SELECT l.kind,
     l.key,
     l.name
    FROM ( SELECT DISTINCT ON (l_1.kind,
                 CASE
                     WHEN (l_1.kind = 'tag'::text) THEN COALESCE(n.shown_key, l_1.key)
                     ELSE NULL::text
                 END) l_1.kind,
             COALESCE(n.shown_key, l_1.key) AS key,
             COALESCE(n.name, l_1.name) AS name,
             l_1.removed
            FROM (item_label l_1
              LEFT JOIN label_name n ON (((n.kind = l_1.kind) AND (n.key = l_1.key))))
           WHERE (l_1.item_id = headgate_item_labels.of_item)
           ORDER BY l_1.kind,
                 CASE
                     WHEN (l_1.kind = 'tag'::text) THEN COALESCE(n.shown_key, l_1.key)
                     ELSE NULL::text
                 END, (l_1.source = 'person'::text) DESC, l_1.said_at DESC NULLS LAST,
                 CASE
                     WHEN (l_1.kind = 'creator'::text) THEN l_1.key
                     ELSE NULL::text
                 END DESC, l_1.key) l
   WHERE (NOT l.removed);
END;

CREATE OR REPLACE FUNCTION public.headgate_item_problem(of_item uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN ((EXISTS (SELECT FROM (sighting s JOIN item_file f ON ((f.sighting_id = s.id))) WHERE ((s.item_id = headgate_item_problem.of_item) AND ((f.state = 'failed'::text) OR (EXISTS (SELECT FROM blob b WHERE ((b.id = f.blob_id) AND (b.damaged_at IS NOT NULL)))))))) OR (EXISTS (SELECT FROM item_set WHERE ((item_set.item_id = headgate_item_problem.of_item) AND item_set.problem AND (item_set.dismissed_at IS NULL)))) OR (EXISTS (SELECT FROM inspection WHERE ((inspection.item_id = headgate_item_problem.of_item) AND (inspection.state = ANY (ARRAY['hostile'::text, 'incomplete'::text, 'truncated'::text, 'damaged'::text, 'unreadable'::text]))))));

CREATE OR REPLACE FUNCTION public.headgate_item_state(of_item uuid, content_hash bytea)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN (SELECT CASE WHEN (count(*) FILTER (WHERE (f.state = 'wanted'::text)) > 0) THEN 'waiting'::text WHEN (headgate_item_state.content_hash IS NOT NULL) THEN 'stored'::text WHEN (count(*) FILTER (WHERE (f.state = 'stored'::text)) > 0) THEN CASE WHEN (EXISTS (SELECT FROM item_set WHERE (item_set.item_id = headgate_item_state.of_item))) THEN 'partial'::text ELSE 'stored'::text END WHEN (count(*) FILTER (WHERE (f.state = 'dropped'::text)) > 0) THEN 'dropped'::text ELSE 'listed'::text END AS "case" FROM (sighting s JOIN item_file f ON ((f.sighting_id = s.id))) WHERE (s.item_id = headgate_item_state.of_item));

CREATE OR REPLACE FUNCTION public.headgate_job_awaits(dedupe text)
 RETURNS text
 LANGUAGE sql
 STABLE
RETURN COALESCE((SELECT h.holder FROM (pgqueuer q JOIN account_hold h ON ((q.entrypoint ~~ ('%@'::text || h.account_id)))) WHERE ((q.dedupe_key = headgate_job_awaits.dedupe) AND (q.status = 'queued'::pgqueuer_status))), ''::text);

CREATE OR REPLACE FUNCTION public.headgate_job_kind(headers jsonb, entrypoint text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN COALESCE((headers ->> 'kind'::text), entrypoint);

CREATE OR REPLACE FUNCTION public.headgate_job_wait_s(dedupe text)
 RETURNS double precision
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
    return (
        select extract(epoch from headgate_real_now() - max(greatest(q.created, q.execute_after)))
        from pgqueuer q
        where q.dedupe_key = dedupe and q.status = 'queued' and q.execute_after <= headgate_real_now()
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.headgate_jobs_awaiting_holder(account uuid)
 RETURNS bigint
 LANGUAGE sql
 STABLE
RETURN (SELECT count(*) AS count FROM pgqueuer q WHERE ((q.status = 'queued'::pgqueuer_status) AND (q.entrypoint ~~ ('%@'::text || headgate_jobs_awaiting_holder.account))));

CREATE OR REPLACE FUNCTION public.headgate_language_wanted(language text, wanted text[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
    select language = '' or wanted = '{}' or exists (
        select from unnest(wanted) as want
        where replace(lower(language), '_', '-') = lower(want)
           or starts_with(replace(lower(language), '_', '-'), lower(want) || '-')
    )
$function$;

CREATE OR REPLACE FUNCTION public.headgate_leave_chapters(left_behind uuid[], moved_to uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
    in_series uuid[];
begin
    select array_agg(distinct c.series_id) into in_series from chapter c where c.id = any(left_behind);
    perform from series s where s.id = any(in_series) order by s.id for no key update;
    -- Whoever sets a mark on one of them waits, and finds it gone.
    perform from chapter c where c.id = any(left_behind) order by c.id for update;
    perform headgate_derive_chapters(left_behind);

    with baseless as (
        select m.user_id, m.series_id, m.place, m.chapter_id, m.at from reading m
        where m.series_id = any(in_series)
          and not exists (select from release r where r.chapter_id = m.chapter_id and r.removed_at is null)
          and ((m.chapter_id = any(left_behind) and not exists (select from release r where r.chapter_id = m.chapter_id))
               or not exists (
                   select from chapter c join release r on r.chapter_id = c.id and r.removed_at is null
                   where c.series_id = m.series_id and c.place >= m.place))
    ), settled as (
        select m.user_id, m.series_id, best.place, best.id from baseless m
        left join lateral (
            select * from (
                select c.place, c.id from unnest(left_behind, moved_to) as v (old_id, new_id)
                join chapter c on c.id = v.new_id and c.series_id = m.series_id
                where v.old_id = m.chapter_id
                union all
                (select c.place, c.id from chapter c
                 where c.series_id = m.series_id and c.place <= m.place and c.id is distinct from m.chapter_id and c.seen_at <= m.at
                   and exists (select from release r where r.chapter_id = c.id and r.removed_at is null)
                 order by c.place desc limit 1)
            ) as found
            order by place desc limit 1
        ) as best on true
    ), forgotten as (
        delete from reading m using settled b
        where m.user_id = b.user_id and m.series_id = b.series_id and b.id is null
          and not exists (select from release r where r.chapter_id = m.chapter_id)
    )
    update reading m set place = b.place, chapter_id = b.id
    from settled b where m.user_id = b.user_id and m.series_id = b.series_id and b.id is not null;

    delete from chapter c
    where c.id = any(left_behind) and not exists (select from release r where r.chapter_id = c.id);
    perform headgate_settle_latest(in_series);
end
$function$;

CREATE OR REPLACE FUNCTION public.headgate_listens(listening_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 PARALLEL SAFE
RETURN COALESCE((listening_at > (headgate_real_now() - '00:01:30'::interval)), false);

CREATE OR REPLACE FUNCTION public.headgate_lock_settings(for_change boolean)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
begin
    if for_change then
        perform pg_advisory_xact_lock(7420004);
    else
        perform pg_advisory_xact_lock_shared(7420004);
    end if;
    return (select version from intake_settings);
end
$function$;

CREATE OR REPLACE FUNCTION public.headgate_may_be_due(of_channel uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 WITH RECURSIVE above AS (
          SELECT c.parent_id,
             c.message_scan_enabled
            FROM channel c
           WHERE (c.id = headgate_may_be_due.of_channel)
         UNION ALL
          SELECT c.parent_id,
             c.message_scan_enabled
            FROM (channel c
              JOIN above a ON ((c.id = a.parent_id)))
         )
  SELECT (( SELECT bool_and(above.message_scan_enabled) AS bool_and
            FROM above) AND (NOT (EXISTS ( SELECT
            FROM scan n
           WHERE ((n.channel_id = headgate_may_be_due.of_channel) AND (n.status = ANY (ARRAY['QUEUED'::text, 'RUNNING'::text])) AND (n.bound IS NOT NULL))))));
END;

CREATE OR REPLACE FUNCTION public.headgate_moved(stored timestamp with time zone, at timestamp with time zone, step interval)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (stored > at) THEN GREATEST(at, (stored - step)) ELSE stored END;

CREATE OR REPLACE FUNCTION public.headgate_part_key(run_id uuid, delivery integer, number integer)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN "left"(encode(sha256(convert_to((((((run_id)::text || ':'::text) || delivery) || ':'::text) || number), 'UTF8'::name)), 'hex'::text), 24);

CREATE OR REPLACE FUNCTION public.headgate_real_now()
 RETURNS timestamp with time zone
 LANGUAGE sql
 PARALLEL SAFE
RETURN clock_timestamp();

CREATE OR REPLACE FUNCTION public.headgate_reply_chain(of_channel uuid, root text)
 RETURNS TABLE(key text)
 LANGUAGE sql
 STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
 WITH RECURSIVE chain AS (
          SELECT headgate_reply_chain.root AS key
         UNION
          SELECT answer.key
            FROM (chain c_1
              CROSS JOIN LATERAL ( SELECT m.key
                    FROM message m
                   WHERE ((m.channel_id = headgate_reply_chain.of_channel) AND (m.reply_to = c_1.key) AND (m.reply_to <> ''::text))
                   ORDER BY m.reply_to
                  LIMIT 1000) answer)
         )
  SELECT c.key
    FROM chain c
  LIMIT 1000;
END;

CREATE OR REPLACE FUNCTION public.headgate_reply_root(of_channel uuid, of_key text)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 WITH RECURSIVE above AS (
          SELECT headgate_reply_root.of_key AS key,
             0 AS steps
         UNION ALL
          SELECT answered.reply_to,
             (a.steps + 1)
            FROM (above a
              CROSS JOIN LATERAL ( SELECT m.reply_to
                    FROM message m
                   WHERE ((m.channel_id = headgate_reply_root.of_channel) AND (m.key = a.key) AND (m.reply_to <> ''::text))
                  OFFSET 0) answered)
           WHERE (a.steps < 1000)
         )
  SELECT above.key
    FROM above
   ORDER BY above.steps DESC
  LIMIT 1;
END;

CREATE OR REPLACE FUNCTION public.headgate_rereadable(of_channel uuid, by_account uuid, now timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN ((headgate_switched_off(of_channel) IS NULL) AND (NOT (EXISTS (SELECT FROM watch w WHERE ((w.channel_id = headgate_rereadable.of_channel) AND (w.account_id = headgate_rereadable.by_account) AND (w.open_until > headgate_rereadable.now))))));

CREATE OR REPLACE FUNCTION public.headgate_settle_latest(in_series uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
    -- Locked by a statement of its own: the next one sees what others have committed until then.
    perform from series s where s.id = any(in_series) order by s.id for no key update;
    update series s
    set latest_order = g.place, latest_chapter = coalesce(g.number, ''), latest_published_at = g.published_at
    from (select distinct id from unnest(in_series) as i (id)) as i
    left join lateral (
        select c.place, c.number, c.published_at from chapter c
        where c.series_id = i.id and c.place < '2' and c.number <> ''
          and exists (select from release r where r.chapter_id = c.id and r.removed_at is null)
        order by c.place desc limit 1
    ) as g on true
    where s.id = i.id and (s.latest_order, s.latest_published_at) is distinct from (g.place, g.published_at);
end
$function$;

CREATE OR REPLACE FUNCTION public.headgate_switched_off(of_channel uuid)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 WITH RECURSIVE line AS (
          SELECT c.parent_id,
             c.title,
             c.message_scan_enabled,
             0 AS height
            FROM channel c
           WHERE (c.id = headgate_switched_off.of_channel)
         UNION ALL
          SELECT p.parent_id,
             p.title,
             p.message_scan_enabled,
             (l.height + 1)
            FROM (line l
              JOIN channel p ON ((p.id = l.parent_id)))
           WHERE (l.height < 8)
         )
  SELECT line.title
    FROM line
   WHERE (NOT line.message_scan_enabled)
   ORDER BY line.height
  LIMIT 1;
END;

CREATE OR REPLACE FUNCTION public.headgate_take_releases(channel_ids uuid[], series_ids uuid[], chapter_ids uuid[], chapter_keys text[], places text[], numbers text[], volumes text[], chapter_titles text[], release_ids uuid[], entry_keys text[], titles text[], urls text[], languages text[], scan_groups text[], externals boolean[], published timestamp with time zone[], fingerprints bigint[], first_looks boolean[], identities bigint[], taken_at timestamp with time zone)
 RETURNS TABLE(of_channel uuid, news_rows integer)
 LANGUAGE plpgsql
AS $function$
declare
    chapters uuid[];
    made uuid[];
    left_behind uuid[];
    moved_to uuid[];
    added uuid[];
begin
    -- Whoever only refers to a series need not wait.
    perform from series s where s.id = any(series_ids) order by s.id for no key update;

    with entry as (
        select (array_agg(e.id order by e.n))[1] as id, e.series_id, e.key, min(e.place) as place, min(e.number) as number,
               coalesce((array_agg(e.volume order by e.n) filter (where e.volume <> ''))[1], '') as volume,
               coalesce((array_agg(e.title order by e.n) filter (where e.title <> ''))[1], '') as title,
               min(e.at) as first_at
        from unnest(series_ids, chapter_ids, chapter_keys, places, numbers, volumes, chapter_titles, published)
            with ordinality as e (series_id, id, key, place, number, volume, title, at, n)
        group by e.series_id, e.key
    ), written as (
        insert into chapter (id, series_id, key, place, number, volume, title, published_at, seen_at)
        select e.id, e.series_id, e.key, e.place, e.number, e.volume, e.title, e.first_at, taken_at from entry e
        order by e.series_id, e.key
        on conflict (series_id, key) do nothing
        returning chapter.id
    )
    select coalesce(array_agg(id), '{}') into made from written;

    select array_agg(c.id order by e.n) into chapters
    from unnest(series_ids, chapter_keys) with ordinality as e (series_id, key, n)
    join chapter c on c.series_id = e.series_id and c.key = e.key;

    select array_agg(r.chapter_id), array_agg(e.chapter_id) into left_behind, moved_to
    from unnest(channel_ids, entry_keys, chapters) as e (channel_id, key, chapter_id)
    join release r on r.channel_id = e.channel_id and r.entry_key = e.key and r.chapter_id <> e.chapter_id;

    with written as (
        insert into release as r (id, channel_id, entry_key, chapter_id, title, chapter_title, volume, url, language,
                                  scan_group, external, published_at, fingerprint, identity, seen_at, joined_at)
        select e.*, taken_at, taken_at
        from unnest(release_ids, channel_ids, entry_keys, chapters, titles, chapter_titles, volumes, urls, languages,
                    scan_groups, externals, published, fingerprints, identities) as e (id, channel_id, key)
        order by e.channel_id, e.key
        on conflict (channel_id, entry_key) do update set
            chapter_id = excluded.chapter_id, title = excluded.title, chapter_title = excluded.chapter_title,
            volume = excluded.volume, url = excluded.url,
            joined_at = case when r.chapter_id = excluded.chapter_id then r.joined_at else excluded.joined_at end,
            language = excluded.language, scan_group = excluded.scan_group, external = excluded.external,
            published_at = excluded.published_at, fingerprint = excluded.fingerprint, identity = excluded.identity,
            removed_at = null,
            told_seq = nextval('release_told')
        where r.fingerprint <> excluded.fingerprint or r.removed_at is not null
            or r.chapter_id <> excluded.chapter_id
        returning r.id, r.xmax = 0 as is_new
    )
    select array_agg(id) filter (where is_new) into added from written;

    perform headgate_derive_chapters(array(select id from unnest(chapters) as id where id <> all(made)));
    perform headgate_settle_latest(series_ids);
    if left_behind is not null then
        perform headgate_leave_chapters(left_behind, moved_to);
    end if;

    return query
    with told as (
        insert into news (channel_id, release_id, at, due_at)
        select r.channel_id, r.id, taken_at, taken_at
        from unnest(channel_ids, entry_keys, first_looks) as e (channel_id, key, first_look)
        join release r on r.channel_id = e.channel_id and r.entry_key = e.key
        join chapter c on c.id = r.chapter_id
        where r.id = any(added) and exists (
            select from follow f
            where (f.series_id = c.series_id or f.channel_id = r.channel_id or f.search is not null)
              and f.since <= coalesce(r.published_at, case when not e.first_look then taken_at end)
        )
        order by c.place, r.id
        returning news.channel_id
    )
    select e.channel_id, (select count(*) from told t where t.channel_id = e.channel_id)::int
    from unnest(channel_ids) as e (channel_id)
    group by e.channel_id;
end
$function$;

CREATE OR REPLACE FUNCTION public.headgate_uncovered(of_channel uuid, of_lens text, floor bigint, bound bigint)
 RETURNS int8multirange
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT ((int8multirange(int8range(floor, GREATEST(floor, bound))) - COALESCE(( SELECT v.ranges
            FROM coverage v
           WHERE ((v.channel_id = headgate_uncovered.of_channel) AND (v.lens = headgate_uncovered.of_lens))), '{}'::int8multirange)) - COALESCE(( SELECT v.ranges
            FROM coverage v
           WHERE ((v.channel_id = headgate_uncovered.of_channel) AND (v.lens = 'everything'::text))), '{}'::int8multirange));
END;

CREATE OR REPLACE FUNCTION public.headgate_words(of_text text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
    select rtrim(' ' || ltrim(lower(regexp_replace(of_text, '[^[:alnum:]]+', ' ', 'g'))))
$function$;

CREATE OR REPLACE FUNCTION public.headgate_words_match(search_words text, title_words text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
    select search_words <> '' and not exists (
        select from unnest(string_to_array(ltrim(search_words), ' ')) as word
        where strpos(title_words, ' ' || word) = 0
    )
$function$;

CREATE OR REPLACE FUNCTION public.headgate_write_rounds(rounds json, results json, marks json, ttl_s double precision, product_now timestamp with time zone)
 RETURNS TABLE(held boolean, places text)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_material TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
    real_now timestamptz := headgate_real_now();
    renew_before timestamptz := real_now + make_interval(secs => ttl_s * 0.95);
    run_ids uuid[];
    names text[];
    tokens uuid[];
    ours boolean[];
    ends_at timestamptz;
begin
    select array_agg(g.run_id order by g.round), array_agg(g.lease order by g.round), array_agg(g.token order by g.round),
        array_agg(h.ends_at is not null order by g.round), min(h.ends_at)
    into run_ids, names, tokens, ours, ends_at
    from json_to_recordset(rounds) as g (round int, run_id uuid, lease text, token uuid)
    -- Locked: nobody else takes the lease before the marks that are made under it are committed.
    left join lateral (
        select l.expires_at as ends_at from lease l
        where l.name = g.lease and l.token = g.token and l.expires_at > real_now
        for no key update
    ) as h on true;

    -- One that was renewed a moment ago need not be written again.
    if ends_at < renew_before then
        update lease l set expires_at = real_now + make_interval(secs => ttl_s)
        from unnest(names, tokens) as g (name, token)
        where l.name = g.name and l.token = g.token and l.expires_at > real_now and l.expires_at < renew_before;
    end if;

    with told as (
        update part p
        set state = g.state, message_key = g.message_key, error = g.error, attempts = g.attempts,
            sent_at = g.sent_at, took_ms = g.took_ms, token = null,
            retry_at = real_now + make_interval(secs => g.retry_s),
            doubtful_since = case when g.state = 'sending' then p.doubtful_since end
        from json_to_recordset(results) as g (
            round int, delivery int, number int, state text, message_key text, error text, attempts int,
            retry_s float8, sent_at timestamptz, took_ms int, delivery_state text)
        where p.run_id = any(run_ids[g.round:g.round]) and p.delivery = g.delivery and p.number = g.number
            and p.state = 'sending' and p.token = tokens[g.round]
        returning p.run_id, p.delivery, p.number, p.took_ms, p.error, g.delivery_state
    )
    update delivery d
    set state = t.delivery_state, error = t.error, ended_at = product_now,
        latency_ms = case when t.number = 1 then t.took_ms else (
            select sum(case when p.number = t.number then t.took_ms else p.took_ms end) from part p
            where p.run_id = t.run_id and p.delivery = t.delivery) end
    from told t
    where d.run_id = any(array[t.run_id]) and d.number = t.delivery and t.delivery_state <> '' and d.state = 'sending';

    return query
    with given as materialized (
        select g.round, g.delivery, g.number, g.seen, (
            select d.state from delivery d
            where d.run_id = run_ids[g.round] and d.number = g.delivery and d.state in ('pending', 'sending')
        ) as state
        from json_to_recordset(marks) as g (round int, delivery int, number int, seen uuid)
        where ours[g.round] and exists (select from run r where r.id = run_ids[g.round] and r.state = 'running' offset 0)
    ),
    marked as (
        update part p
        set state = 'sending', token = tokens[g.round], sending_at = real_now,
            doubtful_since = coalesce(p.doubtful_since, real_now)
        from given g
        where p.run_id = any(run_ids[g.round:g.round]) and p.delivery = g.delivery and p.number = g.number
            and (p.state = 'planned' or p.state = 'sending' and p.token is not distinct from g.seen) and g.state is not null
        returning g.round, p.run_id, p.delivery, p.number, g.state
    ),
    begun as (
        update delivery d set state = 'sending', started_at = product_now
        from marked m
        where d.run_id = any(array[m.run_id]) and d.number = m.delivery and m.state = 'pending' and d.state = 'pending'
    )
    select ours[n.round], coalesce((
        select string_agg(m.delivery || ':' || m.number, ' ') from marked m where m.round = n.round), '')
    from generate_subscripts(run_ids, 1) as n (round)
    order by n.round;
end
$function$;

CREATE OR REPLACE FUNCTION public.lane_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
    if old.rate is distinct from new.rate or old.rate_epoch <> new.rate_epoch then
        insert into lane_change (owner, kind, at, from_rate, to_rate, cause, cool_until)
        values (
            new.owner, new.kind, new.rate_at, old.rate, new.rate, new.rate_cause,
            case when new.cool_until > new.rate_at then new.cool_until end
        );
    end if;
    if old.epoch <> new.epoch then
        perform pg_notify(
            'headgate_lane',
            json_build_object('owner', new.owner, 'kind', new.kind, 'epoch', new.epoch)::text
        );
    end if;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.lane_grace_s(ceiling double precision, burst integer)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN LEAST((2.0)::double precision, (((30.0 * ((burst - 1))::numeric))::double precision / ceiling));

CREATE OR REPLACE FUNCTION public.lane_limit(ceiling double precision, established boolean, warm_days integer)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN established THEN ceiling ELSE LEAST(ceiling, ((10.0)::double precision + (((0.25)::double precision * ceiling) * (warm_days)::double precision))) END;

CREATE OR REPLACE FUNCTION public.lane_recovered(rate double precision, rate_limit double precision, ceiling double precision, quiet_s double precision)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN LEAST(rate_limit, (rate + (((0.1)::double precision * ceiling) * floor((GREATEST(quiet_s, (0.0)::double precision) / (600.0)::double precision)))));

CREATE OR REPLACE FUNCTION public.lane_seconds(span interval)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (EXTRACT(epoch FROM span))::double precision;

CREATE OR REPLACE FUNCTION public.lane_slot(at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN (floor((EXTRACT(epoch FROM at) / (900)::numeric)))::bigint;

CREATE OR REPLACE FUNCTION public.lane_take(caller text, call_kind text, wanted integer, horizon_s double precision)
 RETURNS TABLE(delays_s double precision[], come_back_s double precision, kinds text[], epochs bigint[], rates double precision[], grace_s double precision)
 LANGUAGE plpgsql
AS $function$
declare
    locked lane[];
    one lane;
    at timestamptz;
    slot bigint;
    day_passed boolean;
    new_rate double precision;
    tolerance_s double precision;
    start_s double precision;
    lane_calls_left bigint;
    calls_left bigint;
    starts_s double precision[];
    tats_s double precision[];
    tolerances_s double precision[];
    intervals_s double precision[];
    at_s double precision;
    granted int;
begin
    select array_agg(l order by l.kind) into locked
    from (
        select *
        from lane
        where owner = caller and kind in (call_kind, (select shared from lane where owner = caller and kind = call_kind))
        order by kind
        for update
    ) as l;
    if locked is null then
        return;
    end if;
    at := headgate_real_now();
    slot := lane_slot(at);
    for place in 1..cardinality(locked) loop
        one := locked[place];
        day_passed := coalesce(at >= one.warm_at + interval '24 hours', false);
        one.warm_days := one.warm_days + day_passed::int;
        new_rate := lane_recovered(
            one.rate,
            lane_limit(one.ceiling, one.established, one.warm_days),
            one.ceiling,
            lane_seconds(at - one.rate_at)
        );
        if new_rate <> one.rate then
            one.rate := new_rate;
            one.rate_at := at;
            one.rate_cause := case when day_passed then 'warmed_up' else 'recovered' end;
        end if;
        if one.warm_at is null or day_passed then
            one.warm_at := at;
        end if;
        if slot > one.use_slot then
            one.uses := lane_uses_at(one.uses, least(slot - one.use_slot, 98)::int);
            one.use_slot := slot;
        end if;
        locked[place] := one;
        tolerance_s := lane_tolerance_s(one.ceiling, one.burst);
        start_s := greatest(0.0, lane_seconds(one.cool_until - at));
        if one.daily_cap is not null then
            lane_calls_left := one.daily_cap - (select sum(use) from unnest(one.uses) as use);
            calls_left := least(calls_left, lane_calls_left);
            if lane_calls_left <= 0 then
                start_s := greatest(start_s, (
                    select min(900.0 * (one.use_slot + ring.place) - extract(epoch from at))
                    from (
                        select u.place, sum(u.use) over (order by u.place) as freed
                        from unnest(one.uses) with ordinality as u (use, place)
                    ) as ring
                    where ring.freed + lane_calls_left > 0
                )::double precision);
            end if;
        end if;
        starts_s[place] := start_s;
        tolerances_s[place] := tolerance_s;
        intervals_s[place] := 60.0 / one.rate;
        tats_s[place] := least(lane_seconds(one.tat - at), 7.0 + tolerance_s + 60.0 / one.rate);
        kinds[place] := one.kind;
        epochs[place] := one.epoch;
        rates[place] := one.rate;
        grace_s := least(grace_s, lane_grace_s(one.ceiling, one.burst));
    end loop;

    delays_s := '{}';
    for number in 1..wanted loop
        at_s := null;
        for place in 1..cardinality(locked) loop
            at_s := greatest(at_s, starts_s[place], tats_s[place] - tolerances_s[place]);
        end loop;
        if at_s > horizon_s or number > calls_left then
            come_back_s := at_s;
            exit;
        end if;
        delays_s := delays_s || at_s;
        for place in 1..cardinality(locked) loop
            tats_s[place] := greatest(tats_s[place], at_s) + intervals_s[place];
        end loop;
    end loop;

    granted := cardinality(delays_s);
    if granted > 0 then
        for place in 1..cardinality(locked) loop
            one := locked[place];
            one.uses[98] := one.uses[98] + granted;
            update lane
            set tat = at + make_interval(secs => ceil(tats_s[place] * 1e6) / 1e6),
                rate = one.rate,
                rate_at = one.rate_at,
                rate_cause = one.rate_cause,
                warm_days = one.warm_days,
                warm_at = one.warm_at,
                use_slot = one.use_slot,
                uses = one.uses
            where owner = caller and kind = one.kind;
        end loop;
        if one.by_day then
            insert into lane_day as d (owner, kind, day, calls)
            values (caller, call_kind, (at at time zone 'UTC')::date, granted)
            on conflict (owner, kind, day) do update set calls = d.calls + excluded.calls;
        end if;
    end if;
    return next;
end
$function$;

CREATE OR REPLACE FUNCTION public.lane_tolerance_s(ceiling double precision, burst integer)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((((60.0 * ((burst - 1))::numeric))::double precision / ceiling) - LEAST((2.0)::double precision, (((30.0 * ((burst - 1))::numeric))::double precision / ceiling)));

CREATE OR REPLACE FUNCTION public.lane_uses_at(uses integer[], later integer)
 RETURNS integer[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((uses)[(LEAST(GREATEST(later, 0), 98) + 1):98] || array_fill(0, ARRAY[LEAST(GREATEST(later, 0), 98)]));

CREATE OR REPLACE FUNCTION public.reminder_gone()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
    delete from reminder_reach r using gone g where r.reminder_id = g.id;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.search_source_gone()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
    insert into search_due (ids)
    select array_agg(numbered.id) from (select id, row_number() over (order by id) as place from gone) as numbered
    group by (numbered.place - 1) / 500;
    return null;
end
$function$;

CREATE VIEW blob_reference AS
 SELECT blob_id
   FROM item_file
  WHERE (blob_id IS NOT NULL)
UNION ALL
 SELECT blob_id
   FROM picture
UNION ALL
 SELECT blob_id
   FROM group_picture;

CREATE VIEW live_job AS
 SELECT dedupe_key
   FROM pgqueuer
  WHERE (status = ANY (ARRAY['queued'::pgqueuer_status, 'picked'::pgqueuer_status]));

CREATE TABLE account (
    id uuid NOT NULL,
    platform text NOT NULL,
    name text NOT NULL,
    state text NOT NULL DEFAULT 'active'::text,
    state_reason text NOT NULL DEFAULT ''::text,
    established boolean NOT NULL DEFAULT false,
    sign_in integer NOT NULL DEFAULT 0,
    listening_at timestamp with time zone,
    heard_at timestamp with time zone,
    discover_at timestamp with time zone,
    discover_seq bigint NOT NULL DEFAULT 0,
    discovered_at timestamp with time zone,
    discover_error text NOT NULL DEFAULT ''::text,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT account_pkey PRIMARY KEY (id),
    CONSTRAINT account_platform_name_key UNIQUE (platform, name),
    CONSTRAINT account_state_check CHECK ((state = ANY (ARRAY['active'::text, 'needs_login'::text, 'restricted'::text, 'banned'::text])))
);
CREATE INDEX account_discover ON public.account USING btree (discover_at);

CREATE TABLE account_hold (
    account_id uuid NOT NULL,
    token uuid NOT NULL,
    holder text NOT NULL,
    renewals bigint NOT NULL DEFAULT 0,
    CONSTRAINT account_hold_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT account_hold_pkey PRIMARY KEY (account_id)
);

CREATE TABLE account_login (
    id uuid NOT NULL,
    platform text NOT NULL,
    name text NOT NULL DEFAULT ''::text,
    established boolean NOT NULL DEFAULT false,
    account_id uuid,
    signed_in boolean NOT NULL DEFAULT false,
    ask_at timestamp with time zone NOT NULL,
    claim uuid,
    claimed_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT account_login_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT account_login_pkey PRIMARY KEY (id)
);

CREATE TABLE account_memory (
    account_id uuid NOT NULL,
    name text NOT NULL,
    value text NOT NULL,
    CONSTRAINT account_memory_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT account_memory_pkey PRIMARY KEY (account_id, name)
);

CREATE TABLE account_question (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    answered boolean NOT NULL DEFAULT false,
    found jsonb NOT NULL DEFAULT '[]'::jsonb,
    error_class text NOT NULL DEFAULT ''::text,
    error text NOT NULL DEFAULT ''::text,
    CONSTRAINT account_question_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT account_question_pkey PRIMARY KEY (id)
);
CREATE INDEX account_question_account ON public.account_question USING btree (account_id);

CREATE TABLE api_token (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text NOT NULL,
    token_hash bytea NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT api_token_pkey PRIMARY KEY (id),
    CONSTRAINT api_token_scopes_check CHECK (((scopes <@ ARRAY['read'::text, 'write'::text, 'admin'::text]) AND (scopes <> '{}'::text[]))),
    CONSTRAINT api_token_token_hash_key UNIQUE (token_hash),
    CONSTRAINT api_token_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);
CREATE INDEX api_token_user ON public.api_token USING btree (user_id);

CREATE TABLE app_user (
    id uuid NOT NULL,
    name text NOT NULL,
    password_hash text NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT app_user_pkey PRIMARY KEY (id),
    CONSTRAINT app_user_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'member'::text])))
);
CREATE UNIQUE INDEX app_user_name ON public.app_user USING btree (lower(name));

CREATE TABLE blob (
    id uuid NOT NULL,
    sha256 bytea NOT NULL,
    size_bytes bigint NOT NULL,
    object_name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    unreferenced_since timestamp with time zone,
    damaged_at timestamp with time zone,
    CONSTRAINT blob_pkey PRIMARY KEY (id),
    CONSTRAINT blob_sha256_check CHECK ((octet_length(sha256) = 32)),
    CONSTRAINT blob_size_bytes_check CHECK ((size_bytes >= 0))
);
CREATE INDEX blob_damaged ON public.blob USING btree (damaged_at) WHERE (damaged_at IS NOT NULL);
CREATE INDEX blob_object_name ON public.blob USING hash (object_name);
CREATE INDEX blob_unreferenced ON public.blob USING btree (unreferenced_since) WHERE (unreferenced_since IS NOT NULL);
CREATE UNIQUE INDEX blob_content ON public.blob USING btree (sha256) WHERE ("left"(object_name, 6) <> 'place:'::text);

CREATE TABLE blob_alias (
    platform text NOT NULL,
    scope text NOT NULL,
    content_id text NOT NULL,
    size_bytes bigint NOT NULL,
    blob_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT blob_alias_blob_id_fkey FOREIGN KEY (blob_id) REFERENCES blob(id) ON DELETE CASCADE,
    CONSTRAINT blob_alias_pkey PRIMARY KEY (platform, scope, content_id, size_bytes)
);
CREATE INDEX blob_alias_blob ON public.blob_alias USING btree (blob_id);

CREATE TABLE blob_audit (
    single boolean NOT NULL DEFAULT true,
    started_at timestamp with time zone NOT NULL,
    noted_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    reached uuid NOT NULL,
    total bigint NOT NULL,
    total_bytes bigint NOT NULL,
    checked bigint NOT NULL DEFAULT 0,
    checked_bytes bigint NOT NULL DEFAULT 0,
    damaged bigint NOT NULL DEFAULT 0,
    refetched bigint NOT NULL DEFAULT 0,
    lost bigint NOT NULL DEFAULT 0,
    CONSTRAINT blob_audit_pkey PRIMARY KEY (single),
    CONSTRAINT blob_audit_single_check CHECK (single)
);

CREATE TABLE blob_store (
    single boolean NOT NULL DEFAULT true,
    id uuid NOT NULL,
    marked boolean NOT NULL DEFAULT false,
    collected_to uuid,
    CONSTRAINT blob_store_pkey PRIMARY KEY (single),
    CONSTRAINT blob_store_single_check CHECK (single)
);

CREATE TABLE bookmark (
    channel_id uuid NOT NULL,
    lens text NOT NULL,
    position bigint NOT NULL,
    bookmark text NOT NULL,
    CONSTRAINT bookmark_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES stream(channel_id) ON DELETE CASCADE,
    CONSTRAINT bookmark_pkey PRIMARY KEY (channel_id, lens, "position")
);

CREATE TABLE channel (
    id uuid NOT NULL,
    platform text NOT NULL,
    key text NOT NULL,
    scope text NOT NULL DEFAULT ''::text,
    kind text NOT NULL,
    title text NOT NULL,
    parent_id uuid,
    continues_id uuid,
    message_scan_enabled boolean NOT NULL DEFAULT true,
    settings jsonb NOT NULL DEFAULT '{}'::jsonb,
    created_at timestamp with time zone NOT NULL,
    gone_at timestamp with time zone,
    CONSTRAINT channel_continues_id_fkey FOREIGN KEY (continues_id) REFERENCES channel(id) ON DELETE SET NULL,
    CONSTRAINT channel_kind_check CHECK ((kind = ANY (ARRAY['stream'::text, 'listing'::text, 'parent'::text]))),
    CONSTRAINT channel_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES channel(id) ON DELETE SET NULL,
    CONSTRAINT channel_pkey PRIMARY KEY (id),
    CONSTRAINT channel_platform_key_scope_key UNIQUE (platform, key, scope)
);
CREATE INDEX channel_parent ON public.channel USING btree (parent_id);

CREATE TABLE chapter (
    id uuid NOT NULL,
    series_id uuid NOT NULL,
    key text NOT NULL,
    place text NOT NULL,
    number text NOT NULL,
    volume text NOT NULL,
    title text NOT NULL,
    published_at timestamp with time zone,
    seen_at timestamp with time zone NOT NULL,
    CONSTRAINT chapter_pkey PRIMARY KEY (id),
    CONSTRAINT chapter_series_id_fkey FOREIGN KEY (series_id) REFERENCES series(id) ON DELETE CASCADE,
    CONSTRAINT chapter_series_id_key_key UNIQUE (series_id, key)
);
CREATE INDEX chapter_newest ON public.chapter USING btree (series_id, seen_at, id);
CREATE INDEX chapter_order ON public.chapter USING btree (series_id, place, id);

CREATE TABLE clock_mark (
    single boolean NOT NULL DEFAULT true,
    product_at timestamp with time zone NOT NULL,
    real_at timestamp with time zone NOT NULL,
    CONSTRAINT clock_mark_pkey PRIMARY KEY (single),
    CONSTRAINT clock_mark_single_check CHECK (single)
);

CREATE TABLE content_entry (
    item_id uuid NOT NULL,
    number integer NOT NULL,
    path text NOT NULL,
    size_bytes bigint,
    packed_bytes bigint,
    modified_at timestamp with time zone,
    is_directory boolean NOT NULL DEFAULT false,
    is_encrypted boolean NOT NULL DEFAULT false,
    is_link boolean NOT NULL DEFAULT false,
    CONSTRAINT content_entry_item_id_fkey FOREIGN KEY (item_id) REFERENCES inspection(item_id) ON DELETE CASCADE,
    CONSTRAINT content_entry_pkey PRIMARY KEY (item_id, number)
);

CREATE TABLE coverage (
    channel_id uuid NOT NULL,
    lens text NOT NULL,
    ranges int8multirange NOT NULL DEFAULT '{}'::int8multirange,
    past_ranges int8multirange NOT NULL DEFAULT '{}'::int8multirange,
    CONSTRAINT coverage_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES stream(channel_id) ON DELETE CASCADE,
    CONSTRAINT coverage_lens_check CHECK ((lens = ANY (ARRAY['documents'::text, 'photos'::text, 'everything'::text]))),
    CONSTRAINT coverage_pkey PRIMARY KEY (channel_id, lens)
);

CREATE TABLE cron (
    kind text NOT NULL,
    key text NOT NULL,
    schedule text NOT NULL,
    due_at timestamp with time zone,
    wake_seq bigint NOT NULL DEFAULT 0,
    CONSTRAINT cron_pkey PRIMARY KEY (kind, key)
);
CREATE INDEX cron_due ON public.cron USING btree (due_at);

CREATE TABLE dead_letter (
    id uuid NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    error_class text NOT NULL,
    message text NOT NULL,
    stack text NOT NULL,
    attempts integer NOT NULL,
    crashes integer NOT NULL,
    first_tried_at timestamp with time zone NOT NULL,
    died_at timestamp with time zone NOT NULL,
    state text NOT NULL DEFAULT 'open'::text,
    closed_at timestamp with time zone,
    kept boolean NOT NULL DEFAULT false,
    CONSTRAINT dead_letter_pkey PRIMARY KEY (id),
    CONSTRAINT dead_letter_state_check CHECK ((state = ANY (ARRAY['open'::text, 'replayed'::text, 'discarded'::text])))
);
CREATE INDEX dead_letter_newest ON public.dead_letter USING btree (died_at DESC, id DESC);
CREATE UNIQUE INDEX dead_letter_open ON public.dead_letter USING btree (kind, key) WHERE (state = 'open'::text);

CREATE TABLE decision (
    channel_id uuid NOT NULL,
    number integer NOT NULL,
    reason text NOT NULL,
    first_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    times bigint NOT NULL DEFAULT 1,
    CONSTRAINT decision_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT decision_pkey PRIMARY KEY (channel_id, number)
);

CREATE TABLE delivery (
    run_id uuid NOT NULL,
    number integer NOT NULL,
    target_id uuid,
    target_key text NOT NULL,
    target_title text NOT NULL,
    state text NOT NULL DEFAULT 'pending'::text,
    skip_reason text,
    error text NOT NULL DEFAULT ''::text,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    latency_ms integer,
    CONSTRAINT delivery_check CHECK (((skip_reason IS NULL) OR (state = 'skipped'::text))),
    CONSTRAINT delivery_pkey PRIMARY KEY (run_id, number),
    CONSTRAINT delivery_run_id_fkey FOREIGN KEY (run_id) REFERENCES run(id) ON DELETE CASCADE,
    CONSTRAINT delivery_skip_reason_check CHECK ((skip_reason = ANY (ARRAY['window_closed'::text, 'cancelled'::text, 'passed_on'::text]))),
    CONSTRAINT delivery_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'sending'::text, 'sent'::text, 'failed'::text, 'skipped'::text, 'uncertain'::text]))),
    CONSTRAINT delivery_target_id_fkey FOREIGN KEY (target_id) REFERENCES target(id) ON DELETE SET NULL
) WITH (fillfactor=60);
CREATE INDEX delivery_target ON public.delivery USING btree (target_id);

CREATE TABLE doomed_object (
    object_name text NOT NULL,
    reason text NOT NULL,
    doomed_at timestamp with time zone NOT NULL,
    delete_at timestamp with time zone NOT NULL,
    CONSTRAINT doomed_object_pkey PRIMARY KEY (object_name),
    CONSTRAINT doomed_object_reason_check CHECK ((reason = ANY (ARRAY['unreferenced'::text, 'duplicate'::text, 'abandoned'::text, 'replaced'::text, 'orphan'::text])))
);
CREATE INDEX doomed_object_due ON public.doomed_object USING btree (delete_at);

CREATE TABLE fetch_line (
    channel_id uuid NOT NULL,
    top smallint NOT NULL,
    due_at timestamp with time zone NOT NULL,
    served_at timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone,
    seq bigint NOT NULL DEFAULT 1,
    CONSTRAINT fetch_line_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT fetch_line_pkey PRIMARY KEY (channel_id)
);
CREATE INDEX fetch_line_due ON public.fetch_line USING btree (due_at);

CREATE TABLE fetch_slot (
    account_id uuid NOT NULL,
    slot integer NOT NULL,
    due_at timestamp with time zone NOT NULL,
    CONSTRAINT fetch_slot_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT fetch_slot_pkey PRIMARY KEY (account_id, slot)
);

CREATE TABLE follow (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    series_id uuid,
    channel_id uuid,
    search text,
    in_app boolean NOT NULL DEFAULT true,
    push boolean NOT NULL DEFAULT true,
    per text NOT NULL DEFAULT 'chapter'::text,
    languages text[] NOT NULL DEFAULT '{}'::text[],
    since timestamp with time zone NOT NULL,
    CONSTRAINT follow_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT follow_check CHECK ((num_nonnulls(series_id, channel_id, search) = 1)),
    CONSTRAINT follow_per_check CHECK ((per = ANY (ARRAY['chapter'::text, 'source'::text]))),
    CONSTRAINT follow_pkey PRIMARY KEY (id),
    CONSTRAINT follow_series_id_fkey FOREIGN KEY (series_id) REFERENCES series(id) ON DELETE CASCADE,
    CONSTRAINT follow_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE,
    CONSTRAINT follow_user_id_series_id_channel_id_search_key UNIQUE NULLS NOT DISTINCT (user_id, series_id, channel_id, search)
);
CREATE INDEX follow_channel ON public.follow USING btree (channel_id) WHERE (channel_id IS NOT NULL);
CREATE INDEX follow_search ON public.follow USING btree (id) WHERE (search IS NOT NULL);
CREATE INDEX follow_series ON public.follow USING btree (series_id) WHERE (series_id IS NOT NULL);

CREATE TABLE group_candidate (
    rule_id uuid NOT NULL,
    item_id uuid NOT NULL,
    channel_id uuid NOT NULL,
    source_key text NOT NULL,
    name text NOT NULL,
    CONSTRAINT group_candidate_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT group_candidate_item_id_fkey FOREIGN KEY (item_id) REFERENCES item(id) ON DELETE CASCADE,
    CONSTRAINT group_candidate_pkey PRIMARY KEY (item_id, rule_id),
    CONSTRAINT group_candidate_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES group_rule(id) ON DELETE CASCADE
);
CREATE INDEX group_candidate_channel ON public.group_candidate USING btree (channel_id);
CREATE INDEX group_candidate_key ON public.group_candidate USING btree (rule_id, channel_id, source_key);

CREATE TABLE group_exclusion (
    item_id uuid NOT NULL,
    group_id uuid NOT NULL,
    CONSTRAINT group_exclusion_group_id_fkey FOREIGN KEY (group_id) REFERENCES item_group(id) ON DELETE CASCADE,
    CONSTRAINT group_exclusion_item_id_fkey FOREIGN KEY (item_id) REFERENCES item(id) ON DELETE CASCADE,
    CONSTRAINT group_exclusion_pkey PRIMARY KEY (item_id, group_id)
);
CREATE INDEX group_exclusion_group ON public.group_exclusion USING btree (group_id);

CREATE TABLE group_picture (
    group_id uuid NOT NULL,
    width_px integer NOT NULL,
    height_px integer NOT NULL,
    media_type text NOT NULL,
    blob_id uuid NOT NULL,
    CONSTRAINT group_picture_blob_id_fkey FOREIGN KEY (blob_id) REFERENCES blob(id),
    CONSTRAINT group_picture_group_id_fkey FOREIGN KEY (group_id) REFERENCES item_group(id) ON DELETE CASCADE,
    CONSTRAINT group_picture_pkey PRIMARY KEY (group_id, width_px, media_type)
);
CREATE INDEX group_picture_blob ON public.group_picture USING btree (blob_id);

CREATE TABLE group_rule (
    id uuid NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    pattern text NOT NULL DEFAULT ''::text,
    enabled boolean NOT NULL DEFAULT false,
    created_at timestamp with time zone NOT NULL,
    sweep text NOT NULL DEFAULT ''::text,
    sweep_after uuid,
    wake_seq bigint NOT NULL DEFAULT 1,
    CONSTRAINT group_rule_kind_check CHECK ((kind = ANY (ARRAY['title'::text, 'replies'::text]))),
    CONSTRAINT group_rule_name_key UNIQUE (name),
    CONSTRAINT group_rule_pkey PRIMARY KEY (id),
    CONSTRAINT group_rule_sweep_check CHECK ((sweep = ANY (ARRAY[''::text, 'apply'::text, 'dissolve'::text])))
);

CREATE TABLE headgate_migration (
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone NOT NULL DEFAULT now(),
    CONSTRAINT headgate_migration_pkey PRIMARY KEY (number)
);

CREATE TABLE hole (
    channel_id uuid NOT NULL,
    lens text NOT NULL,
    span int8range NOT NULL,
    attempts integer NOT NULL,
    next_try_at timestamp with time zone NOT NULL,
    error_class text NOT NULL,
    error_message text NOT NULL,
    failed_at timestamp with time zone NOT NULL,
    CONSTRAINT hole_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES stream(channel_id) ON DELETE CASCADE,
    CONSTRAINT hole_pkey PRIMARY KEY (channel_id, lens, span)
);

CREATE TABLE host (
    platform text NOT NULL,
    name text NOT NULL,
    failures integer NOT NULL DEFAULT 0,
    opened integer NOT NULL DEFAULT 0,
    open_until timestamp with time zone,
    error_class text NOT NULL DEFAULT ''::text,
    error_message text NOT NULL DEFAULT ''::text,
    failed_at timestamp with time zone,
    swept boolean NOT NULL DEFAULT false,
    cursor jsonb NOT NULL DEFAULT '{}'::jsonb,
    due_at timestamp with time zone,
    wake_seq bigint NOT NULL DEFAULT 0,
    swept_at timestamp with time zone,
    calls bigint NOT NULL DEFAULT 0,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT host_pkey PRIMARY KEY (platform, name)
);
CREATE INDEX host_due ON public.host USING btree (due_at);

CREATE TABLE inspection (
    item_id uuid NOT NULL,
    due_at timestamp with time zone,
    seq bigint NOT NULL DEFAULT 1,
    attempts integer NOT NULL DEFAULT 0,
    needs_bytes bigint NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'pending'::text,
    problems text[] NOT NULL DEFAULT '{}'::text[],
    detail text NOT NULL DEFAULT ''::text,
    format text NOT NULL DEFAULT ''::text,
    is_solid boolean NOT NULL DEFAULT false,
    entry_count integer NOT NULL DEFAULT 0,
    unpacked_bytes bigint NOT NULL DEFAULT 0,
    volumes uuid[] NOT NULL DEFAULT '{}'::uuid[],
    proven_total integer,
    proof_reason text NOT NULL DEFAULT ''::text,
    picture_key text NOT NULL DEFAULT ''::text,
    picture_source text NOT NULL DEFAULT ''::text,
    picture_colour text NOT NULL DEFAULT ''::text,
    inspected_at timestamp with time zone,
    CONSTRAINT inspection_item_id_fkey FOREIGN KEY (item_id) REFERENCES item(id) ON DELETE CASCADE,
    CONSTRAINT inspection_pkey PRIMARY KEY (item_id),
    CONSTRAINT inspection_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'empty'::text, 'plain'::text, 'ok'::text, 'partial'::text, 'encrypted'::text, 'hostile'::text, 'incomplete'::text, 'truncated'::text, 'damaged'::text, 'unsupported'::text, 'unreadable'::text])))
);
CREATE INDEX inspection_due ON public.inspection USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE TABLE intake_settings (
    only_row boolean NOT NULL DEFAULT true,
    settings jsonb NOT NULL DEFAULT '{}'::jsonb,
    version bigint NOT NULL DEFAULT 1,
    CONSTRAINT intake_settings_only_row_check CHECK (only_row),
    CONSTRAINT intake_settings_pkey PRIMARY KEY (only_row)
);

CREATE TABLE item (
    id uuid NOT NULL,
    channel_id uuid NOT NULL,
    content_key text NOT NULL,
    kind text NOT NULL,
    type text NOT NULL DEFAULT ''::text,
    title text NOT NULL,
    name_key text NOT NULL DEFAULT ''::text,
    size_bytes bigint NOT NULL,
    sent_at timestamp with time zone NOT NULL,
    caught_at timestamp with time zone NOT NULL,
    hidden boolean NOT NULL DEFAULT false,
    removed_at timestamp with time zone,
    content_hash bytea,
    group_id uuid,
    grouped_by text NOT NULL DEFAULT ''::text,
    CONSTRAINT item_channel_id_content_key_key UNIQUE (channel_id, content_key),
    CONSTRAINT item_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT item_check CHECK (((group_id IS NULL) = (grouped_by = ''::text))),
    CONSTRAINT item_group_id_fkey FOREIGN KEY (group_id) REFERENCES item_group(id) ON DELETE SET NULL,
    CONSTRAINT item_grouped_by_check CHECK ((grouped_by = ANY (ARRAY[''::text, 'album'::text, 'person'::text, 'rule'::text]))),
    CONSTRAINT item_kind_check CHECK ((kind = ANY (ARRAY['package'::text, 'clip'::text, 'picture'::text, 'file'::text, 'link'::text, 'post'::text]))),
    CONSTRAINT item_pkey PRIMARY KEY (id)
);
CREATE INDEX item_content ON public.item USING btree (content_hash) WHERE (content_hash IS NOT NULL);
CREATE INDEX item_group_member ON public.item USING btree (group_id) WHERE (group_id IS NOT NULL);
CREATE INDEX item_shown ON public.item USING btree (caught_at DESC, id DESC) WHERE (NOT hidden);
CREATE TRIGGER search_item_gone AFTER DELETE ON public.item REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION search_source_gone();

CREATE TABLE item_alias (
    old_id uuid NOT NULL,
    item_id uuid NOT NULL,
    CONSTRAINT item_alias_item_id_fkey FOREIGN KEY (item_id) REFERENCES item(id) ON DELETE CASCADE,
    CONSTRAINT item_alias_pkey PRIMARY KEY (old_id)
);
CREATE INDEX item_alias_item ON public.item_alias USING btree (item_id);

CREATE TABLE item_file (
    sighting_id uuid NOT NULL,
    channel_id uuid NOT NULL,
    state text NOT NULL,
    blob_id uuid,
    stored_at timestamp with time zone,
    source text NOT NULL DEFAULT ''::text,
    size_bytes bigint NOT NULL DEFAULT 0,
    asked_at timestamp with time zone,
    priority smallint NOT NULL DEFAULT 0,
    due_at timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone,
    wait_reason text NOT NULL DEFAULT ''::text,
    needs_bytes bigint NOT NULL DEFAULT 0,
    taken_by uuid,
    taken_until timestamp with time zone,
    starts integer NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    error_class text NOT NULL DEFAULT ''::text,
    error_message text NOT NULL DEFAULT ''::text,
    spool_machine text NOT NULL DEFAULT ''::text,
    spool_until timestamp with time zone,
    spooled_bytes bigint NOT NULL DEFAULT 0,
    CONSTRAINT item_file_blob_id_fkey FOREIGN KEY (blob_id) REFERENCES blob(id),
    CONSTRAINT item_file_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT item_file_check CHECK (((state = 'stored'::text) = (blob_id IS NOT NULL))),
    CONSTRAINT item_file_pkey PRIMARY KEY (sighting_id),
    CONSTRAINT item_file_sighting_id_fkey FOREIGN KEY (sighting_id) REFERENCES sighting(id) ON DELETE CASCADE,
    CONSTRAINT item_file_state_check CHECK ((state = ANY (ARRAY['wanted'::text, 'stored'::text, 'dropped'::text, 'failed'::text, 'gone'::text]))),
    CONSTRAINT item_file_wait_reason_check CHECK ((wait_reason = ANY (ARRAY[''::text, 'room'::text])))
);
CREATE INDEX item_file_blob ON public.item_file USING btree (blob_id) WHERE (blob_id IS NOT NULL);
CREATE INDEX item_file_ready ON public.item_file USING btree (channel_id, priority, due_at, sighting_id) WHERE ((state = 'wanted'::text) AND (wait_reason = ''::text));
CREATE INDEX item_file_taken ON public.item_file USING btree (taken_until) WHERE (taken_until IS NOT NULL);
CREATE INDEX item_file_waiting ON public.item_file USING btree (channel_id, needs_bytes) WHERE ((state = 'wanted'::text) AND (wait_reason <> ''::text));

CREATE TABLE item_group (
    id uuid NOT NULL,
    kind text NOT NULL,
    channel_id uuid,
    source_key text NOT NULL DEFAULT ''::text,
    rule_id uuid,
    name text NOT NULL,
    name_key text NOT NULL,
    name_by text NOT NULL DEFAULT 'automatic'::text,
    created_at timestamp with time zone NOT NULL,
    dissolved_at timestamp with time zone,
    dissolved_items uuid[] NOT NULL DEFAULT '{}'::uuid[],
    CONSTRAINT item_group_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE SET NULL,
    CONSTRAINT item_group_kind_check CHECK ((kind = ANY (ARRAY['album'::text, 'hand'::text, 'rule'::text]))),
    CONSTRAINT item_group_name_by_check CHECK ((name_by = ANY (ARRAY['automatic'::text, 'person'::text]))),
    CONSTRAINT item_group_pkey PRIMARY KEY (id)
);
CREATE TRIGGER search_group_gone AFTER DELETE ON public.item_group REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION search_source_gone();
CREATE UNIQUE INDEX item_group_album ON public.item_group USING btree (channel_id, source_key) WHERE (kind = 'album'::text);
CREATE UNIQUE INDEX item_group_rule ON public.item_group USING btree (rule_id, channel_id, source_key) WHERE (kind = 'rule'::text);

CREATE TABLE item_label (
    item_id uuid NOT NULL,
    kind text NOT NULL,
    source text NOT NULL,
    key text NOT NULL,
    name text NOT NULL,
    rule text NOT NULL DEFAULT ''::text,
    removed boolean NOT NULL DEFAULT false,
    said_at timestamp with time zone,
    CONSTRAINT item_label_check CHECK (((source = 'person'::text) = (said_at IS NOT NULL))),
    CONSTRAINT item_label_check1 CHECK (((source = 'person'::text) OR (NOT removed))),
    CONSTRAINT item_label_item_id_fkey FOREIGN KEY (item_id) REFERENCES item(id) ON DELETE CASCADE,
    CONSTRAINT item_label_kind_check CHECK ((kind = ANY (ARRAY['creator'::text, 'tag'::text]))),
    CONSTRAINT item_label_pkey PRIMARY KEY (item_id, kind, source, key),
    CONSTRAINT item_label_source_check CHECK ((source = ANY (ARRAY['rule'::text, 'person'::text])))
);
CREATE INDEX item_label_key ON public.item_label USING btree (kind, key, item_id);

CREATE TABLE item_set (
    item_id uuid NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    present integer NOT NULL,
    total integer,
    missing_count integer NOT NULL,
    missing text[] NOT NULL,
    problem boolean NOT NULL,
    dismissed_at timestamp with time zone,
    arrived_at timestamp with time zone NOT NULL,
    told boolean NOT NULL DEFAULT false,
    CONSTRAINT item_set_item_id_fkey FOREIGN KEY (item_id) REFERENCES item(id) ON DELETE CASCADE,
    CONSTRAINT item_set_pkey PRIMARY KEY (item_id),
    CONSTRAINT item_set_state_check CHECK ((state = ANY (ARRAY['proven'::text, 'assumed'::text, 'waiting'::text, 'impossible'::text])))
);
CREATE INDEX item_set_problem ON public.item_set USING btree (item_id) WHERE (problem AND (dismissed_at IS NULL));

CREATE TABLE judging (
    channel_id uuid NOT NULL,
    due_at timestamp with time zone,
    wake_seq bigint NOT NULL DEFAULT 0,
    asked_at timestamp with time zone NOT NULL,
    judged bigint NOT NULL DEFAULT 0,
    changed bigint NOT NULL DEFAULT 0,
    CONSTRAINT judging_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT judging_pkey PRIMARY KEY (channel_id)
);
CREATE INDEX judging_due ON public.judging USING btree (due_at);

CREATE TABLE known_browser (
    token_hash bytea NOT NULL,
    user_id uuid NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    CONSTRAINT known_browser_pkey PRIMARY KEY (token_hash),
    CONSTRAINT known_browser_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);
CREATE INDEX known_browser_user ON public.known_browser USING btree (user_id, seen_at);

CREATE TABLE label_name (
    kind text NOT NULL,
    key text NOT NULL,
    shown_key text NOT NULL,
    name text NOT NULL,
    CONSTRAINT label_name_kind_check CHECK ((kind = ANY (ARRAY['creator'::text, 'tag'::text]))),
    CONSTRAINT label_name_pkey PRIMARY KEY (kind, key)
);
CREATE INDEX label_name_shown ON public.label_name USING btree (kind, shown_key);

CREATE TABLE label_queue (
    channel_id uuid NOT NULL,
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    message_keys text[] NOT NULL DEFAULT '{}'::text[],
    item_ids uuid[] NOT NULL DEFAULT '{}'::uuid[],
    CONSTRAINT label_queue_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT label_queue_pkey PRIMARY KEY (channel_id, id)
);

CREATE TABLE label_rule (
    id uuid NOT NULL,
    position integer NOT NULL,
    name text NOT NULL,
    field text NOT NULL,
    kind text NOT NULL,
    normalisation text NOT NULL,
    pattern text NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    CONSTRAINT label_rule_field_check CHECK ((field = ANY (ARRAY['topic'::text, 'caption'::text, 'hashtag'::text, 'file_name'::text]))),
    CONSTRAINT label_rule_kind_check CHECK ((kind = ANY (ARRAY['creator'::text, 'tag'::text]))),
    CONSTRAINT label_rule_name_key UNIQUE (name) DEFERRABLE,
    CONSTRAINT label_rule_normalisation_check CHECK ((normalisation = ANY (ARRAY['as_written'::text, 'spaced'::text, 'lower'::text]))),
    CONSTRAINT label_rule_pkey PRIMARY KEY (id),
    CONSTRAINT label_rule_position_key UNIQUE ("position") DEFERRABLE
);

CREATE TABLE label_ruleset (
    only_row boolean NOT NULL DEFAULT true,
    version bigint NOT NULL DEFAULT 1,
    CONSTRAINT label_ruleset_only_row_check CHECK (only_row),
    CONSTRAINT label_ruleset_pkey PRIMARY KEY (only_row)
);

CREATE TABLE label_sweep (
    channel_id uuid NOT NULL,
    after text NOT NULL DEFAULT ''::text,
    wake_seq bigint NOT NULL DEFAULT 1,
    CONSTRAINT label_sweep_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT label_sweep_pkey PRIMARY KEY (channel_id)
);

CREATE TABLE labelled_item (
    item_id uuid NOT NULL,
    rules_version bigint NOT NULL,
    CONSTRAINT labelled_item_item_id_fkey FOREIGN KEY (item_id) REFERENCES item(id) ON DELETE CASCADE,
    CONSTRAINT labelled_item_pkey PRIMARY KEY (item_id)
);

CREATE TABLE lane (
    owner text NOT NULL,
    kind text NOT NULL,
    shared text,
    by_day boolean NOT NULL DEFAULT true,
    ceiling double precision NOT NULL,
    burst integer NOT NULL,
    daily_cap integer,
    established boolean NOT NULL,
    pinned boolean NOT NULL DEFAULT false,
    rate double precision NOT NULL,
    rate_at timestamp with time zone NOT NULL,
    rate_cause text NOT NULL,
    epoch bigint NOT NULL DEFAULT 1,
    rate_epoch bigint NOT NULL DEFAULT 1,
    tat timestamp with time zone NOT NULL,
    cool_until timestamp with time zone NOT NULL,
    warm_days integer NOT NULL DEFAULT 0,
    warm_at timestamp with time zone,
    use_slot bigint NOT NULL,
    uses integer[] NOT NULL DEFAULT array_fill(0, ARRAY[98]),
    CONSTRAINT lane_burst_check CHECK ((burst >= 2)),
    CONSTRAINT lane_ceiling_check CHECK (((ceiling > (0)::double precision) AND (ceiling <= (60000000)::double precision))),
    CONSTRAINT lane_daily_cap_check CHECK ((daily_cap > 0)),
    CONSTRAINT lane_pkey PRIMARY KEY (owner, kind),
    CONSTRAINT lane_rate_check CHECK ((rate > (0)::double precision))
) WITH (fillfactor=40);
CREATE TRIGGER lane_changed AFTER UPDATE ON public.lane FOR EACH ROW WHEN (((old.rate IS DISTINCT FROM new.rate) OR (old.epoch <> new.epoch))) EXECUTE FUNCTION lane_changed();

CREATE TABLE lane_change (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    owner text NOT NULL,
    kind text NOT NULL,
    at timestamp with time zone NOT NULL,
    from_rate double precision NOT NULL,
    to_rate double precision NOT NULL,
    cause text NOT NULL,
    cool_until timestamp with time zone,
    CONSTRAINT lane_change_owner_kind_fkey FOREIGN KEY (owner, kind) REFERENCES lane(owner, kind) ON DELETE CASCADE,
    CONSTRAINT lane_change_pkey PRIMARY KEY (id)
);
CREATE INDEX lane_change_newest ON public.lane_change USING btree (owner, kind, id DESC);

CREATE TABLE lane_day (
    owner text NOT NULL,
    kind text NOT NULL,
    day date NOT NULL,
    calls bigint NOT NULL,
    CONSTRAINT lane_day_owner_kind_fkey FOREIGN KEY (owner, kind) REFERENCES lane(owner, kind) ON DELETE CASCADE,
    CONSTRAINT lane_day_pkey PRIMARY KEY (owner, kind, day)
);

CREATE TABLE lease (
    name text NOT NULL,
    token uuid NOT NULL,
    holder text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    span_s double precision NOT NULL DEFAULT 60,
    CONSTRAINT lease_pkey PRIMARY KEY (name)
);

CREATE TABLE library_view (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text NOT NULL,
    query text NOT NULL,
    is_default boolean NOT NULL DEFAULT false,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT library_view_pkey PRIMARY KEY (id),
    CONSTRAINT library_view_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX library_view_default ON public.library_view USING btree (user_id) WHERE is_default;
CREATE UNIQUE INDEX library_view_name ON public.library_view USING btree (user_id, lower(name));

CREATE TABLE listing (
    channel_id uuid NOT NULL,
    platform text NOT NULL,
    host text NOT NULL,
    reader_id uuid,
    cursor jsonb NOT NULL DEFAULT '{}'::jsonb,
    unchanged_at timestamp with time zone,
    blind boolean NOT NULL DEFAULT false,
    due_at timestamp with time zone,
    planned_at timestamp with time zone,
    reason text NOT NULL DEFAULT 'never_polled'::text,
    wake_seq bigint NOT NULL DEFAULT 0,
    tier text NOT NULL DEFAULT 'WARM'::text,
    tier_pinned boolean NOT NULL DEFAULT false,
    tier_reason text NOT NULL DEFAULT 'new'::text,
    arrivals timestamp with time zone[] NOT NULL DEFAULT '{}'::timestamp with time zone[],
    rest_until timestamp with time zone,
    checked_at timestamp with time zone,
    succeeded_at timestamp with time zone,
    changed_at timestamp with time zone,
    polls bigint NOT NULL DEFAULT 0,
    warning text NOT NULL DEFAULT ''::text,
    asked boolean NOT NULL DEFAULT false,
    gone_at timestamp with time zone,
    key_changes integer NOT NULL DEFAULT 0,
    keys_changed_at timestamp with time zone,
    moved_onto uuid,
    CONSTRAINT listing_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT listing_moved_onto_fkey FOREIGN KEY (moved_onto) REFERENCES channel(id) ON DELETE SET NULL,
    CONSTRAINT listing_pkey PRIMARY KEY (channel_id),
    CONSTRAINT listing_platform_host_fkey FOREIGN KEY (platform, host) REFERENCES host(platform, name),
    CONSTRAINT listing_reader_id_fkey FOREIGN KEY (reader_id) REFERENCES account(id) ON DELETE SET NULL,
    CONSTRAINT listing_tier_check CHECK ((tier = ANY (ARRAY['HOT'::text, 'WARM'::text, 'COLD'::text])))
) WITH (fillfactor=70);
CREATE INDEX listing_due ON public.listing USING btree (due_at);
CREATE INDEX listing_host ON public.listing USING btree (platform, host);
CREATE INDEX listing_planned ON public.listing USING btree (planned_at);

CREATE TABLE listing_alias (
    channel_id uuid NOT NULL,
    key text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT listing_alias_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES listing(channel_id) ON DELETE CASCADE,
    CONSTRAINT listing_alias_pkey PRIMARY KEY (channel_id, key)
);

CREATE TABLE login_attempt (
    key text NOT NULL,
    failures integer NOT NULL,
    tried_at timestamp with time zone NOT NULL,
    blocked_until timestamp with time zone NOT NULL,
    CONSTRAINT login_attempt_pkey PRIMARY KEY (key)
);
CREATE INDEX login_attempt_tried ON public.login_attempt USING btree (tried_at);

CREATE TABLE media (
    id uuid NOT NULL,
    name text NOT NULL,
    mime_type text NOT NULL,
    size_bytes bigint NOT NULL,
    sha256 bytea NOT NULL,
    content bytea,
    blob_id uuid,
    offset_bytes bigint NOT NULL DEFAULT 0,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT media_check CHECK (((content IS NOT NULL) OR (blob_id IS NOT NULL))),
    CONSTRAINT media_pkey PRIMARY KEY (id),
    CONSTRAINT media_sha256_name_mime_type_offset_bytes_size_bytes_key UNIQUE (sha256, name, mime_type, offset_bytes, size_bytes)
);

CREATE TABLE message (
    channel_id uuid NOT NULL,
    key text NOT NULL,
    position bigint NOT NULL,
    topic text NOT NULL DEFAULT ''::text,
    album text NOT NULL DEFAULT ''::text,
    author_key text NOT NULL DEFAULT ''::text,
    author text NOT NULL DEFAULT ''::text,
    from_bot boolean NOT NULL DEFAULT false,
    from_webhook boolean NOT NULL DEFAULT false,
    text text NOT NULL DEFAULT ''::text,
    reply_to text NOT NULL DEFAULT ''::text,
    sent_at timestamp with time zone NOT NULL,
    version_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    CONSTRAINT message_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT message_pkey PRIMARY KEY (channel_id, key)
);
CREATE INDEX message_album ON public.message USING btree (channel_id, album) WHERE (album <> ''::text);
CREATE INDEX message_reply ON public.message USING btree (channel_id, reply_to) WHERE (reply_to <> ''::text);

CREATE TABLE miss (
    id uuid NOT NULL,
    channel_id uuid NOT NULL,
    message_key text NOT NULL,
    attachment_key text NOT NULL DEFAULT ''::text,
    stage text NOT NULL,
    error_class text NOT NULL,
    error_message text NOT NULL,
    attempts integer NOT NULL DEFAULT 1,
    due_at timestamp with time zone,
    wake_seq bigint NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'open'::text,
    first_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    CONSTRAINT miss_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT miss_channel_id_message_key_attachment_key_key UNIQUE (channel_id, message_key, attachment_key),
    CONSTRAINT miss_pkey PRIMARY KEY (id),
    CONSTRAINT miss_stage_check CHECK ((stage = ANY (ARRAY['read'::text, 'ingest'::text, 'entry'::text]))),
    CONSTRAINT miss_state_check CHECK ((state = ANY (ARRAY['open'::text, 'abandoned'::text])))
);
CREATE INDEX miss_due ON public.miss USING btree (due_at);
CREATE INDEX miss_open ON public.miss USING btree (channel_id) WHERE (state = 'open'::text);

CREATE TABLE news (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    channel_id uuid NOT NULL,
    release_id uuid,
    item_id uuid,
    at timestamp with time zone NOT NULL,
    due_at timestamp with time zone NOT NULL,
    CONSTRAINT news_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT news_check CHECK ((num_nonnulls(release_id, item_id) = 1)),
    CONSTRAINT news_item_id_fkey FOREIGN KEY (item_id) REFERENCES item(id) ON DELETE CASCADE,
    CONSTRAINT news_pkey PRIMARY KEY (id),
    CONSTRAINT news_release_id_fkey FOREIGN KEY (release_id) REFERENCES release(id) ON DELETE CASCADE
);
CREATE INDEX news_due ON public.news USING btree (channel_id, due_at, id);
CREATE INDEX news_item ON public.news USING btree (item_id) WHERE (item_id IS NOT NULL);

CREATE TABLE notification (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    subject text NOT NULL,
    series_id uuid,
    chapter_id uuid,
    channel_id uuid,
    item_id uuid,
    title text NOT NULL,
    body text NOT NULL,
    url text NOT NULL,
    at timestamp with time zone NOT NULL,
    in_app boolean NOT NULL,
    push boolean NOT NULL,
    read_at timestamp with time zone,
    CONSTRAINT notification_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE SET NULL,
    CONSTRAINT notification_chapter_id_fkey FOREIGN KEY (chapter_id) REFERENCES chapter(id) ON DELETE SET NULL,
    CONSTRAINT notification_item_id_fkey FOREIGN KEY (item_id) REFERENCES item(id) ON DELETE SET NULL,
    CONSTRAINT notification_pkey PRIMARY KEY (id),
    CONSTRAINT notification_series_id_fkey FOREIGN KEY (series_id) REFERENCES series(id) ON DELETE SET NULL,
    CONSTRAINT notification_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE,
    CONSTRAINT notification_user_id_subject_key UNIQUE (user_id, subject)
);
CREATE INDEX notification_chapter ON public.notification USING btree (chapter_id, user_id);
CREATE INDEX notification_newest ON public.notification USING btree (user_id, at DESC, id DESC) WHERE in_app;
CREATE INDEX notification_old ON public.notification USING btree (at) WHERE (title <> ''::text);
CREATE INDEX notification_unread ON public.notification USING btree (user_id) WHERE (in_app AND (read_at IS NULL));

CREATE TABLE notification_settings (
    user_id uuid NOT NULL,
    time_zone text NOT NULL,
    quiet_from_min integer,
    quiet_to_min integer,
    CONSTRAINT notification_settings_check CHECK ((num_nulls(quiet_from_min, quiet_to_min) = ANY (ARRAY[0, 2]))),
    CONSTRAINT notification_settings_pkey PRIMARY KEY (user_id),
    CONSTRAINT notification_settings_quiet_from_min_check CHECK (((quiet_from_min >= 0) AND (quiet_from_min <= 1439))),
    CONSTRAINT notification_settings_quiet_to_min_check CHECK (((quiet_to_min >= 0) AND (quiet_to_min <= 1439))),
    CONSTRAINT notification_settings_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);

CREATE TABLE part (
    run_id uuid NOT NULL,
    delivery integer NOT NULL,
    number integer NOT NULL,
    account_id uuid,
    state text NOT NULL DEFAULT 'planned'::text,
    key text NOT NULL,
    token uuid,
    sending_at timestamp with time zone,
    doubtful_since timestamp with time zone,
    attempts integer NOT NULL DEFAULT 0,
    retry_at timestamp with time zone,
    sent_at timestamp with time zone,
    took_ms integer,
    message_key text NOT NULL DEFAULT ''::text,
    error text NOT NULL DEFAULT ''::text,
    CONSTRAINT part_pkey PRIMARY KEY (run_id, delivery, number),
    CONSTRAINT part_run_id_delivery_fkey FOREIGN KEY (run_id, delivery) REFERENCES delivery(run_id, number) ON DELETE CASCADE,
    CONSTRAINT part_state_check CHECK ((state = ANY (ARRAY['planned'::text, 'sending'::text, 'sent'::text, 'failed'::text, 'uncertain'::text])))
) WITH (fillfactor=50);

CREATE TABLE picture (
    item_id uuid NOT NULL,
    width_px integer NOT NULL,
    height_px integer NOT NULL,
    media_type text NOT NULL,
    blob_id uuid NOT NULL,
    CONSTRAINT picture_blob_id_fkey FOREIGN KEY (blob_id) REFERENCES blob(id),
    CONSTRAINT picture_item_id_fkey FOREIGN KEY (item_id) REFERENCES inspection(item_id) ON DELETE CASCADE,
    CONSTRAINT picture_pkey PRIMARY KEY (item_id, width_px, media_type)
);
CREATE INDEX picture_blob ON public.picture USING btree (blob_id);

CREATE TABLE placed_message (
    channel_id uuid NOT NULL,
    key text NOT NULL,
    position bigint NOT NULL,
    CONSTRAINT placed_message_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES stream(channel_id) ON DELETE CASCADE,
    CONSTRAINT placed_message_pkey PRIMARY KEY (channel_id, key)
);

CREATE TABLE product_clock (
    single boolean NOT NULL DEFAULT true,
    opened_at timestamp with time zone NOT NULL,
    real_anchor timestamp with time zone NOT NULL,
    product_anchor timestamp with time zone NOT NULL,
    scale double precision NOT NULL,
    CONSTRAINT product_clock_pkey PRIMARY KEY (single),
    CONSTRAINT product_clock_scale_check CHECK ((scale > (0)::double precision)),
    CONSTRAINT product_clock_single_check CHECK (single)
);

CREATE TABLE push (
    id uuid NOT NULL,
    address_id uuid NOT NULL,
    state text NOT NULL DEFAULT 'planned'::text,
    title text NOT NULL,
    body text NOT NULL,
    notifications integer NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    made_at timestamp with time zone NOT NULL,
    begun_at timestamp with time zone,
    ended_at timestamp with time zone,
    error text NOT NULL DEFAULT ''::text,
    CONSTRAINT push_address_id_fkey FOREIGN KEY (address_id) REFERENCES push_address(id) ON DELETE CASCADE,
    CONSTRAINT push_address_id_id_key UNIQUE (address_id, id),
    CONSTRAINT push_pkey PRIMARY KEY (id),
    CONSTRAINT push_state_check CHECK ((state = ANY (ARRAY['planned'::text, 'sending'::text, 'sent'::text, 'failed'::text, 'uncertain'::text])))
);
CREATE INDEX push_ended ON public.push USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX push_newest ON public.push USING btree (address_id, made_at DESC, id DESC);
CREATE UNIQUE INDEX push_under_way ON public.push USING btree (address_id) WHERE (state = ANY (ARRAY['planned'::text, 'sending'::text]));

CREATE TABLE push_address (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text NOT NULL,
    shown text NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    added_as text NOT NULL,
    due_at timestamp with time zone,
    failures integer NOT NULL DEFAULT 0,
    opened integer NOT NULL DEFAULT 0,
    open_until timestamp with time zone,
    error text NOT NULL DEFAULT ''::text,
    failed_at timestamp with time zone,
    sent_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT push_address_added_as_check CHECK ((added_as = ANY (ARRAY['admin'::text, 'member'::text]))),
    CONSTRAINT push_address_pkey PRIMARY KEY (id),
    CONSTRAINT push_address_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);
CREATE INDEX push_address_due ON public.push_address USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE UNIQUE INDEX push_address_name ON public.push_address USING btree (user_id, lower(name));

CREATE TABLE push_notification (
    address_id uuid NOT NULL,
    notification_id uuid NOT NULL,
    push_id uuid,
    CONSTRAINT push_notification_address_id_fkey FOREIGN KEY (address_id) REFERENCES push_address(id) ON DELETE CASCADE,
    CONSTRAINT push_notification_address_id_push_id_fkey FOREIGN KEY (address_id, push_id) REFERENCES push(address_id, id) ON DELETE CASCADE,
    CONSTRAINT push_notification_notification_id_fkey FOREIGN KEY (notification_id) REFERENCES notification(id) ON DELETE CASCADE,
    CONSTRAINT push_notification_pkey PRIMARY KEY (address_id, notification_id)
);
CREATE INDEX push_notification_of ON public.push_notification USING btree (notification_id);
CREATE INDEX push_notification_push ON public.push_notification USING btree (push_id) WHERE (push_id IS NOT NULL);
CREATE INDEX push_notification_waiting ON public.push_notification USING btree (address_id) WHERE (push_id IS NULL);

CREATE TABLE reading (
    user_id uuid NOT NULL,
    series_id uuid NOT NULL,
    place text NOT NULL,
    chapter_id uuid,
    at timestamp with time zone NOT NULL,
    CONSTRAINT reading_chapter_id_fkey FOREIGN KEY (chapter_id) REFERENCES chapter(id) ON DELETE SET NULL,
    CONSTRAINT reading_pkey PRIMARY KEY (user_id, series_id),
    CONSTRAINT reading_series_id_fkey FOREIGN KEY (series_id) REFERENCES series(id) ON DELETE CASCADE,
    CONSTRAINT reading_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);

CREATE TABLE recheck (
    channel_id uuid NOT NULL,
    message_key text NOT NULL,
    seq bigint NOT NULL DEFAULT 1,
    reason text NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamp with time zone,
    asked_at timestamp with time zone NOT NULL,
    CONSTRAINT recheck_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT recheck_pkey PRIMARY KEY (channel_id, message_key)
);
CREATE INDEX recheck_due ON public.recheck USING btree (due_at);

CREATE TABLE release (
    id uuid NOT NULL,
    channel_id uuid NOT NULL,
    entry_key text NOT NULL,
    chapter_id uuid NOT NULL,
    title text NOT NULL,
    chapter_title text NOT NULL,
    volume text NOT NULL,
    url text NOT NULL,
    language text NOT NULL,
    scan_group text NOT NULL,
    external boolean NOT NULL,
    published_at timestamp with time zone,
    fingerprint bigint NOT NULL,
    identity bigint NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    joined_at timestamp with time zone NOT NULL,
    told_seq bigint NOT NULL DEFAULT nextval('release_told'::regclass),
    removed_at timestamp with time zone,
    CONSTRAINT release_channel_id_entry_key_key UNIQUE (channel_id, entry_key),
    CONSTRAINT release_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT release_chapter_id_fkey FOREIGN KEY (chapter_id) REFERENCES chapter(id) ON DELETE CASCADE,
    CONSTRAINT release_pkey PRIMARY KEY (id)
);
CREATE INDEX release_chapter ON public.release USING btree (chapter_id);

CREATE TABLE reminder (
    id uuid NOT NULL,
    title text NOT NULL,
    account_id uuid,
    zone text NOT NULL,
    once_at timestamp without time zone,
    cron text NOT NULL DEFAULT ''::text,
    window_start integer NOT NULL DEFAULT 360,
    window_end integer NOT NULL DEFAULT 1080,
    at_close text NOT NULL DEFAULT 'stop'::text,
    state text NOT NULL DEFAULT 'active'::text,
    fired_until timestamp with time zone NOT NULL,
    due_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT reminder_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE SET NULL,
    CONSTRAINT reminder_at_close_check CHECK ((at_close = ANY (ARRAY['stop'::text, 'carry'::text]))),
    CONSTRAINT reminder_check CHECK (((once_at IS NULL) <> (cron = ''::text))),
    CONSTRAINT reminder_check1 CHECK ((window_start <> window_end)),
    CONSTRAINT reminder_pkey PRIMARY KEY (id),
    CONSTRAINT reminder_state_check CHECK ((state = ANY (ARRAY['active'::text, 'paused'::text, 'archived'::text]))),
    CONSTRAINT reminder_window_end_check CHECK (((window_end >= 1) AND (window_end <= 1440))),
    CONSTRAINT reminder_window_start_check CHECK (((window_start >= 0) AND (window_start <= 1439)))
);
CREATE INDEX reminder_account ON public.reminder USING btree (account_id);
CREATE INDEX reminder_due ON public.reminder USING btree (due_at);
CREATE INDEX reminder_newest ON public.reminder USING btree (created_at DESC, id DESC);
CREATE TRIGGER reminder_gone AFTER DELETE ON public.reminder REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION reminder_gone();

CREATE TABLE reminder_list (
    reminder_id uuid NOT NULL,
    list_id uuid NOT NULL,
    CONSTRAINT reminder_list_list_id_fkey FOREIGN KEY (list_id) REFERENCES target_list(id) ON DELETE CASCADE,
    CONSTRAINT reminder_list_pkey PRIMARY KEY (reminder_id, list_id),
    CONSTRAINT reminder_list_reminder_id_fkey FOREIGN KEY (reminder_id) REFERENCES reminder(id) ON DELETE CASCADE
);
CREATE INDEX reminder_list_list ON public.reminder_list USING btree (list_id);

CREATE TABLE reminder_part (
    reminder_id uuid NOT NULL,
    number integer NOT NULL,
    text text NOT NULL DEFAULT ''::text,
    media_id uuid,
    CONSTRAINT reminder_part_check CHECK (((text <> ''::text) OR (media_id IS NOT NULL))),
    CONSTRAINT reminder_part_media_id_fkey FOREIGN KEY (media_id) REFERENCES media(id),
    CONSTRAINT reminder_part_pkey PRIMARY KEY (reminder_id, number),
    CONSTRAINT reminder_part_reminder_id_fkey FOREIGN KEY (reminder_id) REFERENCES reminder(id) ON DELETE CASCADE
);
CREATE INDEX reminder_part_media ON public.reminder_part USING btree (media_id);

CREATE TABLE reminder_reach (
    reminder_id uuid NOT NULL,
    target_id uuid NOT NULL,
    sent_at timestamp with time zone NOT NULL,
    CONSTRAINT reminder_reach_pkey PRIMARY KEY (reminder_id, target_id)
);

CREATE TABLE reminder_target (
    reminder_id uuid NOT NULL,
    target_id uuid NOT NULL,
    place integer NOT NULL,
    CONSTRAINT reminder_target_pkey PRIMARY KEY (reminder_id, target_id),
    CONSTRAINT reminder_target_reminder_id_fkey FOREIGN KEY (reminder_id) REFERENCES reminder(id) ON DELETE CASCADE,
    CONSTRAINT reminder_target_target_id_fkey FOREIGN KEY (target_id) REFERENCES target(id) ON DELETE CASCADE
);
CREATE INDEX reminder_target_target ON public.reminder_target USING btree (target_id);

CREATE TABLE removed_channel (
    platform text NOT NULL,
    key text NOT NULL,
    scope text NOT NULL,
    removed_at timestamp with time zone NOT NULL,
    CONSTRAINT removed_channel_pkey PRIMARY KEY (platform, key, scope)
);

CREATE TABLE reread (
    channel_id uuid NOT NULL,
    unheard_since timestamp with time zone NOT NULL,
    due_at timestamp with time zone,
    seq bigint NOT NULL DEFAULT 1,
    attempts integer NOT NULL DEFAULT 0,
    began_at timestamp with time zone,
    bound bigint,
    lenses text[] NOT NULL DEFAULT '{}'::text[],
    below bigint,
    CONSTRAINT reread_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT reread_pkey PRIMARY KEY (channel_id)
);
CREATE INDEX reread_due ON public.reread USING btree (due_at);

CREATE TABLE room_reservation (
    machine text NOT NULL,
    key text NOT NULL,
    size_bytes bigint NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT room_reservation_pkey PRIMARY KEY (machine, key),
    CONSTRAINT room_reservation_size_bytes_check CHECK ((size_bytes >= 0))
);

CREATE TABLE run (
    id uuid NOT NULL,
    reminder_id uuid,
    remainder_of uuid,
    account_id uuid,
    account_name text NOT NULL,
    trigger text NOT NULL,
    title text NOT NULL,
    fire_at timestamp with time zone NOT NULL,
    zone text NOT NULL,
    window_start integer NOT NULL,
    window_end integer NOT NULL,
    at_close text NOT NULL,
    state text NOT NULL DEFAULT 'waiting'::text,
    reason text NOT NULL DEFAULT ''::text,
    paused_by text,
    opens_at timestamp with time zone NOT NULL,
    closes_at timestamp with time zone,
    due_at timestamp with time zone,
    served_at timestamp with time zone,
    priority integer NOT NULL DEFAULT 0,
    carried integer NOT NULL DEFAULT 0,
    joined integer NOT NULL DEFAULT 0,
    limit_signals integer NOT NULL DEFAULT 0,
    total integer NOT NULL DEFAULT 0,
    summary text NOT NULL DEFAULT ''::text,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    CONSTRAINT run_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE SET NULL,
    CONSTRAINT run_at_close_check CHECK ((at_close = ANY (ARRAY['stop'::text, 'carry'::text]))),
    CONSTRAINT run_paused_by_check CHECK ((paused_by = ANY (ARRAY['person'::text, 'account'::text]))),
    CONSTRAINT run_pkey PRIMARY KEY (id),
    CONSTRAINT run_remainder_of_fkey FOREIGN KEY (remainder_of) REFERENCES run(id) ON DELETE SET NULL,
    CONSTRAINT run_reminder_id_fkey FOREIGN KEY (reminder_id) REFERENCES reminder(id) ON DELETE CASCADE,
    CONSTRAINT run_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'running'::text, 'paused'::text, 'success'::text, 'partial'::text, 'failed'::text, 'cancelled'::text, 'missed'::text]))),
    CONSTRAINT run_trigger_check CHECK ((trigger = ANY (ARRAY['schedule'::text, 'person'::text, 'test'::text, 'remainder'::text, 'library'::text])))
);
CREATE INDEX run_active ON public.run USING btree (account_id) WHERE (state = ANY (ARRAY['waiting'::text, 'running'::text, 'paused'::text]));
CREATE INDEX run_due ON public.run USING btree (due_at);
CREATE INDEX run_history ON public.run USING btree (reminder_id, created_at DESC, id DESC);
CREATE INDEX run_library ON public.run USING btree (account_id, served_at) WHERE (trigger = 'library'::text);
CREATE INDEX run_newest ON public.run USING btree (created_at DESC, id DESC);
CREATE INDEX run_remainder ON public.run USING btree (remainder_of);
CREATE INDEX run_sender ON public.run USING btree (account_id) WHERE (due_at IS NOT NULL);
CREATE UNIQUE INDEX run_fire ON public.run USING btree (reminder_id, fire_at) WHERE (trigger = 'schedule'::text);

CREATE TABLE run_part (
    run_id uuid NOT NULL,
    number integer NOT NULL,
    text text NOT NULL,
    media_id uuid,
    forward_stream text NOT NULL DEFAULT ''::text,
    forward_key text NOT NULL DEFAULT ''::text,
    volumes integer[] NOT NULL DEFAULT '{}'::integer[],
    CONSTRAINT run_part_media_id_fkey FOREIGN KEY (media_id) REFERENCES media(id),
    CONSTRAINT run_part_pkey PRIMARY KEY (run_id, number),
    CONSTRAINT run_part_run_id_fkey FOREIGN KEY (run_id) REFERENCES run(id) ON DELETE CASCADE
);
CREATE INDEX run_part_media ON public.run_part USING btree (media_id);

CREATE TABLE scan (
    id uuid NOT NULL,
    channel_id uuid NOT NULL,
    account_id uuid,
    trigger text NOT NULL,
    reason text NOT NULL,
    direction text NOT NULL DEFAULT 'both'::text,
    page_limit integer NOT NULL DEFAULT 100,
    auto_continue boolean NOT NULL DEFAULT true,
    status text NOT NULL DEFAULT 'QUEUED'::text,
    error_message text NOT NULL DEFAULT ''::text,
    due_at timestamp with time zone,
    bound bigint,
    head_asked_at timestamp with time zone,
    ranges int8multirange NOT NULL DEFAULT '{}'::int8multirange,
    pages integer NOT NULL DEFAULT 0,
    messages integer NOT NULL DEFAULT 0,
    items integer NOT NULL DEFAULT 0,
    head_calls integer NOT NULL DEFAULT 0,
    read_calls integer NOT NULL DEFAULT 0,
    queued_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    CONSTRAINT scan_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE SET NULL,
    CONSTRAINT scan_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES stream(channel_id) ON DELETE CASCADE,
    CONSTRAINT scan_direction_check CHECK ((direction = ANY (ARRAY['both'::text, 'forward'::text, 'backward'::text]))),
    CONSTRAINT scan_page_limit_check CHECK ((page_limit > 0)),
    CONSTRAINT scan_pkey PRIMARY KEY (id),
    CONSTRAINT scan_status_check CHECK ((status = ANY (ARRAY['QUEUED'::text, 'RUNNING'::text, 'SUCCEEDED'::text, 'CANCELLED'::text, 'FAILED'::text]))),
    CONSTRAINT scan_trigger_check CHECK ((trigger = ANY (ARRAY['schedule'::text, 'person'::text, 'reset'::text])))
);
CREATE INDEX scan_due ON public.scan USING btree (due_at) WHERE (status = ANY (ARRAY['QUEUED'::text, 'RUNNING'::text]));
CREATE INDEX scan_ended ON public.scan USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX scan_history ON public.scan USING btree (channel_id, queued_at DESC, id DESC);
CREATE UNIQUE INDEX scan_active ON public.scan USING btree (channel_id) WHERE (status = ANY (ARRAY['QUEUED'::text, 'RUNNING'::text]));

CREATE TABLE search_document (
    id uuid NOT NULL,
    is_group boolean NOT NULL,
    slice integer NOT NULL,
    posted_at timestamp with time zone NOT NULL,
    names tsvector NOT NULL,
    words tsvector NOT NULL,
    CONSTRAINT search_document_pkey PRIMARY KEY (id)
);
CREATE INDEX search_document_words ON public.search_document USING gin (words) WITH (fastupdate=off);

CREATE TABLE search_due (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    ids uuid[] NOT NULL,
    CONSTRAINT search_due_pkey PRIMARY KEY (id)
);

CREATE TABLE search_index (
    only_row boolean NOT NULL DEFAULT true,
    reindex_after uuid,
    reindexed bigint NOT NULL DEFAULT 0,
    CONSTRAINT search_index_only_row_check CHECK (only_row),
    CONSTRAINT search_index_pkey PRIMARY KEY (only_row)
);

CREATE TABLE search_slice (
    number integer NOT NULL,
    since timestamp with time zone NOT NULL,
    documents integer NOT NULL,
    CONSTRAINT search_slice_pkey PRIMARY KEY (number)
);

CREATE TABLE search_word (
    word text NOT NULL,
    variants integer[] NOT NULL,
    stale boolean NOT NULL DEFAULT false,
    CONSTRAINT search_word_pkey PRIMARY KEY (word)
);
CREATE INDEX search_word_stale ON public.search_word USING btree (word) WHERE stale;
CREATE INDEX search_word_variants ON public.search_word USING gin (variants) WITH (fastupdate=off);

CREATE TABLE secret (
    owner text NOT NULL,
    name text NOT NULL,
    key_id text NOT NULL,
    ciphertext bytea NOT NULL,
    CONSTRAINT secret_pkey PRIMARY KEY (owner, name)
);

CREATE TABLE seen_channel (
    account_id uuid NOT NULL,
    key text NOT NULL,
    first_at timestamp with time zone NOT NULL,
    CONSTRAINT seen_channel_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT seen_channel_pkey PRIMARY KEY (account_id, key)
);

CREATE TABLE send_request (
    id uuid NOT NULL,
    item_id uuid NOT NULL,
    target_id uuid NOT NULL,
    account_id uuid,
    account_name text NOT NULL,
    user_id uuid,
    rule_id uuid,
    state text NOT NULL DEFAULT 'waiting'::text,
    verification text NOT NULL DEFAULT ''::text,
    verify_at timestamp with time zone,
    verify_tries integer NOT NULL DEFAULT 0,
    way text NOT NULL DEFAULT ''::text,
    forward_refused boolean NOT NULL DEFAULT false,
    reason text NOT NULL DEFAULT ''::text,
    asked_at timestamp with time zone,
    due_at timestamp with time zone,
    run_id uuid,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT send_request_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE SET NULL,
    CONSTRAINT send_request_check CHECK (((due_at IS NOT NULL) = (state = 'waiting'::text))),
    CONSTRAINT send_request_item_id_fkey FOREIGN KEY (item_id) REFERENCES item(id) ON DELETE CASCADE,
    CONSTRAINT send_request_pkey PRIMARY KEY (id),
    CONSTRAINT send_request_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES send_rule(id) ON DELETE SET NULL,
    CONSTRAINT send_request_run_id_fkey FOREIGN KEY (run_id) REFERENCES run(id) ON DELETE SET NULL,
    CONSTRAINT send_request_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'queued'::text, 'sent'::text, 'failed'::text, 'uncertain'::text, 'cancelled'::text]))),
    CONSTRAINT send_request_target_id_fkey FOREIGN KEY (target_id) REFERENCES target(id) ON DELETE CASCADE,
    CONSTRAINT send_request_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE SET NULL,
    CONSTRAINT send_request_verification_check CHECK ((verification = ANY (ARRAY[''::text, 'due'::text, 'found'::text, 'missing'::text]))),
    CONSTRAINT send_request_way_check CHECK ((way = ANY (ARRAY[''::text, 'forward'::text, 'upload'::text, 'text'::text])))
);
CREATE INDEX send_request_account ON public.send_request USING btree (account_id);
CREATE INDEX send_request_due ON public.send_request USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX send_request_item ON public.send_request USING btree (item_id, created_at DESC, id DESC);
CREATE INDEX send_request_newest ON public.send_request USING btree (created_at DESC, id DESC);
CREATE INDEX send_request_rule ON public.send_request USING btree (rule_id);
CREATE INDEX send_request_run ON public.send_request USING btree (run_id);
CREATE INDEX send_request_target ON public.send_request USING btree (target_id);
CREATE INDEX send_request_user ON public.send_request USING btree (user_id);
CREATE INDEX send_request_verify ON public.send_request USING btree (verify_at) WHERE (verify_at IS NOT NULL);
CREATE UNIQUE INDEX send_request_open ON public.send_request USING btree (item_id, target_id) WHERE (state = ANY (ARRAY['waiting'::text, 'queued'::text, 'uncertain'::text]));

CREATE TABLE send_rule (
    id uuid NOT NULL,
    name text NOT NULL,
    query text NOT NULL,
    target_id uuid NOT NULL,
    account_id uuid,
    user_id uuid,
    enabled boolean NOT NULL DEFAULT false,
    enabled_at timestamp with time zone,
    backfill boolean NOT NULL DEFAULT false,
    sweeping boolean NOT NULL DEFAULT false,
    sweep_after uuid,
    due_at timestamp with time zone,
    wake_seq bigint NOT NULL DEFAULT 1,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT send_rule_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE SET NULL,
    CONSTRAINT send_rule_check CHECK (((due_at IS NOT NULL) = sweeping)),
    CONSTRAINT send_rule_name_key UNIQUE (name),
    CONSTRAINT send_rule_pkey PRIMARY KEY (id),
    CONSTRAINT send_rule_target_id_fkey FOREIGN KEY (target_id) REFERENCES target(id) ON DELETE CASCADE,
    CONSTRAINT send_rule_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE SET NULL
);
CREATE INDEX send_rule_account ON public.send_rule USING btree (account_id);
CREATE INDEX send_rule_target ON public.send_rule USING btree (target_id);
CREATE INDEX send_rule_user ON public.send_rule USING btree (user_id);

CREATE TABLE send_rule_queue (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    item_ids uuid[] NOT NULL,
    CONSTRAINT send_rule_queue_pkey PRIMARY KEY (id)
);

CREATE TABLE sender (
    account_id uuid NOT NULL,
    group_concurrency integer,
    saturated_since timestamp with time zone,
    saturated_until timestamp with time zone,
    pace_seq bigint NOT NULL DEFAULT 0,
    CONSTRAINT sender_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT sender_group_concurrency_check CHECK (((group_concurrency >= 1) AND (group_concurrency <= 10))),
    CONSTRAINT sender_pkey PRIMARY KEY (account_id)
);

CREATE TABLE series (
    id uuid NOT NULL,
    title text NOT NULL,
    numbers_reset boolean NOT NULL DEFAULT false,
    latest_order text,
    latest_chapter text NOT NULL DEFAULT ''::text,
    latest_published_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT series_pkey PRIMARY KEY (id)
);
CREATE INDEX series_title ON public.series USING btree (lower(title), id);

CREATE TABLE series_source (
    series_id uuid NOT NULL,
    channel_id uuid NOT NULL,
    pattern text NOT NULL DEFAULT ''::text,
    language text NOT NULL DEFAULT ''::text,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT series_source_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES listing(channel_id) ON DELETE CASCADE,
    CONSTRAINT series_source_pkey PRIMARY KEY (series_id, channel_id),
    CONSTRAINT series_source_series_id_fkey FOREIGN KEY (series_id) REFERENCES series(id) ON DELETE CASCADE
);
CREATE INDEX series_source_channel ON public.series_source USING btree (channel_id);

CREATE TABLE setup_link (
    token_hash bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT setup_link_pkey PRIMARY KEY (token_hash)
);

CREATE TABLE shelf (
    id uuid NOT NULL,
    group_id uuid,
    item_id uuid NOT NULL,
    content_hash bytea,
    name text NOT NULL,
    name_key text NOT NULL,
    kind text NOT NULL,
    type text NOT NULL,
    size_bytes bigint NOT NULL,
    min_bytes bigint NOT NULL,
    max_bytes bigint NOT NULL,
    oldest_at timestamp with time zone NOT NULL,
    file_count bigint NOT NULL,
    member_count integer NOT NULL,
    content_count integer NOT NULL,
    tags text[] NOT NULL,
    creators text[] NOT NULL,
    channel_ids uuid[] NOT NULL,
    cover_item_id uuid,
    state text NOT NULL,
    problem boolean NOT NULL,
    sort_at timestamp with time zone NOT NULL,
    facets integer[] NOT NULL,
    dated_facets integer[] NOT NULL,
    CONSTRAINT shelf_pkey PRIMARY KEY (id),
    CONSTRAINT shelf_state_check CHECK ((state = ANY (ARRAY['stored'::text, 'waiting'::text, 'partial'::text, 'listed'::text, 'dropped'::text])))
);
CREATE INDEX shelf_content ON public.shelf USING btree (content_hash) WHERE (content_hash IS NOT NULL);
CREATE INDEX shelf_facets ON public.shelf USING gin (facets) WITH (fastupdate='on', gin_pending_list_limit='256');
CREATE INDEX shelf_name ON public.shelf USING btree (name_key, id);
CREATE INDEX shelf_newest ON public.shelf USING btree (sort_at, id);
CREATE INDEX shelf_parts ON public.shelf USING btree (min_bytes) INCLUDE (id, max_bytes, size_bytes) WHERE ((min_bytes <> size_bytes) OR (max_bytes <> size_bytes));
CREATE INDEX shelf_size ON public.shelf USING btree (size_bytes, id);
CREATE INDEX shelf_spread ON public.shelf USING btree (sort_at, id) INCLUDE (oldest_at) WHERE ((sort_at - oldest_at) > '01:00:00'::interval);

CREATE TABLE shelf_facet (
    facet integer NOT NULL,
    sort_at timestamp with time zone NOT NULL,
    shelf_id uuid NOT NULL,
    name_key text NOT NULL,
    size_bytes bigint NOT NULL,
    CONSTRAINT shelf_facet_pkey PRIMARY KEY (facet, sort_at, shelf_id) INCLUDE (name_key, size_bytes)
);

CREATE TABLE shelf_queue (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    item_ids uuid[] NOT NULL DEFAULT '{}'::uuid[],
    group_ids uuid[] NOT NULL DEFAULT '{}'::uuid[],
    CONSTRAINT shelf_queue_pkey PRIMARY KEY (id)
);

CREATE TABLE sighting (
    id uuid NOT NULL,
    channel_id uuid NOT NULL,
    message_key text NOT NULL,
    attachment_key text NOT NULL,
    position bigint NOT NULL,
    topic text NOT NULL DEFAULT ''::text,
    url text NOT NULL DEFAULT ''::text,
    file_name text NOT NULL,
    size_bytes bigint NOT NULL,
    mime_type text NOT NULL,
    content_id text NOT NULL DEFAULT ''::text,
    sent_at timestamp with time zone NOT NULL,
    version_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    verdict text NOT NULL,
    settings_hash text NOT NULL DEFAULT ''::text,
    mark bigint,
    deleted_at timestamp with time zone,
    counted boolean NOT NULL DEFAULT false,
    missed boolean NOT NULL DEFAULT false,
    item_id uuid,
    volume_key text NOT NULL DEFAULT ''::text,
    author_key text NOT NULL DEFAULT ''::text,
    assembled boolean NOT NULL DEFAULT false,
    evidence text NOT NULL DEFAULT 'none'::text,
    CONSTRAINT sighting_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT sighting_channel_id_message_key_attachment_key_key UNIQUE (channel_id, message_key, attachment_key),
    CONSTRAINT sighting_evidence_check CHECK ((evidence = ANY (ARRAY['none'::text, 'volume'::text, 'whole'::text]))),
    CONSTRAINT sighting_item_id_fkey FOREIGN KEY (item_id) REFERENCES item(id) ON DELETE SET NULL,
    CONSTRAINT sighting_pkey PRIMARY KEY (id)
);
CREATE INDEX sighting_item ON public.sighting USING btree (item_id);
CREATE INDEX sighting_judged ON public.sighting USING btree (channel_id, topic, settings_hash);
CREATE INDEX sighting_position ON public.sighting USING btree (channel_id, "position");
CREATE INDEX sighting_volume ON public.sighting USING btree (channel_id, volume_key, author_key, "position") WHERE (volume_key <> ''::text);
CREATE INDEX sighting_waiting ON public.sighting USING btree (channel_id, id) WHERE ((verdict = 'kept'::text) AND (item_id IS NULL) AND (NOT missed) AND (NOT assembled));

CREATE TABLE stream (
    channel_id uuid NOT NULL,
    reader_id uuid,
    floor bigint NOT NULL DEFAULT 0,
    sampled_floor bigint,
    head bigint,
    head_checked_at timestamp with time zone,
    head_key text NOT NULL DEFAULT ''::text,
    head_at timestamp with time zone,
    epoch integer NOT NULL DEFAULT 1,
    lenses text[] NOT NULL DEFAULT '{everything}'::text[],
    tip_from bigint,
    tip_after timestamp with time zone,
    due_at timestamp with time zone,
    planned_at timestamp with time zone,
    reason text NOT NULL DEFAULT 'never_scanned'::text,
    wake_seq bigint NOT NULL DEFAULT 0,
    woken boolean NOT NULL DEFAULT false,
    tier text NOT NULL DEFAULT 'WARM'::text,
    tier_pinned boolean NOT NULL DEFAULT false,
    arrival_rate double precision NOT NULL DEFAULT 0,
    rated_at timestamp with time zone,
    idle_scans integer NOT NULL DEFAULT 0,
    verify_s double precision NOT NULL DEFAULT 0,
    idle_at timestamp with time zone,
    scanned_at timestamp with time zone,
    message_count bigint NOT NULL DEFAULT 0,
    total_messages_scanned bigint NOT NULL DEFAULT 0,
    head_checks bigint NOT NULL DEFAULT 0,
    reads bigint NOT NULL DEFAULT 0,
    reads_saved bigint NOT NULL DEFAULT 0,
    CONSTRAINT stream_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT stream_pkey PRIMARY KEY (channel_id),
    CONSTRAINT stream_reader_id_fkey FOREIGN KEY (reader_id) REFERENCES account(id) ON DELETE SET NULL,
    CONSTRAINT stream_tier_check CHECK ((tier = ANY (ARRAY['HOT'::text, 'WARM'::text, 'COLD'::text])))
);
CREATE INDEX stream_due ON public.stream USING btree (reader_id, due_at);
CREATE INDEX stream_planned ON public.stream USING btree (planned_at);

CREATE TABLE target (
    id uuid NOT NULL,
    platform text NOT NULL,
    key text NOT NULL,
    title text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT target_pkey PRIMARY KEY (id),
    CONSTRAINT target_platform_key_key UNIQUE (platform, key)
);
CREATE INDEX target_title ON public.target USING btree (lower(title), id);

CREATE TABLE target_account (
    account_id uuid NOT NULL,
    target_id uuid NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    gone_at timestamp with time zone,
    CONSTRAINT target_account_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT target_account_pkey PRIMARY KEY (account_id, target_id),
    CONSTRAINT target_account_target_id_fkey FOREIGN KEY (target_id) REFERENCES target(id) ON DELETE CASCADE
);
CREATE INDEX target_account_target ON public.target_account USING btree (target_id);

CREATE TABLE target_list (
    id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT target_list_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX target_list_name ON public.target_list USING btree (lower(name));

CREATE TABLE target_list_member (
    list_id uuid NOT NULL,
    target_id uuid NOT NULL,
    place integer NOT NULL,
    CONSTRAINT target_list_member_list_id_fkey FOREIGN KEY (list_id) REFERENCES target_list(id) ON DELETE CASCADE,
    CONSTRAINT target_list_member_pkey PRIMARY KEY (list_id, target_id),
    CONSTRAINT target_list_member_target_id_fkey FOREIGN KEY (target_id) REFERENCES target(id) ON DELETE CASCADE
);
CREATE INDEX target_list_member_target ON public.target_list_member USING btree (target_id);

CREATE TABLE tier_change (
    channel_id uuid NOT NULL,
    number integer NOT NULL,
    at timestamp with time zone NOT NULL,
    from_tier text NOT NULL,
    to_tier text NOT NULL,
    reason text NOT NULL,
    CONSTRAINT tier_change_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES listing(channel_id) ON DELETE CASCADE,
    CONSTRAINT tier_change_pkey PRIMARY KEY (channel_id, number)
);

CREATE TABLE topic (
    channel_id uuid NOT NULL,
    key text NOT NULL,
    title text NOT NULL,
    message_scan_enabled boolean NOT NULL DEFAULT true,
    settings jsonb NOT NULL DEFAULT '{}'::jsonb,
    created_at timestamp with time zone NOT NULL,
    gone_at timestamp with time zone,
    CONSTRAINT topic_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT topic_pkey PRIMARY KEY (channel_id, key)
);

CREATE TABLE upload (
    account_id uuid NOT NULL,
    media_id uuid NOT NULL,
    handle text NOT NULL,
    uploaded_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    CONSTRAINT upload_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT upload_media_id_fkey FOREIGN KEY (media_id) REFERENCES media(id) ON DELETE CASCADE,
    CONSTRAINT upload_pkey PRIMARY KEY (account_id, media_id)
);
CREATE INDEX upload_media ON public.upload USING btree (media_id);

CREATE TABLE upload_intent (
    id uuid NOT NULL,
    sha256 bytea NOT NULL,
    size_bytes bigint NOT NULL,
    object_name text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT upload_intent_object_name_key UNIQUE (object_name),
    CONSTRAINT upload_intent_pkey PRIMARY KEY (id),
    CONSTRAINT upload_intent_sha256_check CHECK ((octet_length(sha256) = 32)),
    CONSTRAINT upload_intent_size_bytes_check CHECK ((size_bytes >= 0))
);
CREATE INDEX upload_intent_expires ON public.upload_intent USING btree (expires_at);

CREATE TABLE user_session (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    token_hash bytea NOT NULL,
    user_agent text NOT NULL,
    address text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT user_session_pkey PRIMARY KEY (id),
    CONSTRAINT user_session_token_hash_key UNIQUE (token_hash),
    CONSTRAINT user_session_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);
CREATE INDEX user_session_expires ON public.user_session USING btree (expires_at);
CREATE INDEX user_session_user ON public.user_session USING btree (user_id);

CREATE TABLE user_target (
    user_id uuid NOT NULL,
    target_id uuid NOT NULL,
    account_id uuid,
    CONSTRAINT user_target_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE SET NULL,
    CONSTRAINT user_target_pkey PRIMARY KEY (user_id),
    CONSTRAINT user_target_target_id_fkey FOREIGN KEY (target_id) REFERENCES target(id) ON DELETE CASCADE,
    CONSTRAINT user_target_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);
CREATE INDEX user_target_account ON public.user_target USING btree (account_id);
CREATE INDEX user_target_target ON public.user_target USING btree (target_id);

CREATE TABLE volume_bucket (
    channel_id uuid NOT NULL,
    volume_key text NOT NULL,
    author_key text NOT NULL,
    due_at timestamp with time zone,
    changed_from bigint,
    changed_to bigint,
    CONSTRAINT volume_bucket_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT volume_bucket_pkey PRIMARY KEY (channel_id, volume_key, author_key)
);
CREATE INDEX volume_bucket_due ON public.volume_bucket USING btree (channel_id, due_at) WHERE (due_at IS NOT NULL);

CREATE TABLE volume_choice (
    sighting_id uuid NOT NULL,
    item_id uuid,
    volume_key text NOT NULL,
    author_key text NOT NULL,
    CONSTRAINT volume_choice_item_id_fkey FOREIGN KEY (item_id) REFERENCES item(id) ON DELETE CASCADE,
    CONSTRAINT volume_choice_pkey PRIMARY KEY (sighting_id),
    CONSTRAINT volume_choice_sighting_id_fkey FOREIGN KEY (sighting_id) REFERENCES sighting(id) ON DELETE CASCADE
);
CREATE INDEX volume_choice_bucket ON public.volume_choice USING btree (volume_key, author_key);
CREATE INDEX volume_choice_item ON public.volume_choice USING btree (item_id) WHERE (item_id IS NOT NULL);

CREATE TABLE watch (
    channel_id uuid NOT NULL,
    account_id uuid NOT NULL,
    failures integer NOT NULL DEFAULT 0,
    opened integer NOT NULL DEFAULT 0,
    open_until timestamp with time zone,
    error_class text NOT NULL DEFAULT ''::text,
    error_message text NOT NULL DEFAULT ''::text,
    failed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT watch_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT watch_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel(id) ON DELETE CASCADE,
    CONSTRAINT watch_pkey PRIMARY KEY (channel_id, account_id)
);
CREATE INDEX watch_account ON public.watch USING btree (account_id);
