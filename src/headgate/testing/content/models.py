"""Models for printers, the same for the same seed: a few shapes in some variants."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from headgate.testing.content.seeds import derive
from headgate.testing.shapes import files, shapes
from headgate.testing.shapes.surfaces import Triangles

Kind = Literal["gear", "knot", "terrain", "vase", "sponge", "letters", "organic"]
_KINDS: tuple[Kind, ...] = ("gear", "knot", "terrain", "vase", "sponge", "letters", "organic")
_VARIANTS = 4


def name_model(seed: int, slug: str) -> tuple[str, str]:
    """Return the name and type of a model's file."""
    _, _, ending = _choose(seed)
    return f"{slug}.{ending}", "model/3mf" if ending == "3mf" else "model/stl"


def build_model(seed: int) -> bytes:
    """Return the file of a model."""
    return _build(*_choose(seed))


def build_small_model(seed: int) -> bytes:
    """Return a model that fits into a small archive."""
    small = (shapes.organic(triangles=300), shapes.sponge(level=1), shapes.sphere(triangles=300))
    return files.binary_stl(derive(seed, "small model").choice(small))


def _choose(seed: int) -> tuple[Kind, int, str]:
    choices = derive(seed, "model")
    return choices.choice(_KINDS), choices.below(_VARIANTS), choices.choice(("stl", "stl", "3mf"))


@lru_cache(maxsize=128)
def _build(kind: Kind, variant: int, ending: str) -> bytes:
    triangles = _shape(kind, variant)
    return files.three_mf(triangles) if ending == "3mf" else files.binary_stl(triangles)


def _shape(kind: Kind, variant: int) -> Triangles:
    match kind:
        case "gear":
            return shapes.gear(teeth=16 + 6 * variant)
        case "knot":
            return shapes.knot(p=2 + variant % 2, q=3 + 2 * (variant // 2), triangles=6_000)
        case "terrain":
            return shapes.terrain(side=48 + 8 * variant)
        case "vase":
            return shapes.vase(segments=24 + 8 * variant)
        case "sponge":
            return shapes.sponge(level=2, size=40 + 5 * variant)
        case "letters":
            return shapes.letters(("HEADGATE", "GATE", "HEAD", "DATE")[variant])
        case "organic":
            return shapes.organic(triangles=6_000 + 2_000 * variant)
