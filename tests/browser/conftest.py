"""A real server on loopback and a real Chromium."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright

from headgate.kernel.clock import RealClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import WebSettings
from headgate.storage import users
from headgate.storage.database import Database
from headgate.storage.listen import Listener
from headgate.web import Server, WebParts, create_app
from headgate.web.passwords import Passwords

PASSWORD = "correct horse battery"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
NO_BROWSER = os.environ.get("HEADGATE_TEST_NO_BROWSER") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the browser out only if somebody says so."""
    if NO_BROWSER:
        here = Path(__file__).parent
        for item in items:
            if here in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="HEADGATE_TEST_NO_BROWSER=1"))


@dataclass
class LiveSite:
    """A running server, and a browser to look at it."""

    url: str
    database: Database
    browser: Browser
    listener: Listener
    complaints: list[str] = field(default_factory=list[str])
    """What the browser's console had to say: errors, refused scripts and styles."""

    @asynccontextmanager
    async def page(self, *, width: int = 1280, height: int = 860, dark: bool = False) -> AsyncGenerator[Page, None]:
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

    async def add_user(self, name: str = "ada") -> None:
        password_hash = await Passwords().hash(PASSWORD)
        async with self.database.transaction() as tx:
            await users.insert_user(
                tx,
                user_id=uuid4(),
                name=name,
                password_hash=password_hash,
                role="admin",
                now=RealClock().now(),
            )

    async def sign_in(self, page: Page, name: str = "ada") -> None:
        await page.goto(f"{self.url}/login")
        await page.get_by_label("Name").fill(name)
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(f"{self.url}/")


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("chromium is not installed; install it, or set HEADGATE_TEST_NO_BROWSER=1 to go without")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        await browser.close()


@pytest.fixture
async def live(database: Database, tmp_path: Path, browser: Browser) -> AsyncIterator[LiveSite]:
    listener = Listener(database.url, RealClock())

    async def ready() -> list[str]:
        return []

    parts = WebParts(
        database=database,
        clock=RealClock(),
        ids=Ids(RealClock(), Randomness()),
        settings=WebSettings(),
        data_dir=tmp_path,
        listener=listener,
        ready=ready,
    )
    server = Server(create_app(parts))
    listener.start()
    await listener.wait_until_listening()
    with socket.create_server(("127.0.0.1", 0)) as door:
        serving = asyncio.create_task(server.serve(sockets=[door]))
        yield LiveSite(f"http://127.0.0.1:{door.getsockname()[1]}", database, browser, listener)
        server.should_exit = True
        await serving
    await listener.stop()
