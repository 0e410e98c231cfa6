"""A running server with a browser in front of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from playwright.async_api import Browser, ConsoleMessage, Page

from headgate.access.passwords import Passwords
from headgate.kernel.clock import RealClock
from headgate.storage.access import users
from headgate.storage.database import Database
from headgate.testing import World
from headgate.web.events import EventHub

PASSWORD = "correct horse battery"


@dataclass
class LiveSite:
    """A running server, and a browser to look at it."""

    url: str
    database: Database
    browser: Browser
    hub: EventHub
    platform: World
    complaints: list[str] = field(default_factory=list[str])
    """What the browser's console had to say: errors, refused scripts and styles."""

    @asynccontextmanager
    async def page(
        self, *, width: int = 1280, height: int = 860, dark: bool = False
    ) -> AsyncGenerator[Page, None]:
        context = await self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        page = await context.new_page()
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        yield page
        await context.close()

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    async def add_user(self, name: str = "ada") -> UUID:
        password_hash = await Passwords().hash(PASSWORD)
        user_id = uuid4()
        async with self.database.transaction() as tx:
            await users.insert_user(
                tx,
                user_id=user_id,
                name=name,
                password_hash=password_hash,
                role="admin",
                now=RealClock().now(),
            )
        return user_id

    async def sign_in(self, page: Page, name: str = "ada") -> None:
        await page.goto(f"{self.url}/login")
        await page.get_by_label("Name").fill(name)
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(f"{self.url}/")
