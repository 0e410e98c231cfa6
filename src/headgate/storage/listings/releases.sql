-- name: list_changed
-- Which of some listings' entries are not known, or not so, be they releases or posts: the places in the list. Nothing is
-- written. Each is looked up by its key, however many there are.
select e.n
from unnest(%(whose)s::int[], %(entry_keys)s::text[], %(fingerprints)s::bigint[])
    with ordinality as e (whose, key, fingerprint, n)
left join lateral (
    select r.fingerprint, r.removed_at from release r
    where r.channel_id = (%(channel_ids)s::uuid[])[e.whose] and r.entry_key = e.key
    limit 1
) as known on true
left join lateral (
    -- Not an anti-join, which the planner would answer with a scan of all sightings.
    select s.mark from sighting s
    where s.channel_id = (%(channel_ids)s::uuid[])[e.whose] and s.message_key = e.key and s.attachment_key = 'entry'
      and s.deleted_at is null
    limit 1
) as posted on true
where (known.fingerprint is distinct from e.fingerprint or known.removed_at is not null)
  and posted.mark is distinct from e.fingerprint
order by e.n

-- name: list_missing
-- Releases that a whole answer does not have any more.
select r.entry_key from release r
where r.channel_id = %(channel_id)s and r.removed_at is null
  and not exists (select from unnest(%(entry_keys)s::text[]) as e (key) where e.key = r.entry_key)

-- name: mark_removed
-- They stay, marked: what was told of them stays true. What was told since the look began is not missing: the answer
-- may be older than it.
update release set removed_at = %(now)s
where channel_id = %(channel_id)s and entry_key = any(%(entry_keys)s) and removed_at is null
  and told_seq <= %(notified_before)s
returning chapter_id

-- name: leave_chapters
-- What follows for chapters, the latest of them, and marks of what is read.
select headgate_leave_chapters(%(chapter_ids)s::uuid[], '{}')

-- name: take_releases
-- New and changed entries, with all that follows from them.
select of_channel as channel_id, news_rows
from headgate_take_releases(
    %(channel_ids)s::uuid[], %(series_ids)s::uuid[], %(chapter_ids)s::uuid[], %(chapter_keys)s::text[],
    %(places)s::text[], %(numbers)s::text[], %(volumes)s::text[], %(chapter_titles)s::text[], %(release_ids)s::uuid[],
    %(entry_keys)s::text[], %(titles)s::text[], %(urls)s::text[], %(languages)s::text[], %(scan_groups)s::text[],
    %(externals)s::boolean[], %(published)s::timestamptz[], %(fingerprints)s::bigint[], %(first_polls)s::boolean[],
    %(identities)s::bigint[], %(now)s::timestamptz)

-- name: note_bad_entries
-- An entry that cannot be understood waits for a look that can; seeing it again is no news.
insert into miss (id, channel_id, message_key, attachment_key, stage, error_class, error_message, attempts, state,
                  first_at, last_at)
select n.id, n.channel_id, n.key, '', 'entry', 'Malformed', n.reason, 1, 'open', %(now)s, %(now)s
from unnest(%(ids)s::uuid[], %(channel_ids)s::uuid[], %(keys)s::text[], %(reasons)s::text[]) as n (id, channel_id, key, reason)
order by n.channel_id, n.key
on conflict (channel_id, message_key, attachment_key) do nothing

-- name: clear_bad_entries
-- The answer has them no more, or they are understood now.
delete from miss
where channel_id = %(channel_id)s and stage = 'entry' and message_key <> all(%(keys)s::text[])
