"""The pages in a real browser: as people use them, without a word of complaint in the console."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest
from believable import add_flood, add_item, fill_jobs, fill_library
from library_scene import index_all
from livesite import PASSWORD, LiveSite
from playwright.async_api import Page, expect

from headgate.kernel.clock import RealClock
from headgate.storage import events
from headgate.storage.events import Event
from headgate.web import create_setup_link

# What a page looks like does not depend on which server is behind it.
pytestmark = pytest.mark.once

SET_HIDDEN = """hidden => {
    Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""
PAGES = [
    "/",
    "/channels",
    "/jobs",
    "/account",
    "/group-rules",
    "/group-rules/new",
    "/send-rules",
    "/send-rules/new",
    "/library/chapters",
]


async def arrive(live: LiveSite, channel_id: UUID, title: str) -> None:
    """Let an item be caught, as the intake does it."""
    await add_item(live.database, channel_id, title, "clip", 5_000_000, RealClock().now())
    async with live.database.transaction() as tx:
        await events.publish(tx, Event("items"))


async def focused_row(page: Page) -> str:
    return await page.evaluate("document.activeElement.id")


async def test_a_person_signs_in_and_out(live: LiveSite) -> None:
    await live.add_user()
    async with live.page() as page:
        await page.goto(live.url)
        await expect(page).to_have_url(f"{live.url}/login")
        await page.get_by_label("Name").fill("ada")
        await page.get_by_label("Password").fill("not the password")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_have_text("Wrong name or password.")
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("heading", name="Library")).to_be_visible()
        await page.locator(".bar .menu summary").click()
        await page.get_by_role("button", name="Sign out").click()
        await expect(page).to_have_url(f"{live.url}/login")
    # A refused sign-in is an answer with 401, which Chromium notes; nothing else was said.
    assert [text for text in live.complaints if "401" not in text] == []


async def test_the_first_start_makes_the_administrator(live: LiveSite) -> None:
    path = await create_setup_link(live.database)
    async with live.page() as page:
        await page.goto(f"{live.url}{path}")
        await page.get_by_label("Name").fill("Grace")
        await page.get_by_label("Password", exact=False).first.fill(PASSWORD)
        await page.get_by_label("Password again").fill(PASSWORD)
        await page.get_by_role("button", name="Create account").click()
        await expect(page.locator(".bar .menu summary")).to_have_text("Grace")
    assert live.complaints == []


async def test_the_first_start_says_what_is_wrong_with_a_password(live: LiveSite) -> None:
    path = await create_setup_link(live.database)
    async with live.page() as page:
        await page.goto(f"{live.url}{path}")
        for password, again, field, reason in (
            ("password12345", "password12345", "password", "made of common words"),
            ("gracehopper12", "gracehopper12", "password", "made of your user name"),
            (PASSWORD, f"{PASSWORD}!", "again", "passwords differ"),
        ):
            await page.get_by_label("Name").fill("Grace Hopper")
            await page.locator("[name=password]").fill(password)
            await page.get_by_label("Password again").fill(again)
            await page.get_by_role("button", name="Create account").click()
            await expect(page.get_by_role("alert")).to_contain_text(reason)
            await expect(page.get_by_label("Name")).to_have_value("Grace Hopper")
            await expect(page.locator(f"[name={field}]")).to_have_attribute("aria-invalid", "true")
        assert await live.faults_here(page, "set-up") == []
    assert [text for text in live.complaints if "422" not in text] == []


async def test_the_library_fills_by_itself(live: LiveSite) -> None:
    await live.add_user()
    channel_id, *_ = await fill_library(live.database, RealClock().now(), items=0)
    async with live.page() as page:
        await live.sign_in(page)
        await expect(page.get_by_role("heading", name="Nothing here yet")).to_be_visible()
        await expect(page.locator("live-state")).to_have_text("Live")
        await arrive(live, channel_id, "First of all.mp4")
        await expect(page.get_by_text("First of all.mp4")).to_be_visible()
    assert live.complaints == []


async def test_older_things_come_as_one_scrolls_and_a_flood_pulls_nothing_away(live: LiveSite) -> None:
    await live.add_user()
    channel_id, *_ = await fill_library(live.database, RealClock().now() - timedelta(days=1), items=130)
    async with live.page() as page:
        await live.sign_in(page)
        await expect(page.locator("[data-row]")).to_have_count(60)
        await page.locator(".older a").scroll_into_view_if_needed()
        await expect(page.locator("[data-row]")).to_have_count(120)
        await page.locator(".older a").scroll_into_view_if_needed()
        await expect(page.locator("[data-row]")).to_have_count(130)
        await add_flood(live.database, channel_id, RealClock().now(), items=300)
        await arrive(live, channel_id, "Last of the flood.mp4")
        await expect(page.locator(".pill")).to_have_text("100+ new")
        await expect(page.locator("[data-row]")).to_have_count(130)
        await page.locator(".pill").click()
        await expect(page.locator("[data-row]").first).to_contain_text("Flood")
    assert live.complaints == []


async def test_everything_works_from_the_keyboard(live: LiveSite) -> None:
    await live.add_user()
    await fill_library(live.database, RealClock().now(), items=5)
    await index_all(live.database)
    async with live.page() as page:
        await live.sign_in(page)
        rows = await page.locator("[data-row]").evaluate_all("rows => rows.map(row => row.id)")
        for key, row in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
            await page.keyboard.press(key)
            assert await focused_row(page) == rows[row]
        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_be_hidden()
        await page.keyboard.press("/")
        await page.keyboard.type("otter")
        await expect(page.locator("[data-row]")).to_have_count(1)
        await expect(page.get_by_label("Search the library")).to_be_focused()
        await expect(page).to_have_url(f"{live.url}/?q=otter")
    assert live.complaints == []


async def test_a_row_keeps_its_focus_when_new_ones_arrive(live: LiveSite) -> None:
    await live.add_user()
    channel_id, *_ = await fill_library(live.database, RealClock().now(), items=5)
    async with live.page() as page:
        await live.sign_in(page)
        await page.keyboard.press("j")
        await page.keyboard.press("j")
        before = await focused_row(page)
        await arrive(live, channel_id, "Meanwhile.mp4")
        await expect(page.locator(".pill")).to_have_text("1 new")
        await expect(page.locator(f"[id='{before}']")).to_be_focused()


async def test_a_sign_out_elsewhere_closes_the_page(live: LiveSite) -> None:
    await live.add_user()
    async with live.page() as page, live.page() as other:
        await live.sign_in(page)
        await expect(page.locator("live-state")).to_have_text("Live")
        await live.sign_in(other)
        await other.goto(f"{live.url}/account")
        await other.get_by_role("button", name="Sign out everywhere else").click()
        await page.wait_for_url(f"{live.url}/login")
    assert live.complaints == []


async def test_a_hidden_page_holds_no_stream_and_catches_up_when_seen(live: LiveSite) -> None:
    await live.add_user()
    channel_id, *_ = await fill_library(live.database, RealClock().now(), items=3)
    async with live.page() as page:
        await live.sign_in(page)
        await expect(page.locator("live-state")).to_have_text("Live")
        await page.evaluate(SET_HIDDEN, True)
        async with asyncio.timeout(10):
            while live.hub.streams:  # noqa: ASYNC110 - a browser that hangs up sends no signal to a test
                await asyncio.sleep(0.01)
        await arrive(live, channel_id, "While away.mp4")
        await page.evaluate(SET_HIDDEN, False)
        await expect(page.locator(".pill")).to_have_text("1 new")
        await arrive(live, channel_id, "And after.mp4")
        await expect(page.locator(".pill")).to_have_text("2 new")
    assert live.complaints == []


async def test_a_token_is_made_and_revoked(live: LiveSite) -> None:
    await live.add_user()
    async with live.page() as page:
        await live.sign_in(page)
        await page.goto(f"{live.url}/account")
        await page.get_by_label("Name").fill("backup script")
        await page.get_by_role("button", name="Create token").click()
        token = await page.locator("#fresh-token").inner_text()
        answer = await page.request.get(f"{live.url}/api/v1/me", headers={"authorization": f"Bearer {token}"})
        assert answer.ok
        await page.get_by_role("button", name="Revoke backup script").click()
        await expect(page.get_by_text("backup script")).to_have_count(0)
    assert live.complaints == []


@pytest.mark.long
async def test_pages_are_accessible_and_fit(live: LiveSite) -> None:
    await live.add_user()
    await fill_library(live.database, RealClock().now())
    await fill_jobs(live.database, RealClock().now() - timedelta(minutes=1))
    async with live.page() as page:
        found = await live.faults_of(page, "/login")
        await live.sign_in(page)
        item = await page.locator(".row .title").first.get_attribute("href")
        paths = [*PAGES, str(item)]
        assert found + [fault for path in paths for fault in await live.faults_of(page, path)] == []
    assert live.complaints == []


async def test_pages_work_without_scripts(live: LiveSite) -> None:
    await live.add_user()
    await fill_library(live.database, RealClock().now(), items=70)
    await index_all(live.database)
    context = await live.browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await live.sign_in(page)
    await expect(page.locator("[data-row]")).to_have_count(60)
    await page.get_by_role("link", name="More", exact=True).click()
    await expect(page.locator("[data-row]")).to_have_count(10)
    await page.get_by_label("Search the library").fill("otter")
    await page.keyboard.press("Enter")
    await expect(page.locator("[data-row]").first).to_contain_text("Otter")
    await context.close()
