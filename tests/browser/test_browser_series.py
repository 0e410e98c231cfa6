"""Series, notifications and how people are told, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from livesite import LiveSite
from playwright.async_api import Page, expect
from receiver import Receiver, receiving
from series_scene import SeriesScene, set_series

from headgate.kernel.clock import RealClock
from headgate.storage.channels.channels import upsert_account
from headgate.storage.events import Event, publish

pytestmark = pytest.mark.once


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def pages_of(scene: SeriesScene) -> list[str]:
    series = f"/series/{scene.series_id}"
    return [
        "/series",
        "/series?followed=true&q=nothing",
        "/series/add",
        "/series/add?platform=simulated&q=sky",
        "/series/import",
        series,
        f"{series}/remove",
        f"{series}/sources/{scene.failing_id}/remove",
        "/notifications",
        "/account/notifications",
        "/account",
        "/channels",
    ]


async def open_platform(live: LiveSite) -> None:
    """Let there be a listing that can be found."""
    live.platform.add_account("reader")
    live.platform.add_listing("sky", title="Sky harbour")
    async with live.database.transaction() as tx:
        await upsert_account(
            tx, uuid4(), platform="simulated", name="reader", established=True, now=RealClock().now()
        )


async def tell(live: LiveSite, user_id: UUID, title: str) -> None:
    """Tell a user of something, as telling does it."""
    async with live.database.transaction() as tx:
        await tx.raw(
            "insert into notification (id, user_id, subject, title, body, url, at, in_app, push)"
            " values ($1, $2, $1::text, $3, 'Chapter 64', 'https://site.example/64', $4, true, false)",
            [uuid4(), user_id, title, RealClock().now()],
        )
        await publish(tx, Event("notifications", audience=user_id))


async def is_live(page: Page) -> None:
    await expect(page.locator("live-state")).to_have_text("Live")


async def test_the_bell_rings_on_any_page_and_is_quiet_when_all_is_read(live: LiveSite) -> None:
    user_id = await live.add_user()
    async with live.page() as page, live.page() as other:
        await live.sign_in(page)
        await live.sign_in(other)
        await page.goto(f"{live.url}/notifications")
        for one in (page, other):
            await is_live(one)
            await expect(one.locator("#bell")).to_have_accessible_name("Notifications")
        await tell(live, user_id, "Tidewater")
        await expect(other.locator("#bell")).to_have_accessible_name("Notifications, 1 unread")
        await expect(page.locator("#notifications [data-row]")).to_contain_text("Tidewater")
        await tell(live, user_id, "Paper Cranes")
        await expect(page.locator("#notifications [data-row]")).to_have_count(2)
        await page.get_by_role("button", name="Mark as read Tidewater").click()
        await expect(other.locator("#bell")).to_have_accessible_name("Notifications, 1 unread")
        await page.get_by_role("button", name="Mark all as read").click()
        await expect(other.locator("#bell")).to_have_accessible_name("Notifications")
        await expect(page.locator(".is-unread")).to_have_count(0)
    assert live.complaints == []


async def test_a_series_is_followed_and_read_without_leaving_the_page(live: LiveSite) -> None:
    scene = await set_series(live.database, await live.add_user())
    async with live.page() as page:
        await live.sign_in(page)
        await page.goto(f"{live.url}/series")
        await page.get_by_role("button", name="Notify me of Second Harvest").click()
        await expect(
            page.get_by_role("button", name="Notifications on for Second Harvest: stop")
        ).to_be_focused()
        await page.keyboard.press("/")
        await page.keyboard.type("light")
        await expect(page.locator("[data-row]")).to_have_count(1)
        await page.get_by_role("link", name="The Lighthouse Keeper’s Cat").click()
        await expect(page).to_have_url(f"{live.url}/series/{scene.series_id}")
        await expect(page.locator("#reading")).to_contain_text("3 unread")
        await page.get_by_role("button", name="Read up to here (chapter 62)").click()
        await expect(page.locator("#reading")).to_contain_text("1 unread")
        await page.get_by_role("button", name="Unread from here (chapter 61)").click()
        await expect(page.locator("#reading")).to_contain_text("3 unread")
        await page.get_by_label("Once for each source").check()
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_label("Once for each source")).to_be_checked()
    assert live.complaints == []


async def test_a_new_chapter_appears_by_itself(live: LiveSite) -> None:
    scene = await set_series(live.database, await live.add_user())
    async with live.page() as page:
        await live.sign_in(page)
        await page.goto(f"{live.url}/series/{scene.series_id}")
        await is_live(page)
        async with live.database.transaction() as tx:
            await tx.raw(
                "insert into chapter (id, series_id, key, place, number, volume, title, seen_at)"
                " values ($1, $2, '64', 'z', '64', '', 'The end', $3)",
                [uuid4(), scene.series_id, RealClock().now()],
            )
            await publish(tx, Event("series"))
        await expect(page.locator("#chapters")).to_contain_text("The end")
        await expect(page.locator("#reading")).to_contain_text("64 chapters")
    assert live.complaints == []


async def test_a_source_is_added_asked_for_and_taken_away_in_a_dialog(live: LiveSite) -> None:
    await live.add_user()
    await open_platform(live)
    async with live.page() as page:
        await live.sign_in(page)
        await page.goto(f"{live.url}/series")
        await page.get_by_role("link", name="Add the first one").click()
        await page.get_by_label("Name or address").fill("sky")
        await page.get_by_role("button", name="Search", exact=True).click()
        await page.get_by_role("button", name="Add", exact=True).click()
        await expect(page.get_by_role("heading", name="Sky harbour", level=1)).to_be_visible()
        await expect(page.locator("#sources")).to_contain_text("not read yet")
        await page.get_by_role("button", name="Check now Sky harbour").click()
        await page.get_by_label("How often to check Sky harbour").select_option(label="Check rarely")
        await page.get_by_role("button", name="Set how often to check Sky harbour").click()
        await expect(page.locator("#sources")).to_contain_text("because a person chose this")
        await page.get_by_role("link", name="Remove source Sky harbour").click()
        dialog = page.get_by_role("dialog", name="Remove “Sky harbour” from this series?")
        await dialog.get_by_role("button", name="Remove source").click()
        await expect(page.locator("#chapters")).to_contain_text("No sources")
    assert live.complaints == []


async def test_an_address_is_added_and_tested_and_follows_are_switched(
    live: LiveSite, receiver: Receiver
) -> None:
    await set_series(live.database, await live.add_user())
    async with live.page() as page:
        await live.sign_in(page)
        await page.goto(f"{live.url}/account/notifications")
        zone = await page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone")
        await expect(page.get_by_label("Time zone")).to_have_value(zone)
        await page.get_by_label("Name", exact=True).fill("My phone")
        await page.get_by_label("Address", exact=True).fill(receiver.url)
        await page.get_by_role("button", name="Add address").click()
        await page.get_by_role("button", name="Send a test to My phone").click()
        await expect(page.locator(".address")).to_contain_text("Test sent.")
        assert receiver.calls == 1
        row = page.locator(".follow-list li", has_text="Tidewater")
        await row.get_by_label("Push").uncheck()
        await expect(row).to_contain_text("Saved.")
        await row.get_by_label("List").click()
        await expect(row).to_contain_text("Without the list and without push there is nothing to notify.")
        await expect(row.get_by_label("List")).to_be_checked()
    assert live.complaints == []


async def test_series_and_notifications_work_without_scripts(live: LiveSite) -> None:
    user_id = await live.add_user()
    scene = await set_series(live.database, user_id)
    await open_platform(live)
    context = await live.browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await live.sign_in(page)
    await expect(page.locator("#bell")).to_have_accessible_name("Notifications, 3 unread")
    await page.goto(f"{live.url}/series/{scene.series_id}")
    await page.get_by_role("button", name="Read up to here (chapter 63)").click()
    await expect(page.locator("#reading")).to_contain_text("all read")
    await page.get_by_role("button", name="Notifications on for The Lighthouse").click()
    await expect(page.locator("main")).to_contain_text("Off. Press")
    await page.goto(f"{live.url}/notifications")
    await page.get_by_role("button", name="Mark all as read").click()
    await expect(page.locator("#bell")).to_have_accessible_name("Notifications")
    await page.goto(f"{live.url}/account/notifications")
    row = page.locator(".follow-list li", has_text="Tidewater")
    await row.get_by_label("Push").uncheck()
    await row.get_by_role("button", name="Save").click()
    await expect(page.locator(".follow-list li", has_text="Tidewater")).to_contain_text("Saved.")
    await context.close()


@pytest.mark.long
async def test_pages_of_series_are_accessible_and_fit(live: LiveSite) -> None:
    scene = await set_series(live.database, await live.add_user())
    await open_platform(live)
    async with live.page() as page:
        await live.sign_in(page)
        assert [fault for path in pages_of(scene) for fault in await live.faults_of(page, path)] == []
    assert live.complaints == []
