"""Which files are wanted, whichever way their messages came and settings changed."""

from __future__ import annotations

from typing import Any

from bench import Bench

from headgate.domain.streams.messages import Message
from headgate.storage.channels import intake_settings
from headgate.storage.queries import QueryFile
from headgate.testing import file_of
from headgate.testing.content.content import SimFile

Q = QueryFile(
    "file wishes",
    """
-- name: files
select s.file_name || ' ' || f.state from item_file f join sighting s on s.id = f.sighting_id order by 1

-- name: priorities
select s.file_name || ' ' || f.priority from item_file f join sighting s on s.id = f.sighting_id order by 1

-- name: lines
select top || ' ' || seq from fetch_line

-- name: drop
update item_file f set state = 'dropped' from sighting s where s.id = f.sighting_id and s.file_name = %(name)s

-- name: ask
update item_file f set asked_at = now() from sighting s where s.id = f.sighting_id and s.file_name = %(name)s

-- name: take
update item_file set taken_by = gen_random_uuid() where state = 'wanted'

-- name: taken
select s.file_name || ' ' || (f.taken_by is not null) from item_file f join sighting s on s.id = f.sighting_id
order by 1

-- name: mark_gone
update item_file set state = 'gone'
""",
)


async def _column(bench: Bench, name: str) -> list[Any]:
    async with bench.database.transaction() as tx:
        return await tx.column(Q[name])


async def _change(bench: Bench, statement: str, **parameters: Any) -> None:
    async with bench.database.transaction() as tx:
        await tx.execute(Q[statement], **parameters)


async def _apply(bench: Bench, **settings: Any) -> None:
    """Set what is kept and downloaded, and let it be judged."""
    await bench.set(**settings)
    await bench.work()


def _post(bench: Bench, *files: SimFile, **options: Any) -> Message:
    return bench.world.post("packs", files=files, **options)


def _zip(name: str, size: int = 1) -> SimFile:
    return file_of(f"{name}.zip", name.encode() * size)


async def test_files_are_wanted_and_links_are_not(bench: Bench) -> None:
    await bench.follow()
    await _apply(bench, link_patterns=["*"])
    await bench.hear(_post(bench, _zip("a"), _zip("b"), links=["https://example.org/1"]))
    assert await _column(bench, "files") == ["a.zip wanted", "b.zip wanted"]
    assert await _column(bench, "lines") == ["10 1"]


async def test_what_was_just_sent_goes_before_the_history(bench: Bench) -> None:
    await bench.follow()
    await bench.hear(_post(bench, _zip("old")))
    bench.clock.advance(3 * 86400)
    await bench.hear(_post(bench, _zip("new")))
    await bench.set(fetch="none")
    await bench.work()
    await _apply(bench)
    assert await _column(bench, "priorities") == ["new.zip 10", "old.zip 0"]


async def test_nothing_is_wanted_where_nothing_is_downloaded(bench: Bench) -> None:
    await bench.follow()
    await _apply(bench, fetch="none")
    await bench.hear(_post(bench, _zip("a")))
    assert await _column(bench, "files") == []
    assert await _column(bench, "lines") == []


async def test_a_change_of_what_is_downloaded_applies_to_what_was_read_before(bench: Bench) -> None:
    await bench.follow()
    await _apply(bench, fetch="none")
    await bench.hear(
        _post(bench, _zip("a"), _zip("b", 1000)),
        _post(bench, file_of("c.png", b"c", mime_type="image/png")),
    )
    for settings, expected in (
        ({"fetch": "pictures"}, ["c.png"]),
        ({"fetch": "all", "fetch_max_bytes": 100}, ["a.zip", "c.png"]),
        ({}, ["a.zip", "b.zip", "c.png"]),
        ({"extensions": ["zip"]}, ["a.zip", "b.zip"]),
        ({"fetch": "none"}, []),
    ):
        await _apply(bench, **settings)
        assert [line.split()[0] for line in await _column(bench, "files")] == expected, settings


async def test_a_topic_has_its_own_rule(bench: Bench) -> None:
    await bench.follow()
    await bench.hear(_post(bench, _zip("a"), topic="busts"), _post(bench, _zip("b")))
    channel_id = (await bench.stream()).id
    settings = {"fetch": "none"}
    await bench.do(
        lambda tx: intake_settings.set_topic(tx, channel_id, "busts", settings, now=bench.clock.now())
    )
    await bench.work()
    assert await _column(bench, "files") == ["b.zip wanted"]


async def test_settings_undo_neither_a_drop_nor_an_ask(bench: Bench) -> None:
    await bench.follow()
    await bench.hear(_post(bench, _zip("asked"), _zip("dropped")))
    await _change(bench, "ask", name="asked.zip")
    await _change(bench, "drop", name="dropped.zip")
    for settings in ({"fetch": "none"}, {"fetch": "all"}, {"extensions": ["rar"]}):
        await _apply(bench, **settings)
        assert await _column(bench, "files") == ["asked.zip wanted", "dropped.zip dropped"], settings


async def test_an_edit_of_the_caption_restarts_no_download_and_another_file_does(bench: Bench) -> None:
    await bench.follow()
    kept = _post(bench, _zip("kept"), text="first")
    replaced = _post(bench, _zip("old"))
    await bench.hear(kept, replaced)
    await _change(bench, "take")
    bench.clock.advance(1)
    bench.world.edit("packs", kept.key, text="second", files=[_zip("kept")])
    bench.world.edit("packs", replaced.key, files=[_zip("new")])
    await bench.hear(*bench.world.messages("packs"))
    assert await _column(bench, "taken") == ["kept.zip true", "new.zip false"]


async def test_a_file_whose_deleted_message_is_back_is_wanted_again(bench: Bench) -> None:
    await bench.follow()
    message = _post(bench, _zip("a"))
    await bench.hear(message)
    await _change(bench, "mark_gone")
    await bench.rows("update sighting set deleted_at = $1", bench.clock.now())
    bench.clock.advance(1)
    await bench.hear(message)
    assert await _column(bench, "files") == ["a.zip wanted"]


async def test_what_had_to_wait_is_wanted_once_it_is_an_item(bench: Bench) -> None:
    await bench.follow()
    await _apply(bench, extensions=["rar"])
    await bench.hear(_post(bench, _zip("a")))
    assert await _column(bench, "files") == []
    await _apply(bench)
    assert await _column(bench, "files") == ["a.zip wanted"]
