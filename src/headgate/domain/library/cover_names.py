"""What the name and the size of a file say about its use as a picture of the whole."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from math import log2

MAX_IMAGE_BYTES = 100_000_000
MAX_MODEL_BYTES = 250_000_000
MAX_VIDEO_BYTES = 500_000_000
"""Of a video that must be extracted first."""
_READABLE = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".gif", ".avif", ".bmp", ".tif", ".tiff")

_TINY_BYTES, _SMALL_BYTES, _HUGE_BYTES = 6_000, 24_000, 30_000_000
_GOOD_SCORE = 0


def _weights(words: dict[int, str]) -> dict[str, int]:
    return {word: weight for weight, listed in words.items() for word in listed.split()}


_FITTING = _weights(
    {
        60: "cover",
        50: "preview render renders rendered",
        40: "hero beauty front title main showcase previews",
        28: "thumbnail thumb poster",
        20: "final painted",
        8: "image images photo photos picture pictures gallery",
    }
)
_UNFITTING = _weights(
    {
        80: "texture textures tex albedo diffuse basecolor normal normals nrm rough roughness metallic"
        " metalness specular gloss bump heightmap displacement disp ao occlusion opacity emissive uv",
        70: "icon icons favicon qr qrcode license licence discord instagram",
        55: "logo mask metal height readme settings credits banner",
        30: "patreon instructions sprue supports slicer back",
        15: "assembly scale comparison",
    }
)
_WHOLE_MODEL = _weights({12: "full assembled complete whole merged", 8: "body main", 5: "unsupported"})
_PART_OF_MODEL = _weights(
    {
        20: "supports raft calibration test",
        15: "base supported presupported plug screw nut pin",
        9: "stand key clip cut split",
        4: "part",
    }
)
_WORD = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def is_usable_image(path: str, size_bytes: int) -> bool:
    """Tell whether a file inside an archive can serve at all: readable, visible, neither empty nor huge."""
    parts = path.replace("\\", "/").split("/")
    hidden = parts[-1].startswith(".") or any(part.casefold() == "__macosx" for part in parts)
    return not hidden and path.lower().endswith(_READABLE) and 0 < size_bytes <= MAX_IMAGE_BYTES


def is_good_image(path: str, size_bytes: int, title: str) -> bool:
    """Tell whether an image shows the whole, rather than being a texture, an icon or a leaflet."""
    return _image_score(path, size_bytes, title) >= _GOOD_SCORE


def rank_image(path: str, size_bytes: int, title: str) -> tuple[float, int, tuple[object, ...], str]:
    """Return what images are sorted by, the best first; between equals the first page of a book wins."""
    return (-_image_score(path, size_bytes, title), _depth(path), _natural(path), path)


def rank_model(path: str, size_bytes: int, title: str) -> tuple[float, tuple[object, ...], str]:
    """Return what models are sorted by: the one whose name is likest the title, else the largest."""
    words = words_of(_stem(path))
    score = 40 * likeness(words, words_of(title))
    score += _most(words, _WHOLE_MODEL) - _most(words_of(path), _PART_OF_MODEL)
    # Doubling the size counts as much as a small hint in the name.
    return (-(score + 2 * log2(max(size_bytes, 1))), _natural(path), path)


def likeness(words: frozenset[str], others: frozenset[str]) -> float:
    """Return the share of words that two names have in common, from 0 to 1."""
    if not words or not others:
        return 0.0
    return 2 * len(words & others) / (len(words) + len(others))


@lru_cache(maxsize=8192)
def words_of(name: str) -> frozenset[str]:
    """Return the words of a name in lower case: cut at signs and digits, and also where the case changes."""
    text = unicodedata.normalize("NFKC", f"{name} {_CAMEL.sub(' ', name)}")
    return frozenset(word.casefold() for word in _WORD.findall(text))


def _image_score(path: str, size_bytes: int, title: str) -> float:
    words, folders = words_of(_stem(path)), words_of(path[: -len(_base(path))])
    score = _most(words, _FITTING) - _most(words, _UNFITTING)
    score += (_most(folders, _FITTING) - _most(folders, _UNFITTING)) * 0.6
    score += 25 * likeness(words, words_of(title))
    score -= 2 * _depth(path)
    if path.lower().endswith((".gif", ".bmp", ".tif", ".tiff")):
        score -= 6
    return score + _size_score(size_bytes)


def _size_score(size_bytes: int) -> float:
    """Return how much a size looks like that of a render or a photo."""
    if size_bytes < _TINY_BYTES:
        return -60
    if size_bytes < _SMALL_BYTES:
        return -8
    return 0 if size_bytes > _HUGE_BYTES else 10


def _most(words: frozenset[str], weights: dict[str, int]) -> int:
    return max((weights.get(word, 0) for word in words), default=0)


def _base(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _stem(path: str) -> str:
    base = _base(path)
    return base.rpartition(".")[0] or base


def _depth(path: str) -> int:
    return path.replace("\\", "/").count("/")


def _natural(path: str) -> tuple[object, ...]:
    """Return a key that sorts page 2 before page 10."""
    pieces = re.split(r"(\d{1,18})", path.casefold())
    return tuple((1, int(piece), "") if piece.isdecimal() else (0, 0, piece) for piece in pieces)
