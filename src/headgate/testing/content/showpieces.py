"""What the demo posts besides its trickle: things that went wrong, and things worth a look.

Nothing here is made twice in a second way: archives are real, and what is wrong with them is really wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial

from headgate.testing.content import archives, models, pictures, zip_encryption
from headgate.testing.content.archives import Member
from headgate.testing.content.content import SimFile, WrittenContent, file_of, made_file
from headgate.testing.shapes import files, shapes

PASSWORD = "brassbell"  # noqa: S105 - it is posted with the archive
_VOLUME_BYTES = 90_000
_BIG_BYTES = 16 * 2**20
_README = ("README.txt", b"Made by hand. Enjoy.\n")


@dataclass(frozen=True)
class Showpiece:
    """A message of one's own in the demo's world."""

    stream: str
    after: timedelta
    """When it is posted, from the opening on; negative: it is history."""
    content: WrittenContent
    album: str = ""
    deleted_after: timedelta | None = None


@cache
def list_showpieces() -> tuple[Showpiece, ...]:
    """Return all of them in the order of their times."""
    pieces = [*_damaged(), *_locked(), *_sets(), *_hostile(), *_beautiful(), *_together(), *_big()]
    return tuple(sorted(pieces, key=lambda piece: piece.after))


def _piece(
    stream: str,
    days: float,
    text: str,
    *posted: SimFile,
    author: str = "quietworkshop",
    album: str = "",
    deleted_after: timedelta | None = None,
) -> Showpiece:
    content = WrittenContent(text=text, author=author, files=posted)
    return Showpiece(stream, timedelta(days=-days), content, album, deleted_after)


def _damaged() -> Iterator[Showpiece]:
    whole = _zip(_figures(11, "wing", "tail", "claw"))
    cut = _zip(_figures(12, "roof", "wall"))
    yield _piece(
        "miniatures",
        0.2,
        "Marsh Dragon – Tidal Works\nCreator: Tidal Works\nUpload broke off, will try again tonight. #dragon",
        _file("Marsh_Dragon_Tidal_Works.zip", cut[: len(cut) // 2]),
    )
    yield _piece(
        "workshop",
        0.35,
        "Ember Wyvern – Salt & Iron\nCreator: Salt & Iron\n#dragon #resin",
        _file("Ember_Wyvern.7z", _seven_zip(_figures(13, "wing", "tail"))[:-40] + b"\0" * 40),
    )
    lost = _file("Glass_Orchard_Textures.zip", whole)
    yield _piece(
        "surfaces",
        0.15,
        "Glass Orchard – 4K Materials\nThe platform lost the end of this one. #glass #pbr",
        SimFile(lost.name, lost.mime_type, lost.size_bytes + 4096, "lost-end", lost.content),
    )


def _locked() -> Iterator[Showpiece]:
    members = _figures(21, "body", "cloak", "base")
    yield _piece(
        "miniatures",
        0.25,
        f"Bell Warden – Nightjar Miniatures\nCreator: Nightjar Miniatures\nPassword: {PASSWORD}\n#bust #32mm",
        _file("Bell_Warden_supporters.zip", zip_encryption.build_encrypted_zip(members, password=PASSWORD)),
    )


def _sets() -> Iterator[Showpiece]:
    """Post a set without its end, one without its middle, and one of which a volume is lost for good."""
    cathedral = archives.split_archive("7z", _figures(31, "nave", "tower"), parts=5, size_bytes=_VOLUME_BYTES)
    for number in (1, 2, 4, 5):
        text = "Clockwork Cathedral – Copperleaf\nCreator: Copperleaf\n#terrain #32mm" if number == 1 else ""
        name = f"Clockwork_Cathedral.7z.{number:03}"
        yield _piece("workshop", 9 - number / 1000, text, _file(name, cathedral[number - 1]))
    harbour = archives.build_rar_volumes(_figures(32, "crane", "quay"), volumes=5, size_bytes=_VOLUME_BYTES)
    for number in (1, 2, 3):
        text = (
            "Old Harbour Diorama – Tidal Works\nFive volumes, the rest tomorrow. #diorama"
            if number == 1
            else ""
        )
        name = f"Old_Harbour_Diorama.part{number}.rar"
        yield _piece("miniatures", 16 - number / 1000, text, _file(name, harbour[number - 1]), author="Dagny")
    stage = archives.build_rar_volumes(_figures(33, "stage", "curtain"), volumes=3, size_bytes=_VOLUME_BYTES)
    for number in (1, 2, 3):
        volume = _file(f"Puppet_Theatre.part{number}.rar", stage[number - 1])
        if number == 2:  # It cannot be fetched while it is there, and is deleted an hour later.
            volume = SimFile(volume.name, volume.mime_type, volume.size_bytes, "lost-middle", b"not it")
        text = "Puppet Theatre – Loam & Ash\nCreator: Loam & Ash\n#diorama #toys" if number == 1 else ""
        deleted_after = timedelta(days=0.1, hours=1) if number == 2 else None
        yield _piece("workshop", 0.1 - number / 10_000, text, volume, deleted_after=deleted_after)


def _hostile() -> Iterator[Showpiece]:
    names = (
        "../../../etc/cron.d/update",
        "C:\\Windows\\System32\\drivers\\readme.dll",
        "photo_\u202egpj.exe",
        "bell\x07and\x1b[31mred.txt",
        "<script>alert('hello')</script>.stl",
        "CON.txt",
        "figures/knight.stl",
    )
    members = [(name, models.build_small_model(41)) for name in names]
    yield _piece(
        "miniatures",
        0.3,
        "Free pack, everything you need <b>just unpack it</b> #free",
        _file("<img src=x onerror=alert(1)>_free_pack.zip", _zip([*members, _README])),
        author="totally_legit",
    )


def _beautiful() -> Iterator[Showpiece]:
    """Post an archive with archives inside, a 3MF file, and a model with a photo of its print."""
    inner = [
        (f"monthly/{month:02}_{name}.zip", _zip(_figures(50 + month, name, "base")))
        for month, name in enumerate(("Kraken", "Troll Bridge", "Café Corner", "灯台 Lighthouse"), 1)
    ]
    many = [
        (f"{folder}/{part}_{number:02}.stl", models.build_small_model(number))
        for folder in ("supported/32mm", "supported/75mm", "unsupported", "bases/round", "bases/square")
        for number, part in enumerate(("arm", "body", "cloak", "head", "sword", "shield"), 1)
    ]
    covers = [
        (f"renders/{name}.jpg", pictures.build_picture(seed, size_bytes=40_000, width=640, height=480))
        for seed, name in enumerate(("front", "back", "detail"), 60)
    ]
    yield _piece(
        "miniatures",
        0.05,
        "Winter Collection – Old Growth Studio\nCreator: Old Growth Studio\n"
        "Everything of the season, with last year's boxes in “monthly”.\n#miniature #Pre_Supported #fantasy",
        _file("Winter_Collection.zip", _zip([*covers, *many, *inner, _README])),
        author="Ines Marlow",
    )
    knot = shapes.knot(p=2, q=5, triangles=8_000)
    yield _piece(
        "workshop",
        0.04,
        "Endless Knot – Hexbolt Minis\nCreator: Hexbolt Minis\nPrints without supports. #fidget #spiralvase",
        _file("Endless_Knot.3mf", files.three_mf(knot), "model/3mf"),
        author="hexbolt",
    )
    photo = _file(
        "painted.jpg", pictures.build_picture(71, size_bytes=60_000, width=800, height=600), "image/jpeg"
    )
    vase = _file("Tidepool_Vase.stl", files.binary_stl(shapes.vase(segments=48)), "model/stl")
    for days, text, posted in (
        (0.0301, "Tidepool Vase – Tidal Works\nCreator: Tidal Works\nPhoto of the print first. #vase", photo),
        (0.03, "", vase),
    ):
        yield _piece("workshop", days, text, posted, author="Mirela", album="tidepool")


def _together() -> Iterator[Showpiece]:
    """Post an album of archives, and one archive in three places."""
    floors = ("Entrance_Hall", "Flooded_Crypt", "Iron_Foundry", "Library", "Throne_Room", "Sewers")
    for number, floor in enumerate(floors):
        text = "Colossal Dungeon – Old Growth Studio\nCreator: Old Growth Studio\n#terrain #dungeon #32mm"
        yield _piece(
            "miniatures",
            0.02 - number / 100_000,
            "" if number else text,
            _file(f"Dungeon_Blocks_{floor}.zip", _zip(_figures(200 + number * 10, "floor", "wall", "door"))),
            author="Ines Marlow",
            album="dungeon",
        )
    keeper = _zip(_figures(290, "lantern", "cloak", "base"))
    for stream, days in (("workshop", 2.5), ("miniatures", 1.2), ("surfaces", 0.012)):
        yield _piece(
            stream,
            days,
            "Lantern Keeper – Nightjar Miniatures\nCreator: Nightjar Miniatures\n#bust #fantasy",
            _file("Lantern_Keeper.zip", keeper),
        )


def _big() -> Iterator[Showpiece]:
    """Post a few archives that take long enough to be watched."""
    names = ("Siege_Engines", "Market_Square", "Sunken_Fleet", "Sky_Islands")
    for number, (name, minutes) in enumerate(zip(names, (-3, 20, 90, 360), strict=True)):
        big = made_file(f"{name}_Complete.zip", partial(_big_zip, 80 + number), size_bytes=_BIG_BYTES)
        text = (
            f"{name.replace('_', ' ')}, complete – Kestrel Forge\nCreator: Kestrel Forge\n#terrain #fantasy"
        )
        content = WrittenContent(text=text, author="kestrel_prints", files=(big,))
        yield Showpiece("miniatures", timedelta(minutes=minutes), content)


def _big_zip(seed: int) -> bytes:
    cover = ("renders/cover.jpg", pictures.build_picture(seed, size_bytes=60_000, width=800, height=600))
    return archives.build_archive(
        "zip", [cover, *_figures(seed, "tower", "ram"), ("scenes/complete.bin", b"")], size_bytes=_BIG_BYTES
    )


def _figures(seed: int, *names: str) -> list[Member]:
    parts = [(f"parts/{name}.stl", models.build_small_model(seed + n)) for n, name in enumerate(names)]
    preview = pictures.build_picture(seed, size_bytes=24_000, width=480, height=360)
    return [("preview.jpg", preview), *parts, _README]


def _zip(members: Sequence[Member]) -> bytes:
    return archives.build_archive("zip", members, size_bytes=_length(members))


def _seven_zip(members: Sequence[Member]) -> bytes:
    return archives.build_archive("7z", members, size_bytes=_length(members))


def _length(members: Sequence[Member]) -> int:
    """Return a size with room for the members and their headers."""
    return sum(len(content) + 4 * len(name.encode()) + 200 for name, content in members) + 1000


def _file(name: str, content: bytes, mime_type: str = "application/octet-stream") -> SimFile:
    return file_of(name, content, mime_type=mime_type)
