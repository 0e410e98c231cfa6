"""What the web part is made of: what `app` hands in, and what is built from it once per process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import Depends, Request

from headgate.access.users import Access
from headgate.domain.errors import Elsewhere
from headgate.domain.pacing import LanePlan
from headgate.domain.streams.schedule_knobs import IntakeKnobs
from headgate.ingest.inspecting.reader import ContentReader
from headgate.intake.channels.choosing import ChannelChoice
from headgate.intake.channels.logins import Logins
from headgate.intake.channels.rules import RulesCache
from headgate.intake.listings.sources import ListingSources
from headgate.kernel.clock import Clock, RealClock
from headgate.kernel.ids import Ids
from headgate.kernel.settings import WebSettings
from headgate.lanes.links import Links
from headgate.outflow.notifications.push_addresses import PushAddresses
from headgate.outflow.reminders.preflight import LanePlans, Preflight
from headgate.storage.database import Database, Tx
from headgate.storage.errors import DatabaseAway
from headgate.storage.listen import Listener

if TYPE_CHECKING:
    from headgate.access.links import EntryLink
    from headgate.access.passwords import Passwords
    from headgate.web.events import EventHub
    from headgate.web.http.assets import Assets
    from headgate.web.http.health import Readiness
    from headgate.web.render import Renderer

PATIENCE_S = 5.0


def _no_connectors(platform: str) -> Sequence[LanePlan]:
    raise Elsewhere(f"there is no connector for the platform {platform!r} here")


@dataclass(frozen=True)
class WebParts:
    """What the web part needs from the rest of the product."""

    database: Database
    clock: Clock
    ids: Ids
    settings: WebSettings
    data_dir: Path
    listener: Listener
    """Not started yet: the web part subscribes to it."""
    ready: Callable[[], Awaitable[list[str]]]
    """Returns why the rest of the product is not ready; nothing if it is."""
    links: Links
    """The way to platforms, for what people look for there."""
    push_addresses: PushAddresses
    reader: ContentReader
    """The way to what is stored, and into archives."""
    entry_link: EntryLink | None = None
    """Lets whoever has it in, for as long as this process lives; only the demo makes one."""
    plans_of: LanePlans = _no_connectors
    """Tells the lanes of accounts that have not been opened yet."""
    slots: int = 32
    """Accounts that send at once, over all workers."""
    group_concurrency: int = 3
    """Groups that an account sends to at once, where its own setting does not say."""
    rules: RulesCache = field(default_factory=lambda: RulesCache(IntakeKnobs(), RealClock()))
    """Tells how often channels are looked at."""
    discover_every_s: float | None = None
    """How often an account's channels are listed again; None: as its connector says."""
    real_clock: Clock = field(default_factory=RealClock)
    """Sign-ins, tokens and waits protect real things: they follow real time also in a fast demo."""


@dataclass(frozen=True)
class Site:
    """The running web part."""

    parts: WebParts
    assets: Assets
    renderer: Renderer
    passwords: Passwords
    hub: EventHub
    readiness: Readiness

    @property
    def access(self) -> Access:
        """What actions on users and tokens work with."""
        parts = self.parts
        return Access(self.transaction, self.passwords, parts.ids, parts.real_clock)

    @property
    def preflight(self) -> Preflight:
        """Who looks ahead, from the state that lanes and runs have at this moment."""
        return Preflight(self.parts.plans_of, self.parts.clock, slots=self.parts.slots)

    @property
    def sources(self) -> ListingSources:
        """Who finds listings and follows them."""
        parts = self.parts
        return ListingSources(parts.links, parts.database, parts.clock, parts.ids)

    @property
    def logins(self) -> Logins:
        """Who signs accounts in."""
        parts = self.parts
        return Logins(parts.links, parts.data_dir, parts.ids, parts.clock, parts.real_clock)

    @property
    def choice(self) -> ChannelChoice:
        """Who lists what accounts see, and follows it."""
        parts = self.parts
        return ChannelChoice(parts.links, parts.database, parts.ids, parts.clock, parts.discover_every_s)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Tx, None]:
        """Open a transaction, but do not let a person wait long for a server that is away."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    tx = await stack.enter_async_context(self.parts.database.transaction())
            except TimeoutError as error:
                raise DatabaseAway("no connection within the time that a person waits") from error
            yield tx


def site_of(request: Request) -> Site:
    return cast("Site", request.app.state.site)


CurrentSite = Annotated[Site, Depends(site_of)]
