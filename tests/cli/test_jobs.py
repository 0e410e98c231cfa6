"""`headgate jobs`: what a person sees of jobs and dead letters, and can do with them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import pytest
from typer.testing import CliRunner, Result

from headgate.cli.jobs import tables as jobs_tables
from headgate.cli.jobs.jobs import app
from headgate.domain.errors import UserError
from headgate.jobs.kinds import Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import RealClock
from headgate.storage.database import Database, Tx
from headgate.storage.jobs.dead_letters import DeadLetter, bury, get_dead_letter, list_dead_letters
from headgate.storage.jobs.engine import list_jobs

T = TypeVar("T")

FIRST = UUID("01980000-0000-7000-8000-00000000000a")
SECOND = UUID("01980000-0000-7000-8000-00000000000b")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def remedy_of(result: Result) -> str:
    assert isinstance(result.exception, UserError), result.output
    return f"{result.exception.message} {result.exception.terminal_remedy}"


class Book:
    """The database behind the command, to write into and to look at."""

    def __init__(self, url: str) -> None:
        self.url = url

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

    def enqueue(self, *wakes: Wake) -> None:
        self(lambda tx: enqueue(tx, wakes))

    def bury(self, letter_id: UUID, *, kind: str = "retention", key: str = "all") -> None:
        now = RealClock().now()
        letter = DeadLetter(
            id=letter_id,
            kind=kind,
            key=key,
            error_class="Gone",
            message="the channel was deleted",
            stack="Traceback: somewhere deep\n",
            attempts=3,
            crashes=0,
            first_tried_at=now - timedelta(hours=3),
            died_at=now - timedelta(hours=2),
        )
        self(lambda tx: bury(tx, letter))

    def state_of(self, letter_id: UUID) -> str:
        letter = self(lambda tx: get_dead_letter(tx, letter_id))
        assert letter is not None
        return letter.state

    def jobs(self) -> list[tuple[str, str, str]]:
        found = self(lambda tx: list_jobs(tx, kind=None, limit=100))
        return [(job.kind, job.key, job.status) for job in found]


@pytest.fixture
def book(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Book:
    monkeypatch.setenv("HEADGATE_DATABASE_URL", database_url)
    monkeypatch.setenv("HEADGATE_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("HEADGATE_CONFIG", raising=False)
    return Book(database_url)


def test_an_idle_engine_says_so_in_words(book: Book) -> None:
    result = run("list")
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "There are no jobs.",
        "Nothing is queued or running.",
        "There are no open failed jobs.",
        "Nothing has ended not long ago.",
    ]


def test_the_list_counts_by_kind_and_shows_rows(book: Book) -> None:
    book.enqueue(Wake("scan", "7"), Wake("scan", "8"))
    book.bury(FIRST)
    lines = [line.split() for line in run("list").output.splitlines()]
    assert ["retention", "·", "·", "·", "1", "·", "·", "·"] in lines
    assert ["scan", "2", "·", "·", "·", "·", "·", "·"] in lines
    assert [line[1:4] for line in lines if "queued" in line and "7" in line] == [["scan", "7", "queued"]]
    assert [line[1:3] for line in lines if line[:1] == ["00000000000a"]] == [["retention", "all"]]


def test_the_list_can_be_narrowed(book: Book) -> None:
    book.enqueue(Wake("scan", "7"), Wake("ingest", "8"))
    book.bury(FIRST)
    document = json.loads(run("list", "--queued", "--kind", "scan", "--json").stdout)
    assert sorted(document) == ["counts", "queued"]
    assert document["counts"] == [{"kind": "scan", "states": {"queued": 1}}]
    assert [job["key"] for job in document["queued"]] == ["7"]
    assert len(json.loads(run("list", "--queued", "--limit", "1", "--json").stdout)["queued"]) == 1


def test_the_list_for_machines_is_whole(book: Book) -> None:
    book.bury(FIRST)
    document = json.loads(run("list", "--json").stdout)
    assert sorted(document) == ["completed", "counts", "failed", "queued"]
    assert document["failed"][0]["id"] == str(FIRST)
    assert document["failed"][0]["stack"] == "Traceback: somewhere deep\n"


def test_a_cancelled_job_is_gone_and_its_end_is_listed(book: Book) -> None:
    book.enqueue(Wake("scan", "7"))
    assert run("cancel", "scan", "7").output == "The job of scan 7 is cancelled.\n"
    assert book.jobs() == []
    document = json.loads(run("list", "--completed", "--json").stdout)
    assert [(job["kind"], job["status"]) for job in document["completed"]] == [("scan", "canceled")]


def test_what_is_not_there_cannot_be_cancelled(book: Book) -> None:
    assert "There is no queued or running job scan 7." in remedy_of(run("cancel", "scan", "7"))


@pytest.mark.parametrize("reference", [str(FIRST), "00000000000a"], ids=["whole", "ending"])
def test_a_letter_is_shown_with_its_whole_stack(book: Book, reference: str) -> None:
    book.bury(FIRST)
    output = run("show", reference).output
    assert "Gone: the channel was deleted" in output
    assert "(2 h ago)" in output
    assert "Traceback: somewhere deep" in output
    assert json.loads(run("show", reference, "--json").stdout)["attempts"] == 3


def test_a_job_is_shown_with_its_log(book: Book) -> None:
    book.enqueue(Wake("scan", "7"))
    (job,) = book(lambda tx: list_jobs(tx, kind=None, limit=1))
    output = run("show", str(job.id)).output
    assert [line.split() for line in output.splitlines() if line.startswith("key")] == [["key:", "7"]]
    document = json.loads(run("show", str(job.id), "--json").stdout)
    assert document["job"]["kind"] == "scan"
    assert [line["status"] for line in document["log"]] == ["queued"]


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("41", "There is no job 41."),
        (str(FIRST), f"There is no failed job {FIRST}."),
        ("nonsense", "No failed job ends with 'nonsense'."),
    ],
)
def test_what_is_not_there_is_named(book: Book, reference: str, sentence: str) -> None:
    assert sentence in remedy_of(run("show", reference))


def test_a_retried_letter_is_closed_and_its_work_is_woken(book: Book) -> None:
    book.bury(FIRST)
    result = run("retry", str(FIRST))
    assert (result.exit_code, result.output) == (0, "retention all: replayed\n")
    assert book.state_of(FIRST) == "replayed"
    assert book.jobs() == [("retention", "all", "queued")]


def test_a_letter_that_was_retried_before_is_refused(book: Book) -> None:
    book.bury(FIRST)
    run("retry", str(FIRST))
    result = run("retry", str(FIRST))
    assert result.exit_code == 1
    assert "was already retried" in result.output


def test_one_letter_that_cannot_be_helped_holds_up_no_other(book: Book) -> None:
    book.bury(FIRST)
    book.bury(SECOND, kind="gone", key="x")
    result = run("retry", "--all", "--yes")
    assert result.exit_code == 1
    assert "gone x: This installation cannot run jobs of the kind 'gone'." in result.output
    assert (book.state_of(FIRST), book.state_of(SECOND)) == ("replayed", "open")


def test_all_can_mean_all_of_a_kind(book: Book) -> None:
    book.bury(FIRST)
    book.bury(SECOND, kind="gone", key="x")
    assert run("discard", "--all", "--kind", "gone", "--yes").output == "gone x: discarded\n"
    assert (book.state_of(FIRST), book.state_of(SECOND)) == ("open", "discarded")
    assert book.jobs() == []


@pytest.mark.parametrize(
    "arguments", [["discard", str(FIRST)], ["discard", "--all"], ["retry", "--all"]], ids=" ".join
)
def test_without_an_answer_nothing_is_changed(book: Book, arguments: list[str]) -> None:
    book.bury(FIRST)
    assert "--yes" in remedy_of(run(*arguments))
    assert book.state_of(FIRST) == "open"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["retry"], "Which failed jobs?"),
        (["retry", str(FIRST), "--all"], "Which failed jobs?"),
        (["discard", str(FIRST), "--kind", "scan"], "--kind works only with --all."),
        (["retry", "41"], "41 is the number of a job"),
    ],
)
def test_an_unclear_wish_is_asked_back(book: Book, arguments: list[str], sentence: str) -> None:
    assert sentence in remedy_of(run(*arguments))


def test_no_letters_at_all_is_no_error(book: Book) -> None:
    result = run("retry", "--all")
    assert (result.exit_code, result.output) == (0, "There are no open failed jobs.\n")


def test_a_letter_can_be_kept_and_let_go(book: Book) -> None:
    book.bury(FIRST)

    def kept() -> bool:
        (letter,) = book(list_dead_letters)
        return letter.kept

    assert "is kept from now on" in run("keep", str(FIRST)).output
    assert kept()
    assert "will be pruned in its time" in run("keep", str(FIRST), "--no-keep").output
    assert not kept()


def test_an_ending_that_two_letters_have_is_refused(book: Book) -> None:
    book.bury(FIRST)
    book.bury(UUID(int=FIRST.int + (1 << 64)), key="other")
    assert "Several failed jobs end with '00000000000a'." in remedy_of(run("show", "00000000000a"))


def test_a_database_that_was_never_migrated_is_told_with_the_remedy(
    book: Book, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_DATABASE_URL", server_url)
    assert "headgate db migrate" in remedy_of(run("list"))


NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.mark.once
def test_a_long_message_is_one_short_line_in_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    letter = DeadLetter(
        id=FIRST,
        kind="ingest",
        key="0198a1b2c3d4",
        error_class="Transient",
        message="two\nlines " * 100,
        stack="",
        attempts=3,
        crashes=0,
        first_tried_at=NOON,
        died_at=NOON,
    )
    overview = jobs_tables.Overview(counts=[], queued=None, failed=[letter], completed=None)
    jobs_tables.print_overview(overview, real_now=NOON, now=NOON + timedelta(days=3))
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "ingest" in line]
    assert "Transient: two lines two lines" in row
    assert row.count("two") < 10
    assert "3 d ago" in row
