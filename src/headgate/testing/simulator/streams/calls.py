"""The judgement of calls: none was made that a rule forbids. All is read from the platform's own log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headgate.storage.database import Connection
from headgate.testing.platform.call_log import Call
from headgate.testing.platform.world import World
from headgate.testing.simulator.streams.person import Off, Person

WINDOW_S = 60.0
REFUSALS = frozenset({"SimBanned", "SimAuthError"})


def check_calls(world: World, person: Person) -> list[str]:
    """Return every call that should not have been made."""
    return [
        *_check_pace(world),
        *_check_disabled(world, person),
        *_check_refused(world, person),
        *world.sessions.duplicated,
    ]


def count_reads(world: World) -> int:
    return sum(1 for _ in world.log.calls("read"))


async def list_rereads(director: Connection) -> set[str]:
    """Return the streams of which recent messages are to be read again: edits of them may be unknown."""
    found = await director.execute(
        "select key from channel c join reread r on r.channel_id = c.id where r.due_at is not null"
    )
    return {key for (key,) in await found.fetchall()}


def _check_pace(world: World) -> Iterator[str]:
    """No account called more often, in any minute, than its lane's rate and burst together."""
    for kind, lane in world.profile.lanes.items():
        for account in world.accounts:
            times = sorted(call.began_s for call in world.log.calls(kind, account=account))
            allowed = lane.per_minute * WINDOW_S / 60 + lane.burst
            start = 0
            for end, moment in enumerate(times):
                while times[start] <= moment - WINDOW_S:
                    start += 1
                made = end - start + 1
                if made > allowed:
                    yield f"{account} made {made} {kind} calls within a minute; {allowed:g} are allowed"
                    break


def _check_disabled(world: World, person: Person) -> Iterator[str]:
    """Nobody asks for a channel that is switched off, but for what was under way."""
    for off in person.offs:
        since_s = person.stage.over_at_s(off.since_s)
        for call in world.log.calls():
            if since_s < call.began_s < off.until_s and _is_about(call, off):
                yield f"a {call.kind} call for {off.key} at {call.began_s:.1f} s, off at {off.since_s:.1f} s"


def _check_refused(world: World, person: Person) -> Iterator[str]:
    """Nobody calls with an account that was told to stay away, until a person has signed it in again."""
    for account in world.accounts:
        signed_in_s = person.signed_in_s.get(account, [])
        refused_s = None
        for call in world.log.calls(account=account):
            if refused_s is not None and any(refused_s <= at_s <= call.began_s for at_s in signed_in_s):
                refused_s = None
            if refused_s is not None and call.began_s > person.stage.over_at_s(refused_s):
                yield f"a {call.kind} call by {account} at {call.began_s:.1f} s, refused at {refused_s:.1f} s"
            if refused_s is None and call.outcome in REFUSALS and call.finished_s is not None:
                refused_s = call.finished_s


def _is_about(call: Call, off: Off) -> bool:
    if off.owner and call.account != off.owner:
        return False
    return off.key in _streams_of(call)


def _streams_of(call: Call) -> Iterable[str]:
    if call.kind == "heads":
        return call.place.split(",")
    if call.kind in {"read", "message", "download"}:
        return (call.place.partition("/")[0],)
    return ()
