"""What is said of series, sites, notifications and pushes is the same in all places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from figures import Places
from notification_bench import NewsBench
from notification_figures import NOTIFICATION_FIGURES
from receiver import Receiver, receiving
from series_pages import user_id_of
from series_stage import API, SeriesStage
from webworld import ORIGIN, form_token

from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.lanes import Lanes
from headgate.storage.database import Database
from headgate.testing.platform.errors import SimTimeout

pytestmark = pytest.mark.usefixtures("settings_of_commands")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def telling(database: Database, stage: SeriesStage, receiver: Receiver, tmp_path: Path) -> NewsBench:
    """What tells users of news, and pushes it out."""
    clock = stage.listed.bench.clock
    ids = Ids(clock, Randomness(5))
    return NewsBench(database, clock, ids, Lanes(database, clock), tmp_path, receiver)


class Tale:
    """A history of one series, and what all places say of it."""

    def __init__(self, stage: SeriesStage, telling: NewsBench, client: httpx.AsyncClient) -> None:
        self.stage = stage
        self.telling = telling
        self.places = Places(client, stage.web.database, stage.listed.bench.clock)

    async def compare(self) -> dict[str, Any]:
        """Compare all places after a tick has measured what there is."""
        await self.stage.listed.bench.parts.tick().tick(self.places.clock.now())
        return await self.places.compare(NOTIFICATION_FIGURES)

    async def look(self, *numbers: str) -> None:
        """Publish chapters an hour later, look, and tell who wants to hear of it."""
        listed = self.stage.listed
        await listed.pass_time(hours=1)
        listed.publish("tide", *numbers)
        answer = await self.places.client.post(f"{API}/listings/{self.places.names['listing']}/check")
        assert answer.status_code == 200, answer.text
        await listed.work()
        await self.telling.work()

    async def begin(self) -> None:
        """Follow a series that has two chapters, one of them read, and have a phone to be told on."""
        client, names = self.places.client, self.places.names
        client.headers.update({"x-csrf-token": await form_token(client), "origin": ORIGIN})
        names["series"] = await self.stage.add(client, "tide", "Tidewater", "1", "2")
        found = (await client.get(f"{API}/series/{names['series']}")).json()
        names["listing"] = found["sources"][0]["listing"]["channel_id"]
        followed = await client.post(f"{API}/follows", json={"series_id": names["series"]})
        assert followed.status_code == 201, followed.text
        await client.put(f"{API}/series/{names['series']}/progress", json={"chapter": "1"})
        names["address"] = await self.telling.address(await user_id_of(self.stage.web))
        await self.places.begin()


@pytest.mark.long
async def test_what_was_told_is_the_same_number_everywhere(
    stage: SeriesStage, telling: NewsBench, receiver: Receiver
) -> None:
    async with stage.web.signed_in() as client:
        tale = Tale(stage, telling, client)
        await tale.begin()
        told = await tale.compare()
        assert (told["chapters"], told["unread chapters"], told["unread notifications"]) == (2, 1, 0)
        await tale.look("3", "4", "5")
        told = await tale.compare()
        assert (told["unread notifications"], told["notifications to be pushed"]) == (3, 3)
        await telling.pass_time(120)
        told = await tale.compare()
        assert (told["notifications to be pushed"], len(receiver.taken)) == (0, 1)
        await client.put(f"{API}/series/{tale.places.names['series']}/progress", json={"chapter": "4"})
        told = await tale.compare()
        assert (told["unread chapters"], told["unread notifications"]) == (1, 1)
        receiver.answers += [400]
        await tale.look("6")
        await telling.pass_time(120)
        told = await tale.compare()
        assert (told["pushes"], told["tries to push"]) == (2, 3)


async def test_a_site_that_is_left_alone_is_so_everywhere_and_no_longer_than_it_is(
    stage: SeriesStage, telling: NewsBench
) -> None:
    async with stage.web.signed_in() as client:
        tale = Tale(stage, telling, client)
        await tale.begin()
        stage.listed.bench.fail("list.began", SimTimeout("list"))
        await tale.look()
        while (await stage.listed.host()).open_until is None:
            await stage.listed.pass_time(minutes=5)
            await stage.listed.work()
        told = await tale.compare()
        assert (told["open breakers of sites"], told["state of the source"]) == (1, "site away")
        stage.listed.bench.mend()
        await stage.listed.pass_time(days=2)
        await tale.look("7")
        told = await tale.compare()
        assert (told["open breakers of sites"], told["state of the source"]) == (0, "OK")
