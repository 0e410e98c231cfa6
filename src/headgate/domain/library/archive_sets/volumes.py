"""Reading a file name: which volume of a multi-volume archive it is, if it is one.

    naming        volumes                                 written by
    part          pack.part01.rar, pack.part02.rar …      RAR since version 3
    old_rar       pack.rar, pack.r00 … r99, s00 … v99     RAR before, and still by choice
    spanned_zip   pack.z01, pack.z02 … pack.zip (last)    zip -s, WinZip, WinRAR
    split         pack.7z.001, pack.tar.gz.002 …          7-Zip, HJSplit, split
    bare          pack.001, film.mkv.002 …                HJSplit, split

`pack.rar` and `pack.part1.rar` have different namings, so they never meet. Some names are ambiguous:
`pack.rar` and `pack.zip` are usually whole archives, `pack.001` may be anything, `show.s01` is rarely an
archive. Such a file is a plain file until another volume or its first bytes say more.

Names are compared by their folded base. Case, Unicode form and spaces, underscores and dots do not count,
since platforms and file managers change them (Discord writes underscores for spaces) and one set may come by
two ways. A dot between digits counts: `pack 1.5` is not `pack 1 5`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.domain.file_types import type_by_name
from headgate.domain.text import is_key, stand_in_key, storable

Naming = Literal["part", "old_rar", "spanned_zip", "split", "bare"]
Evidence = Literal["none", "volume", "whole"]

MAX_NUMBER = 65_535
"""RAR and zip count no further."""
ZIP_NUMBER = MAX_NUMBER + 1
"""The number of the `.zip` after its `.z01 …`: always last, however many volumes turn up before it."""
_PER_LETTER = 100

_SUFFIXES: tuple[tuple[Naming, re.Pattern[str]], ...] = (
    (
        "part",
        re.compile(r"(?P<lead>\.part)(?P<digits>[0-9]{1,5})\.(?P<format>rar)\Z", re.IGNORECASE | re.ASCII),
    ),
    (
        "old_rar",
        re.compile(
            r"\.(?:(?P<format>rar)|(?P<letter>[r-v])(?P<digits>[0-9]{2}))\Z", re.IGNORECASE | re.ASCII
        ),
    ),
    (
        "spanned_zip",
        re.compile(
            r"\.(?:(?P<format>zip)|z(?P<digits>[0-9]{2}|[1-9][0-9]{2,4}))\Z", re.IGNORECASE | re.ASCII
        ),
    ),
    (
        "split",
        re.compile(
            r"(?P<lead>\.(?P<format>zip|7z|rar|tar(?:\.(?:gz|bz2|xz|zst))?|tgz|tbz2?|txz|tzst)\.)"
            r"(?P<digits>[0-9]{3}|[1-9][0-9]{3,4})\Z",
            re.IGNORECASE | re.ASCII,
        ),
    ),
    (
        "bare",
        re.compile(
            r"(?P<lead>(?P<format>\.[a-z0-9]{1,5})?\.)(?P<digits>[0-9]{3})\Z", re.IGNORECASE | re.ASCII
        ),
    ),
)
_SEPARATORS = re.compile(r"(?:[\s_]|(?<![0-9])\.|\.(?![0-9]))+")


@dataclass(frozen=True, slots=True)
class VolumeName:
    """What a file name says of a volume."""

    title: str
    """What people call the whole: without the suffix, underscores as spaces."""
    base: str
    """The folded name, equal for all volumes of a set; fits an index."""
    naming: Naming
    format: str
    """The ending of the whole without its dot, such as `rar` or `tar.gz`; empty where the name does not
    say."""
    number: int
    """1 for the first volume; `ZIP_NUMBER` for the `.zip` of spanned zips."""
    ambiguous: bool
    """The file may as well be no volume at all."""
    stem: str
    """The name as written, without the suffix."""
    suffix: str
    """The suffix as written, such as `.part01.rar`."""
    digits: int
    """How many digits the suffix has."""

    @property
    def is_first(self) -> bool:
        return self.number == 1

    @property
    def is_last(self) -> bool:
        """Tell whether no volume can follow; only spanned zips say so in a name."""
        return self.number == ZIP_NUMBER

    @property
    def padding(self) -> int:
        """Return to how many digits numbers are padded, where the name shows it; else 0."""
        if self.naming != "part":
            return 0
        padded = self.suffix[len(".part")] == "0"
        return self.digits if padded or self.digits == 1 else 0

    @property
    def family(self) -> str:
        """Return the naming and format, which all volumes of a set share."""
        return f"{self.naming}:{self.format}"

    @property
    def set_key(self) -> str:
        """Return what all volumes of a set have in common: family and base."""
        return f"{self.family}/{self.base}"


@dataclass(frozen=True, slots=True)
class Volume:
    """One posted file that may be a volume, and where it is now."""

    key: str
    """Its place on the platform, which does not depend on when it was read."""
    name: VolumeName
    size_bytes: int
    """0 where the platform does not say."""
    position: int
    sent_at: datetime
    content_id: str = ""
    """What the platform calls the content, equal for reposts; empty where it has no name."""
    topic: str = ""
    item_id: UUID | None = None
    """The item that it belongs to now; None for a new file."""
    pinned_to: UUID | None = None
    """The item that a person put it into."""
    separated: bool = False
    """A person took it out of its set."""
    evidence: Evidence = "none"
    """What its first and last bytes say: one volume of several, or a whole archive."""


def read_volume_name(file_name: str) -> VolumeName | None:
    """Read a file name; None for what is no volume of a known naming."""
    name = storable(file_name).strip()
    for naming, pattern in _SUFFIXES:
        found = pattern.search(name)
        if found:
            return _build_name(naming, found)
    return None


def sibling_name(names: Iterable[VolumeName], number: int) -> str:
    """Return what another volume of the same set is called, padded as its siblings are."""
    known = sorted(names, key=lambda name: name.number)
    model = known[0]
    if model.naming == "old_rar":
        return model.stem + _in_case_of(_old_rar_suffix(number), model.suffix)
    if model.naming == "spanned_zip":
        return model.stem + _in_case_of(_spanned_zip_suffix(number), model.suffix)
    lead, rest = _around_digits(model)
    width = min(name.digits for name in known)
    return f"{model.stem}{lead}{number:0{width}}{rest}"


def fold_base(stem: str) -> str:
    """Return a name as it is compared: equal for names that differ in case, form and separators alone."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", stem).casefold())
    base = _SEPARATORS.sub(" ", folded).strip()
    return base if not base or is_key(base) else stand_in_key(base)


def _build_name(naming: Naming, found: re.Match[str]) -> VolumeName | None:
    number = _number(naming, found)
    if not 1 <= number <= ZIP_NUMBER:
        return None
    stem, suffix, ending = found.string[: found.start()], found[0], _format(naming, found)
    if naming == "bare" and not ending and found["format"]:
        # What precedes the number is a part of the name, not an ending: `pack.v2.001`.
        stem, suffix = stem + found["format"], suffix[len(found["format"]) :]
    base = fold_base(stem)
    if not base:
        return None
    return VolumeName(
        title=" ".join(stem.replace("_", " ").split()),
        base=base,
        naming=naming,
        format=ending,
        number=number,
        ambiguous=_is_ambiguous(naming, found),
        stem=stem,
        suffix=suffix,
        digits=len(found["digits"] or ""),
    )


def _number(naming: Naming, found: re.Match[str]) -> int:
    digits = found["digits"]
    if digits is None:
        return 1 if naming == "old_rar" else ZIP_NUMBER
    if naming == "old_rar":
        return (ord(found["letter"].lower()) - ord("r")) * _PER_LETTER + int(digits) + 2
    number = int(digits)
    return number if number <= MAX_NUMBER else 0


def _format(naming: Naming, found: re.Match[str]) -> str:
    if naming == "old_rar":
        return "rar"
    if naming == "spanned_zip":
        return "zip"
    ending = (found["format"] or "").lower()
    if naming == "bare":
        return ending.removeprefix(".") if type_by_name(ending) else ""
    return ending


def _is_ambiguous(naming: Naming, found: re.Match[str]) -> bool:
    if naming == "old_rar":
        return found["digits"] is None or found["letter"].lower() != "r"
    return naming == "bare" or (naming == "spanned_zip" and found["digits"] is None)


def _around_digits(name: VolumeName) -> tuple[str, str]:
    start = len(".part") if name.naming == "part" else len(name.suffix) - name.digits
    return name.suffix[:start], name.suffix[start + name.digits :]


def _old_rar_suffix(number: int) -> str:
    if number == 1:
        return ".rar"
    letter, rest = divmod(number - 2, _PER_LETTER)
    return f".{chr(ord('r') + letter)}{rest:02}"


def _spanned_zip_suffix(number: int) -> str:
    return ".zip" if number == ZIP_NUMBER else f".z{number:02}"


def _in_case_of(suffix: str, model: str) -> str:
    return suffix.upper() if model[1:2].isupper() else suffix
