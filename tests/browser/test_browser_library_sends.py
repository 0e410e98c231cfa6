"""Sending things on and choosing covers, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from library_scene import open_scene, row
from livesite import LiveSite
from playwright.async_api import expect

from headgate.kernel.clock import RealClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.channels.channels import upsert_account
from headgate.storage.events import Event, publish
from headgate.storage.reminders.targets import SeenTarget, note_targets
from headgate.testing.content.pictures import build_picture

pytestmark = pytest.mark.once

DROP = """async ([place, bytes]) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(bytes)], "cover.jpg", {type: "image/jpeg"}));
    const drop = new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true});
    document.querySelector(place).dispatchEvent(drop);
}"""


async def add_targets(live: LiveSite, *titles: str) -> None:
    ids, now = Ids(RealClock(), Randomness(3)), RealClock().now()
    async with live.database.transaction() as tx:
        account = await upsert_account(
            tx, ids.new(), platform="simulated", name="atlas", established=True, now=now
        )
        seen = [SeenTarget(f"g{number}", title) for number, title in enumerate(titles)]
        await note_targets(tx, account, seen, platform="simulated", ids=ids, now=now)


async def test_selected_things_and_whole_groups_are_sent_on(live: LiveSite) -> None:
    await open_scene(live)
    await add_targets(live, "Print club", "My own chat")
    async with live.page() as page:
        await live.sign_in(page)
        await page.get_by_label("Select Knight").check()
        await page.get_by_label("Select Colossal Dungeon").check()
        await page.get_by_role("button", name="Send", exact=True).click()
        await expect(page.get_by_role("dialog")).to_contain_text("Send 4 items to")
        await page.locator("select[name=target]").select_option(label="My own chat")
        await page.get_by_label("Use as my own chat from now on").check()
        await page.get_by_role("button", name="Send all").click()
        await expect(page.get_by_role("status").filter(has_text="4 items on the way")).to_be_visible()
        await page.get_by_role("link", name="See the sends").click()
        await expect(page.locator(".sends tbody tr")).to_have_count(4)
        await expect(page.get_by_text("Pending")).to_have_count(4)
        await page.get_by_role("button", name="Cancel: Knight").click()
        await expect(page.locator("tr", has_text="Knight").get_by_text("Cancelled")).to_be_visible()
        await page.get_by_role("button", name="Retry: Knight").click()
        await expect(page.locator("tr", has_text="Knight").get_by_text("Pending")).to_be_visible()
    assert live.complaints == []


async def test_the_drawer_sends_and_shows_what_became_of_it_live(live: LiveSite) -> None:
    scene = await open_scene(live)
    await add_targets(live, "Print club")
    async with live.page() as page:
        await live.sign_in(page)
        await page.goto(f"{live.url}/library/rows/{scene.group}")
        await page.get_by_role("link", name="Send all").click()
        await page.get_by_role("button", name="Send all").click()
        await expect(page.locator("#row-sends tbody tr")).to_have_count(3)
        await expect(page.locator("live-state")).to_have_text("Live")
        await scene.stage.ask(
            "update send_request"
            " set state = 'failed', due_at = null, reason = 'the target is gone', ended_at = now()"
        )
        async with live.database.transaction() as tx:
            await publish(tx, Event("sends"))
        await expect(page.locator("#row-sends").get_by_text("Failed")).to_have_count(3)
        await expect(page.get_by_text("the target is gone").first).to_be_visible()
    assert live.complaints == []


async def test_a_cover_is_chosen_dropped_and_reset(live: LiveSite, tmp_path: Path) -> None:
    await open_scene(live)
    chosen = tmp_path / "cover.jpg"
    chosen.write_bytes(build_picture(5, size_bytes=30_000, width=640, height=480))
    async with live.page() as page:
        await live.sign_in(page)
        await page.get_by_role("link", name="Colossal Dungeon", exact=True).click()
        drawer = page.locator("#drawer")
        await expect(drawer.locator(".cover-drop img")).to_have_count(0)
        await drawer.locator("input[type=file]").set_input_files(chosen)
        await expect(drawer.locator(".cover-drop img")).to_have_count(1)
        first = await drawer.locator(".cover-drop img").get_attribute("src")
        other = build_picture(6, size_bytes=30_000, width=640, height=480)
        await page.evaluate(DROP, [".cover-drop", list(other)])
        await expect(drawer.locator(".cover-drop img")).not_to_have_attribute("src", str(first))
        await page.keyboard.press("Escape")
        await expect(row(page, "Colossal Dungeon").locator("tr").first.locator("img")).to_be_visible()
        await page.get_by_role("link", name="Colossal Dungeon", exact=True).click()
        await drawer.get_by_role("button", name="Reset cover").click()
        await expect(drawer.locator(".cover-drop img")).to_have_count(0)
    assert live.complaints == []
