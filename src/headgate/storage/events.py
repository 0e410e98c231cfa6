"""Events for people's pages: a hint that something of a kind changed, sent when the transaction commits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

CHANNEL = "headgate_event"


@dataclass(frozen=True)
class Event:
    """Something of this kind changed; the audience is one user, or everyone."""

    kind: str
    audience: UUID | None = None
    details: Mapping[str, str] = field(default_factory=dict[str, str])
    """What pages show at once; a notice is at most 8,000 bytes, so this is a line or two."""

    def dump(self) -> str:
        audience = str(self.audience) if self.audience else None
        return json.dumps({"kind": self.kind, "audience": audience, "details": dict(self.details)})

    @classmethod
    def parse(cls, payload: str) -> Event | None:
        """Return the event of a notice, or nothing if it makes no sense."""
        try:
            fields = cast("dict[str, Any]", json.loads(payload))
            audience = fields["audience"]
            details = {str(name): str(value) for name, value in fields.get("details", {}).items()}
            return cls(str(fields["kind"]), UUID(audience) if audience else None, details)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None


async def publish(tx: Tx, event: Event) -> None:
    """Tell all processes; equal events of one transaction arrive once."""
    await tx.execute(Q["publish"], payload=event.dump())


async def publish_all(tx: Tx, events: Iterable[Event]) -> None:
    """Tell all processes of several events in one statement."""
    payloads = [event.dump() for event in events]
    if payloads:
        await tx.execute(Q["publish_all"], payloads=payloads)
