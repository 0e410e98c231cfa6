"""A running process: what it listens on, what it shows of itself, and when it ends."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from running import DEADLINE_S, environment

from headgate.app.addresses import WebAddress, bind_probes, bind_web
from headgate.app.parts import open_parts
from headgate.app.product_time import find_clock, start_quick_time
from headgate.app.service import Role, Service
from headgate.domain.errors import UserError
from headgate.kernel.clock import RealClock
from headgate.kernel.settings import load_settings

STOP_NEVER = """
import asyncio
from headgate.app.service import stop_on_signals

async def stop_never():
    stop = stop_on_signals()
    print("ready", flush=True)
    await stop.wait()
    print("stopping", flush=True)
    await asyncio.Event().wait()

asyncio.run(stop_never())
"""


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8420"),
        ("0.0.0.0", "http://127.0.0.1:8420"),
        ("::", "http://[::1]:8420"),
        ("::1", "http://[::1]:8420"),
        ("192.0.2.7", "http://192.0.2.7:8420"),
    ],
)
def test_the_printed_address_can_be_opened(host: str, url: str) -> None:
    with socket.socket() as unbound:
        assert WebAddress(unbound, host, 8420, 8420).url == url


def test_the_port_of_the_metrics_is_taken_as_it_is_or_not_at_all() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UserError, match="HEADGATE_JOBS_METRICS_PORT"):
            bind_probes(taken.getsockname()[1])


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_the_process_at_once(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STOP_NEVER], stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == "stopping\n"
        process.send_signal(number)
        assert process.wait(DEADLINE_S) == -number


async def test_a_part_that_fails_ends_the_service_with_its_error(database_url: str, tmp_path: Path) -> None:
    settings = load_settings({"HEADGATE_DATA_DIR": str(tmp_path)})
    async with open_parts(settings, database_url, clock=RealClock(), connectors={}) as parts:
        address = bind_web("127.0.0.1", 18420)
        address.socket.close()
        roles: frozenset[Role] = frozenset({"web", "tick", "work"})
        service = Service(parts, roles, address)

        async def on_ready() -> None:
            pass

        with pytest.raises(OSError, match="Bad file descriptor"):
            await service.run(asyncio.Event(), on_ready)


async def test_a_worker_shows_health_readiness_and_metrics(database_url: str, tmp_path: Path) -> None:
    settings = load_settings({"HEADGATE_DATA_DIR": str(tmp_path)})
    stop = asyncio.Event()
    async with open_parts(settings, database_url, clock=RealClock(), connectors={}) as parts:
        probes = bind_probes(0)
        base = f"http://127.0.0.1:{probes.getsockname()[1]}"
        service = Service(parts, frozenset({"work"}), probes=probes)

        async def look() -> None:
            async with httpx.AsyncClient(base_url=base) as client:
                assert (await client.get("/healthz")).text == "ok\n"
                assert "headgate_" in (await client.get("/metrics")).text
                assert set((await client.get("/readyz")).json()) == {"ready", "reasons"}
                foreign = await client.get("/metrics", headers={"host": "example.org"})
                assert foreign.status_code == 400
            stop.set()

        await service.run(stop, look)
    assert stop.is_set()


async def test_whoever_opens_a_demo_lives_by_its_clock(database_url: str) -> None:
    assert type(await find_clock(database_url)) is RealClock
    await start_quick_time(database_url, speed=1000)
    clock = await find_clock(database_url)
    assert clock.real_s_until(clock.now() + timedelta(seconds=1000)) < 2
    assert clock.now() >= datetime.now(UTC)
