"""A connector's memory that lasts as long as the object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class VolatileMemory:
    """Remembers values and renewed secrets, for tests of a connector alone."""

    values: dict[str, str] = field(default_factory=dict[str, str])
    renewed: dict[str, str] = field(default_factory=dict[str, str])

    async def save(self, changes: Mapping[str, str]) -> None:
        self.values = {name: value for name, value in {**self.values, **changes}.items() if value}

    async def renew_secrets(self, secrets: Mapping[str, str]) -> None:
        self.renewed.update(secrets)
