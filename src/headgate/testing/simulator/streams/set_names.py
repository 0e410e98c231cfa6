"""What people in a play call the volumes of their archives, and how the judge reads it back.

Written apart from the product's own reading of names, so that a mistake there is noticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

MARK = "set-"
"""What the people of a play begin the names of their sets with; generated sets are `.partN.rar` alone."""
_LAST = 10_000

NAMINGS: tuple[Callable[[str, int, int], str], ...] = (
    lambda base, number, _: f"{base}.part{number}.rar",
    lambda base, number, _: f"{base}.rar" if number == 1 else f"{base}.r{number - 2:02}",
    lambda base, number, total: f"{base}.zip" if number == total else f"{base}.z{number:02}",
    lambda base, number, _: f"{base}.zip.{number:03}",
    lambda base, number, _: f"{base}.7z.{number:03}",
    lambda base, number, _: f"{base}.tar.gz.{number:03}",
    lambda base, number, _: f"{base}.{number:03}",
)
"""Each names one volume: the base, its number, and how many there are."""

_PART = re.compile(r"(?P<base>.+)\.part(?P<number>\d+)\.rar")
_OLD_RAR = re.compile(r"(?P<base>.+)\.r(?:ar|(?P<number>\d\d))")
_SPANNED_ZIP = re.compile(r"(?P<base>.+)\.z(?:ip|(?P<number>\d\d))")
_SPLIT = re.compile(r"(?P<base>[^.]+)(?P<ending>\.zip|\.7z|\.tar\.gz|)\.(?P<number>\d{3})")


@dataclass(frozen=True)
class NamedVolume:
    """A volume by its name."""

    base: str
    number: int
    whole: str
    """What the archive would be called had it not been split."""
    needs_others: bool = False
    """It is a file like any other until a second volume is there."""


def read_name(file_name: str) -> NamedVolume | None:
    """Return which volume a name means in a play; None for other files."""
    if found := _PART.fullmatch(file_name):
        return NamedVolume(found["base"], int(found["number"]), f"{found['base']}.rar")
    if not file_name.startswith(MARK):
        return None
    if found := _SPLIT.fullmatch(file_name):
        whole = found["base"] + found["ending"]
        return NamedVolume(found["base"], int(found["number"]), whole, needs_others=not found["ending"])
    if found := _OLD_RAR.fullmatch(file_name):
        number = 1 if found["number"] is None else int(found["number"]) + 2
        return NamedVolume(found["base"], number, f"{found['base']}.rar")
    if found := _SPANNED_ZIP.fullmatch(file_name):
        number = _LAST if found["number"] is None else int(found["number"])
        return NamedVolume(found["base"], number, f"{found['base']}.zip")
    return None
