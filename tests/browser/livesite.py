"""A running server with a browser in front of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from argon2 import PasswordHasher
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Browser, ConsoleMessage, Page, expect

from headgate.access.passwords import Passwords
from headgate.kernel.clock import RealClock
from headgate.storage.access import users
from headgate.storage.database import Database
from headgate.testing import World
from headgate.web.events import EventHub

PASSWORD = "correct horse battery"
TIMEOUT_MS = 20_000
"""For a machine that does much else."""
expect.set_options(timeout=TIMEOUT_MS)
PHONE = 360
WIDTHS = (1440, 768, PHONE)
EXAMINED = (1440, PHONE)
"""Where axe looks, too; on a tablet nothing but the places of things differs."""
STICKS_OUT = """[document.documentElement, document.querySelector('.bar nav')]
    .some(part => part && part.scrollWidth > part.clientWidth)"""
# A scheme changes colours alone, so in the dark only the rules about colours are asked again.
RULES = {
    "light": "{}",
    "dark": "{runOnly: ['color-contrast', 'link-in-text-block']}",
}


def cheap_passwords() -> Passwords:
    """Hash at a fraction of the real cost; nothing here is about it."""
    return Passwords(PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))


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
        page.set_default_timeout(TIMEOUT_MS)
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        yield page
        await context.close()

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    async def add_user(self, name: str = "ada") -> UUID:
        password_hash = await cheap_passwords().hash(PASSWORD)
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

    async def faults_of(self, page: Page, path: str) -> list[str]:
        """Open a page, and return what is wrong with it on a context and on a phone, light and dark."""
        await page.goto(f"{self.url}{path}")
        await page.evaluate(AXE_SCRIPT)
        found = [] if await page.locator("h1").count() == 1 else [f"{path}: not one h1"]
        for width in WIDTHS:
            await page.set_viewport_size({"width": width, "height": 860})
            if await page.evaluate(STICKS_OUT):
                found.append(f"{path}: sticks out at {width} px")
            if width not in EXAMINED:
                continue
            for scheme, rules in RULES.items():
                await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
                faults = await page.evaluate(
                    f"axe.run({rules}).then(all => all.violations.map(one => one.id))"
                )
                found += [f"{path}: {fault} at {width} px, {scheme}" for fault in faults]
        return found

    async def faults_here(self, page: Page, what: str) -> list[str]:
        """Return what is wrong with a page in the state that it is in."""
        await page.evaluate(AXE_SCRIPT)
        faults = await page.evaluate("axe.run().then(all => all.violations.map(one => one.id))")
        if await page.evaluate(STICKS_OUT):
            faults.append("sticks out")
        return [f"{what}: {fault}" for fault in faults]

    async def sign_in(self, page: Page, name: str = "ada") -> None:
        await page.goto(f"{self.url}/login")
        await page.get_by_label("Name").fill(name)
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(f"{self.url}/")
