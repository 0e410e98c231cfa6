"""What tests of the MangaDex connector do again and again."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping

from mangadex_server import MangaDexServer, Person

from headgate.connectors.login_steps import LoginAttempt, SignedIn
from headgate.connectors.mangadex import MangaDexConnector
from headgate.connectors.protocol import Link
from headgate.domain.errors import WorkError
from headgate.domain.listings.listings import Listed, Swept
from headgate.kernel.clock import Clock
from headgate.kernel.connector_settings import MangaDexSettings

SITE = "https://mangadex.example"


def connect(
    server: MangaDexServer, *, clock: Clock | None = None, timeout_s: float = 10
) -> MangaDexConnector:
    """Return a connector to the server, with the server's own clock unless another is given."""
    settings = MangaDexSettings(api=server.api, site=SITE, auth=server.auth, timeout_s=timeout_s)
    return MangaDexConnector(settings, clock or server.clock)


def answers_of(person: Person) -> dict[str, str]:
    names = {"name": person.name, "password": person.password}
    return {**names, "client_id": person.client_id, "client_secret": person.client_secret}


async def sign_in(connector: MangaDexConnector, person: Person) -> Mapping[str, str]:
    signed_in = await connector.login(LoginAttempt(person.name, answers=answers_of(person)))
    assert isinstance(signed_in, SignedIn)
    return signed_in.secrets


async def list_all(link: Link, listing: str, cursor: Mapping[str, str] | None = None) -> list[Listed]:
    """Follow a listing to the end of its parts."""
    parts = [await link.list(listing, cursor or {})]
    while parts[-1].more:
        parts.append(await link.list(listing, parts[-1].cursor))
        assert len(parts) < 100, "the listing never ends"
    return parts


async def sweep_all(link: Link, cursor: Mapping[str, str]) -> list[Swept]:
    """Follow a sweep to its end."""
    parts = [await link.sweep("", cursor)]
    while parts[-1].more:
        parts.append(await link.sweep("", parts[-1].cursor))
        assert len(parts) < 300, "the sweep never ends"
    return parts


def swept_keys(parts: list[Swept]) -> set[str]:
    return {entry.key for part in parts for entries in part.entries.values() for entry in entries}


async def error_of(connector: MangaDexConnector, call: Awaitable[object]) -> WorkError:
    """Return what a call that fails means to the core."""
    try:
        answer = await call
    except Exception as error:  # noqa: BLE001 - whatever is raised is to be classified
        return connector.classify(error)
    raise AssertionError(f"no error: {answer}")
