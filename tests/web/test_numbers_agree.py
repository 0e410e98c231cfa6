"""Figures that several places show are the same in all of them, at every moment of a history."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from bench import Bench, build_bench
from figures import Places
from stream_figures import STREAM
from webworld import WebWorld

from headgate.intake.channels import requests
from headgate.storage.channels.requests import ScanWish
from headgate.testing import PRESETS, file_of
from headgate.testing.platform.errors import SimTimeout

pytestmark = pytest.mark.usefixtures("settings_of_commands")


@pytest.fixture
async def lensed(database_url: str, world: WebWorld) -> AsyncIterator[Bench]:
    """The product on the database of the pages, on a platform that can be asked for documents alone."""
    bench = build_bench(world.database, database_url, PRESETS["telegram_like"])
    yield bench
    await bench.close()


@pytest.mark.long
async def test_what_was_read_is_the_same_number_everywhere(world: WebWorld, lensed: Bench) -> None:
    bench = lensed
    bench.world.fill("packs", 120, shape="archive")
    for number in range(5):
        picture = file_of(f"{number}.png", f"p{number}".encode(), mime_type="image/png")
        bench.world.post("packs", files=[picture])
        bench.world.post("packs", text="chat")
    broken = bench.world.post("packs", files=[file_of("broken.zip", b"x")])
    bench.world.garble("packs", broken.key)
    await bench.follow()
    async with world.signed_in() as client:
        places = Places(client, world.database, bench.clock, {"channel": "packs"})
        assert (await places.compare(STREAM))["messages read"] == 0
        await bench.set(extensions=["zip"], fetch="none")
        while bench.calls("read") < 1:
            await bench.step()
        assert not (await places.compare(STREAM))["complete"]
        await bench.catch_up()
        assert (await places.compare(STREAM))["share"] == "100 %"
        bench.fail("read.before_effect", SimTimeout("read"))
        await bench.set(mime_types=["image/*"])
        await bench.work()
        bench.mend()
        assert (await places.compare(STREAM))["share"] == "0 %"
        for _ in range(3):
            await bench.rest()
        read = (await places.compare(STREAM))["messages read"]
        assert read == 125
        stream = await bench.stream()
        await bench.do(
            lambda tx: requests.reset_scan(
                tx, stream.id, ScanWish(), ids=bench.parts.ids, now=bench.clock.now()
            )
        )
        assert (await places.compare(STREAM))["messages read"] == read
        await bench.catch_up()
        await bench.rest()
        after = await places.compare(STREAM)
        assert (after["messages read"], after["complete"]) == (read, True)
        assert sum(after["calls of the account"].values()) == sum(bench.world.log.counts.values())


async def test_a_sample_is_the_same_part_everywhere(world: WebWorld, lensed: Bench) -> None:
    lensed.world.fill("packs", 300, shape="archive")
    await lensed.follow()
    await lensed.ask(ScanWish(auto_continue=False))
    await lensed.catch_up()
    async with world.signed_in() as client:
        places = Places(client, world.database, lensed.clock, {"channel": "packs"})
        sampled = await places.compare(STREAM)
        assert (sampled["complete"], sampled["floor"]) == (False, 0)
        assert 0 < sampled["items"] < 300
