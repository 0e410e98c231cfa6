"""Pictures of items: what was posted with them, what is inside, what can be drawn."""

from __future__ import annotations

import io
from pathlib import Path
from uuid import UUID

import pytest
from inspecting_bench import InspectingBench
from made_archives import run, zip_of
from PIL import Image

from headgate.catalogue.covers import pick_wanted
from headgate.ingest.storing.audit import audit_files
from headgate.storage.library.covers import list_covered_items, list_surroundings
from headgate.storage.library.files import complete_files
from headgate.storage.library.pictures import Picture
from headgate.testing.content.pictures import build_picture
from headgate.testing.shapes.files import binary_stl, three_mf
from headgate.testing.shapes.shapes import SHAPES

RED, BLUE = (200, 30, 30), (30, 30, 200)
MODEL = next(iter(SHAPES.values()))()


def photo(colour: tuple[int, int, int], *, width: int = 1600) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, width // 2), colour).save(buffer, "JPEG", quality=95)
    return buffer.getvalue() + b"\0" * 30_000


async def _content(inspecting: InspectingBench, picture: Picture) -> Image.Image:
    store = inspecting.parts.files.store
    chunks = store.read(picture.object_name, start=0, end=picture.size_bytes)
    return Image.open(io.BytesIO(b"".join([chunk async for chunk in chunks])))


async def _colour(inspecting: InspectingBench, item_id: UUID) -> str:
    """Tell which of the two colours the picture has."""
    picture = (await inspecting.pictures(item_id))[0]
    shown = (await _content(inspecting, picture)).convert("RGB").resize((1, 1)).getpixel((0, 0))
    assert isinstance(shown, tuple)
    return "red" if shown[0] > shown[2] else "blue"


async def test_a_picture_has_two_widths_and_no_metadata(inspecting: InspectingBench) -> None:
    item_id = await inspecting.add_item()
    await inspecting.post("photo.jpg", photo(RED), item_id=item_id, mime_type="image/jpeg")
    seen = await inspecting.look(item_id)
    pictures = await inspecting.pictures(item_id)
    assert [(each.width_px, each.height_px, each.media_type) for each in pictures] == [
        (320, 160, "image/webp"),
        (1280, 640, "image/webp"),
    ]
    assert (seen.state, seen.picture_source) == ("plain", "own_picture")
    assert (await _content(inspecting, pictures[0])).size == (320, 160)


async def test_a_damaged_picture_is_made_again(inspecting: InspectingBench) -> None:
    item_id = await inspecting.add_item()
    await inspecting.post("photo.jpg", photo(RED), item_id=item_id, mime_type="image/jpeg")
    await inspecting.look(item_id)
    for picture in await inspecting.pictures(item_id):
        path = inspecting.parts.settings.data.dir / "blobs" / picture.object_name
        path.write_bytes(bytes(path.stat().st_size))
    report = await audit_files(inspecting.parts.files, inspecting.clock)
    assert report.damaged.blobs == 2
    await inspecting.work()
    assert await _colour(inspecting, item_id) == "red"
    assert (await audit_files(inspecting.parts.files, inspecting.clock)).damaged.blobs == 0


async def test_the_photo_of_the_album_outranks_what_is_inside(inspecting: InspectingBench) -> None:
    item_id = await inspecting.add_item()
    await inspecting.post("cover.jpg", photo(RED), item_id=None, mime_type="image/jpeg", album="1")
    inside = zip_of({"preview.jpg": photo(BLUE), "model.stl": binary_stl(MODEL)})
    await inspecting.post("pack.zip", inside, item_id=item_id, album="1")
    assert (await inspecting.look(item_id)).picture_source == "album_photo"
    assert await _colour(inspecting, item_id) == "red"


async def test_a_photo_that_was_replied_to_is_the_picture(inspecting: InspectingBench) -> None:
    item_id = await inspecting.add_item()
    await inspecting.post("a.jpg", photo(RED), item_id=None, mime_type="image/jpeg", author="bob", key="p")
    await inspecting.post("pack.zip", zip_of({"a.txt": b"a"}), item_id=item_id, reply_to="p")
    assert (await inspecting.look(item_id)).picture_source == "replied_photo"


async def test_a_photo_directly_before_by_the_same_author_is_the_picture(inspecting: InspectingBench) -> None:
    item_id, other = await inspecting.add_item(), await inspecting.add_item()
    await inspecting.post("a.jpg", photo(RED), item_id=None, mime_type="image/jpeg", topic="t")
    await inspecting.post("pack.zip", zip_of({"a.txt": b"a"}), item_id=item_id, topic="t")
    await inspecting.post("b.jpg", photo(RED), item_id=None, mime_type="image/jpeg", author="bob")
    await inspecting.post("pack2.zip", zip_of({"b.txt": b"b"}), item_id=other)
    assert (await inspecting.look(item_id)).picture_source == "photo_before"
    assert (await inspecting.look(other)).picture_source == ""


async def test_an_image_inside_is_chosen_by_its_name(inspecting: InspectingBench) -> None:
    item_id = await inspecting.post_all(
        {"dragon.zip": zip_of({"a/texture_normal.jpg": photo(BLUE), "z/dragon preview.jpg": photo(RED)})}
    )
    assert (await inspecting.look(item_id)).picture_source == "image_inside"
    assert await _colour(inspecting, item_id) == "red"


async def test_a_damaged_image_gives_way_to_the_next(inspecting: InspectingBench) -> None:
    broken = photo(BLUE)[:200] + b"\0" * 40_000
    item_id = await inspecting.post_all({"pack.zip": zip_of({"cover.jpg": broken, "b.jpg": photo(RED)})})
    assert (await inspecting.look(item_id)).picture_source == "image_inside"
    assert await _colour(inspecting, item_id) == "red"


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("name", "content", "source"),
    [
        ("model.stl", binary_stl(MODEL), "drawn_model"),
        ("model.3mf", three_mf(MODEL), "drawn_model"),
        ("pack.zip", zip_of({"parts/model.stl": binary_stl(MODEL)}), "drawn_model"),
    ],
)
async def test_models_are_drawn(inspecting: InspectingBench, name: str, content: bytes, source: str) -> None:
    item_id = await inspecting.post_all({name: content})
    assert (await inspecting.look(item_id)).picture_source == source
    assert [each.width_px for each in await inspecting.pictures(item_id)] == [320, 768]


async def test_the_thumbnail_of_a_3mf_outranks_a_drawing(inspecting: InspectingBench) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (400, 300), RED).save(buffer, "PNG")
    item_id = await inspecting.post_all({"model.3mf": three_mf(MODEL, thumbnail=buffer.getvalue())})
    assert (await inspecting.look(item_id)).picture_source == "embedded_thumbnail"


async def test_a_video_shows_a_frame(inspecting: InspectingBench, tmp_path: Path) -> None:
    source = ["-f", "lavfi", "-i", "testsrc=size=640x360:rate=10", "-t", "3"]
    run("ffmpeg", "-nostdin", "-v", "error", *source, "film.mp4", folder=tmp_path)
    item_id = await inspecting.post_all({"film.mp4": (tmp_path / "film.mp4").read_bytes()})
    assert (await inspecting.look(item_id)).picture_source == "video_poster"


async def test_the_same_candidates_are_not_tried_twice(
    inspecting: InspectingBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    item_id = await inspecting.post_all({"photo.jpg": photo(RED), "broken.png": None})
    first = await inspecting.look(item_id)

    async def fail(*args: object) -> None:
        raise AssertionError("tried again")

    monkeypatch.setattr(type(inspecting.parts.reader.inspector.covers), "find", fail)
    again = await inspecting.look(item_id)
    assert (again.picture_key, again.due_at) == (first.picture_key, None)
    assert len(await inspecting.pictures(item_id)) == 2


async def test_a_lone_thing_wants_no_photo(inspecting: InspectingBench) -> None:
    lone, covered = await inspecting.add_item(), await inspecting.add_item()
    cover = await inspecting.post("a.jpg", None, item_id=None, mime_type="image/jpeg", album="1")
    await inspecting.post("pack.zip", None, item_id=covered, album="1")
    await inspecting.post("lone.zip", None, item_id=lone, topic="elsewhere")
    async with inspecting.parts.database.transaction() as tx:
        around = await list_surroundings(tx, [lone, covered])
    assert (pick_wanted(around[lone]), pick_wanted(around[covered])) == ([], [cover])


@pytest.mark.parametrize("way", ["album", "reply", "before"])
async def test_a_new_photo_tells_whose_picture_it_may_be(inspecting: InspectingBench, way: str) -> None:
    item_id = await inspecting.add_item()
    message = {"album": "1"} if way == "album" else {}
    cover = await inspecting.post("a.jpg", None, item_id=None, mime_type="image/jpeg", key="p", **message)
    if way == "reply":
        await inspecting.post("other.zip", None, item_id=await inspecting.add_item(), topic="t")
        message = {"reply_to": "p", "topic": "t"}
    await inspecting.post("pack.zip", None, item_id=item_id, **message)
    async with inspecting.parts.database.transaction() as tx:
        assert await list_covered_items(tx, [cover]) == [item_id]


async def test_a_picture_keeps_its_content_alive(inspecting: InspectingBench) -> None:
    item_id = await inspecting.add_item()
    await inspecting.post("photo.jpg", build_picture(1, size_bytes=60_000), item_id=item_id)
    await inspecting.look(item_id)
    referenced = set(await inspecting.column("list_references"))
    stored = set(await inspecting.column("list_picture_blobs", item_id=item_id))
    assert stored
    assert stored <= referenced


async def test_a_photo_that_filters_keep_out_is_fetched_as_a_picture(inspecting: InspectingBench) -> None:
    item_id = await inspecting.add_item()
    cover = await inspecting.post("a.jpg", None, item_id=None, mime_type="image/jpeg", album="1")
    await inspecting.post("pack.zip", zip_of({"a.txt": b"a"}), item_id=item_id, album="1")
    assert (await inspecting.look(item_id)).picture_source == ""
    assert await inspecting.column("list_wanted") == [cover]
    blob = await inspecting.store(photo(RED))
    async with inspecting.parts.database.transaction() as tx:
        await complete_files(tx, {cover: blob.id}, now=inspecting.clock.now())
    assert await inspecting.work() == 1
    assert (await inspecting.get(item_id)).picture_source == "album_photo"
