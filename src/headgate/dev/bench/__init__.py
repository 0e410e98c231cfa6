"""`headgate bench`: what the product can do on this machine, each figure beside its floor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.errors import FAILED
from headgate.cli.output import AsJson, print_json

if TYPE_CHECKING:
    from headgate.dev.bench.measuring import Report

app = typer.Typer(no_args_is_help=True, help="Run benchmarks.")

Check = Annotated[bool, typer.Option("--check", help="Exit with 1 if a bound is missed.")]
Rounds = Annotated[int, typer.Option(min=1, help="How often each rate is measured; the median counts.")]
Pickups = Annotated[int, typer.Option(min=10, help="How many pickups to time.")]


@app.command("jobs")
def run_jobs(
    *,
    count: Annotated[
        int, typer.Option("--jobs", min=100, help="How many jobs to drain in a round.")
    ] = 20_000,
    rounds: Rounds = 3,
    pickups: Pickups = 200,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Measure the engine: drain, fenced completion and pickup, in a database made for the run.

    On the embedded server that is a server of its own in a temporary folder; with HEADGATE_DATABASE_URL it
    is a database beside yours. Both are removed at the end.
    """
    report = _measure_jobs(count=count, rounds=rounds, pickups=pickups)
    _show([report], document=report.values, as_json=as_json, check=check)


@app.command("sweep")
def run_sweep(
    *,
    topics: Annotated[int, typer.Option(min=1, help="How many topics the forum has.")] = 1_086,
    channels: Annotated[int, typer.Option(min=1, help="How many channels there are beside it.")] = 50,
    changed: Annotated[int, typer.Option(min=1, help="How many topics get new documents.")] = 40,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Count the calls that it takes to stay up to date, against a reader that searches every topic.

    The platform is simulated and time is virtual: days pass in seconds.
    """
    report = _measure_sweep(topics=topics, channels=channels, changed=changed)
    _show([report], document=report.values, as_json=as_json, check=check)


@app.command("heads")
def run_heads(
    *,
    platforms: Annotated[
        list[str] | None,
        typer.Option(
            "--platform", help="simulated, matrix or discord; can be repeated. All that are installed."
        ),
    ] = None,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Count the calls to learn the newest messages of 1,000 streams, by platform.

    The connectors are the real ones, and the platforms stand-ins that count their calls.
    """
    report = _measure_heads(platforms=platforms or [])
    _show([report], document=report.values, as_json=as_json, check=check)


@app.command("plan")
def run_plan(
    *,
    streams: Annotated[int, typer.Option(min=1_000, help="How many streams there are.")] = 1_000_000,
    plans: Annotated[int, typer.Option(min=1, help="How many plans to time.")] = 400,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Measure what it costs to find out which streams to ask for, among few and among many."""
    report = _measure_plan(streams=streams, plans=plans)
    _show([report], document=report.values, as_json=as_json, check=check)


@app.command("ingest")
def run_ingest(
    *,
    messages: Annotated[int, typer.Option(min=10, help="How many messages to take in a round.")] = 20_000,
    rounds: Rounds = 3,
    live: Annotated[int, typer.Option(min=1, help="How many live messages to time.")] = 300,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Measure the way from messages to sightings and items, and from a live message to its sighting."""
    report = _measure_ingest(messages=messages, rounds=rounds, live=live)
    _show([report], document=report.values, as_json=as_json, check=check)


@app.command("fanout")
def run_fanout(
    *,
    targets: Annotated[int, typer.Option(min=1, help="How many groups get each reminder.")] = 1_000,
    messages: Annotated[
        int, typer.Option(min=80, help="How many messages to send with the limit off.")
    ] = 20_000,
    rounds: Rounds = 3,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Measure fan-outs: the pace in virtual time, and the cost of a message with the limit off."""
    report = _measure_fanout(targets=targets, messages=messages, rounds=rounds)
    _show([report], document=report.values, as_json=as_json, check=check)


@app.command("accounts")
def run_accounts(
    *,
    accounts: Annotated[
        list[int] | None, typer.Option(min=1, help="How many accounts send at once; can be repeated.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=2, help="How long each measurement takes.")] = 9.0,
    long_seconds: Annotated[
        float, typer.Option(min=2, help="How long the last one takes, which every sender's turn ends in.")
    ] = 50.0,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Measure accounts that send at once, in one process and in two: each at the pace of its lane."""
    report = _measure_accounts(accounts=accounts, seconds=seconds, long_seconds=long_seconds)
    _show([report], document=report.values, as_json=as_json, check=check)


@app.command("chapters")
def run_chapters(
    *,
    series: Annotated[int, typer.Option(min=1, help="How many series are looked at again.")] = 1_000,
    chapters: Annotated[int, typer.Option(min=1, help="How many chapters each of them has.")] = 200,
    rounds: Rounds = 3,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Measure looks at series of which little is new, against a bare upsert and a job for each chapter."""
    report = _measure_chapters(series=series, chapters=chapters, rounds=rounds)
    _show([report], document=report.values, as_json=as_json, check=check)


@app.command("poll")
def run_poll(
    *,
    series: Annotated[int, typer.Option(min=20, help="How many series of one site are followed.")] = 10_000,
    changed: Annotated[int, typer.Option(min=1, help="How many get a new chapter in each beat.")] = 20,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Count the calls of a beat on a site that tells all its news at once.

    The site is simulated and time is virtual.
    """
    report = _measure_poll(series=series, changed=changed)
    _show([report], document=report.values, as_json=as_json, check=check)


@app.command("listen")
def run_listen(
    *,
    hours: Annotated[float, typer.Option(min=0.5, help="How long a stream is listened to.")] = 4.0,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Count the calls of listening to a stream with a message a minute, against those of polling it.

    The platform is simulated, its live events are hints, and time is virtual.
    """
    report = _measure_listen(hours=hours)
    _show([report], document=report.values, as_json=as_json, check=check)


@app.command("feeds")
def run_feeds(
    *,
    feeds: Annotated[int, typer.Option(min=1, max=10_000, help="How many feeds are polled.")] = 1_000,
    entries: Annotated[int, typer.Option(min=1, help="How many entries each of them has.")] = 30,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Measure first and unchanged polls of feeds on loopback, beside the library `reader`."""
    report = _measure_feeds(feeds=feeds, entries=entries)
    _show([report], document=report.values, as_json=as_json, check=check)


@app.command("contents")
def run_contents(
    *,
    archives: Annotated[int, typer.Option(min=4, help="How many archives are listed in a round.")] = 1_000,
    entries: Annotated[int, typer.Option(min=1, help="How many entries each of them has.")] = 200,
    rounds: Rounds = 3,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Measure looking inside archives in the sandbox, beside the libraries alone in one process."""
    report = _measure_contents(archives=archives, entries=entries, rounds=rounds)
    _show([report], document=report.values, as_json=as_json, check=check)


@app.command("fetch")
def run_fetch(
    *,
    file_mib: Annotated[int, typer.Option(min=1, help="Size of each large file, in MiB.")] = 50,
    large_mib: Annotated[
        int, typer.Option(min=0, help="Size of the file that memory is measured with.")
    ] = 2_000,
    small_files: Annotated[int, typer.Option(min=1, help="How many small files a round has.")] = 1_000,
    rounds: Rounds = 3,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Measure downloads from a socket into the store, beside a single pass over the same bytes."""
    report = _measure_fetch(file_mib=file_mib, large_mib=large_mib, small_files=small_files, rounds=rounds)
    _show([report], document=report.values, as_json=as_json, check=check)


@app.command("shelf")
def run_shelf(
    *,
    items: Annotated[int, typer.Option(min=1_000, help="How many items the library has.")] = 1_000_000,
    rounds: Annotated[int, typer.Option(min=5, help="How often each page is read.")] = 40,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Measure pages and filters of a large library beside the bare query, and ingest into it."""
    report = _measure_shelf(items=items, rounds=rounds)
    _show([report], document=report.values, as_json=as_json, check=check)


@app.command("all")
def run_all(*, check: Check = False, as_json: AsJson = False) -> None:
    """Run every benchmark at its default size."""
    reports = [
        _measure_jobs(),
        _measure_sweep(),
        _measure_heads(),
        _measure_plan(),
        _measure_ingest(),
        _measure_fanout(),
        _measure_accounts(),
        _measure_chapters(),
        _measure_poll(),
        _measure_feeds(),
        _measure_listen(),
        _measure_contents(),
        _measure_fetch(),
        _measure_shelf(),
    ]
    document = {report.name: report.values for report in reports}
    _show(reports, document=document, as_json=as_json, check=check)


def _measure_jobs(*, count: int = 20_000, rounds: int = 3, pickups: int = 200) -> Report:
    from headgate.dev.bench.jobs import JobSizes, measure_jobs
    from headgate.dev.bench.measuring import run_quickly

    return run_quickly(measure_jobs(JobSizes(jobs=count, rounds=rounds, pickups=pickups)))


def _measure_sweep(*, topics: int = 1_086, channels: int = 50, changed: int = 40) -> Report:
    from headgate.dev.bench.measuring import run_quickly
    from headgate.dev.bench.streams.sweep import SweepSizes, measure_sweep

    return run_quickly(measure_sweep(SweepSizes(topics=topics, channels=channels, changed=changed)))


def _measure_heads(*, platforms: Sequence[str] = ()) -> Report:
    from headgate.dev.bench.measuring import run_quickly
    from headgate.dev.bench.streams.heads import measure_heads

    return run_quickly(measure_heads(platforms))


def _measure_plan(*, streams: int = 1_000_000, plans: int = 400) -> Report:
    from headgate.dev.bench.measuring import run_quickly
    from headgate.dev.bench.streams.plan import PlanSizes, measure_plan

    return run_quickly(measure_plan(PlanSizes(streams=streams, plans=plans)))


def _measure_ingest(*, messages: int = 20_000, rounds: int = 3, live: int = 300) -> Report:
    from headgate.dev.bench.measuring import run_quickly
    from headgate.dev.bench.streams.ingest import IngestSizes, measure_ingest

    return run_quickly(measure_ingest(IngestSizes(messages=messages, rounds=rounds, live=live)))


def _measure_fanout(*, targets: int = 1_000, messages: int = 20_000, rounds: int = 3) -> Report:
    from headgate.dev.bench.measuring import run_quickly
    from headgate.dev.bench.sending.fanout import FanoutSizes, measure_fanout
    from headgate.dev.bench.sending.paced import measure_paced

    # The stage directs the plain loop, whose queue it can see.
    paced = asyncio.run(measure_paced(targets))
    return run_quickly(measure_fanout(FanoutSizes(targets=targets, messages=messages, rounds=rounds), paced))


def _measure_accounts(
    *, accounts: list[int] | None = None, seconds: float = 9.0, long_seconds: float = 50.0
) -> Report:
    from headgate.dev.bench.measuring import run_quickly
    from headgate.dev.bench.sending.accounts import AccountSizes, measure_accounts

    numbers = tuple(accounts) if accounts else AccountSizes().accounts
    return run_quickly(measure_accounts(AccountSizes(numbers, seconds=seconds, long_seconds=long_seconds)))


def _measure_chapters(*, series: int = 1_000, chapters: int = 200, rounds: int = 3) -> Report:
    from headgate.dev.bench.listings.chapters import ChapterSizes, measure_chapters
    from headgate.dev.bench.measuring import run_quickly

    return run_quickly(measure_chapters(ChapterSizes(series=series, chapters=chapters, rounds=rounds)))


def _measure_feeds(*, feeds: int = 1_000, entries: int = 30) -> Report:
    from headgate.dev.bench.listings.feeds import FeedSizes, measure_feeds
    from headgate.dev.bench.measuring import run_quickly

    return run_quickly(measure_feeds(FeedSizes(feeds=feeds, entries=entries)))


def _measure_poll(*, series: int = 10_000, changed: int = 20) -> Report:
    from headgate.dev.bench.listings.poll import PollSizes, measure_poll
    from headgate.dev.bench.measuring import run_quickly

    return run_quickly(measure_poll(PollSizes(series=series, changed=changed)))


def _measure_listen(*, hours: float = 4.0) -> Report:
    from headgate.dev.bench.measuring import run_quickly
    from headgate.dev.bench.streams.listen import measure_listen

    return run_quickly(measure_listen(hours=hours))


def _measure_contents(*, archives: int = 1_000, entries: int = 200, rounds: int = 3) -> Report:
    from headgate.dev.bench.contents import ContentSizes, measure_contents
    from headgate.dev.bench.measuring import run_quickly

    return run_quickly(measure_contents(ContentSizes(archives=archives, entries=entries, rounds=rounds)))


def _measure_fetch(
    *, file_mib: int = 50, large_mib: int = 2_000, small_files: int = 1_000, rounds: int = 3
) -> Report:
    from headgate.dev.bench.files.fetch import FetchSizes, measure_fetch
    from headgate.dev.bench.measuring import run_quickly

    sizes = FetchSizes(file_mib=file_mib, large_mib=large_mib, small_files=small_files, rounds=rounds)
    return run_quickly(measure_fetch(sizes))


def _measure_shelf(*, items: int = 1_000_000, rounds: int = 40) -> Report:
    from headgate.dev.bench.library.shelf import ShelfSizes, measure_shelf
    from headgate.dev.bench.measuring import run_quickly

    return run_quickly(measure_shelf(ShelfSizes(items=items, rounds=rounds)))


def _show(reports: list[Report], *, document: object, as_json: bool, check: bool) -> None:
    from headgate.dev.bench.measuring import print_report

    if as_json:
        print_json(document)
    else:
        for report in reports:
            print_report(report)
    if check and any(line.ok is False for report in reports for line in report.lines):
        raise typer.Exit(FAILED)
