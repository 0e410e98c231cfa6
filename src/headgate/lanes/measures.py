"""What the lanes count."""

from __future__ import annotations

from functools import cache

from headgate.kernel.metrics import counter, duration, gauge

PERMITS = counter("lane_permits", "Permits granted.", ("kind",))
REFUSED = counter("lane_permits_refused", "Permits that could not be used, by reason.", ("kind", "reason"))
COME_BACKS = counter("lane_come_backs", "Requests for which a lane had no room in time.", ("kind",))
LIMIT_SIGNALS = counter("lane_limit_signals", "Calls that the platform limited.", ("kind",))
PLATFORM_CALLS = counter(
    "platform_calls", "Calls to platforms, by what came of them.", ("platform", "kind", "result")
)
WAIT = duration("lane_wait", "Waits for the time of a permit.", ("kind",))
RATE = gauge("lane_rate_per_minute", "The rate of a lane when it was last used here.", ("owner", "kind"))

# Looking a label up costs as much as the rest of a permit's bookkeeping.
wait_of = cache(WAIT.labels)
calls_of = cache(PLATFORM_CALLS.labels)
