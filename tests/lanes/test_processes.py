"""Several real processes on one lane: no span over the rate and the burst, whatever happens to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

import pytest

from headgate.domain.pacing import LanePlan
from headgate.kernel.clock import RealClock
from headgate.lanes import Lanes, Pace
from headgate.storage.database import Database

pytestmark = pytest.mark.long

HAMMER = Path(__file__).with_name("hammer.py")
Hammer = subprocess.Popen[str]


def start(url: str, *, kind: str = "send", count: int = 4, for_s: float) -> Hammer:
    until_s = time.monotonic() + for_s
    command = [sys.executable, str(HAMMER), url, "--kind", kind]
    command += ["--count", str(count), "--until", str(until_s)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@contextmanager
def ended(hammers: list[Hammer]) -> Generator[list[Hammer]]:
    """End the processes, whatever the test ends with."""
    try:
        yield hammers
    finally:
        for hammer in hammers:
            hammer.kill()
            hammer.wait()
            if hammer.stdout:
                hammer.stdout.close()


def read_until(hammer: Hammer, word: str) -> list[str]:
    """Return the lines up to the first that begins with a word."""
    assert hammer.stdout is not None
    lines: list[str] = []
    for line in hammer.stdout:
        lines.append(line)
        if line.startswith(word):
            break
    return lines


def read_all(hammers: Iterable[Hammer]) -> list[str]:
    return [line for hammer in hammers for line in hammer.communicate(timeout=60)[0].splitlines()]


def fired_at_s(lines: Iterable[str]) -> list[float]:
    return sorted(float(line.split()[1]) for line in lines if line.startswith("fired"))


def assert_bounded(times_s: list[float], pace: Pace) -> None:
    """Check every span between two calls, which are all that matter."""
    for first, start_s in enumerate(times_s):
        for last in range(first, len(times_s)):
            span_s = times_s[last] - start_s
            assert last - first + 1 <= span_s * pace.per_minute / 60 + pace.burst


async def set_up(database: Database, *plans: LanePlan) -> Lanes:
    lanes = Lanes(database, RealClock())
    await lanes.ensure("ada", plans, established=True)
    return lanes


@pytest.mark.long
async def test_eight_processes_on_shared_lanes_stay_within_the_rate_and_the_burst(
    database: Database, database_url: str
) -> None:
    pace = Pace(1200, burst=20)
    await set_up(
        database,
        LanePlan("send", pace, "budget"),
        LanePlan("upload", pace, "budget"),
        LanePlan("budget", pace),
    )
    kinds = ["send", "upload"] * 4
    with ended([start(database_url, kind=kind, for_s=5.0) for kind in kinds]) as hammers:
        times_s = fired_at_s(read_all(hammers))
    assert_bounded(times_s, pace)
    assert len(times_s) > 20


async def test_a_stopped_process_fires_nothing_of_its_stock(database: Database, database_url: str) -> None:
    pace = Pace(240, burst=6)
    await set_up(database, LanePlan("send", pace))
    with ended([start(database_url, count=12, for_s=0.0)]) as (stopped,):
        before = read_until(stopped, "stocked")
        os.kill(stopped.pid, signal.SIGSTOP)
        void_at_s = float(before[-1].split()[1])
        left_s = void_at_s - time.monotonic()
        with ended([start(database_url, for_s=left_s + 0.5) for _ in range(2)]) as others:
            lines = read_all(others)
        assert time.monotonic() > void_at_s
        os.kill(stopped.pid, signal.SIGCONT)
        after = read_all([stopped])
    assert "refused late" in after
    assert all(time_s < void_at_s for time_s in fired_at_s(after))
    assert_bounded(fired_at_s(lines + after), pace)


async def test_processes_that_are_killed_and_started_again_get_no_fresh_burst(
    database: Database, database_url: str
) -> None:
    pace = Pace(60, burst=10)
    await set_up(database, LanePlan("send", pace))
    lines: list[str] = []
    for _ in range(4):
        with ended([start(database_url, count=20, for_s=60.0) for _ in range(2)]) as hammers:
            for hammer in hammers:
                lines += read_until(hammer, "waiting")
            for hammer in hammers:
                hammer.kill()
            lines += read_all(hammers)
    times_s = fired_at_s(lines)
    assert_bounded(times_s, pace)
    assert len(times_s) >= 5
