-- name: list_documents
-- As they are stored, to write only what differs.
select id, is_group, slice, posted_at, tsvector_to_array(names) as names, tsvector_to_array(words) as words
from search_document where id = any(%(ids)s::uuid[])

-- name: write_documents
-- A document stays in its slice.
insert into search_document as d (id, is_group, slice, posted_at, names, words)
select w.id, w.is_group, w.slice, w.posted_at,
    array_to_tsvector(string_to_array(w.names, ' ')), array_to_tsvector(string_to_array(w.words, ' '))
from unnest(
    %(id)s::uuid[], %(is_group)s::boolean[], %(slice)s::int[], %(posted_at)s::timestamptz[], %(names)s::text[],
    %(words)s::text[]
) as w (id, is_group, slice, posted_at, names, words)
on conflict (id) do update set
    is_group = excluded.is_group, posted_at = excluded.posted_at, names = excluded.names, words = excluded.words

-- name: delete_documents
-- Of what is hidden, gone or dissolved.
delete from search_document where id = any(%(ids)s::uuid[])

-- name: list_slices
-- The newest first.
select number, since, documents from search_slice order by number desc

-- name: get_newest_slice
-- The one that new documents go into.
select number, since, documents from search_slice order by number desc limit 1

-- name: fill_slice
-- Opens it with its first document.
insert into search_slice as s (number, since, documents) values (%(number)s, %(since)s, %(added)s)
on conflict (number) do update set documents = s.documents + excluded.documents
