"""What is stored of an item, through pages and the API: downloads, contents, pictures, refusals."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest
from inspecting_bench import InspectingBench, open_bench
from PIL import Image
from webworld import WebWorld

from headgate.storage.shelf.touched import touch_items

CONTENT = bytes(range(256)) * 40
INSIDE = {
    "readme.txt": b"read me",
    "parts/base.stl": b"solid",
    "parts/small/pin.stl": b"solid too",
    "../evil.html": b"<script>alert(1)</script>",
}


def zip_of(tree: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in tree.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def photo() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (1600, 800), (200, 30, 30)).save(buffer, "JPEG")
    return buffer.getvalue()


@pytest.fixture
async def stored(world: WebWorld, database_url: str, tmp_path: Path) -> AsyncIterator[InspectingBench]:
    """A process that stores files where the web part reads them."""
    async with open_bench(database_url, tmp_path) as bench:
        yield bench
    await world.app.state.site.parts.reader.close()


async def _add(stored: InspectingBench, name: str, content: bytes) -> tuple[UUID, UUID]:
    item_id = await stored.add_item()
    sighting_id = await stored.post(name, content, item_id=item_id)
    await stored.look(item_id)
    return item_id, sighting_id


def _ways(item_id: UUID, path: str) -> tuple[str, str]:
    return f"/items/{item_id}/{path}", f"/api/v1/items/{item_id}/{path}"


async def test_a_stored_file_is_downloaded_whole_and_in_ranges(
    world: WebWorld, stored: InspectingBench
) -> None:
    item_id, file_id = await _add(stored, "pack \u00e4.bin", CONTENT)
    async with world.signed_in() as client:
        for path in _ways(item_id, f"files/{file_id}"):
            whole = await client.get(path)
            assert (whole.status_code, whole.content) == (200, CONTENT)
            assert whole.headers["content-length"] == str(len(CONTENT))
            assert "filename*=UTF-8''pack%20%C3%A4.bin" in whole.headers["content-disposition"]
            for asked, expected in (
                ("bytes=0-0", CONTENT[:1]),
                ("bytes=100-199", CONTENT[100:200]),
                ("bytes=10000-", CONTENT[10000:]),
                ("bytes=-50", CONTENT[-50:]),
                ("bytes=10200-99999", CONTENT[10200:]),
            ):
                part = await client.get(path, headers={"range": asked})
                assert (part.status_code, part.content) == (206, expected)
                assert part.headers["content-range"].endswith(f"/{len(CONTENT)}")
            outside = await client.get(path, headers={"range": f"bytes={len(CONTENT)}-"})
            assert outside.status_code == 416
            assert outside.headers["content-range"] == f"bytes */{len(CONTENT)}"
            strange = await client.get(path, headers={"range": "bytes=1-2,4-5"})
            assert (strange.status_code, strange.content) == (200, CONTENT)


async def test_a_download_goes_on_only_with_the_same_content(
    world: WebWorld, stored: InspectingBench
) -> None:
    item_id, file_id = await _add(stored, "pack.bin", CONTENT)
    path, _ = _ways(item_id, f"files/{file_id}")
    async with world.signed_in() as client:
        tag = (await client.head(path)).headers["etag"]
        same = await client.get(path, headers={"range": "bytes=5-9", "if-range": tag})
        other = await client.get(path, headers={"range": "bytes=5-9", "if-range": '"another"'})
        known = await client.get(path, headers={"if-none-match": tag})
    assert (same.status_code, other.status_code, known.status_code) == (206, 200, 304)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("page.html", b"<script>fetch('/api/v1/items')</script>"),
        ("drawing.svg", b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"),
    ],
)
async def test_a_stored_page_never_runs_in_our_origin(
    world: WebWorld, stored: InspectingBench, name: str, content: bytes
) -> None:
    item_id, file_id = await _add(stored, name, content)
    archive_id, _ = await _add(stored, "pack.zip", zip_of({name: content}))
    async with world.signed_in() as client:
        for path in (*_ways(item_id, f"files/{file_id}"), *_ways(archive_id, "contents/0")):
            answer = await client.get(path)
            assert answer.content == content
            assert answer.headers["content-type"] == "application/octet-stream"
            assert answer.headers["content-disposition"].startswith("attachment")
            assert answer.headers["content-security-policy"].startswith("sandbox;")
            assert answer.headers["x-content-type-options"] == "nosniff"


async def test_the_whole_item_comes_as_a_zip(world: WebWorld, stored: InspectingBench) -> None:
    item_id = await stored.post_all(
        {"a.part1.rar": b"first", "a.part2.rar": b"second", "a.part3.rar": None}, title="Dragon: the set"
    )
    async with world.signed_in() as client:
        for path in _ways(item_id, "download"):
            answer = await client.get(path)
            assert "Dragon" in answer.headers["content-disposition"]
            with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
                assert archive.testzip() is None
                assert {name: archive.read(name) for name in archive.namelist()} == {
                    "a.part1.rar": b"first",
                    "a.part2.rar": b"second",
                }


async def test_contents_are_a_tree_with_search(world: WebWorld, stored: InspectingBench) -> None:
    item_id, _ = await _add(stored, "pack.zip", zip_of(INSIDE))
    async with world.signed_in() as client:
        path = f"/api/v1/items/{item_id}/contents"
        top = (await client.get(path)).json()["entries"]
        below = (await client.get(path, params={"under": "parts"})).json()["entries"]
        found = (await client.get(path, params={"search": "PIN"})).json()["entries"]
        paged = (await client.get(path, params={"limit": 2})).json()
        nothing = (await client.get(path, params={"under": "par"})).json()["entries"]
    assert [(row["name"], row["is_folder"], row["files"]) for row in top] == [
        ("%2E%2E", True, 1),
        ("parts", True, 2),
        ("readme.txt", False, 0),
    ]
    assert [(row["path"], row["size_bytes"]) for row in below] == [("parts/small", 9), ("parts/base.stl", 5)]
    assert [row["path"] for row in found] == ["parts/small/pin.stl"]
    assert (len(paged["entries"]), paged["next"]) == (2, 2)
    assert nothing == []


async def test_a_file_inside_is_extracted(world: WebWorld, stored: InspectingBench) -> None:
    item_id, _ = await _add(stored, "pack.zip", zip_of(INSIDE))
    async with world.signed_in() as client:
        for path in _ways(item_id, "contents/2"):
            answer = await client.get(path)
            assert (answer.status_code, answer.content) == (200, b"solid too")
            assert "pin.stl" in answer.headers["content-disposition"]
        missing = [await client.get(path) for path in _ways(item_id, "contents/99")]
    assert [answer.status_code for answer in missing] == [404, 404]


async def test_an_archive_inside_is_listed_on_request(world: WebWorld, stored: InspectingBench) -> None:
    item_id, _ = await _add(
        stored, "pack.zip", zip_of({"inner.zip": zip_of({"deep.txt": b"x"}), "a.txt": b""})
    )
    async with world.signed_in() as client:
        answer = (await client.get(f"/api/v1/items/{item_id}/contents/0/contents")).json()
        page = (await client.get(f"/items/{item_id}/contents/0/inside")).text
        refused = await client.get(f"/api/v1/items/{item_id}/contents/1/contents")
    assert [entry["path"] for entry in answer["entries"]] == ["deep.txt"]
    assert "deep.txt" in page
    assert refused.status_code == 422


async def test_an_archive_that_changed_is_not_extracted_by_old_numbers(
    world: WebWorld, stored: InspectingBench
) -> None:
    item_id = await stored.post_all({"pack.zip.001": b"x" * 10})
    archive = zip_of(INSIDE)
    await stored.post("pack.zip.002", archive[40:], item_id=item_id)
    await stored.look(item_id)
    other_id, _ = await _add(stored, "other.zip", archive)
    await stored.post("other.z01", b"a volume before it", item_id=other_id)
    async with world.signed_in() as client:
        answer = await client.get(f"/api/v1/items/{other_id}/contents/0")
    assert answer.status_code == 422
    assert "have changed" in answer.json()["detail"]


async def test_a_picture_has_an_address_that_never_changes(world: WebWorld, stored: InspectingBench) -> None:
    item_id, file_id = await _add(stored, "photo.jpg", photo())
    async with world.database.transaction() as tx:
        # As the job does that follows what machines change.
        touch_items(tx, [item_id])
    async with world.signed_in() as client:
        answer = (await client.get(f"/api/v1/items/{item_id}")).json()
        urls = [picture["url"] for picture in answer["stored"]["pictures"]]
        picture = await client.get(urls[0])
        page = (await client.get(f"/items/{item_id}")).text
        library = (await client.get("/")).text
        own = answer["stored"]["files"][0]["sha256"]
        guessed = [
            await client.get(path)
            for path in (f"/api/v1/pictures/{own}.webp", "/api/v1/pictures/x", "/api/v1/pictures/..webp")
        ]
    assert picture.headers["content-type"] == "image/webp"
    assert picture.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert Image.open(io.BytesIO(picture.content)).size == (320, 160)
    assert urls[1] in page
    assert urls[0] in library
    # Only pictures are reachable by their hash: a stored file is not.
    assert [each.status_code for each in guessed] == [404, 404, 404]
    assert file_id


async def test_a_stranger_sees_no_picture(world: WebWorld, stored: InspectingBench) -> None:
    item_id, _ = await _add(stored, "photo.jpg", photo())
    async with world.signed_in() as client:
        url = (await client.get(f"/api/v1/items/{item_id}")).json()["stored"]["pictures"][0]["url"]
    async with world.client() as stranger:
        assert (await stranger.get(url)).status_code in (303, 401)


async def test_what_is_wrong_is_said_with_what_to_do(world: WebWorld, stored: InspectingBench) -> None:
    item_id, _ = await _add(stored, "pack.zip", zip_of(INSIDE)[:-30])
    async with world.signed_in() as client:
        page = (await client.get(f"/items/{item_id}")).text
        answer = (await client.get(f"/api/v1/items/{item_id}")).json()["stored"]["contents"]
    assert answer["state"] == "truncated"
    assert answer["problems"][0][1:] in page
    assert answer["remedy"] in page


async def test_what_is_not_stored_cannot_be_downloaded(world: WebWorld, stored: InspectingBench) -> None:
    item_id = await stored.add_item()
    file_id = await stored.post("pack.zip", None, item_id=item_id)
    other_id, other_file = await _add(stored, "other.bin", b"other")
    async with world.signed_in() as client:
        answers: list[httpx.Response] = [
            await client.get(path)
            for path in (
                f"/api/v1/items/{item_id}/files/{file_id}",
                f"/api/v1/items/{item_id}/files/{other_file}",
                f"/api/v1/items/{item_id}/download",
                f"/api/v1/items/{uuid4()}/download",
                f"/api/v1/items/{item_id}/contents",
            )
        ]
    assert [answer.status_code for answer in answers] == [404] * 5
    assert other_id


async def test_a_missing_object_is_refused_before_the_first_byte(
    world: WebWorld, stored: InspectingBench
) -> None:
    item_id = await stored.add_item()
    file_id = await stored.post("pack.bin", None, item_id=item_id)
    blob = await stored.keep(file_id, CONTENT)
    await stored.parts.files.store.delete([blob.object_name])
    async with world.signed_in() as client:
        for path in (f"files/{file_id}", "download"):
            answer = await client.get(f"/api/v1/items/{item_id}/{path}")
            assert answer.status_code == 422
            assert "missing or damaged" in answer.json()["detail"]


async def test_nothing_is_left_in_the_scratch_folder(
    world: WebWorld, stored: InspectingBench, tmp_path: Path
) -> None:
    item_id, _ = await _add(stored, "pack.zip", zip_of(INSIDE))
    async with world.signed_in() as client:
        for path in ("contents/0", "contents/0/contents", "contents/99"):
            await client.get(f"/api/v1/items/{item_id}/{path}")
    left = [path for path in (tmp_path / "scratch").rglob("*") if path.is_file()]
    assert {path.name for path in left} <= {"gate", "in-use"}
