"""The library's page with very much in it, and on every screen."""

from __future__ import annotations

import re

import pytest
from library_scene import add_flood, add_groups, open_scene, row
from livesite import LiveSite
from playwright.async_api import Page, expect

from headgate.catalogue.shelf.listing import find_rows
from headgate.domain.library.shelf_filters import ShelfView

pytestmark = [pytest.mark.once, pytest.mark.long]

ROWS = 10_000
GROUPS = 200
CHUNK = 60
MAX_LAID_OUT = 8 * CHUNK
"""Rows that the browser may lay out at once: those of the window and of a few windows around it."""

SCROLL_THROUGH = """async () => {
  const frame = () => new Promise(requestAnimationFrame)
  const seen = new Set()
  let laidOut = 0
  const look = () => {
    let rows = 0
    for (const chunk of document.querySelectorAll('.chunk')) {
      if (!chunk.firstElementChild.checkVisibility({contentVisibilityAuto: true})) continue
      const {top, bottom} = chunk.getBoundingClientRect()
      rows += chunk.querySelectorAll('.row').length
      if (bottom < 0 || top > innerHeight) continue
      for (const row of chunk.querySelectorAll('.row')) {
        const {top, bottom} = row.getBoundingClientRect()
        if (bottom > 0 && top < innerHeight) seen.add(row.id)
      }
    }
    laidOut = Math.max(laidOut, rows)
  }
  for (;;) {
    await frame(); await frame()
    look()
    const before = scrollY
    scrollBy(0, innerHeight - 200)
    await frame()
    if (scrollY === before && !document.querySelector('.older')) break
  }
  return {seen: [...seen], laidOut}
}"""
OPEN_ALL = """() => {
  for (const one of document.querySelectorAll('.group [data-chevron]')) one.click()
  return [...document.querySelectorAll('.group .member')].filter(one => one.checkVisibility()).length
}"""


async def _order(live: LiveSite) -> list[str]:
    async with live.database.transaction() as tx:
        return [f"row-{found.id}" for found in await find_rows(tx, ShelfView(), limit=2 * ROWS)]


@pytest.mark.parametrize("layout", ["table", "grid"])
async def test_ten_thousand_rows_are_scrolled_with_few_of_them_laid_out(live: LiveSite, layout: str) -> None:
    await open_scene(live)
    await add_flood(live.database, items=ROWS)
    await add_groups(live.database, groups=GROUPS, each=6)
    async with live.page(height=1600) as page:
        page.set_default_timeout(240_000)
        await live.sign_in(page)
        # A tall window asks for the next rows at once, and so did the page after signing in.
        await page.goto("about:blank")
        pages: list[str] = []
        page.on("request", lambda request: pages.append(request.url) if "after=" in request.url else None)
        await page.goto(f"{live.url}/?layout={layout}")
        await page.get_by_label("Select Row 00001").check()
        scrolled = await page.evaluate(SCROLL_THROUGH)
        assert scrolled["seen"] == await _order(live)
        assert scrolled["laidOut"] <= MAX_LAID_OUT
        assert len(pages) == len(scrolled["seen"]) // CHUNK
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        assert await page.evaluate(OPEN_ALL) == GROUPS * 6 + 3
        await expect(page.locator("#picked")).to_have_text("1 selected")
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


async def _go_deep(page: Page, *, chunks: int) -> None:
    """Scroll down until so many chunks are there, the last is at the top, and the address says so."""
    for number in range(1, chunks):
        await page.locator("#library > .older").scroll_into_view_if_needed()
        await expect(page.locator(".chunk")).to_have_count(number + 1)
    await page.locator(".chunk").last.evaluate(
        "chunk => scrollBy(0, chunk.getBoundingClientRect().top + 200)"
    )
    await expect(page).to_have_url(re.compile("after="))


@pytest.mark.parametrize("layout", ["table", "grid"])
async def test_going_back_leads_to_the_same_row_with_groups_open_and_things_selected(
    live: LiveSite, layout: str
) -> None:
    await open_scene(live)
    await add_flood(live.database, items=400)
    await add_groups(live.database, groups=3, each=2)
    async with live.page() as page:
        await live.sign_in(page)
        await page.goto(f"{live.url}/?layout={layout}")
        await page.get_by_label("Select Row 00001").check()
        await _go_deep(page, chunks=4)
        group = row(page, "Group 1")
        await group.get_by_label("Show what is in").check()
        await group.get_by_label("Select Member 1").check()
        member = group.get_by_role("link", name="Member 2")
        await member.scroll_into_view_if_needed()
        top = await group.evaluate("row => Math.round(row.getBoundingClientRect().top)")
        await member.click()
        await page.wait_for_url(re.compile("/items/"))
        await page.go_back()
        await expect(page.locator("#picked")).to_have_text("2 selected")
        await expect(group.get_by_label("Select Member 1")).to_be_checked()
        # The browser may still be laying out what is above.
        await page.wait_for_function(
            "([row, top]) => Math.abs(row.getBoundingClientRect().top - top) < 2",
            arg=[await group.element_handle(), top],
        )
    assert live.complaints == []


async def test_rows_above_load_on_the_way_up_and_end_with_what_is_new(live: LiveSite) -> None:
    scene = await open_scene(live)
    await add_flood(live.database, items=400)
    async with live.page() as page:
        await live.sign_in(page)
        order = await _order(live)
        await _go_deep(page, chunks=4)
        await page.reload()
        while await page.locator(".earlier").count():
            await page.evaluate("scrollTo(0, 0)")
            await page.wait_for_timeout(0)
        while await page.locator(".older").count():
            await page.evaluate("scrollTo(0, document.body.scrollHeight)")
            await page.wait_for_timeout(0)
        assert await page.evaluate("[...document.querySelectorAll('.row')].map(row => row.id)") == order
        await expect(page.locator("live-state")).to_have_text("Live")
        await scene.arrive("First of all")
        await expect(page.locator(".pill")).to_have_text("1 new")
    assert live.complaints == []


async def test_keys_move_through_chunks_and_into_open_groups(live: LiveSite) -> None:
    await open_scene(live)
    await add_flood(live.database, items=200)
    async with live.page() as page:
        await live.sign_in(page)
        await _go_deep(page, chunks=2)
        last = page.locator(".chunk").first.locator(".row").last
        await last.locator("[data-row]").first.focus()
        await page.keyboard.press("j")
        await expect(page.locator(".chunk").nth(1).locator("[data-row]").first).to_be_focused()
        await page.keyboard.press("x")
        await page.keyboard.press("k")
        await expect(last.locator("[data-row]").first).to_be_focused()
        await expect(page.locator("#picked")).to_have_text("1 selected")
    assert live.complaints == []


async def test_a_menu_in_the_last_row_of_a_chunk_is_not_cut_off(live: LiveSite) -> None:
    await open_scene(live)
    await add_flood(live.database, items=200)
    async with live.page() as page:
        await live.sign_in(page)
        await _go_deep(page, chunks=2)
        menu = page.locator(".chunk").first.locator(".row").last.locator(".row-menu")
        await menu.locator("summary").click()
        await menu.get_by_role("link", name="Open page").click()
        await page.wait_for_url(re.compile("/items/"))
    assert live.complaints == []
