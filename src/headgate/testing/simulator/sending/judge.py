"""The judgement of fan-outs: what the platform saw, beside what we believe of every message.

Nothing arrives twice, nothing is believed that is not so, nobody is left out; and no call is made faster than
the lane allows, while the platform asks for quiet, outside the window, or after a person stopped the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from headgate.outflow.sending.message_sender import RETRY
from headgate.testing.platform.errors import SimSlowMode

if TYPE_CHECKING:
    from headgate.testing.simulator.sending.fanout import Fanout

RESUMED_WITHIN_S = 20.0
"""Ten seconds until a dead sender's lease has ended, and ten until the next message goes."""
BEGUN_WITHIN_S = 20.0
"""When nothing goes wrong the first message goes so soon, whatever the other accounts do."""
SPARE_S = 15.0
"""By so much a fan-out may take longer than its pace alone, when nothing goes wrong."""

WARM_UP_PER_MINUTE = 10
FORGOTTEN_S = 120.0
"""A platform that forgets its keys sooner may forget one before its sender has been replaced."""
EXACT = 1e-6

SHARES = """
select r.account_name, d.target_key, p.key, p.state, d.state, r.state, r.trigger from part p
join delivery d on d.run_id = p.run_id and d.number = p.delivery join run r on r.id = p.run_id
"""


class JudgedShare(NamedTuple):
    """A message of a run, as we believe it to be."""

    account: str
    target: str
    key: str
    state: str
    delivery: str
    run: str
    trigger: str


def check_fanout(fanout: Fanout, shares: Sequence[JudgedShare]) -> list[str]:
    """Return everything that is wrong."""
    return [
        *_check_arrivals(fanout, shares),
        *_check_nobody_left_out(fanout, shares),
        *_check_pace(fanout),
        *_check_cool_downs(fanout),
        *_check_window(fanout),
        *_check_halts(fanout),
        *_check_resumption(fanout),
        *_check_lateness(fanout),
        *fanout.world.sessions.duplicated,
    ]


def _check_arrivals(fanout: Fanout, shares: Sequence[JudgedShare]) -> Iterator[str]:
    """Compare message by message."""
    arrived = Counter((effect.account, effect.place, effect.key) for effect in fanout.world.log.sends())
    for share in shares:
        times = arrived.pop((share.account, share.target, share.key), 0)
        if times > 1:
            yield f"{share.target} got {share.key} {times} times"
        if share.state == "sent" and not times:
            yield f"{share.key} is believed to be sent to {share.target}, and is not"
        if times and share.state not in {"sent", "uncertain"}:
            yield f"{share.target} has {share.key}, which is believed to be {share.state}"
        if share.state in {"planned", "sending"} and share.delivery in {"sent", "pending", "sending"}:
            yield f"{share.key} is {share.state} of a delivery that is {share.delivery}"
        if share.state == "uncertain" and _can_tell(fanout, share):
            yield f"{share.key} to {share.target} is uncertain on a platform that knows its keys"
    yield from (f"{place} got a message that nobody planned" for _, place, _ in arrived)


def _can_tell(fanout: Fanout, share: JudgedShare) -> bool:
    """Say whether a message in doubt could be repeated, or need not be in doubt at all."""
    if (share.account, share.target) in fanout.steering.shut_out:
        return False
    if not fanout.stage.crashed_s and not fanout.stage.lost_s and not fanout.stage.pauses:
        # Nobody vanished: whoever did not call knows it.
        return all(call.place != share.target for call in fanout.world.log.calls(account=share.account))
    dedupe = fanout.script.profile.dedupe
    over = share.run == "cancelled" or not fanout.script.window.is_whole_day
    # A clock that was set ahead makes doubts look older than they are, and what is too old is not repeated.
    aged_s = sum(by_s for _, by_s in fanout.stage.steps if by_s > 0)
    return dedupe.kind != "none" and dedupe.window_s > FORGOTTEN_S + fanout.put_off_s + aged_s and not over


def _check_nobody_left_out(fanout: Fanout, shares: Sequence[JudgedShare]) -> Iterator[str]:
    """Whoever could be reached was: a message fails only after the platform refused it again and again."""
    world = fanout.world
    refused = Counter((call.account, call.place) for call in world.log.calls() if call.outcome != "ok")
    for share in shares:
        place = (share.account, share.target)
        if share.state == "sent" or place in fanout.steering.shut_out or share.trigger == "library":
            continue
        if share.run == "cancelled" or not fanout.script.window.is_whole_day:
            continue
        if share.state == "failed" and refused[place] < RETRY.max_attempts:
            yield f"{share.target} failed for {share.account} after {refused[place]} refusals"
        if share.state == "planned" and share.delivery == "skipped":
            yield f"{share.target} was left out by {share.account}"


def _check_pace(fanout: Fanout) -> Iterator[str]:
    """In no stretch of time, short or long, were there more calls than the rate and the burst allow.

    Each setting of the machine's clock may cost another burst: a lane cannot know how much time went by.
    """
    lane = fanout.script.profile.lanes["send"]
    rate = lane.per_minute if fanout.script.established else min(lane.per_minute, WARM_UP_PER_MINUTE)
    burst = lane.burst * (1 + len(fanout.stage.steps))
    for account in fanout.world.accounts:
        log = fanout.world.log
        calls = [*log.calls("send", account=account), *log.calls("forward", account=account)]
        times = sorted(call.began_s for call in calls)
        # The debt of a leaky bucket is the greatest excess of any stretch that ends here.
        debt, last_s = 0.0, 0.0
        for moment in times:
            debt = max(0.0, debt - (moment - last_s) * rate / 60) + 1
            last_s = moment
            if debt > burst + EXACT:
                yield f"{account} was {debt - burst:.1f} messages ahead of its pace at {moment:.1f} s"
                break


def _check_cool_downs(fanout: Fanout) -> Iterator[str]:
    """Nobody sends while the platform asks to be left alone, or to one group that asks for it."""
    stage = fanout.stage
    forgotten_s = [*stage.crashed_s, *stage.lost_s, *(at_s for at_s, _ in stage.steps)]
    for account in fanout.world.accounts:
        log = fanout.world.log
        calls = [*log.calls("send", account=account), *log.calls("forward", account=account)]
        for told in calls:
            if not told.wait_s or told.finished_s is None:
                continue
            over_s = told.finished_s + told.wait_s
            if any(told.began_s <= at_s <= over_s for at_s in forgotten_s):
                continue
            known_s = stage.over_at_s(told.finished_s, 0.0)
            one_group = told.outcome == SimSlowMode.__name__
            if one_group and fanout.script.things:
                # Several runs send to the group, and each learns by itself that it is slow.
                continue
            for call in calls:
                if known_s < call.began_s < over_s and (call.place == told.place or not one_group):
                    yield f"{account} sent at {call.began_s:.1f} s, told to wait until {over_s:.1f} s"
                    break


def _check_window(fanout: Fanout) -> Iterator[str]:
    """No message goes out before its window opens or after it has closed, by the machine's clock."""
    window = fanout.script.window
    for call in fanout.world.log.calls("send"):
        moment = fanout.stage.shown_at(call.began_s)
        if not window.holds(moment.hour * 60 + moment.minute):
            yield f"{call.account} sent at {moment:%H:%M:%S}, outside the window"


def _check_halts(fanout: Fanout) -> Iterator[str]:
    """Nothing of a run begins after a person stopped it, but for what was under way."""
    for halt in fanout.steering.halts:
        since_s = fanout.stage.over_at_s(halt.since_s)
        for call in fanout.world.log.calls("send", account=halt.account):
            if since_s < call.began_s < halt.until_s:
                yield f"{halt.account} sent at {call.began_s:.1f} s, stopped at {halt.since_s:.1f} s"


def _check_resumption(fanout: Fanout) -> Iterator[str]:
    """A run goes on soon after a crash; things that a person sends now and then have pauses of their own."""
    if fanout.script.things:
        return
    for crashed_s in fanout.stage.crashed_s:
        later = [call.began_s for call in fanout.world.log.calls("send") if call.began_s > crashed_s]
        if fanout.script.crash_at and later and min(later) > crashed_s + RESUMED_WITHIN_S:
            yield f"went on {min(later) - crashed_s:.1f} s after a crash"


def _check_lateness(fanout: Fanout) -> Iterator[str]:
    """When nothing goes wrong every account begins at once, and none takes longer than its pace."""
    script = fanout.script
    if not script.punctual:
        return
    lane = script.profile.lanes["send"]
    longest_s = script.targets * len(script.parts) / lane.per_minute * 60 + SPARE_S
    for account in script.accounts:
        times = [effect.at_s for effect in fanout.world.log.sends(account=account)]
        if not times or min(times) > BEGUN_WITHIN_S:
            yield f"{account} began after {min(times, default=float('inf')):.0f} s"
        elif max(times) > longest_s:
            yield f"{account} took {max(times):.0f} s; its pace alone takes {longest_s - SPARE_S:.0f} s"
