"""What the web part is made of: what `app` hands in, and what is built from it once per process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import Depends, Request

from headgate.kernel.clock import Clock, RealClock
from headgate.kernel.ids import Ids
from headgate.kernel.settings import WebSettings
from headgate.storage.database import Database, DatabaseAway, Tx
from headgate.storage.listen import Listener

if TYPE_CHECKING:
    from headgate.web.assets import Assets
    from headgate.web.events import EventHub
    from headgate.web.health import Readiness
    from headgate.web.links import EntryLink
    from headgate.web.passwords import Passwords
    from headgate.web.render import Renderer

PATIENCE_S = 5.0


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
    entry_link: EntryLink | None = None
    """Lets whoever has it in, for as long as this process lives; only the demo makes one."""
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
