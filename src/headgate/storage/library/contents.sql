-- name: list_folder
-- What is directly in a folder, folders first: each with how many files are below it and how large they are together. An
-- archive may name a folder only by what is in it.
with below as (
    select e.*, substr(e.path, length(%(under)s::text) + 1) as rest
    from content_entry e
    where e.item_id = %(item_id)s and starts_with(e.path, %(under)s::text)
), placed as (
    select split_part(rest, '/', 1) as name, strpos(rest, '/') > 0 or is_directory as in_folder, b.* from below b where rest <> ''
), grouped as (
    select name, true as is_folder, null::int as number, count(*) filter (where not is_directory)::int as files,
           coalesce(sum(size_bytes) filter (where not is_directory), 0)::bigint as size_bytes, null::timestamptz as modified_at,
           false as is_encrypted, false as is_link
    from placed where in_folder group by name
    union all
    select name, false, number, 0, size_bytes, modified_at, is_encrypted, is_link from placed where not in_folder
)
select %(under)s::text || name as path, name, is_folder, number, files, size_bytes, modified_at, is_encrypted, is_link
from grouped
order by not is_folder, lower(name), name, number
offset %(skip)s limit %(limit)s

-- name: search_entries
-- Files whose path contains something, in the order of the archive.
select path, path as name, false as is_folder, number, 0 as files, size_bytes, modified_at, is_encrypted, is_link
from content_entry
where item_id = %(item_id)s and not is_directory and path ilike %(pattern)s and starts_with(path, %(under)s::text)
order by number
offset %(skip)s limit %(limit)s

-- name: get_entry
-- One entry by its number.
select path, path as name, is_directory as is_folder, number, 0 as files, size_bytes, modified_at, is_encrypted, is_link
from content_entry where item_id = %(item_id)s and number = %(number)s
