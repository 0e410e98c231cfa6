"""The library's page with very much in it, and on every screen."""

from __future__ import annotations

import pytest
from library_scene import add_flood, add_groups, open_scene, row
from livesite import LiveSite
from playwright.async_api import Page, expect

pytestmark = [pytest.mark.once, pytest.mark.long]

ROWS = 2_000
GROUPS = 200


async def _scroll_to_the_end(page: Page, rows: int) -> None:
    """Scroll until so many rows are there; each step waits for the next page."""
    there = await page.locator(".row").count()
    while there < rows:
        await page.evaluate("scrollTo(0, document.body.scrollHeight)")
        await page.wait_for_function("there => document.querySelectorAll('.row').length > there", arg=there)
        there = await page.locator(".row").count()


async def test_two_thousand_rows_are_scrolled_without_repeats(live: LiveSite) -> None:
    await open_scene(live)
    await add_flood(live.database, items=ROWS)
    async with live.page() as page:
        page.set_default_timeout(120_000)
        await live.sign_in(page)
        await expect(page.locator("#count")).to_have_text("2\u202f005 things")
        await _scroll_to_the_end(page, ROWS + 5)
        ids: list[str] = await page.evaluate("[...document.querySelectorAll('.row')].map(row => row.id)")
        assert len(ids) == len(set(ids)) == ROWS + 5
    assert live.complaints == []


async def test_two_hundred_groups_are_opened(live: LiveSite) -> None:
    await open_scene(live)
    await add_groups(live.database, groups=GROUPS, each=6)
    async with live.page() as page:
        await live.sign_in(page)
        await _scroll_to_the_end(page, GROUPS + 5)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        await page.evaluate("document.querySelectorAll('.group [data-chevron]').forEach(one => one.click())")
        shown = await page.evaluate(
            "[...document.querySelectorAll('.group .member')].filter(one => one.checkVisibility()).length"
        )
        assert shown == GROUPS * 6 + 3
        assert asked == []
    assert live.complaints == []


async def test_the_library_is_accessible_and_fits_every_screen(live: LiveSite) -> None:
    scene = await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        paths = [
            "/",
            "/?layout=grid",
            f"/library/rows/{scene.group}",
            "/library/filters?kind=clip",
            "/?layout=table&type=none",
        ]
        found: list[str] = []
        for path in paths:
            found += await live.faults_of(page, path)
        assert found == []
    assert live.complaints == []


@pytest.mark.parametrize("layout", ["table", "grid"])
async def test_open_groups_the_bar_the_drawer_and_the_filters_are_accessible(
    live: LiveSite, layout: str
) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        found: list[str] = []
        for width in (1440, 360):
            for dark in (False, True):
                await page.emulate_media(color_scheme="dark" if dark else "light")
                await page.set_viewport_size({"width": width, "height": 860})
                await page.goto(f"{live.url}/?layout={layout}&kind=package")
                await row(page, "Colossal Dungeon").get_by_label("Show what is in").check()
                await page.get_by_label("Select Floor 1").check()
                await page.get_by_role("link", name="Filter", exact=True).click()
                await expect(page.get_by_role("form", name="Filters")).to_be_visible()
                found += await live.faults_here(page, f"{layout} {width} dark={dark}")
                await page.get_by_role("link", name="Colossal Dungeon", exact=True).click()
                await expect(page.locator("#drawer")).to_be_visible()
                found += await live.faults_here(page, f"drawer {width} dark={dark}")
        assert found == []
