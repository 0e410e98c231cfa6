"""Routes: jobs that only one process can do, because it alone may use their account, go to that process.

Such jobs have an entrypoint for their runner and account, instead of their kind's. A process claims those
of the accounts that it holds, beside the kinds that every process claims.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID


def route_of(runner: str, account_id: UUID) -> str:
    """Return the name under which the jobs of a runner lie that wait for the holder of an account."""
    return f"{runner}@{account_id}"


def runner_of(entrypoint: str) -> str:
    """Return what comes before the account in the name of a route; any other name as it is."""
    return entrypoint.partition("@")[0]


@dataclass
class JobRoutes:
    """The accounts whose jobs come to this process."""

    accounts: frozenset[UUID] = frozenset()
    _wakes: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    def change(self, accounts: frozenset[UUID]) -> None:
        """Take the jobs of other accounts from now on; what waits is claimed at once."""
        self.accounts = accounts
        for wake in self._wakes:
            wake()

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` at each change; returns what ends that."""
        self._wakes.append(wake)
        return lambda: self._wakes.remove(wake)

    def names(self, runner: str) -> list[str]:
        """Return what a runner claims beside its kinds."""
        return [route_of(runner, account_id) for account_id in self.accounts]
