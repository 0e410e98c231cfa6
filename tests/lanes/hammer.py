"""A process that makes calls through a lane, for the tests with several of them.

It tells in lines what it does: `stocked` with the time at which its stock is void, `waiting` when it has to,
`fired` with the time of the call, `refused` with the reason. Times are monotonic; all processes of a machine
share them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from headgate.domain.pacing import ComeBack, Permit, PermitVoid
from headgate.kernel.clock import RealClock
from headgate.lanes import Lanes
from headgate.storage.database import Database


def tell(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def fire(lanes: Lanes, clock: RealClock, permit: Permit) -> None:
    if permit.due_at_s > clock.monotonic():
        tell("waiting")
    await lanes.wait(permit)
    at_s = clock.monotonic()
    try:
        lanes.spend(permit)
    except PermitVoid as void:
        tell("refused", void.refusal)
    else:
        tell("fired", at_s)


async def hammer(url: str, kind: str, *, count: int, until_s: float) -> None:
    clock = RealClock()
    database = Database(url, clock, size=2)
    await database.open()
    lanes = Lanes(database, clock)
    while True:
        answer = await lanes.acquire("ada", kind, count)
        if isinstance(answer, ComeBack):
            tell("waiting")
            await clock.sleep(min(answer.delay_s, 0.2))
        else:
            tell("stocked", max(permit.void_at_s for permit in answer))
            for permit in answer:
                await fire(lanes, clock, permit)
        if clock.monotonic() >= until_s:
            break
    await database.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--kind", required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--until", type=float, required=True)
    given = parser.parse_args()
    asyncio.run(hammer(given.url, given.kind, count=given.count, until_s=given.until))
