"""The rule of what is downloaded, as SQL knows it, against the one in Python."""

from __future__ import annotations

import itertools

from headgate.domain.file_types import PICTURE_ENDINGS
from headgate.domain.library.fetching import FetchRule
from headgate.storage.database import Database
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "fetch rules",
    """
-- name: fetches
select headgate_fetches(n.what, n.max_bytes, n.size_bytes, n.mime_type, n.file_name, %(pictures)s::text[])
from unnest(%(whats)s::text[], %(limits)s::bigint[], %(sizes)s::bigint[], %(types)s::text[],
            %(names)s::text[])
    with ordinality as n (what, max_bytes, size_bytes, mime_type, file_name, place)
order by n.place
""",
)

RULES = [FetchRule(what, limit) for what in ("none", "pictures", "all") for limit in (0, 50)]
TYPES = [
    "",
    "application/octet-stream",
    "IMAGE/PNG",
    "image/svg+xml; charset=utf-8",
    "video/mp4",
    " image/gif ",
]
NAMES = ["", "a.zip", "B.JPG", "c.tar.png", "noending", "trailing.", ".jpg", "d.psd ", "e.jpg.exe"]


async def test_both_want_the_same_files(database: Database) -> None:
    cases = list(itertools.product(RULES, TYPES, NAMES, (0, 50, 51)))
    async with database.transaction() as tx:
        answers = await tx.column(
            Q["fetches"],
            pictures=list(PICTURE_ENDINGS),
            whats=[rule.what for rule, *_ in cases],
            limits=[rule.max_bytes for rule, *_ in cases],
            types=[mime_type for _, mime_type, _, _ in cases],
            names=[name for _, _, name, _ in cases],
            sizes=[size for *_, size in cases],
        )
    for (rule, mime_type, name, size), answer in zip(cases, answers, strict=True):
        expected = rule.wants(mime_type=mime_type, file_name=name, size_bytes=size)
        assert bool(answer) == expected, (rule, mime_type, name, size)
