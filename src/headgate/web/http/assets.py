"""Static files, held in memory and addressed by their content, so that browsers keep them for good."""

from __future__ import annotations

import functools
import hashlib
import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

_DIGEST_LENGTH = 16
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class Asset:
    """One static file."""

    path: str
    content: bytes
    media_type: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()[:_DIGEST_LENGTH]


class Assets:
    """All static files by path."""

    def __init__(self, assets: Iterator[Asset]) -> None:
        self._by_path = {asset.path: (asset.digest, asset) for asset in assets}

    def url(self, path: str) -> str:
        """Return the address of a file; an unknown file is a mistake in a template."""
        digest, _ = self._by_path[path]
        return f"/static/{digest}/{path}"

    def find(self, *, digest: str, path: str) -> Asset | None:
        known = self._by_path.get(path)
        return known[1] if known is not None and known[0] == digest else None


@functools.cache
def load_assets() -> Assets:
    """Return the static files; read once a process."""
    return Assets(_walk(resources.files("headgate.web").joinpath("static"), ""))


def _walk(folder: Traversable, prefix: str) -> Iterator[Asset]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, f"{path}/")
        else:
            yield Asset(path, entry.read_bytes(), _media_type(path))


def _media_type(path: str) -> str:
    suffix = path[path.rfind(".") :]
    kind = _TYPES.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
