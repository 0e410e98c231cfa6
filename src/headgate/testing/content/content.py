"""What messages hold: written by a test, or generated from a few numbers when somebody looks.

A generated message is kept as its shape and seed. Its text and its file's name and size cost microseconds;
the bytes of the file are made only for whoever downloads it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from headgate.kernel.randomness import Randomness
from headgate.testing.content import archives, clips, models, pictures
from headgate.testing.content.seeds import derive, derive_seed
from headgate.testing.content.themes import (
    AUTHORS,
    THEMES,
    Theme,
    chat_line,
    credited_to,
    credits_of,
    note_on,
)

Shape = Literal["text", "link", "picture", "clip", "document", "archive", "part", "model"]
SHAPES: tuple[Shape, ...] = ("text", "link", "picture", "clip", "document", "archive", "part")
"""Models are left to libraries of prints: they cost milliseconds."""

_MIN_ARCHIVE_BYTES = 48_000
_PART_BYTES = 32_000
_MEMBER_BYTES = 700


@dataclass(frozen=True, slots=True)
class Generated:
    """A message as its seed; `part` counts from 1 in albums and multi-part sets."""

    shape: Shape
    seed: int
    theme: str = "prints"
    part: int = 0
    parts: int = 0
    maker: str = ""
    """Who made it, where the place of the message says so."""


@dataclass(frozen=True, slots=True)
class SimFile:
    """A file of a message: bytes given by a test, those of a generated message, or made when asked for."""

    name: str
    mime_type: str
    size_bytes: int
    content_id: str
    content: bytes | Generated | Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class WrittenContent:
    """A message in full."""

    text: str = ""
    author: str = ""
    from_bot: bool = False
    files: tuple[SimFile, ...] = ()
    links: tuple[str, ...] = ()
    from_webhook: bool = False


Content = Generated | WrittenContent


def file_of(name: str, content: bytes, *, mime_type: str = "application/octet-stream") -> SimFile:
    """Return a file with bytes of one's own; equal bytes have an equal content id."""
    content_id = f"c{derive_seed(0, content.hex()):016x}"
    return SimFile(name, mime_type, len(content), content_id, content)


def made_file(name: str, make: Callable[[], bytes], *, size_bytes: int) -> SimFile:
    """Return a file whose bytes are made anew for each download, because it is large."""
    return SimFile(name, "application/octet-stream", size_bytes, f"m{derive_seed(0, name):016x}", make)


def write_out(content: Content) -> WrittenContent:
    """Return the message in full."""
    return content if isinstance(content, WrittenContent) else _write(content)


def file_bytes(file: SimFile) -> bytes:
    """Return the bytes of a file, making them if they are generated."""
    if isinstance(file.content, bytes):
        return file.content
    return _make_bytes(file.content) if isinstance(file.content, Generated) else file.content()


@lru_cache(maxsize=2048)
def _write(content: Generated) -> WrittenContent:
    choices = derive(content.seed, "text")
    theme = THEMES[content.theme]
    title = theme.title(choices)
    title = credited_to(title, content.maker) if content.maker else title
    author = choices.choice(AUTHORS)
    if content.shape == "text":
        return WrittenContent(text=chat_line(choices), author=author)
    if content.shape == "link":
        link = f"https://example.org/{_slug(title).lower()}/{content.seed % 10_000}"
        return WrittenContent(text=f"{title}: {link}", author=author, links=(link,))
    text = note_on(choices, theme=theme, title=title) if content.part <= 1 else ""
    text += credits_of(derive(content.seed, "credits"), theme=theme, title=title) if text else ""
    return WrittenContent(text=text, author=author, files=(_describe(content, theme, choices, title),))


def _describe(content: Generated, theme: Theme, choices: Randomness, title: str) -> SimFile:
    name, mime_type = _file_name(content, theme, choices, _slug(title))
    return SimFile(
        name=name,
        mime_type=mime_type,
        size_bytes=_size_bytes(content),
        content_id=f"g{derive_seed(content.seed, content.shape, content.part):016x}",
        content=content,
    )


def _file_name(content: Generated, theme: Theme, choices: Randomness, slug: str) -> tuple[str, str]:
    match content.shape:
        case "picture":
            return (f"{slug}-{content.part:02}.jpg" if content.part else f"{slug}.jpg"), "image/jpeg"
        case "clip":
            return f"{slug}.mp4", "video/mp4"
        case "document":
            return f"{slug}.pdf", "application/pdf"
        case "part":
            return _part_name(content, slug)
        case "model":
            return models.name_model(content.seed, slug)
        case _:
            suffix = choices.choice(theme.archive_suffixes)
            return f"{slug}.{suffix}", _ARCHIVE_MIME[suffix]


_ARCHIVE_MIME = {
    "zip": "application/zip",
    "cbz": "application/vnd.comicbook+zip",
    "cbr": "application/vnd.comicbook-rar",
    "rar": "application/vnd.rar",
    "7z": "application/x-7z-compressed",
    "tar.gz": "application/gzip",
}


def _part_name(content: Generated, slug: str) -> tuple[str, str]:
    match _set_format(content):
        case "rar":
            return f"{slug}.part{content.part}.rar", _ARCHIVE_MIME["rar"]
        case "7z":
            return f"{slug}.7z.{content.part:03}", "application/octet-stream"
        case _ if content.part == content.parts:
            return f"{slug}.zip", _ARCHIVE_MIME["zip"]
        case _:
            return f"{slug}.z{content.part:02}", "application/octet-stream"


def _set_format(content: Generated) -> Literal["rar", "7z", "zip"]:
    return derive(content.seed, "set").choice(("rar", "7z", "zip"))


def _size_bytes(content: Generated) -> int:
    extra = derive_seed(content.seed, "size", content.part)
    match content.shape:
        case "picture":
            return pictures.MIN_BYTES + extra % 40_000
        case "clip":
            return clips.MIN_BYTES + extra % 120_000
        case "document":
            return 4_000 + extra % 30_000
        case "part":
            return _PART_BYTES
        case "model":
            return len(models.build_model(content.seed))
        case _:
            return _MIN_ARCHIVE_BYTES + extra % 90_000


@lru_cache(maxsize=64)
def _make_bytes(content: Generated) -> bytes:
    size_bytes = _size_bytes(content)
    match content.shape:
        case "picture":
            return pictures.build_picture(derive_seed(content.seed, content.part), size_bytes=size_bytes)
        case "clip":
            return clips.build_clip(content.seed, size_bytes=size_bytes)
        case "document":
            return _PDF.ljust(size_bytes, b"\n")
        case "part":
            return _set_parts(content)[content.part - 1]
        case "model":
            return models.build_model(content.seed)
        case _:
            (file,) = _write(content).files
            archive_format = _FORMAT_OF[file.mime_type]
            return archives.build_archive(archive_format, _members(content), size_bytes=size_bytes)


_FORMAT_OF: dict[str, archives.ArchiveFormat] = {
    "application/zip": "zip",
    "application/vnd.comicbook+zip": "zip",
    "application/vnd.comicbook-rar": "rar",
    "application/vnd.rar": "rar",
    "application/x-7z-compressed": "7z",
    "application/gzip": "tar.gz",
}


def _set_parts(content: Generated) -> list[bytes]:
    members = _members(content)
    set_format = _set_format(content)
    if set_format == "rar":
        return archives.build_rar_volumes(members, volumes=content.parts, size_bytes=_PART_BYTES)
    return archives.split_archive(set_format, members, parts=content.parts, size_bytes=_PART_BYTES)


def _members(content: Generated) -> list[archives.Member]:
    choices = derive(content.seed, "members")
    theme = THEMES[content.theme]
    count = 3 + choices.below(9)
    files = [(theme.member(choices, n), _noise(choices)) for n in range(1, count + 1)]
    note = ("README.txt", b"Made by hand. Enjoy.\n")
    if content.theme == "prints" and choices.chance(0.5):
        # Its picture has to be drawn.
        return [("complete.stl", models.build_small_model(content.seed)), *dict(files).items(), note]
    preview = pictures.build_picture(choices.bits(60), size_bytes=12_000, width=240, height=180)
    return [("preview.jpg", preview), *dict(files).items(), note]


def _noise(choices: Randomness) -> bytes:
    size_bytes = 1 + choices.below(_MEMBER_BYTES)
    return choices.bits(8 * size_bytes).to_bytes(size_bytes, "big")


_PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]>>endobj\n"
    b"trailer<</Root 1 0 R>>\n%%EOF\n"
)


def _slug(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")
