-- name: add_words
-- A word that lost a document and gets another one is needed again.
insert into search_word as w (word, variants)
select a.word, a.variants::int[] from unnest(%(words)s::text[], %(variants)s::text[]) as a (word, variants)
on conflict (word) do update set stale = false where w.stale

-- name: mark_stale
-- Documents lost these words; others may have them.
update search_word set stale = true where word = any(%(words)s::text[]) and not stale

-- name: list_stale
-- Words to look for in all slices.
select word from search_word where stale order by word limit %(limit)s

-- name: list_used
-- Those of the words that a document has; slices are probed one by one, and the first that has it ends the search.
select w.word from unnest(%(words)s::text[]) as w (word)
where exists (
    select from unnest(%(prefixes)s::text[]) as p (prefix)
    cross join lateral (
        select from search_document d where d.words @@ ('''' || p.prefix || w.word || '''')::tsquery limit 1
    ) as has_it
)

-- name: settle_words
-- Used words are kept, the others forgotten.
with kept as (
    update search_word set stale = false where word = any(%(used)s::text[]) and stale
)
delete from search_word where word = any(%(unused)s::text[]) and stale

-- name: list_known
-- Those of the terms that are words or begin one.
select t.term from unnest(%(terms)s::text[]) as t (term)
where exists (select from search_word w where w.word >= t.term and w.word < t.term || chr(1114111))

-- name: list_alike
-- Words that share letters with what was typed, those of about its length first.
select word from search_word
where variants && %(variants)s::int[] and abs(length(word) - %(length)s) <= %(mistakes)s
order by abs(length(word) - %(length)s), word limit %(limit)s

-- name: list_missing
-- Those of the words that are not known, for whoever verifies the index.
select w.word from unnest(%(words)s::text[]) as w (word)
where not exists (select from search_word k where k.word = w.word)
