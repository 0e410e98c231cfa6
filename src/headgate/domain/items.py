"""What a caught thing is, by what is known of its file."""

from __future__ import annotations

import re
from typing import Literal

ItemKind = Literal["package", "clip", "picture", "file", "link", "post"]

POST_TYPE = "text/x-post"
"""The type of an entry of a feed, which is not a file and more than a link."""

_ARCHIVE = re.compile(
    r"\.(zip|rar|7z|tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz|zst)|(?P<volume>[zr]\d\d)|(7z|zip|rar)\.(?P<part>\d{3}))$",
    re.IGNORECASE,
)

_ARCHIVE_TYPES = {"z": "zip", "r": "rar", "7": "7z"}
_ENDING = re.compile(r"[a-z0-9]{1,8}")


def item_kind(*, file_name: str, mime_type: str, url: str = "") -> ItemKind:
    """Tell posts, links, packages, clips and pictures from files; a name outranks a platform's guess."""
    if mime_type == POST_TYPE:
        return "post"
    if url:
        return "link"
    if _ARCHIVE.search(file_name):
        return "package"
    if mime_type.startswith("video/"):
        return "clip"
    if mime_type.startswith("image/"):
        return "picture"
    return "file"


def item_title(file_name: str, *, mime_type: str = "", url: str = "") -> str:
    """Return the name that people see: without the ending, underscores as spaces, volumes told apart."""
    if mime_type == POST_TYPE and file_name:
        return file_name
    if url:
        return url.partition("://")[2].removeprefix("www.").rstrip("/") or url
    if not file_name:
        return "Unnamed"
    found = _ARCHIVE.search(file_name)
    stem = file_name[: found.start()] if found else file_name.rpartition(".")[0] or file_name
    title = " ".join(stem.replace("_", " ").split()) or file_name
    volume = (found["part"] or found["volume"]) if found else None
    return f"{title} ({volume})" if volume else title


def item_type(*, file_name: str, url: str = "") -> str:
    """Return what a file is by its ending, such as zip or stl; all kinds of tar are one."""
    if url:
        return ""
    if found := _ARCHIVE.search(file_name):
        return _ARCHIVE_TYPES.get(found[1].lower()[:1], "tar")
    ending = file_name.rpartition(".")[2].lower() if "." in file_name.strip(".") else ""
    return ending if _ENDING.fullmatch(ending) else ""


def content_key(*, message_key: str, attachment_key: str, content_id: str) -> str:
    """Return what makes an item the same: the platform's name of the content, or its only place."""
    return f"content:{content_id}" if content_id else f"place:{message_key}/{attachment_key}"
