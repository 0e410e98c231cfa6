"""What sending and pushing count."""

from __future__ import annotations

from functools import cache

from headgate.kernel.metrics import counter

MESSAGES = counter(
    "messages",
    "Messages of runs by what came of the call: sent, failed, uncertain, or planned again.",
    ("result",),
)
PUSHES = counter("pushes", "Pushes by what came of the call: sent, failed or uncertain.", ("result",))

# Looking a label up costs as much as the rest of a message's bookkeeping.
message_of = cache(MESSAGES.labels)
push_of = cache(PUSHES.labels)
