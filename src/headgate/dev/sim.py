"""`headgate sim`: the product against seeded faults, on a real PostgreSQL."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import math
import os
import sys
import tempfile
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headgate.cli.errors import FAILED
from headgate.cli.output import AsJson, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from headgate.connectors.protocol import Connector
    from headgate.kernel.clock import Clock
    from headgate.kernel.randomness import Randomness
    from headgate.kernel.settings import Settings
    from headgate.outflow.notifications.push_out import Pusher
    from headgate.storage.database import Database
    from headgate.testing.simulator import FanoutOutcome, ListingOutcome, PlayOutcome, Product

    AnyOutcome = PlayOutcome | FanoutOutcome | ListingOutcome


MAX_SHARE = 40
"""Plays that a process of several gives before the next one is started."""


def sim(
    seed: Annotated[int, typer.Option(help="Seed of the first play.")] = 0,
    plays: Annotated[int, typer.Option(min=1, help="How many plays, each with the next seed.")] = 1,
    faults: Annotated[str, typer.Option(help="What goes wrong: none, mild or wild.")] = "wild",
    what: Annotated[
        Literal["intake", "fanout", "sharing", "listings"],
        typer.Option(help="What is played: reading streams, reminders, sending on, or looking at listings."),
    ] = "intake",
    jobs: Annotated[int, typer.Option(min=1, help="How many processes play at the same time.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Play the product against a faulty world and judge what came of it.

    A seed decides everything: who goes on, what fails, who dies. Print one again to replay it.
    """
    from headgate.domain.errors import UserError
    from headgate.testing.simulator import FAULTS

    if faults not in FAULTS:
        raise UserError(
            f"There is no level {faults!r} of faults.", remedy=f"Take one of: {', '.join(FAULTS)}."
        )
    _fix_hashes()
    seeds = range(seed, seed + plays)
    play = _play_all(seeds, faults, what) if jobs == 1 else _play_apart(seeds, faults, what, jobs)
    outcomes = asyncio.run(play)
    failed: list[AnyOutcome] = [outcome for outcome in outcomes if outcome.failures]
    if as_json:
        print_json({"faults": faults, "failed": len(failed), "plays": [asdict(o) for o in outcomes]})
    else:
        _print_outcomes(outcomes, failed, faults, what)
    if failed:
        raise typer.Exit(FAILED)


def _fix_hashes() -> None:
    """Start again with fixed hashes: sets of texts must be gone through in the same order each time."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "headgate", *sys.argv[1:]])  # noqa: S606


async def _play_all(seeds: Iterable[int], faults: str, what: str) -> list[AnyOutcome]:
    from headgate.testing.simulator import fanout_for, listings_for, open_theatre, sharing_for

    seeds = list(seeds)
    async with _server() as url, open_theatre(url, build_product) as theatre:
        with progress_bar("plays", total=len(seeds)) as advance:
            outcomes: list[AnyOutcome] = []
            for seed in seeds:
                if what == "fanout":
                    outcomes.append(await theatre.fan_out(seed, fanout_for(seed, faults)))
                elif what == "sharing":
                    outcomes.append(await theatre.fan_out(seed, sharing_for(seed, faults)))
                elif what == "listings":
                    outcomes.append(await theatre.publish(seed, listings_for(seed, faults)))
                else:
                    outcomes.append(await theatre.play(seed, faults))
                advance(1)
    return outcomes


async def _play_apart(seeds: range, faults: str, what: str, jobs: int) -> list[AnyOutcome]:
    """Let several processes play shares of the seeds on one server, a few plays each time."""
    from headgate.testing.simulator import FanoutOutcome, ListingOutcome, PlayOutcome

    kinds: dict[str, type[AnyOutcome]] = {
        "fanout": FanoutOutcome,
        "sharing": FanoutOutcome,
        "listings": ListingOutcome,
    }
    size = min(MAX_SHARE, math.ceil(len(seeds) / jobs))
    shares = [seeds[first : first + size] for first in range(0, len(seeds), size)]
    free = asyncio.Semaphore(jobs)
    async with _server() as url:
        with progress_bar("plays", total=len(seeds)) as advance:

            async def play(share: range) -> list[AnyOutcome]:
                async with free:
                    told = await _play_share(share, faults, what, url)
                advance(len(share))
                return [kinds.get(what, PlayOutcome)(**outcome) for outcome in told]

            played = await asyncio.gather(*(play(share) for share in shares))
    return [outcome for outcomes in played for outcome in outcomes]


async def _play_share(share: range, faults: str, what: str, url: str) -> list[dict[str, Any]]:
    """Run this command for some seeds in a process of its own, and return the outcomes that it prints."""
    options = {"--seed": share.start, "--plays": len(share), "--faults": faults, "--what": what}
    words = [str(word) for option in options.items() for word in option]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "headgate", "sim", *words, "--json"),
        env={**os.environ, "HEADGATE_DATABASE_URL": url, "HEADGATE_LOG_LEVEL": "ERROR"},
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await process.communicate()
    if process.returncode not in {0, FAILED}:
        raise RuntimeError(f"the plays {share.start} to {share.stop - 1} ended with {process.returncode}")
    return json.loads(told)["plays"]


def _server() -> AbstractAsyncContextManager[str]:
    """A server of our own that need not survive anything, or the one of the settings."""
    from headgate.app.server import open_workshop
    from headgate.kernel.settings import load_settings

    return open_workshop(load_settings(), fsync=False)


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return where the key of the plays' secrets is kept, until the process ends."""
    return tempfile.TemporaryDirectory(prefix="headgate-sim-")


@functools.cache
def _simulated_settings() -> Settings:
    from headgate.kernel.settings import load_settings

    # Short intervals: what only the schedule finds must be found before the play ends.
    intervals = {
        "SKIP_WINDOW_S": 30,
        "OFTEN_S": 60,
        "NORMAL_S": 90,
        "RARELY_S": 120,
        "LIVE_S": 180,
        "EVERY_NTH": 2,
    }
    return load_settings(
        {
            "HEADGATE_JOBS_TICK_S": "3",
            "HEADGATE_DATA_DIR": _folder().name,
            "HEADGATE_FILES_DOWNLOADS_AT_ONCE": "2",
            "HEADGATE_FILES_KEEP_FREE_PERCENT": "0",
            "HEADGATE_FILES_KEEP_FREE_GIB": "0",
            "HEADGATE_SERIES_SHORTEST_S": "60",
            "HEADGATE_SERIES_SWEEP_S": "60",
            "HEADGATE_SERIES_NET_S": "600",
            **{f"HEADGATE_INTAKE_{name}": str(value) for name, value in intervals.items()},
        }
    )


def build_product(
    database: Database, clock: Clock, randomness: Randomness, connector: Connector, pusher: Pusher
) -> Product:
    """Wire the product as a real process does, without the web."""
    from headgate.app.loops import Listeners, keep_going, run_tick
    from headgate.app.parts import build_parts
    from headgate.intake.channels.discovery import follow_all
    from headgate.storage.blobs.disk import DiskStore
    from headgate.storage.blobs.threads import InlineThreads
    from headgate.testing.simulator import Product

    # Each play has a database and files of its own.
    folder = Path(_folder().name) / hashlib.sha256(database.url.encode()).hexdigest()[:16]
    settings = _simulated_settings()
    parts = build_parts(
        replace(settings, data=settings.data.model_copy(update={"dir": folder})),
        database.url,
        database,
        clock=clock,
        randomness=randomness,
        connectors={"simulated": connector},
        pusher=pusher,
    )

    parts.files.spools.threads = InlineThreads("spool", size=1)
    store = parts.files.store.inner
    if isinstance(store, DiskStore):
        store.threads = InlineThreads("blobs", size=1)

    async def follow(account: str) -> None:
        await follow_all(database, parts.links, parts.ids, clock, name=account)

    def tick() -> Coroutine[Any, Any, None]:
        return keep_going(parts, "the tick", lambda: run_tick(parts))

    def listen() -> Coroutine[Any, Any, None]:
        return keep_going(parts, "the listeners", Listeners(parts).run)

    return Product(
        execution=parts.execution,
        kinds=parts.kinds,
        tick=tick,
        listen=listen,
        serve_holds=parts.serve_holds,
        follow=follow,
        close=parts.links.close,
        data_dir=parts.settings.data.dir,
        open_files=parts.files.open,
        lose_files=parts.files.spools.abandon,
    )


def _print_outcomes(
    outcomes: Sequence[AnyOutcome],
    failed: Sequence[AnyOutcome],
    faults: str,
    what: str,
) -> None:
    counted = {"fanout": "messages", "sharing": "messages", "listings": "notifications"}.get(what, "items")
    print_table(
        ["seed", counted, "crashes", "points", "virtual", "outcome"],
        [
            [
                outcome.seed,
                getattr(outcome, counted),
                outcome.crashes,
                outcome.points,
                f"{outcome.virtual_s:.0f} s",
                outcome.failures[0] if outcome.failures else "ok",
            ]
            for outcome in outcomes
        ],
        numeric=["seed", counted, "crashes", "points", "virtual"],
    )
    for outcome in failed:
        typer.echo(
            f"\nSeed {outcome.seed} failed; replay:"
            f" headgate sim --seed {outcome.seed} --faults {faults} --what {what}"
        )
        for failure in outcome.failures[:20]:
            typer.echo(f"  {failure}")
    typer.echo(f"\n{len(outcomes) - len(failed)} of {len(outcomes)} plays came to rest with nothing lost.")
