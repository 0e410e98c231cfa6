"""The library's page in a real browser: everything that people do there, without a word of complaint."""

from __future__ import annotations

import re

import pytest
from library_scene import Scene, index_all, names, open_scene, row
from livesite import LiveSite
from playwright.async_api import expect

pytestmark = pytest.mark.once

ALL = ["Knight", "Castle", "Colossal Dungeon", "Broken", "Lantern"]


async def test_a_group_opens_at_once_without_asking_the_server(live: LiveSite) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        await expect(names(page)).to_have_text(ALL)
        group = row(page, "Colossal Dungeon")
        await expect(group.get_by_text("3 items")).to_be_visible()
        await expect(page.get_by_text("Floor 1")).to_be_hidden()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        await group.get_by_label("Show what is in Colossal Dungeon").check()
        await expect(page.get_by_text("Floor 1")).to_be_visible()
        assert asked == []
    assert live.complaints == []


async def test_copies_are_one_row_that_says_where_else_it_is(live: LiveSite) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        copies = row(page, "Lantern")
        await expect(copies).to_have_count(1)
        await expect(copies.locator("tr").first).to_contain_text("also in Channel 0")
        await expect(copies.locator("td.channel").first).to_have_text("Channel 1")
        await expect(row(page, "Broken").get_by_text("Problem")).to_be_visible()


async def test_the_layout_is_remembered(live: LiveSite) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        await page.get_by_role("link", name="Grid").click()
        await expect(page.locator(".thing-card")).to_have_count(5)
        await page.goto(live.url)
        await expect(page.locator(".thing-card")).to_have_count(5)
        await row(page, "Colossal Dungeon").get_by_label("Show what is in").check()
        await expect(page.get_by_text("Floor 2")).to_be_visible()
        await page.get_by_role("link", name="Table").click()
        await expect(page.locator(".chunk table.shelf")).to_be_visible()
    assert live.complaints == []


async def test_a_group_is_renamed_and_tagged_in_its_row(live: LiveSite) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        group = page.locator(".row.group")
        await group.hover()
        await group.get_by_label("Rename Colossal Dungeon").click()
        await expect(group.get_by_label("Name of the group")).to_be_focused()
        await page.keyboard.press("ControlOrMeta+a")
        await page.keyboard.type("Deep Dungeon")
        await page.keyboard.press("Enter")
        await expect(group.get_by_role("link", name="Deep Dungeon", exact=True)).to_be_visible()
        await group.hover()
        await group.get_by_label("Edit the tags of Deep Dungeon").click()
        await expect(group.get_by_label("Tags to add to Deep Dungeon")).to_be_focused()
        await page.keyboard.type("stone, 32mm")
        await page.keyboard.press("Enter")
        await expect(group.locator(".tag", has_text="stone")).to_be_visible()
        await group.hover()
        await group.get_by_label("Edit the tags of Deep Dungeon").click()
        await group.get_by_role("button", name="Remove the tag stone").click()
        await expect(group.locator(".tag", has_text="32mm")).to_be_visible()
        await expect(group.locator(".tag", has_text="stone")).to_have_count(0)
    assert live.complaints == []


async def test_an_edit_that_is_cancelled_changes_nothing_and_a_refused_one_says_why(live: LiveSite) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        group = page.locator(".row.group")
        await group.hover()
        await group.get_by_label("Rename Colossal Dungeon").click()
        await expect(group.get_by_label("Name of the group")).to_be_focused()
        await page.keyboard.type("Something else")
        await page.keyboard.press("Escape")
        await expect(group.get_by_role("link", name="Colossal Dungeon", exact=True)).to_be_visible()
        await group.hover()
        await group.get_by_label("Edit the tags of Colossal Dungeon").click()
        await expect(group.get_by_label("Tags to add to Colossal Dungeon")).to_be_focused()
        await page.keyboard.type(", ,")
        await page.keyboard.press("Enter")
        await expect(page.locator("#notices")).to_contain_text("Type at least one tag")
    assert [text for text in live.complaints if "422" not in text] == []


async def test_selected_things_are_grouped(live: LiveSite) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        await expect(page.locator("#selection")).to_be_hidden()
        await page.get_by_label("Select Knight").check()
        await expect(page.locator("#picked")).to_have_text("1 selected")
        await expect(page.get_by_role("button", name="Group selected")).to_be_hidden()
        await page.get_by_label("Select Castle").check()
        await page.get_by_role("button", name="Group selected").click()
        await page.get_by_label("Name of the group").fill("Knight and castle")
        await page.get_by_role("button", name="Group", exact=True).click()
        made = row(page, "Knight and castle")
        await expect(made.get_by_text("2 items")).to_be_visible()
        await expect(names(page)).to_have_text(["Knight and castle", "Colossal Dungeon", "Broken", "Lantern"])
    assert live.complaints == []


async def test_selected_things_are_added_to_a_group_and_taken_out_again(live: LiveSite) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        await page.get_by_label("Select Knight").check()
        await page.get_by_role("button", name="Add to group").click()
        await page.locator("select[name=group]").select_option(label="Colossal Dungeon")
        await page.get_by_role("button", name="Add", exact=True).click()
        group = row(page, "Colossal Dungeon")
        await expect(group.get_by_text("4 items")).to_be_visible()
        await group.get_by_label("Show what is in").check()
        await group.get_by_role("button", name="Remove Knight from the group").click()
        await expect(group.get_by_text("3 items")).to_be_visible()
        await page.goto(live.url)
        await expect(names(page).filter(has_text=re.compile("^Knight$"))).to_have_count(1)
    assert live.complaints == []


async def test_selected_things_are_tagged_fetched_and_removed(live: LiveSite) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        for name in ("Knight", "Castle"):
            await page.get_by_label(f"Select {name}").check()
        await page.get_by_role("button", name="Tag", exact=True).click()
        await page.locator("#sheet").get_by_label("Tags").fill("siege, resin")
        await page.get_by_role("button", name="Add tags").click()
        for name in ("Knight", "Castle"):
            await expect(row(page, name).locator(".tag", has_text="siege")).to_be_visible()
        await page.get_by_label("Select Broken").check()
        await page.get_by_role("button", name="Fetch").click()
        await expect(row(page, "Broken").get_by_text("Waiting")).to_be_visible()
        await page.get_by_label("Select Castle").check()
        await page.get_by_role("button", name="Remove", exact=True).click()
        await expect(page.get_by_role("dialog")).to_contain_text("Remove 1 item for ever?")
        await page.get_by_role("button", name="Remove for ever").click()
        await expect(row(page, "Castle")).to_have_count(0)
    assert live.complaints == []


async def test_files_of_selected_things_are_deleted_after_a_question(live: LiveSite) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        await page.get_by_label("Select Lantern").first.check()
        await page.get_by_role("button", name="Delete files").click()
        await expect(page.get_by_role("dialog")).to_contain_text("of 2 items")
        await page.get_by_role("dialog").get_by_role("button", name="Delete files").click()
        await expect(page.get_by_role("status").filter(has_text="free")).to_be_visible()
        await expect(page.get_by_text("Files dropped").first).to_be_visible()
    assert live.complaints == []


async def test_a_dissolved_group_can_be_restored_as_long_as_the_page_shows_it(live: LiveSite) -> None:
    scene = await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        group = page.locator(f"[id='row-{scene.group}']")
        await group.hover()
        await group.get_by_label("Actions for Colossal Dungeon").click()
        await group.get_by_role("link", name="Dissolve group").click()
        await expect(page.get_by_role("dialog")).to_contain_text("3 items stay in the library")
        await page.get_by_role("button", name="Dissolve", exact=True).click()
        await expect(group).to_contain_text("was dissolved")
        await scene.arrive("Meanwhile")
        await expect(page.locator(".pill")).to_be_visible()
        await expect(group.get_by_role("button", name="Undo")).to_be_visible()
        await group.get_by_role("button", name="Undo").click()
        await expect(group.get_by_text("3 items")).to_be_visible()
    assert live.complaints == []


async def test_the_drawer_lists_all_files_by_item_and_searches_them(live: LiveSite) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        await page.get_by_role("link", name="Colossal Dungeon", exact=True).click()
        drawer = page.locator("#drawer")
        await expect(drawer.get_by_role("heading", name="Colossal Dungeon")).to_be_visible()
        await expect(drawer.locator("h3 a")).to_have_text(["Floor 2", "Floor 1", "Floor 0"])
        await expect(drawer).to_contain_text(re.compile("[Bb]y hand|person"))
        await drawer.get_by_label("Search files").fill("no such file")
        await expect(drawer).to_contain_text("No file contains “no such file”")
        await drawer.locator("#name").fill("Renamed in the drawer")
        await drawer.get_by_role("button", name="Rename").click()
        await expect(drawer.get_by_role("heading", name="Renamed in the drawer")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(drawer).to_be_hidden()
        await expect(row(page, "Renamed in the drawer")).to_be_visible()
    assert live.complaints == []


async def test_filters_are_chips_that_are_removed_one_by_one(live: LiveSite) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        await page.get_by_role("link", name="Filter").click()
        panel = page.get_by_role("form", name="Filters")
        await panel.get_by_label("Channel").select_option(label="Channel 0")
        await panel.get_by_label("Kind").select_option("package")
        await panel.get_by_label("Tag").fill("elves")
        await panel.get_by_role("button", name="Apply").click()
        await expect(names(page)).to_have_text(["Knight"])
        await expect(page.locator(".chip")).to_have_count(3)
        await page.get_by_role("link", name="Remove the filter: #elves").click()
        await expect(names(page)).to_have_text(["Knight", "Colossal Dungeon", "Lantern"])
        await page.get_by_role("link", name="Filter", exact=True).click()
        await panel.get_by_label("In no group").check()
        await panel.get_by_role("button", name="Apply").click()
        await expect(names(page)).to_have_text(["Knight", "Lantern"])
        await page.get_by_role("link", name="Remove all").click()
        await expect(names(page)).to_have_text(ALL)
        await page.goto(f"{live.url}/?problems=1")
        await expect(names(page)).to_have_text(["Broken"])
        await page.goto(f"{live.url}/?min_size=many")
        await expect(page.get_by_role("alert")).to_contain_text("is not a size")
    assert [text for text in live.complaints if "422" not in text] == []


async def test_sorting_and_counting(live: LiveSite) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        await expect(page.locator("#count")).to_have_text("5 things")
        await page.locator("summary", has_text="Newest").click()
        await page.get_by_role("link", name="Oldest").click()
        await expect(names(page)).to_have_text(ALL[::-1])
        await page.get_by_role("columnheader").get_by_role("link", name="Name").click()
        await expect(names(page)).to_have_text(sorted(ALL))
        await page.get_by_role("columnheader").get_by_role("link", name="Size").click()
        await expect(names(page).first).to_have_text("Colossal Dungeon")


async def test_views_are_saved_renamed_made_the_default_and_deleted(live: LiveSite) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        await page.goto(f"{live.url}/?kind=clip")
        await page.locator("summary", has_text="Save view").click()
        await page.get_by_label("Name").fill("Clips")
        await page.get_by_role("button", name="Save", exact=True).click()
        await expect(
            page.get_by_role("navigation", name="Views").get_by_role("link", name="Clips")
        ).to_be_visible()
        await page.locator("summary", has_text="Edit view").click()
        await page.get_by_label("Name").fill("Moving pictures")
        await page.get_by_role("button", name="Rename").click()
        await page.locator("summary", has_text="Edit view").click()
        await page.get_by_role("button", name="Start with this view").click()
        await page.goto(live.url)
        await expect(names(page)).to_have_text(["Broken"])
        await page.get_by_role("link", name="Everything").click()
        await expect(names(page)).to_have_text(ALL)
        await page.get_by_role("link", name=re.compile("Moving pictures")).click()
        await page.locator("summary", has_text="Edit view").click()
        await page.get_by_role("link", name="Delete view").click()
        await page.get_by_role("button", name="Delete view").click()
        await expect(page.get_by_role("link", name=re.compile("Moving pictures"))).to_have_count(0)
    assert live.complaints == []


async def test_new_things_are_announced_and_move_nothing(live: LiveSite) -> None:
    scene = await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        await expect(page.locator("live-state")).to_have_text("Live")
        await scene.arrive("First of all")
        await expect(page.locator(".pill")).to_have_text("1 new")
        await scene.arrive("And the second")
        await expect(page.locator(".pill")).to_have_text("2 new")
        await expect(names(page)).to_have_text(ALL)
        await page.locator(".pill").click()
        await expect(names(page)).to_have_count(len(ALL) + 2)
        arrived = (await names(page).all_inner_texts())[:2]
        assert sorted(arrived) == ["And the second", "First of all"]
    assert live.complaints == []


async def test_a_row_that_changes_is_replaced_in_place_as_it_was_left(live: LiveSite) -> None:
    scene = await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        await expect(page.locator("live-state")).to_have_text("Live")
        await row(page, "Colossal Dungeon").get_by_label("Show what is in").check()
        await page.get_by_label("Select Floor 1").check()
        await page.locator(f"[id='head-{scene.knight.id}']").focus()
        await scene.stage.retitle(scene.knight, title="Black Knight")
        await scene.stage.retitle(
            next(item for item in scene.stage.items if item.title == "Floor 2"), title="Roof"
        )
        await scene.tell()
        await expect(row(page, "Black Knight")).to_be_visible()
        await expect(page.locator(f"[id='head-{scene.knight.id}']")).to_be_focused()
        await expect(page.get_by_text("Roof")).to_be_visible()
        await expect(page.get_by_label("Select Floor 1")).to_be_checked()
        await expect(page.locator("#picked")).to_have_text("1 selected")
        await scene.stage.remove(scene.castle)
        await scene.tell()
        await expect(page.get_by_text("No longer here")).to_be_visible()
    assert live.complaints == []


async def test_everything_of_the_list_works_from_the_keyboard(live: LiveSite) -> None:
    await open_scene(live)
    async with live.page() as page:
        await live.sign_in(page)
        for key in "jjj":
            await page.keyboard.press(key)
        await page.keyboard.press("o")
        await expect(page.get_by_text("Floor 2")).to_be_visible()
        await page.keyboard.press("j")
        await page.keyboard.press("x")
        await expect(page.get_by_label("Select Floor 2")).to_be_checked()
        await page.keyboard.press("ArrowLeft")
        await expect(page.get_by_text("Floor 2")).to_be_hidden()
        await page.keyboard.press("ArrowRight")
        await expect(page.get_by_text("Floor 2")).to_be_visible()
        await page.keyboard.press("Enter")
        await expect(page.locator("#drawer").get_by_role("heading", name="Colossal Dungeon")).to_be_visible()
        await page.keyboard.press("Escape")
        await page.keyboard.press("/")
        await expect(page.get_by_label("Search the library")).to_be_focused()
    assert live.complaints == []


async def test_search_finds_names_tags_and_typos(live: LiveSite) -> None:
    scene: Scene = await open_scene(live)
    await index_all(scene.live.database)
    async with live.page() as page:
        await live.sign_in(page)
        await page.get_by_label("Search the library").fill("cast")
        await expect(page.locator(".row")).to_have_count(1)
        await expect(names(page)).to_have_text(["Castle"])
        await page.get_by_label("Search the library").fill("colosal")
        await expect(row(page, "Colossal Dungeon")).to_be_visible()
        await page.get_by_label("Search the library").fill("elves")
        await expect(row(page, "Knight").locator(".matches")).to_have_text("tag: elves")
        await page.get_by_label("Search the library").fill("zzzzzz")
        await expect(page.get_by_role("heading", name="Nothing matches “zzzzzz”")).to_be_visible()
    assert live.complaints == []


async def test_the_list_works_without_scripts(live: LiveSite) -> None:
    await open_scene(live)
    context = await live.browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await live.sign_in(page)
    await page.get_by_label("Show what is in Colossal Dungeon").check()
    await expect(page.get_by_text("Floor 1")).to_be_visible()
    for name in ("Knight", "Castle"):
        await page.get_by_label(f"Select {name}").check()
    await page.get_by_role("button", name="Group selected").click()
    await page.get_by_label("Name of the group").fill("By hand")
    await page.get_by_role("button", name="Group", exact=True).click()
    await expect(row(page, "By hand")).to_be_visible()
    await page.get_by_role("link", name="By hand", exact=True).click()
    await expect(page.get_by_role("heading", name="By hand").first).to_be_visible()
    await page.get_by_role("link", name="Dissolve group").click()
    await page.get_by_role("button", name="Dissolve", exact=True).click()
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("heading", name="By hand").first).to_be_visible()
    await page.goto(f"{live.url}/library/filters")
    await page.get_by_label("Kind").select_option("clip")
    await page.get_by_role("button", name="Apply").click()
    await expect(names(page)).to_have_text(["Broken"])
    await context.close()
