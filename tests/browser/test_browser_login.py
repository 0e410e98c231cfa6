"""Signing an account in with a real browser: by a code, by a QR code, with scripts and without."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from livesite import WIDTHS, LiveSite
from playwright.async_api import Page, expect

from headgate.testing.platform.login import CODE

pytestmark = pytest.mark.once

SHOTS = os.environ.get("HEADGATE_TEST_SHOTS", "")
"""A folder for pictures of the pages; empty for none."""


async def begin(live: LiveSite, page: Page) -> None:
    """Choose the platform and a name, as somebody with no account at all finds the way."""
    await page.goto(f"{live.url}/channels")
    await page.get_by_role("link", name="Add an account").click()
    await page.get_by_label("Simulated platform").check()
    await page.get_by_label("Name in Headgate").fill("atlas")
    await page.get_by_role("button", name="Continue").click()


async def take_pictures(page: Page, name: str) -> None:
    if not SHOTS:
        return
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            await page.set_viewport_size({"width": width, "height": 860})
            await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            await page.screenshot(path=Path(SHOTS) / f"{name}-{width}-{scheme}.png", full_page=True)


async def test_a_scanned_qr_code_moves_the_page_on_by_itself(live: LiveSite) -> None:
    await live.add_user()
    live.platform.add_account("atlas")
    live.platform.add_stream("attic", title="Attic finds")
    async with live.page() as page:
        await live.sign_in(page)
        await begin(live, page)
        await expect(page.get_by_label("Code that was sent to atlas")).to_be_visible()
        faults = await live.faults_of(page, page.url.removeprefix(live.url))
        await take_pictures(page, "question")
        await page.get_by_role("button", name="Scan a QR code instead").click()
        await expect(page.get_by_role("img", name="QR code for signing in")).to_be_visible()
        faults += await live.faults_of(page, page.url.removeprefix(live.url))
        await take_pictures(page, "qr")
        live.platform.scanned_codes |= {f"simulated://login/atlas/{number}" for number in range(1, 99)}
        await expect(page.get_by_role("heading", name="Add channels")).to_be_visible()
        faults += await live.faults_of(page, page.url.removeprefix(live.url))
        await take_pictures(page, "channels")
        await page.get_by_label("Attic finds").check()
        await page.get_by_role("button", name="Add selected").click()
        await expect(page.get_by_role("link", name="Attic finds")).to_be_visible()
        faults += await live.faults_of(page, "/accounts/add")
        await take_pictures(page, "platforms")
    assert faults == []
    assert live.complaints == []


async def test_without_scripts_the_continue_button_goes_on(live: LiveSite) -> None:
    await live.add_user()
    live.platform.add_account("atlas")
    context = await live.browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await live.sign_in(page)
    await begin(live, page)
    await page.get_by_role("button", name="Scan a QR code instead").click()
    await expect(page.get_by_role("img", name="QR code for signing in")).to_be_visible()
    live.platform.scanned_codes |= {f"simulated://login/atlas/{number}" for number in range(1, 99)}
    while "/logins/" in page.url:
        await page.get_by_role("button", name="Continue").click()
    await expect(page).to_have_url(re.compile("/accounts/.*/channels"))
    await context.close()


async def test_a_wrong_code_is_told_and_may_be_corrected(live: LiveSite) -> None:
    await live.add_user()
    live.platform.add_account("atlas")
    async with live.page() as page:
        await live.sign_in(page)
        await begin(live, page)
        await page.get_by_label("Code that was sent to atlas").fill("1")
        await page.get_by_role("button", name="Continue").click()
        await expect(page.get_by_role("alert")).to_contain_text("the code is wrong")
        await page.get_by_label("Code that was sent to atlas").fill(CODE)
        await page.get_by_role("button", name="Continue").click()
        await expect(page.get_by_role("heading", name="Add channels")).to_be_visible()
    # A refused form is an answer with 422, which Chromium notes; nothing else was said.
    assert [text for text in live.complaints if "422" not in text] == []
