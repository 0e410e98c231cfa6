"""Reminders and runs in a real browser: planned, watched and steered by a person."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from livesite import LiveSite
from outflow_scene import Scene, set_scene
from playwright.async_api import FilePayload, Page, expect

from headgate.storage.events import Event, publish

pytestmark = pytest.mark.once

PICTURE: FilePayload = {"name": "plants.jpg", "mimeType": "image/jpeg", "buffer": b"green"}
ALLOWING = """
window.told = [];
window.Notification = class {
    static permission = "granted";
    static requestPermission = async () => "granted";
    constructor(title, { body }) { window.told.push(body); }
};
"""
HIDE = """() => {
    Object.defineProperty(document, "hidden", {value: true, configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def pages_of(scene: Scene) -> list[str]:
    reminder = f"/reminders/{scene.reminder_id}"
    return [
        "/reminders",
        "/reminders?state=archived",
        "/reminders/new",
        reminder,
        f"{reminder}/edit",
        f"{reminder}/run",
        f"{reminder}/test",
        "/runs",
        f"/runs/{scene.under_way}",
        f"/runs/{scene.ended}",
        f"/runs/{scene.ended}/send-rest",
        "/accounts",
    ]


async def deliver_all(live: LiveSite, run_id: UUID) -> None:
    """Let a run come to its end, as its sender tells it."""
    async with live.database.transaction() as tx:
        await tx.raw("update delivery set state = 'sent', latency_ms = 400 where run_id = $1", [run_id])
        await tx.raw("update run set state = 'success', summary = 'All done.' where id = $1", [run_id])
        await publish(tx, Event("runs"))
        details = {"run": str(run_id), "status": "success", "text": "Water the plants: all 200 delivered"}
        await publish(tx, Event("reminder.fired", details=details))


async def fill(page: Page) -> None:
    await page.get_by_label("Title").fill("Tea at four")
    await page.get_by_label("Account").select_option(label="Atlas (sim)")
    await page.get_by_label("Text of message 1").fill("Dear {group}, it is {weekday}.")
    await page.get_by_text("Daily", exact=True).click()


async def test_a_reminder_is_planned_with_a_live_forecast(live: LiveSite) -> None:
    await live.add_user()
    await set_scene(live.database)
    async with live.page() as page:
        await live.sign_in(page)
        await page.goto(f"{live.url}/reminders")
        await page.get_by_role("link", name="New reminder").click()
        zone = await page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone")
        await expect(page.get_by_label("Time zone")).to_have_value(zone)
        await fill(page)
        await expect(page.locator("#ahead")).to_contain_text("Choose a group or a list")
        await page.get_by_label("Search groups").fill("old mill 9")
        await expect(page.locator("#found .tick")).to_have_count(9)
        await page.get_by_label("Old mill 93").check()
        await expect(page.locator("#choice")).to_contain_text("1 group ticked: Old mill 93")
        await expect(page.locator("#ahead")).to_contain_text("Dear Old mill 93, it is")
        await expect(page.locator("#ahead")).to_contain_text("1 group, done by about")
        await page.get_by_role("button", name="Add a message").click()
        await expect(page.get_by_label("Text of message 2")).to_be_focused()
        await page.locator("input[name=file-2]").set_input_files(PICTURE)
        await expect(page.locator("#parts")).to_contain_text("plants.jpg")
        await page.get_by_role("button", name="Move message 2 up").click()
        await expect(page.get_by_label("Text of message 2")).to_have_value("Dear {group}, it is {weekday}.")
        await page.get_by_role("button", name="Save reminder").click()
        await expect(page.get_by_role("heading", name="Tea at four")).to_be_visible()
        await expect(page.locator("main")).to_contain_text("plants.jpg")
    assert live.complaints == []


async def test_a_run_is_watched_and_its_end_is_told_on_any_page(live: LiveSite) -> None:
    await live.add_user()
    scene = await set_scene(live.database)
    async with live.page() as page, live.page() as other:
        await live.sign_in(page)
        await live.sign_in(other)
        await page.goto(f"{live.url}/runs/{scene.under_way}")
        await expect(page.locator(".headline")).to_contain_text("78 of 200")
        for one in (page, other):
            await expect(one.locator("live-state")).to_have_text("Live")
        await deliver_all(live, scene.under_way)
        await expect(page.locator(".headline")).to_contain_text("200 of 200")
        await expect(other.locator(".notice")).to_contain_text("Water the plants: all 200 delivered")
        await other.get_by_role("link", name="See the run").click()
        await expect(other).to_have_url(f"{live.url}/runs/{scene.under_way}")
        await page.get_by_role("button", name="Close the notice").click()
        await expect(page.locator(".notice")).to_have_count(0)
    assert live.complaints == []


async def until(page: Page, condition: str) -> None:
    """Wait until something is true on the page; waiting inside of it is barred by its policy."""
    async with asyncio.timeout(30):
        while not await page.evaluate(condition):
            await page.wait_for_timeout(50)


async def test_a_hidden_page_tells_by_the_browser_if_the_person_allowed_it(live: LiveSite) -> None:
    await live.add_user()
    scene = await set_scene(live.database, groups=10)
    async with live.page() as page:
        await page.add_init_script(ALLOWING)
        await live.sign_in(page)
        await page.goto(f"{live.url}/account")
        await page.get_by_label("Show browser notices").check()
        await page.goto(f"{live.url}/channels")
        await expect(page.locator("live-state")).to_have_text("Live")
        await until(page, "SeenEventSource.keepsWatch")
        await page.evaluate(HIDE)
        await deliver_all(live, scene.under_way)
        await until(page, "window.told.length === 1")
        assert await page.evaluate("window.told") == ["Water the plants: all 200 delivered"]
    assert live.complaints == []


async def test_questions_open_as_dialogs_and_are_answered_by_keyboard(live: LiveSite) -> None:
    await live.add_user()
    scene = await set_scene(live.database)
    async with live.page() as page:
        await live.sign_in(page)
        await page.goto(f"{live.url}/runs/{scene.under_way}")
        await page.get_by_role("link", name="Cancel").focus()
        await page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="Cancel this run?")
        await expect(dialog).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(dialog).to_be_hidden()
        await page.get_by_role("link", name="Cancel").click()
        await dialog.get_by_role("link", name="Back").click()
        await expect(dialog).to_be_hidden()
        await page.get_by_role("link", name="Cancel").click()
        await dialog.get_by_role("button", name="Cancel the run").click()
        await expect(page.locator(".headline")).to_contain_text("cancelled")
    assert live.complaints == []


async def test_a_reminder_is_planned_without_scripts(live: LiveSite) -> None:
    await live.add_user()
    await set_scene(live.database, groups=12)
    context = await live.browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await live.sign_in(page)
    await page.goto(f"{live.url}/reminders/new")
    await fill(page)
    await page.get_by_role("button", name="Save reminder").click()
    await expect(page.locator("#wrong-targets")).to_be_visible()
    await expect(page.get_by_label("Title")).to_have_value("Tea at four")
    await page.get_by_label("Hilltop 11").check()
    await page.get_by_role("button", name="Check", exact=True).last.click()
    await expect(page.locator("#ahead")).to_contain_text("Dear Hilltop 11, it is")
    await page.get_by_role("button", name="Save reminder").click()
    await expect(page.get_by_role("heading", name="Tea at four")).to_be_visible()
    await context.close()


@pytest.mark.long
async def test_pages_of_reminders_are_accessible_and_fit(live: LiveSite) -> None:
    await live.add_user()
    scene = await set_scene(live.database)
    async with live.page() as page:
        await live.sign_in(page)
        assert [fault for path in pages_of(scene) for fault in await live.faults_of(page, path)] == []
    assert live.complaints == []
