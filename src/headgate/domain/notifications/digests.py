"""How notifications are told outside: not in quiet hours, and many at once as one digest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from headgate.domain.listings.chapters import chapter_key
from headgate.domain.reminders.windows import DAY_MINUTES, Window

MAX_ROWS = 20
"""So many series and channels are named in a digest at most."""
MAX_RANGES = 4
MAX_TITLE = 120
MAX_ROW = 200

_FIRST_DIGITS = re.compile(r"\d+")


def is_quiet(now: datetime, *, zone: ZoneInfo, quiet_from_min: int | None, quiet_to_min: int | None) -> bool:
    """Tell whether a user wants to hear nothing now; hours that end when they begin are never quiet."""
    window = _quiet_hours(zone, quiet_from_min, quiet_to_min)
    return window is not None and window.is_open(now)


def quiet_ends_at(
    now: datetime, *, zone: ZoneInfo, quiet_from_min: int | None, quiet_to_min: int | None
) -> datetime | None:
    """Return when the quiet hours of this moment end, in UTC; None if it is not quiet now."""
    window = _quiet_hours(zone, quiet_from_min, quiet_to_min)
    if window is None or not window.is_open(now):
        return None
    return window.stretch(now).closes_at


def _quiet_hours(zone: ZoneInfo, start: int | None, end: int | None) -> Window | None:
    """Return the quiet hours in minutes after midnight, where 0 and 1440 are the same."""
    if start is None or end is None or (start - end) % DAY_MINUTES == 0:
        return None
    return Window(start % DAY_MINUTES, end % DAY_MINUTES or DAY_MINUTES, zone.key)


@dataclass(frozen=True)
class NewsLine:
    """One notification that is to be told."""

    subject_title: str
    """Of the series, or of the channel."""
    text: str
    url: str
    at: datetime
    number: str = ""
    """Of the chapter, if it has one."""
    is_chapter: bool = True
    """Something new in a series; else it is something new in a channel."""


@dataclass(frozen=True)
class PushMessage:
    """What is sent: a title, and a text that may be empty."""

    title: str
    body: str


def compose(lines: Sequence[NewsLine], *, limit: int) -> PushMessage:
    """Make one message of all lines, with at most `limit` characters in title and body together.

    One notification is itself; several are counted, and told by series and channel, the newest first.
    """
    lines = _once_each(lines)
    subjects = _by_subject(lines)
    if not lines:
        return PushMessage("", "")
    if len(lines) == 1:
        title, rows = lines[0].subject_title, [lines[0].text]
    elif len(subjects) == 1:
        title = f"{lines[0].subject_title}: {_count(lines)}"
        rows = [_capital(_summary(lines))]
    else:
        title, rows = _headline(subjects), [_row(subject) for subject in subjects[:MAX_ROWS]]
    title = _clip(title, min(MAX_TITLE, limit))
    room = limit - len(title) - 1
    if len(subjects) > 1:
        return PushMessage(title, _fitted(rows, subjects, room))
    return PushMessage(title, _with_link(rows[0], lines[0].url, room))


def _once_each(lines: Sequence[NewsLine]) -> list[NewsLine]:
    """Return the lines newest first; a chapter that came from several sources is one."""
    kept = dict[tuple[str, ...], NewsLine]()
    for line in sorted(lines, key=lambda line: line.at, reverse=True):
        named = (line.number,) if line.number else ("", line.text, line.url)
        kept.setdefault((line.subject_title, str(line.is_chapter), *named), line)
    return list(kept.values())


def _by_subject(lines: list[NewsLine]) -> list[list[NewsLine]]:
    subjects = dict[tuple[str, bool], list[NewsLine]]()
    for line in lines:
        subjects.setdefault((line.subject_title, line.is_chapter), []).append(line)
    return list(subjects.values())


def _headline(subjects: list[list[NewsLine]]) -> str:
    """Count what is new: in series, and in channels."""
    parts = list[str]()
    for is_chapter in (True, False):
        of_kind = [subject for subject in subjects if subject[0].is_chapter is is_chapter]
        if of_kind:
            lines = [line for subject in of_kind for line in subject]
            parts.append(f"{_count(lines)} in {_places(of_kind)}")
    return " and ".join(parts)


def _count(lines: list[NewsLine]) -> str:
    noun = "chapter" if lines[0].is_chapter else "item"
    return f"1 new {noun}" if len(lines) == 1 else f"{len(lines):,} new {noun}s"


def _places(subjects: list[list[NewsLine]], *, other: str = "") -> str:
    count = f"{len(subjects):,} {other}"
    if subjects[0][0].is_chapter:
        return f"{count}series"
    return f"{count}channel" if len(subjects) == 1 else f"{count}channels"


def _row(lines: list[NewsLine]) -> str:
    return _clip(f"{lines[0].subject_title}: {_summary(lines)}", MAX_ROW)


def _summary(lines: list[NewsLine]) -> str:
    """Say what is new in one series or channel, newest first."""
    numbers = [line.number for line in lines if line.number]
    ranges = list(_ranges(numbers))
    rest = len(lines) - len(numbers)
    if len(lines) == 1 or not numbers or len(ranges) > MAX_RANGES:
        newest, rest = lines[0].text or f"chapter {lines[0].number}", len(lines) - 1
    else:
        newest = f"chapter{'' if len(numbers) == 1 else 's'} {', '.join(ranges)}"
    return f"{newest} and {rest:,} more" if rest else newest


def _ranges(numbers: list[str]) -> Iterator[str]:
    """Yield the numbers in their order, those that follow each other as one range."""
    ordered = sorted(set(numbers), key=lambda number: chapter_key(number, "", entry_key="", source="").place)
    runs = list[list[str]]()
    for number in ordered:
        if runs and _follows(number, runs[-1][-1]):
            runs[-1].append(number)
        else:
            runs.append([number])
    for run in runs:
        yield run[0] if len(run) == 1 else f"{run[0]}–{run[-1]}"


def _follows(number: str, before: str) -> bool:
    """Tell whether nothing can be missing between two numbers: 46 after 45 or 45.5, and 45.5 after 45."""
    this, that = _FIRST_DIGITS.match(number), _FIRST_DIGITS.match(before)
    if this is None or that is None:
        return False
    step = int(this[0]) - int(that[0])
    return step == 0 or (step == 1 and number == this[0])


def _fitted(rows: list[str], subjects: list[list[NewsLine]], room: int) -> str:
    """Return as many rows as there is room for, and how much is not told."""
    for shown in range(len(rows), 0, -1):
        left = subjects[shown:]
        body = "\n".join([*rows[:shown], *([f"and {_left(left)}"] if left else [])])
        if len(body) <= room:
            return body
    return _clip(rows[0], room)


def _left(subjects: list[list[NewsLine]]) -> str:
    count = sum(len(subject) for subject in subjects)
    mixed = len({subject[0].is_chapter for subject in subjects}) > 1
    return f"{count:,} more {'elsewhere' if mixed else 'in ' + _places(subjects, other='other ')}"


def _with_link(text: str, url: str, room: int) -> str:
    """Return a text and its link; a link is told whole or not at all."""
    if url and len(url) + 1 < room:
        text = _clip(text, room - len(url) - 1)
        return f"{text}\n{url}" if text else url
    return _clip(text, room)


def _clip(text: str, most: int) -> str:
    """Return a text on one line with so many characters at most."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    return f"{text[: most - 1].rstrip()}…" if most > 1 else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
