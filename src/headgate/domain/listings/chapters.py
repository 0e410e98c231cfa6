"""Chapter numbers: one canonical key, parsed once, with its own total order.

Sources write `45`, `45.0`, `045` and `Chapter 45` and mean one chapter; they write `45.1` and `45.10` and
mean two. A *place* is a text whose byte order is the order of the chapters, for a database to sort by:

    1  numbered ones, and a prologue before them; by volume first where numbers begin anew with each volume
    5  extras, by kind and number
    9  those without a number, by source and entry

Within a place each part ends with a sign that sorts before all that a part can hold.

Digits after the point count: 45.1, 45.2, 45.9, 45.10, 45.11. Only digits that begin with a zero are read as a
decimal fraction, and come first: 45.01, 45.05, 45.1. Nothing in a number tells a count from a fraction, so
this is ambiguous: a series that writes quarters (45.25, 45.5, 45.75) gets 45.5 before 45.25. Counting wins
because sub-chapters beyond the ninth are common and quarters are rare. The rule is the same for every series.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache

from headgate.domain.text import MAX_KEY, storable

MAX_NUMBER = 40
"""A longer text is no chapter number."""
MAX_PARSED_LENGTH = 300
"""Ignore what comes later in a title."""

_NUMBERED, _EXTRA, _UNNUMBERED = "1", "5", "9"
_KINDS = {
    "prologue": "prologue",
    "epilogue": "epilogue",
    "extra": "extra",
    "extras": "extra",
    "番外編": "extra",
    "番外": "extra",
    "omake": "omake",
    "おまけ": "omake",
    "special": "special",
    "specials": "special",
    "especial": "special",
    "spécial": "special",
    "特別編": "special",
    "side story": "side story",
    "side-story": "side story",
    "sidestory": "side story",
    "gaiden": "side story",
    "外伝": "side story",
    "bonus": "bonus",
    "interlude": "interlude",
    "afterword": "afterword",
}
_ONLY_ONE = {"prologue", "epilogue"}
"""A series has one at most, so that without a number it is the same in every source."""

_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−〜~&", "-"))
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+")
_LABEL = r"(?:chapter|chap|ch|c|episode|ep|volume|vol|v|season|s|no|#)"
_NUMBER = re.compile(
    rf"{_LABEL}?\.? ?#?(?P<sign>-?)(?P<whole>\d+)(?P<fraction>(?:[.,]\d+)*)(?: ?(?P<letter>[a-z]))?"
    r"(?: ?- ?(?P<end>\d+)(?P<end_fraction>(?:[.,]\d+)*)| ?\(?(?:part|pt)\.? ?(?P<part>\d+)\)?)?(?: ?v\d+)?"
)
_KIND = re.compile(
    rf"(?P<kind>{'|'.join(sorted(_KINDS, key=len, reverse=True))})"
    r"(?: (?:chapter|episode|story))?[ .:#-]*(?P<number>\d[\d.]*[a-z]?)?"
)


@dataclass(frozen=True, slots=True)
class ChapterKey:
    """Which instalment of a series something is, and where it stands among the others."""

    key: str
    """Its identity within the series."""
    place: str
    """The byte order of these is the order of the chapters; ASCII only."""
    number: str
    """As it is shown; empty for extras and for what has none."""
    volume: str


@dataclass(frozen=True, slots=True)
class _Number:
    """A number as it is shown, and its place among numbers."""

    shown: str
    place: str


def chapter_key(
    number: str, volume: str, *, entry_key: str, source: str, numbers_reset: bool = False
) -> ChapterKey:
    """Return the key of an entry by its number; one without is only ever the same as itself."""
    parsed = _parse(
        number if len(number) <= MAX_NUMBER else "",
        volume if len(volume) <= MAX_NUMBER else "",
        numbers_reset,
    )
    return parsed if parsed.key else _alone(parsed, entry_key=entry_key, source=source)


def canonical_number(text: str) -> str:
    """Return a number as it is shown; empty if the text is none."""
    return _parse(text, "", False).number if len(text) <= MAX_NUMBER else ""


@lru_cache(maxsize=16_384)
def _parse(number: str, volume: str, numbers_reset: bool) -> ChapterKey:
    """Return all that does not depend on the entry; without a key where only the entry can tell."""
    text = _plain(number)
    shown_volume, volume_place = _parse_volume(volume)
    prefix, before = (f"v{shown_volume}:", volume_place) if numbers_reset else ("", "")
    parsed = _parse_number(text)
    if parsed:
        return ChapterKey(
            prefix + parsed.shown, f"{_NUMBERED}{before}{parsed.place}", parsed.shown, shown_volume
        )
    found = _KIND.fullmatch(text)
    if not found:
        return ChapterKey("", _UNNUMBERED, "", shown_volume)
    kind = _KINDS[found["kind"]]
    counted = _parse_number(found["number"].rstrip(".")) if found["number"] else None
    if kind == "prologue":
        place = f"{_NUMBERED}{before}0{counted.place if counted else ''}"
    else:
        place = f"{_EXTRA}{before}{kind},{counted.place if counted else ''}"
    if counted:
        return ChapterKey(f"{prefix}{kind} {counted.shown}", place, "", shown_volume)
    return ChapterKey(f"{prefix}{kind}" if kind in _ONLY_ONE else "", place, "", shown_volume)


def _alone(parsed: ChapterKey, *, entry_key: str, source: str) -> ChapterKey:
    """Return the key of something that no other source can have."""
    name = storable(f"{source.replace('%', '%25').replace(':', '%3a')}:{entry_key}")
    key = _fitting(f"@{name}")
    place = f"{parsed.place}~{_fitting(name.encode('ascii', 'backslashreplace').decode())}"
    return replace(parsed, key=key, place=place)


def _fitting(text: str) -> str:
    """Return a text that fits an index; a long one keeps its beginning, and stays different from others."""
    if len(text) <= MAX_KEY:
        return text
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return f"{text[: MAX_KEY - 100]}~{digest}"


def _plain(text: str) -> str:
    """Return a text in small letters, with the digits and signs that everybody has."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.translate(_DASHES).casefold().split())


def _parse_volume(text: str) -> tuple[str, str]:
    """Return a volume as it is shown, and its place: numbers, then words, then an unknown one."""
    text = _plain(storable(text))
    if parsed := _parse_number(text):
        return parsed.shown, parsed.place
    if not text or text in {"none", "null", "-"}:
        return "", "9,"
    return text, f"8{text.encode('ascii', 'backslashreplace').decode()},"


def _parse_number(text: str) -> _Number | None:
    """Read a number in plain signs."""
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    found = _NUMBER.fullmatch(text)
    # What counts as a digit in other scripts is one only where it was made plain.
    if not found or not text.isascii():
        return None
    whole, fraction = _cut(found["whole"]), _cut_fraction(found["fraction"])
    letter, end, part = found["letter"] or "", found["end"] or "", found["part"] or ""
    negative = found["sign"] == "-" and (whole != "0" or fraction != "")
    shown = f"{'-' if negative else ''}{whole}{'.' if fraction else ''}{fraction}{letter}"
    end_place = ""
    if end:
        end, end_fraction = _cut(end), _cut_fraction(found["end_fraction"])
        shown += f"-{end}{'.' if end_fraction else ''}{end_fraction}"
        end_place = f"{len(end):02}{end}.{_fraction_place(end_fraction)}"
    elif part:
        part = _cut(part)
        shown += f" part {part}"
        end_place = f"p{len(part):02}{part}"
    counted = _fraction_place(fraction)
    numeral = _below_zero(whole, counted) if negative else f"2{len(whole):02}{whole},{counted},"
    return _Number(shown, f"{numeral}{letter},{end_place},")


def _cut(digits: str) -> str:
    return digits.lstrip("0") or "0"


def _cut_fraction(text: str) -> str:
    """Return the digits after the sign; none if they say nothing."""
    digits = text.replace(",", ".").removeprefix(".")
    return digits if digits.strip("0.") else ""


def _fraction_place(fraction: str) -> str:
    """Return the place of the digits after the point, each group by its value: 9 comes before 10."""
    groups = fraction.split(".") if fraction else []
    return ".".join(f"{0 if group.startswith('0') else len(group):02}{group}" for group in groups)


_TURNED = str.maketrans("0123456789.", "9876543210:")


def _below_zero(whole: str, counted: str) -> str:
    """Return the place of a negative number: the greater without its sign, the earlier."""
    return f"1{99 - len(whole):02}{whole.translate(_TURNED)}~{counted.translate(_TURNED)}~"


_COUNT = r"\d{1,9}(?:[.,]\d{1,4}){0,2}"
_NUMERAL = (
    rf"(?P<number>(?:(?<= )-)?{_COUNT}[a-z]?(?:-{_COUNT}(?![\w%]))?(?: \(?(?:part|pt)\.? ?\d{{1,3}}\)?)?)"
    r"(?:v\d)?(?![\w%]|[.,]\d)"
)
# Without a word for it, `1080p` and `3D` are no numbers, and a dash is no sign of one below zero.
_BARE_NUMERAL = _NUMERAL.replace("[a-z]", "[abc]").replace("(?:(?<= )-)?", "")
_CHAPTER_WORD = (
    r"(?:chapter|chapitre|chap|ch|cap[ií]tulo|capitolo|cap|kapitel|kap|[eé]pisode|epis[oó]dio|ep|folge|issue"
    r"|глава|chương|bölüm|rozdział|no(?=\.)|#|c(?=\d))"
)
_CHAPTER = rf"{_CHAPTER_WORD}(?:[.:]? ?#?|-| - ){_NUMERAL}"
_CHAPTER_CJK = r"第? ?(?P<number>\d{1,9}(?:\.\d{1,4})?) ?[話话章回화회장]"
_VOLUME = r"(?:volume|vol|tome|tomo|band|season|saison|temporada|staffel)[.:]? ?#?(?P<volume>\d{1,4})(?!\w)"
_VOLUME_CJK = r"第? ?(?P<volume>\d{1,4}) ?[巻卷권季]"

_SEASON_AND_EPISODE = re.compile(r"(?<!\w)s?(?P<volume>\d{1,2}) ?[xe](?P<number>\d{1,4})(?!\w)")
_NAMED = (re.compile(rf"(?<!\w){_CHAPTER}"), re.compile(_CHAPTER_CJK))
_VOLUMES = (re.compile(rf"(?<!\w){_VOLUME}"), re.compile(_VOLUME_CJK))
_SHORT_VOLUME = re.compile(r"(?<![\w(\[])[vs](?P<volume>\d{1,3})(?!\w)")
"""Before a number this is a volume; after one, or in brackets, it is the version of a file."""
_NAMED_EXTRA = re.compile(
    r"(?<!\w)(?P<kind>extra|omake|special|side[ -]?story|bonus|番外編|おまけ|特別編)"
    r"(?: (?:chapter|episode))?[ .#]*(?P<number>\d{1,4}(?:\.\d{1,2})?)?(?= ?(?:$|[-:(\[]))"
)
_NOISE = re.compile(
    r"\[[^\[\]]*+\]|\([^()]*+\)|【[^【】]*+】"
    r"|\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[/.]\d\d?[/.]\d{4}|\d\d?:\d\d"
    rf"|(?<!\w){_VOLUME}|{_VOLUME_CJK.replace('<volume>', '<cjk>')}"
)
_BARE = re.compile(
    rf"(?<![\w.,$€£/-]){_BARE_NUMERAL}(?= ?(?:$|[:|,;]|-(?: |$))|(?<=^\d)[.)] |(?<=^\d\d)[.)] )"
)
_IN_BRACKETS = re.compile(rf"[(\[]{_BARE_NUMERAL}[)\]]")
_YEAR = re.compile(r"(?:19|20)\d\d")


def read_number(title: str) -> tuple[str, str]:
    """Read the number and the volume out of a free title; empty where there is none."""
    text = _plain(title[:MAX_PARSED_LENGTH])
    if found := _SEASON_AND_EPISODE.search(text):
        return canonical_number(found["number"]), canonical_number(found["volume"])
    named = next((match for pattern in _NAMED if (match := pattern.search(text))), None)
    extra = _NAMED_EXTRA.search(text)
    if extra and (not named or extra.start() < named.start() < extra.end()):
        number = f"{extra['kind']} {extra['number'] or ''}".strip().capitalize()
        return number, _read_volume(text, before=extra.start())
    if named:
        return canonical_number(named["number"]), _read_volume(text, before=named.start())
    bare = " ".join(_NOISE.sub(" ", text).split())
    found = _find_bare(bare)
    if found:
        return canonical_number(found["number"]), _read_volume(text, before=len(text))
    found = _IN_BRACKETS.search(text)
    if found and not _YEAR.fullmatch(found["number"]):
        return canonical_number(found["number"]), _read_volume(text, before=found.start())
    return "", _read_volume(text, before=0)


def _find_bare(text: str) -> re.Match[str] | None:
    """Find a number that stands alone: after a dash, else before a colon, else the first at an end."""
    found = [match for match in _BARE.finditer(text) if not _YEAR.fullmatch(match["number"])]
    return (
        next((match for match in found if text[: match.start()].endswith("- ")), None)
        or next((match for match in found if text[match.end() :].startswith(":")), None)
        or next(iter(found), None)
    )


def _read_volume(text: str, *, before: int) -> str:
    found = next((match for pattern in _VOLUMES if (match := pattern.search(text))), None)
    found = found or _SHORT_VOLUME.search(text, 0, before)
    return canonical_number(found["volume"]) if found else ""


_STARTS = tuple(
    re.compile(rf"(?:(?:{_VOLUME}|v\d+)[ ,:-]*)?(?:{numbered})", re.IGNORECASE)
    for numbered in (_CHAPTER, _CHAPTER_CJK, rf"{_BARE_NUMERAL}(?=$|[:|,;.)]| ?-| \()")
)
_GROUP = re.compile(r"\[[^\[\]]*+\] ?")
_VERSION = re.compile(r"[(\[]?v\d[)\]]?", re.IGNORECASE)
_SEPARATORS = " -–—:,|·•"


def better_title(title: str, *, series: str, number: str) -> str:
    """Return a title without what only repeats the series and the number; often nothing is left."""
    text = " ".join(title.split())
    number = canonical_number(number)
    inner = _GROUP.sub("", text, count=1) if text.startswith("[") else text
    rest = _without_number(_without_series(inner, series, number), number)
    if rest == inner:
        rest = text
    if series and rest.casefold().endswith(series.casefold()):
        start = rest[: -len(series)].rstrip()
        rest = start.rstrip(_SEPARATORS) if not start or start[-1] in _SEPARATORS else rest
    return "" if _VERSION.fullmatch(rest) else rest


def _without_series(text: str, series: str, number: str) -> str:
    """Cut the name of the series, where nothing goes on with it: `One Piece Red` is another name."""
    if not series or text[: len(series)].casefold() != series.casefold():
        return text
    rest = text[len(series) :]
    cut = rest.lstrip(_SEPARATORS)
    goes_on = rest[:1].isalnum() or (
        rest.lstrip() == cut and cut != "" and _without_number(cut, number) == cut
    )
    return text if goes_on else cut


def _without_number(text: str, number: str) -> str:
    """Cut the chapter's own number with all that belongs to it."""
    for pattern in _STARTS:
        found = pattern.match(text) if number else None
        if found and canonical_number(found["number"]) == number:
            return text[found.end() :].removeprefix(".").removeprefix(")").strip(_SEPARATORS)
    return text
