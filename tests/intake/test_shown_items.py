"""Items are shown while something of them is kept, whichever way their sightings change."""

from __future__ import annotations

from bench import Bench

from headgate.domain.streams.messages import LiveEvent
from headgate.storage.channels import intake_settings
from headgate.testing import file_of


async def set_channel(bench: Bench, **settings: object) -> None:
    stream = await bench.stream()
    async with bench.database.transaction() as tx:
        await intake_settings.set_channel(tx, stream.id, settings, now=bench.clock.now())


async def shown(bench: Bench) -> list[str]:
    async with bench.database.transaction() as tx:
        rows = await tx.raw("select title from item where not hidden order by title")
    return [row["title"] for row in rows]


async def test_a_message_that_is_read_again_before_it_is_judged_again_hides_its_item(bench: Bench) -> None:
    bench.world.post("packs", files=[file_of("picture.jpg", b"x", mime_type="image/jpeg")])
    pack = bench.world.post("packs", files=[file_of("pack.zip", b"y")])
    bench.clock.advance(60)
    await bench.follow()
    await bench.work()
    await set_channel(bench, extensions=["jpg"])
    live = await bench.live()
    # It comes once more, perhaps by another page, and is judged by the new settings then and there.
    live.take(_again(bench, pack.key))
    await live.flush()
    await bench.work()
    assert await shown(bench) == ["picture"]


async def test_hidden_content_that_is_posted_again_where_it_is_kept_is_shown(bench: Bench) -> None:
    pack = file_of("pack.zip", b"y")
    bench.world.post("packs", text="by ada", files=[pack], author="ada")
    bench.clock.advance(60)
    await bench.follow()
    await bench.work()
    await set_channel(bench, excluded_authors=["ada"])
    await bench.work()
    assert await shown(bench) == []
    again = bench.world.post("packs", text="by ben", files=[pack], author="ben")
    live = await bench.live()
    live.take(_again(bench, again.key))
    await live.flush()
    await bench.work()
    assert await shown(bench) == ["pack"]


async def test_an_item_whose_message_was_edited_into_another_stays(bench: Bench) -> None:
    message = bench.world.post("packs", files=[file_of("first.zip", b"y")])
    bench.clock.advance(60)
    await bench.follow()
    await bench.work()
    bench.world.edit("packs", message.key, files=[file_of("second.zip", b"z")])
    live = await bench.live()
    live.take(_again(bench, message.key))
    await live.flush()
    await bench.work()
    assert await shown(bench) == ["first", "second"]


def _again(bench: Bench, key: str) -> LiveEvent:
    message = bench.world.tell(bench.world.row("packs", key))
    return LiveEvent("message", "packs", message, key=key)
