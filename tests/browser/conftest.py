"""A real server on loopback and a real Chromium."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from livesite import LiveSite, cheap_passwords
from playwright.async_api import Browser, async_playwright

from headgate.app.parts import StoredSecrets
from headgate.connectors.apprise_out import AppriseOut
from headgate.ingest.inspecting.reader import build_reader
from headgate.kernel.clock import RealClock
from headgate.kernel.files_settings import FilesSettings
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import WebSettings
from headgate.lanes import Lanes
from headgate.lanes.links import Links
from headgate.outflow.notifications.push_addresses import PushAddresses
from headgate.storage.blobs.opening import build_files
from headgate.storage.database import Database
from headgate.storage.listen import Listener
from headgate.testing import World
from headgate.testing.platform.connector import SimulatedConnector
from headgate.testing.platform.profiles import plain
from headgate.web import Server, WebParts, create_app
from headgate.web.events import EventHub

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
    """Run all tests here on one loop, that of the browser; leave them out only if somebody says so."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            if NO_BROWSER:
                item.add_marker(pytest.mark.skip(reason="HEADGATE_TEST_NO_BROWSER=1"))


@pytest_asyncio.fixture(loop_scope="session")
async def database(database_url: str) -> AsyncIterator[Database]:
    """An open pool on a fresh, migrated database."""
    pool = Database(database_url, RealClock())
    await pool.open()
    yield pool
    await pool.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("chromium is not installed; install it, or set HEADGATE_TEST_NO_BROWSER=1 to go without")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def live(database: Database, tmp_path: Path, browser: Browser) -> AsyncIterator[LiveSite]:
    listener = Listener(database.url, RealClock())

    async def ready() -> list[str]:
        return []

    clock, lanes = RealClock(), Lanes(database, RealClock())
    ids, platform = Ids(clock, Randomness()), World(1, clock, plain)
    files = build_files(FilesSettings(), tmp_path, database, clock=clock, ids=ids)
    await files.open()
    parts = WebParts(
        database=database,
        clock=clock,
        ids=ids,
        settings=WebSettings(),
        data_dir=tmp_path,
        listener=listener,
        ready=ready,
        links=Links({"simulated": SimulatedConnector(platform)}, lanes, StoredSecrets(database, tmp_path)),
        push_addresses=PushAddresses(AppriseOut(), lanes, clock, ids, tmp_path),
        reader=build_reader(files, tmp_path, clock=clock),
    )
    hub = EventHub(gap_s=0.1)
    server = Server(create_app(parts, hub=hub, passwords=cheap_passwords()))
    listener.start()
    await listener.wait_until_listening()
    with socket.create_server(("127.0.0.1", 0)) as door:
        serving = asyncio.create_task(server.serve(sockets=[door]))
        yield LiveSite(f"http://127.0.0.1:{door.getsockname()[1]}", database, browser, hub, platform)
        server.should_exit = True
        await serving
    await listener.stop()
