"""The page of an item in a real browser: its picture, its files, and what is inside them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio
from inspecting_bench import InspectingBench, open_bench
from livesite import LiveSite
from playwright.async_api import expect

from headgate.testing.rar_writer import write_rar
from headgate.testing.shapes.files import binary_stl
from headgate.testing.shapes.shapes import SHAPES

pytestmark = [pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

MODEL = binary_stl(SHAPES["watchtower"]())
TREE = {
    "Watchtower/watchtower_full.stl": MODEL,
    "Watchtower/parts/roof.stl": MODEL[:50_000],
    "Watchtower/parts/a very long name of a part that nobody would ever want to read in full.stl": b"solid",
    "Watchtower/licence.txt": b"free",
    "extras.zip": b"PK\5\6" + bytes(18),
    "../escape.html": b"<script>document.title = 'ran'</script>",
}


def zip_of(tree: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in tree.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest_asyncio.fixture(loop_scope="session")
async def stored(live: LiveSite, tmp_path: Path) -> AsyncIterator[InspectingBench]:
    async with open_bench(live.database.url, tmp_path) as bench:
        yield bench


@pytest.mark.long
async def test_a_person_looks_into_an_archive(
    live: LiveSite, stored: InspectingBench, tmp_path: Path
) -> None:
    await live.add_user()
    item_id = await stored.post_all({"watchtower.zip": zip_of(TREE)}, title="Watchtower")
    await stored.look(item_id)
    async with live.page() as page:
        await live.sign_in(page)
        await page.goto(f"{live.url}/items/{item_id}")
        picture = page.get_by_role("img", name="Picture of Watchtower")
        await expect(picture).to_have_js_property("complete", value=True)
        assert await picture.evaluate("image => image.naturalWidth") > 300
        await page.get_by_role("link", name="Watchtower", exact=True).click()
        await page.get_by_role("link", name="parts").click()
        await expect(page.get_by_role("link", name="roof.stl")).to_be_visible()
        async with page.expect_download() as downloading:
            await page.get_by_role("link", name="roof.stl").click()
        download = await downloading.value
        await download.save_as(tmp_path / "roof.stl")
        assert download.suggested_filename == "roof.stl"
        assert (tmp_path / "roof.stl").read_bytes() == MODEL[:50_000]
        await page.goto(f"{live.url}/items/{item_id}")
        await page.get_by_role("searchbox").fill("licence")
        await expect(page.locator("#inside-rows .title")).to_have_text(["Watchtower/licence.txt"])
    assert live.complaints == []


@pytest.mark.long
async def test_the_page_of_an_item_fits_every_screen(live: LiveSite, stored: InspectingBench) -> None:
    await live.add_user()
    whole = await stored.post_all({"watchtower.zip": zip_of(TREE)}, title="Watchtower")
    volumes = write_rar({"big.bin": bytes(range(256)) * 2000}, volume_bytes=100_000)
    files: dict[str, bytes | None] = {
        f"castle of the seven winds.part{number}.rar": None if number == 2 else content
        for number, content in enumerate(volumes, start=1)
    }
    missing = await stored.post_all(files, title="Castle of the seven winds")
    for item_id in (whole, missing):
        await stored.look(item_id)
    async with live.page() as page:
        await live.sign_in(page)
        found: list[str] = []
        for item_id in (whole, missing):
            for path in (f"/items/{item_id}", f"/items/{item_id}?under=Watchtower"):
                found += await live.faults_of(page, path)
        assert found == []
    assert live.complaints == []
