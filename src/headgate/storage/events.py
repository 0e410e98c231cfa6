"""Events for people's pages: a hint that something of a kind changed, sent when the transaction commits."""

from __future__ import annotations

import json
from collections.abc import Mapping
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


@dataclass
class _Published:
    """The events of a transaction; they are sent with its commit, each once."""

    payloads: dict[str, None] = field(default_factory=dict[str, None])

    async def finish(self, tx: Tx) -> None:
        await tx.execute(Q["publish"], payloads=list(self.payloads))


async def publish(tx: Tx, *events: Event) -> None:
    """Tell all processes, when the transaction commits."""
    tx.ending(_Published).payloads.update(dict.fromkeys(event.dump() for event in events))
