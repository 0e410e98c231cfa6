"""A worker in a process of its own that sends into a simulated world: `python -m … <url> <accounts> <idle>`.

It prints `ready`, works until its standard input ends, and prints when each account sent a message.
"""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import datetime

from headgate.app.parts import open_parts
from headgate.connectors.protocol import CallKind, LaneDefault
from headgate.dev.bench.measuring import run_quickly
from headgate.kernel.clock import RealClock
from headgate.kernel.settings import load_settings
from headgate.testing import PRESETS, SimulatedConnector, World

PER_MINUTE = 120.0
BURST = 3
GROUPS = 200
LOOK_S = 0.02

Sent = list[tuple[str, datetime]]
"""Accounts and moments of messages."""


def build_world(*, accounts: list[str], group: str) -> World:
    """Return a platform on which each account may send at the measured pace."""
    pace = LaneDefault(per_minute=PER_MINUTE, burst=BURST)
    lanes: dict[CallKind, LaneDefault] = dict.fromkeys(("read", "send", "upload"), pace)
    world = World(1, RealClock(), PRESETS["plain"].but(lanes=lanes))
    for name in accounts:
        world.add_account(name)
    add_groups(world, group)
    return world


def add_groups(world: World, group: str) -> None:
    """Add the groups of one name to a world."""
    for number in range(GROUPS):
        world.add_group(f"{group}-{number}", title=f"{group} {number}")


def sender_names(count: int) -> list[str]:
    return [f"sender-{number}" for number in range(count)]


def idle_names(count: int) -> list[str]:
    return [f"idle-{number}" for number in range(count)]


async def work(url: str, folder: str, *, senders: int, idle: int) -> None:
    """Send until standard input ends."""
    world = build_world(accounts=[*sender_names(senders), *idle_names(idle)], group="group")
    for name in idle_names(idle):
        add_groups(world, f"late-{name}")
    settings = load_settings(
        {"HEADGATE_DATA_DIR": folder, "HEADGATE_OUTFLOW_MESSAGES_PER_MINUTE": str(PER_MINUTE)}
    )
    connectors = {"simulated": SimulatedConnector(world)}
    async with open_parts(settings, url, clock=world.clock, connectors=connectors) as parts:
        worker = parts.worker()
        running = asyncio.create_task(worker.run())
        try:
            while not worker.healthy:  # noqa: ASYNC110 - a runner says nothing when it has connected
                await asyncio.sleep(LOOK_S)
            _say("ready")
            await asyncio.to_thread(sys.stdin.read)
        finally:
            await worker.stop()
            await running
    _say(json.dumps([(effect.account, effect.at.isoformat()) for effect in world.log.sends()]))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run_quickly(work(*sys.argv[1:3], senders=int(sys.argv[3]), idle=int(sys.argv[4])))
