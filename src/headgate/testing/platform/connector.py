"""The simulated platform's connector: the first of them, and the one that the demo uses."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.connectors.login_steps import LoginAttempt, LoginStep
from headgate.connectors.protocol import Connector, Link, Manifest, Memory
from headgate.domain.errors import WorkError
from headgate.testing.platform.allotted_link import AllottedLink
from headgate.testing.platform.errors import SimAuthError, SimBanned, classify
from headgate.testing.platform.link import SimulatedLink
from headgate.testing.platform.login import log_in
from headgate.testing.platform.platform_state import PlatformState


class SimulatedConnector(Connector):
    """Opens accounts of one world."""

    def __init__(self, world: PlatformState, owner: object = "this process") -> None:
        self._world = world
        self._owner = owner
        self._manifest = world.profile.manifest()

    @property
    def manifest(self) -> Manifest:
        return self._manifest

    async def login(self, attempt: LoginAttempt) -> LoginStep:
        return await log_in(self._world, attempt)

    async def logout(self, account: str, secrets: Mapping[str, str]) -> None:
        known = self._world.accounts.get(account)
        if known is not None and known.state != "banned":
            known.state = "logged_out"
            self._world.disconnect(account)

    async def open(self, account: str, secrets: Mapping[str, str], memory: Memory) -> Link:
        known = self._world.accounts.get(account)
        if known is None or known.state == "logged_out" or known.destroyed:
            raise SimAuthError(f"{account} is not signed in")
        if known.state == "banned":
            raise SimBanned(f"{account} is banned")
        session = self._world.sessions.begin(known, self._owner) if self._manifest.exclusive else None
        if self._world.profile.allotted:
            return AllottedLink(self._world, account, memory, session)
        return SimulatedLink(self._world, account, session)

    def host_of(self, listing: str) -> str:
        known = self._world.listings.get(listing)
        return "example.org" if known is None else known.host

    def classify(self, error: BaseException) -> WorkError:
        return classify(error)
