"""Which ending a type of file has, and which type an ending means.

A table of our own: the standard library's differs between versions and machines, and a verdict must not.
"""

from __future__ import annotations

_TYPES = {
    "application/epub+zip": "epub",
    "application/gzip": "gz tgz",
    "application/json": "json",
    "application/msword": "doc",
    "application/pdf": "pdf",
    "application/vnd.android.package-archive": "apk",
    "application/vnd.comicbook+zip": "cbz",
    "application/vnd.comicbook-rar": "cbr",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.rar": "rar",
    "application/x-7z-compressed": "7z",
    "application/x-tar": "tar",
    "application/x-xz": "xz txz",
    "application/zip": "zip",
    "application/zstd": "zst",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/mp4": "m4a m4b",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg oga",
    "audio/opus": "opus",
    "audio/wav": "wav",
    "image/avif": "avif",
    "image/bmp": "bmp",
    "image/gif": "gif",
    "image/heic": "heic",
    "image/heif": "heif",
    "image/jpeg": "jpg jpeg jpe jfif",
    "image/jxl": "jxl",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/tiff": "tif tiff",
    "image/vnd.adobe.photoshop": "psd",
    "image/webp": "webp",
    "image/x-icon": "ico",
    "model/3mf": "3mf",
    "model/obj": "obj",
    "model/stl": "stl",
    "text/csv": "csv",
    "text/html": "html htm",
    "text/plain": "txt",
    "video/mp4": "mp4 m4v",
    "video/mpeg": "mpg mpeg",
    "video/quicktime": "mov",
    "video/webm": "webm",
    "video/x-matroska": "mkv",
    "video/x-msvideo": "avi",
}
_ENDINGS = {mime_type: tuple(f".{ending}" for ending in words.split()) for mime_type, words in _TYPES.items()}
_BY_ENDING = {ending: mime_type for mime_type, endings in _ENDINGS.items() for ending in endings}

PICTURE_ENDINGS = tuple(
    ending for mime_type, endings in _ENDINGS.items() if mime_type.startswith("image/") for ending in endings
)

UNKNOWN = frozenset({"", "application/octet-stream", "binary/octet-stream"})
"""What platforms say when they do not know."""


def bare_type(mime_type: str) -> str:
    """Return a type in lower case and without parameters such as a character set."""
    return mime_type.partition(";")[0].strip().lower()


def type_by_name(file_name: str) -> str:
    """Return the type that a file's name speaks of; empty if it says nothing."""
    _, dot, ending = file_name.strip().lower().rpartition(".")
    return _BY_ENDING.get(dot + ending, "")


def endings_of(mime_type: str) -> tuple[str, ...]:
    """Return the endings, each with its dot, that a file of a type may have."""
    return _ENDINGS.get(bare_type(mime_type), ())


def is_picture(mime_type: str) -> bool:
    return bare_type(mime_type).startswith("image/")
