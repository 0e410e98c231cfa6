"""The entry to Matrix: sign in and out, and open accounts."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from headgate.connectors.login_steps import LoginAttempt, LoginStep
from headgate.connectors.matrix.errors import NotSignedIn, classify
from headgate.connectors.matrix.http import Homeserver
from headgate.connectors.matrix.link import MatrixAccount, MatrixLink
from headgate.connectors.matrix.login import log_in, log_out
from headgate.connectors.matrix.manifest import MANIFEST
from headgate.connectors.protocol import Connector, Link, Manifest, Memory
from headgate.domain.errors import WorkError
from headgate.kernel.clock import Clock
from headgate.kernel.connector_settings import MatrixSettings

_NEEDED = ("homeserver", "user_id", "access_token")


class MatrixConnector(Connector):
    """Opens accounts on homeservers."""

    def __init__(self, settings: MatrixSettings, clock: Clock) -> None:
        self.settings = settings
        self._clock = clock

    @property
    def manifest(self) -> Manifest:
        return MANIFEST

    async def login(self, attempt: LoginAttempt) -> LoginStep:
        return await log_in(self.settings, attempt)

    async def logout(self, account: str, secrets: Mapping[str, str]) -> None:
        await log_out(secrets, timeout_s=self.settings.timeout_s)

    async def open(self, account: str, secrets: Mapping[str, str], memory: Memory) -> Link:
        if not all(secrets.get(name) for name in _NEEDED):
            raise NotSignedIn(f"{account} is not signed in to Matrix")
        server = Homeserver(
            secrets["homeserver"], token=secrets["access_token"], timeout_s=self.settings.timeout_s
        )
        opened = MatrixAccount(
            user_id=secrets["user_id"],
            accepts_invitations=secrets.get("invitations") == "yes",
            rooms=tuple(secrets.get("rooms", "").split()),
        )
        return MatrixLink(server, opened, memory, self._clock, sync_s=self.settings.sync_s)

    def host_of(self, listing: str) -> str:
        return urlsplit(listing).netloc.lower()

    def classify(self, error: BaseException) -> WorkError:
        return classify(error)
