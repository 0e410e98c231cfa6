"""`headgate failed`: what a person sees of failed items, and can do with them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import pytest
from typer.testing import CliRunner, Result

from headgate.cli.channel.failed_items import app
from headgate.domain.errors import UserError
from headgate.kernel.clock import RealClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.database import Database, Tx
from headgate.storage.jobs.engine import list_jobs
from headgate.storage.queries import QueryFile
from headgate.storage.streams.misses import MissSeen, list_misses, note_unreadable

T = TypeVar("T")

PACKS, CLIPS = UUID(int=1), UUID(int=2)
Q = QueryFile(
    "tests of misses",
    """
-- name: channel
insert into channel (id, platform, key, kind, title, created_at)
values (%(id)s, 'simulated', %(title)s, 'stream', %(title)s, %(now)s)

-- name: switch_off
update channel set message_scan_enabled = false where id = %(id)s
""",
)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def remedy_of(result: Result) -> str:
    assert isinstance(result.exception, UserError), result.output
    return f"{result.exception.message} {result.exception.terminal_remedy}"


class Book:
    """The database behind the command: two channels, one with an open miss, one with two abandoned ones."""

    def __init__(self, url: str) -> None:
        self.url = url
        self(self._fill)

    def __call__(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        async def carry_out() -> T:
            database = Database(self.url, RealClock())
            await database.open()
            try:
                async with database.transaction() as tx:
                    return await work(tx)
            finally:
                await database.close()

        return asyncio.run(carry_out())

    async def _fill(self, tx: Tx) -> None:
        now = RealClock().now()
        ids = Ids(RealClock(), Randomness(1))
        for channel_id, title in ((PACKS, "Packs"), (CLIPS, "Clips")):
            await tx.execute(Q["channel"], id=channel_id, title=title, now=now)
        await note_unreadable(tx, PACKS, ["7"], ids=ids, now=now)
        await note_unreadable(tx, CLIPS, ["8", "9"], ids=ids, now=now, cap=1)

    def misses(self) -> list[MissSeen]:
        return self(list_misses)

    def states(self) -> dict[str, str]:
        return {miss.message_key: miss.state for miss in self.misses()}

    def jobs(self) -> list[tuple[str, int]]:
        found = self(lambda tx: list_jobs(tx, kind="miss", limit=100))
        return [(job.status, job.priority) for job in found]


@pytest.fixture
def book(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Book:
    monkeypatch.setenv("HEADGATE_DATABASE_URL", database_url)
    monkeypatch.setenv("HEADGATE_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("HEADGATE_CONFIG", raising=False)
    return Book(database_url)


def test_the_list_counts_by_channel_and_shows_rows(book: Book) -> None:
    lines = [line.split() for line in run("list").output.splitlines()]
    assert [str(CLIPS), "Clips", "given", "up", "2"] in lines
    assert [str(PACKS), "Packs", "open", "1"] in lines
    rows = {line[2]: " ".join(line[3:]) for line in lines if len(line) > 4 and line[1] in {"Packs", "Clips"}}
    assert rows["7"].startswith("Malformed: the message cannot be parsed 1 in ")
    assert rows["9"] == "Malformed: the message cannot be parsed 1 given up"


def test_the_list_can_be_narrowed(book: Book) -> None:
    document = json.loads(run("list", "--state", "abandoned", "--json").stdout)
    assert [miss["message_key"] for miss in document["failed_items"]] == ["9", "8"]
    assert [(count["channel_title"], count["failed_items"]) for count in document["counts"]] == [("Clips", 2)]
    document = json.loads(run("list", "--channel", str(PACKS), "--json").stdout)
    assert [miss["message_key"] for miss in document["failed_items"]] == ["7"]


def test_the_list_goes_on_below_its_last_row(book: Book) -> None:
    (first,) = json.loads(run("list", "--limit", "1", "--json").stdout)["failed_items"]
    rest = json.loads(run("list", "--below", first["id"], "--json").stdout)["failed_items"]
    assert [first["message_key"], *(miss["message_key"] for miss in rest)] == ["9", "8", "7"]


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "ending"])
def test_one_miss_is_tried_again_at_once(book: Book, *, whole: bool) -> None:
    abandoned = book.misses()[0]
    result = run("retry", str(abandoned.id) if whole else str(abandoned.id)[-12:])
    assert (result.exit_code, result.output) == (0, "Retrying 1 failed item.\n")
    assert book.states() == {"9": "open", "8": "abandoned", "7": "open"}
    assert book.jobs() == [("queued", 10)]


def test_all_of_a_channel_are_tried_again(book: Book) -> None:
    assert run("retry", "--channel", str(CLIPS)).output == "Retrying 2 failed items.\n"
    assert book.states() == {"9": "open", "8": "open", "7": "open"}
    assert len(book.jobs()) == 2


def test_all_are_tried_again_when_a_person_is_sure(book: Book) -> None:
    assert "--yes" in remedy_of(run("retry", "--all"))
    assert book.jobs() == []
    assert run("retry", "--all", "--yes").output == "Retrying 3 failed items.\n"
    assert len(book.jobs()) == 3


def test_a_retry_on_a_channel_that_is_off_is_refused_with_the_reason(book: Book) -> None:
    book(lambda tx: tx.execute(Q["switch_off"], id=CLIPS))
    for arguments in (["--channel", str(CLIPS)], [str(book.misses()[0].id)]):
        said = remedy_of(run("retry", *arguments))
        assert "Channel scanning disabled for this channel." in said
        assert "headgate channel enable 'Clips'" in said
    assert book.jobs() == []
    assert run("retry", "--all", "--yes").output == (
        "Retrying 1 failed item.\n2 not retried: scanning is switched off for their channels.\n"
    )
    assert book.states() == {"9": "abandoned", "8": "abandoned", "7": "open"}


def test_no_misses_is_no_error(book: Book) -> None:
    nobody = str(UUID(int=3))
    assert run("list", "--channel", nobody).output == "There are no failed items.\n"
    assert run("retry", "--channel", nobody).output == "There are no failed items.\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["retry"], "Which failed items?"),
        (["retry", str(UUID(int=9)), "--all"], "Which failed items?"),
        (["retry", str(UUID(int=9))], f"There is no failed item {UUID(int=9)}."),
        (["retry", "nonsense"], "No failed item ends with 'nonsense'."),
        (["retry", "--channel", "nonsense"], "'nonsense' is not the id of a channel."),
        (["list", "--state", "lost"], "There is no state 'lost'."),
    ],
)
def test_what_cannot_be_done_is_told_with_a_remedy(book: Book, arguments: list[str], sentence: str) -> None:
    assert sentence in remedy_of(run(*arguments))
    assert book.jobs() == []
