"""However a collection comes in, the same becomes of it: sets, contents, pictures, creators."""

from __future__ import annotations

import io
import subprocess
import zipfile
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
from fetch_bench import FetchBench, open_fetch_bench
from folder_bench import open_folder_bench
from PIL import Image

from headgate.storage.database import Database
from headgate.testing import file_of
from headgate.testing.shapes.files import binary_stl
from headgate.testing.shapes.shapes import SHAPES

Way = Literal["downloaded", "copied", "in place"]

ITEMS = """
select i.title, t.state as set_state, t.present, t.total, n.state as contents, n.picture_source,
       (select count(*) from picture p where p.item_id = i.id) as pictures,
       (select array_agg(e.path order by e.number) from content_entry e
        where e.item_id = i.id and not e.is_directory) as entries,
       (select count(*) from item_file f join sighting s on s.id = f.sighting_id
        where s.item_id = i.id and f.state = 'stored') as stored
from item i left join item_set t on t.item_id = i.id left join inspection n on n.item_id = i.id
order by i.title
"""


def _make(folder: Path) -> list[Path]:
    """Write a set of volumes, a model, a picture and an archive with a picture in it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dragon.stl").write_bytes(Random(1).randbytes(250_000))
    subprocess.run(
        ["7z", "a", "-bd", "-v100k", "-sdel", "dragon.7z", "dragon.stl"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    (folder / "chest.stl").write_bytes(binary_stl(SHAPES["chest"]()))
    picture = io.BytesIO()
    Image.new("RGB", (640, 480), "teal").save(picture, "png")
    with zipfile.ZipFile(folder / "knight.zip", "w") as archive:
        archive.writestr("knight/preview.png", picture.getvalue())
        archive.writestr("knight/shield.txt", b"oak")
    # The last one: a picture posted right before something else is taken for its cover.
    (folder / "lake.png").write_bytes(picture.getvalue())
    return sorted(folder.iterdir())


async def _bring_in(database: Database, url: str, place: Path, way: Way) -> list[dict[str, Any]]:
    if way == "downloaded":
        async with open_fetch_bench(database, url, place / "data") as fetching:
            return await _download(fetching, _make(place / "made"))
    async with open_folder_bench(database, url, place) as bench:
        _make(bench.folder)
        await bench.import_all(in_place=way == "in place")
        await bench.rest(60)
        return await bench.rows(ITEMS)


async def _download(fetching: FetchBench, files: list[Path]) -> list[dict[str, Any]]:
    for file in files:
        await fetching.hear(fetching.world.post("packs", files=[file_of(file.name, file.read_bytes())]))
    await fetching.work()
    await fetching.rest(60)
    return await fetching.rows(ITEMS)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("way", ["downloaded", "copied", "in place"])
async def test_sets_contents_and_pictures_do_not_depend_on_the_way(
    database: Database, database_url: str, tmp_path: Path, way: Way
) -> None:
    items = {row.pop("title"): row for row in await _bring_in(database, database_url, tmp_path, way)}
    assert len(items) == 4
    dragon, chest = items["dragon"], items["chest"]
    assert (dragon["set_state"], dragon["present"], dragon["total"], dragon["stored"]) == ("proven", 3, 3, 3)
    assert (dragon["contents"], dragon["entries"]) == ("ok", ["dragon.stl"])
    assert (chest["contents"], chest["picture_source"], chest["stored"]) == ("plain", "drawn_model", 1)
    knight, lake = items["knight"], items["lake"]
    assert knight["entries"] == ["knight/preview.png", "knight/shield.txt"]
    assert [knight["picture_source"], lake["picture_source"]] == ["leftover_image", "own_picture"]
    assert all(item["pictures"] for item in (chest, knight, lake))
