"""What the outside world saw: each call, and each effect that a call had.

Checkers read this log and never our tables: a message that was sent twice is here twice, also when the
sender saw only one answer.
"""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal, NamedTuple

from headgate.connectors.protocol import CallKind
from headgate.kernel.clock import Clock

EffectKind = Literal["sent", "uploaded"]

COUNTED_AS: Mapping[str, CallKind] = MappingProxyType(
    {
        "discover": "read",
        "heads": "heads",
        "read": "read",
        "message": "read",
        "find_sent": "read",
        "list": "list",
        "sweep": "sweep",
        "find": "find",
        "download": "download",
        "upload": "upload",
        "prepare": "prepare",
        "send": "send",
        "forward": "send",
    }
)
"""By the names of a link's methods, which lane each call draws on."""


@dataclass(slots=True)
class Call:
    """One call; `outcome` is "open" while it runs (for ever, if its caller crashed)."""

    number: int
    account: str
    kind: str
    place: str
    began_at: datetime
    began_s: float
    finished_at: datetime | None = None
    finished_s: float | None = None
    outcome: str = "open"
    wait_s: float = 0.0
    """How long the platform asked to be left alone."""


class Effect(NamedTuple):
    """Something that changed the platform for good."""

    call: int
    account: str
    kind: EffectKind
    place: str
    key: str
    text: str
    media: str
    message_key: str
    at: datetime
    at_s: float
    """Real seconds, by which platforms count rates."""


class CallLog:
    """All calls (or the newest, if bounded), all effects, and counters."""

    def __init__(self, clock: Clock, *, keep_calls: int | None = None) -> None:
        self._clock = clock
        self._calls: deque[Call] = deque(maxlen=keep_calls)
        self._effects: list[Effect] = []
        self._begun = 0
        self.counts: Counter[str] = Counter()
        self.counts_by_account: Counter[tuple[str, str]] = Counter()

    def begin(self, *, account: str, kind: str, place: str) -> Call:
        self.counts[kind] += 1
        self.counts_by_account[account, kind] += 1
        self._begun += 1
        call = Call(self._begun, account, kind, place, self._clock.now(), self._clock.monotonic())
        self._calls.append(call)
        return call

    def finish(self, call: Call, outcome: str, *, wait_s: float = 0.0) -> None:
        call.finished_at, call.finished_s = self._clock.now(), self._clock.monotonic()
        call.outcome, call.wait_s = outcome, wait_s

    def record(
        self, call: Call, kind: EffectKind, *, place: str, key: str, message_key: str, text: str, media: str
    ) -> Effect:
        effect = Effect(
            call=call.number,
            account=call.account,
            kind=kind,
            place=place,
            key=key,
            text=text,
            media=media,
            message_key=message_key,
            at=self._clock.now(),
            at_s=self._clock.monotonic(),
        )
        self._effects.append(effect)
        return effect

    def calls(self, kind: str | None = None, *, account: str | None = None) -> Iterator[Call]:
        for call in self._calls:
            if kind in (None, call.kind) and account in (None, call.account):
                yield call

    def effects(self, kind: EffectKind, *, account: str | None = None) -> list[Effect]:
        return [e for e in self._effects if e.kind == kind and account in (None, e.account)]

    def sends(self, *, account: str | None = None) -> list[Effect]:
        """Return every message that really went out."""
        return self.effects("sent", account=account)

    def doubled_sends(self) -> list[tuple[str, str, str]]:
        """Return account, target and key of what went out more than once."""
        times = Counter((effect.account, effect.place, effect.key) for effect in self.sends())
        return [which for which, count in times.items() if count > 1]

    def most_sends_within(self, window_s: float, *, account: str | None = None) -> int:
        """Return the greatest number of messages that went out in any stretch of real seconds."""
        recent: deque[float] = deque()
        most = 0
        for effect in self.sends(account=account):
            recent.append(effect.at_s)
            while recent[0] <= effect.at_s - window_s:
                recent.popleft()
            most = max(most, len(recent))
        return most

    def digest(self) -> str:
        """Return a fingerprint: equal for two runs of the same seed."""
        digest = hashlib.sha256()
        for entry in (*self._calls, *self._effects):
            digest.update(repr(entry).encode())
        return digest.hexdigest()
