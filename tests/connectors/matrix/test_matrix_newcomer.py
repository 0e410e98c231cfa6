"""A newcomer with nothing but a browser: from the demo's first page to the files of a room on Synapse."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from matrix_stage import PASSWORD, Stage
from playwright.async_api import Page, async_playwright, expect
from running import Running, started

pytestmark = [pytest.mark.once, pytest.mark.long, pytest.mark.xdist_group("synapse")]

ROOM = "Seed exchange"
FILE = "tomatoes-2026.zip"
TIMEOUT_MS = 60_000
"""Reading a room takes jobs of several kinds, on a machine that does much else."""


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Running]:
    """What `make run` starts."""
    with started("demo", HEADGATE_DATA_DIR=str(tmp_path)) as running:
        yield running


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("chromium is not installed")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = await browser.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        yield page
        await browser.close()


async def fill_in(page: Page, stage: Stage, *, password: str) -> None:
    await page.get_by_label("Home server").fill(stage.door.url)
    await page.get_by_label("User name").fill(stage.account.name)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Continue").click()


async def test_a_newcomer_adds_a_matrix_account_and_sees_the_files_of_a_room(
    stage: Stage, demo: Running, page: Page
) -> None:
    expect.set_options(timeout=TIMEOUT_MS)
    room = await stage.make_room(ROOM)
    await stage.other.post_file(room, FILE, b"PK\x05\x06" + bytes(18), mime_type="application/zip")

    await page.goto(demo.address)
    await page.get_by_role("link", name="Channels", exact=True).click()
    await page.get_by_role("link", name="Add channels").click()
    await page.get_by_role("link", name="Add an account").click()
    await page.get_by_label("Matrix").check()
    await page.get_by_role("button", name="Continue").click()

    await fill_in(page, stage, password="not the password")
    await expect(page.get_by_role("alert")).to_contain_text("refuses the sign-in")
    # What was typed is still there, but for the password.
    await expect(page.get_by_label("User name")).to_have_value(stage.account.name)
    await expect(page.get_by_label("Password")).to_have_value("")
    await fill_in(page, stage, password=PASSWORD)

    await expect(page.get_by_role("heading", name="Add channels")).to_be_visible()
    await expect(page.get_by_text(f"What {stage.account.user_id} sees on Matrix")).to_be_visible()
    await page.get_by_label(ROOM).check()
    await page.get_by_role("button", name="Add selected").click()
    await expect(page.get_by_role("link", name=ROOM)).to_be_visible()

    await page.get_by_role("link", name="Library", exact=True).click()
    search = page.get_by_label("Search the library")
    async with asyncio.timeout(TIMEOUT_MS / 1000):
        while not await page.get_by_text(re.compile("tomatoes-2026")).count():
            await search.fill("tomatoes")
            await search.press("Enter")
            await page.wait_for_load_state("networkidle")
            await page.reload()
    await expect(page.get_by_text(re.compile("tomatoes-2026")).first).to_be_visible()
