"""The form of a reminder as it was typed: nothing in it is judged, so nothing in it is lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from starlette.datastructures import FormData

from headgate.domain.cron import read_cron
from headgate.domain.errors import UserError
from headgate.domain.reminders.recurrence import Schedule, daily, monthly, weekdays, weekly
from headgate.domain.reminders.windows import DAY_MINUTES, minute_text
from headgate.domain.text import typed_text
from headgate.domain.wall_time import WEEKDAYS
from headgate.outflow.reminders.drafts import MAX_PARTS, MAX_TEXT, MAX_TITLE
from headgate.storage.reminders.reminder_overview import FullReminder

DAYS = {name[:3].lower(): name for name in WEEKDAYS}
REPEATS = {
    "once": "Once",
    "daily": "Daily",
    "weekdays": "Weekdays",
    "weekly": "Weekly",
    "monthly": "Monthly",
    "cron": "By a cron line",
}
FIRST_TIME = "09:00"
_MIDNIGHT = "00:00"


@dataclass(frozen=True)
class PartInput:
    """One message: its text, and the file that was stored for it."""

    text: str = ""
    media_id: UUID | None = None


@dataclass(frozen=True)
class WhenInput:
    """The fields of the schedule; which of them count is said by `repeat`."""

    repeat: str = "once"
    date: str = ""
    time: str = FIRST_TIME
    days: tuple[str, ...] = ("mon",)
    day: str = "1"
    cron: str = ""

    def schedule(self) -> Schedule:
        """Return the schedule, or raise `UserError`."""
        match self.repeat:
            case "daily":
                return daily(self.time)
            case "weekdays":
                return weekdays(self.time)
            case "weekly":
                return weekly(self.days, self.time)
            case "monthly":
                return monthly("last" if self.day == "last" else _number(self.day), self.time)
            case "cron":
                return Schedule(cron=" ".join(self.cron.split()) or "-")
            case _:
                return Schedule(_wall(self.date, self.time))

    @classmethod
    def of(cls, schedule: Schedule) -> WhenInput:
        """Return the plain choice that means exactly this schedule, or its cron line."""
        if schedule.once is not None:
            return cls("once", f"{schedule.once:%Y-%m-%d}", f"{schedule.once:%H:%M}")
        cron = read_cron(schedule.cron)
        time = minute_text(min(cron.minutes))
        chosen = cron.weekdays or frozenset()
        days = tuple(name for place, name in enumerate(DAYS) if (place + 1) % 7 in chosen)
        day = "last" if cron.day == "L" else cron.day if cron.day.isdecimal() else "1"
        for repeat in ("daily", "weekdays", "weekly", "monthly"):
            plain = cls(repeat, time=time, days=days or ("mon",), day=day)
            if plain.schedule() == schedule:
                return plain
        return cls("cron", cron=schedule.cron)


@dataclass(frozen=True)
class WindowInput:
    """The fields of the delivery window."""

    start: str = "06:00"
    end: str = "18:00"
    whole_day: bool = False
    at_close: str = "stop"

    @property
    def ends(self) -> tuple[str, str]:
        """Return start and end; a field for times has no 24:00, so midnight at the end is that."""
        if self.whole_day:
            return _MIDNIGHT, minute_text(DAY_MINUTES)
        return self.start, minute_text(DAY_MINUTES) if self.end == _MIDNIGHT else self.end

    @classmethod
    def of(cls, *, start: int, end: int, at_close: str) -> WindowInput:
        if (start, end) == (0, DAY_MINUTES):
            return cls(whole_day=True, at_close=at_close)
        return cls(minute_text(start), minute_text(end % DAY_MINUTES), at_close=at_close)


@dataclass(frozen=True)
class ReminderInput:
    """All that stands in the form."""

    title: str = ""
    account_id: UUID | None = None
    parts: tuple[PartInput, ...] = (PartInput(),)
    chosen: tuple[UUID, ...] = ()
    """The groups that were ticked, in the order in which they were."""
    lists: tuple[UUID, ...] = ()
    words: str = ""
    only_chosen: bool = False
    list_name: str = ""
    zone: str = "UTC"
    when: WhenInput = WhenInput()
    window: WindowInput = WindowInput()

    @classmethod
    def of(cls, full: FullReminder) -> ReminderInput:
        """Return a stored reminder as if it had just been typed."""
        known = full.reminder
        return cls(
            title=known.title,
            account_id=known.account_id,
            parts=tuple(PartInput(part.text, part.media_id) for part in full.parts),
            chosen=tuple(target.id for target in full.targets),
            lists=tuple(one.id for one in full.lists),
            only_chosen=bool(full.targets),
            zone=known.zone,
            when=WhenInput.of(known.schedule),
            window=WindowInput.of(start=known.window_start, end=known.window_end, at_close=known.at_close),
        )

    def add_part(self) -> ReminderInput:
        return self if len(self.parts) >= MAX_PARTS else replace(self, parts=(*self.parts, PartInput()))

    def remove_part(self, number: int) -> ReminderInput:
        left = tuple(part for at, part in enumerate(self.parts, start=1) if at != number)
        return replace(self, parts=left or (PartInput(),))

    def move_part(self, number: int, step: int) -> ReminderInput:
        """Swap a part with its neighbour; at the end of the row nothing moves."""
        parts, other = list(self.parts), number + step
        if 1 <= number <= len(parts) and 1 <= other <= len(parts):
            parts[number - 1], parts[other - 1] = parts[other - 1], parts[number - 1]
        return replace(self, parts=tuple(parts))

    def set_media(self, number: int, media_id: UUID | None) -> ReminderInput:
        if not 1 <= number <= len(self.parts):
            return self
        parts = list(self.parts)
        parts[number - 1] = replace(parts[number - 1], media_id=media_id)
        return replace(self, parts=tuple(parts))


def read_typed(form: FormData) -> ReminderInput:
    """Return what a person typed."""
    return ReminderInput(
        title=_text(form, "title")[: 2 * MAX_TITLE],
        account_id=_id(_text(form, "account")),
        parts=tuple(_parts(form)) or (PartInput(),),
        chosen=_chosen(form),
        lists=tuple(_ids(_texts(form, "list"))),
        words=typed_text(_text(form, "words")),
        only_chosen=bool(_text(form, "only_chosen")),
        list_name=_text(form, "list_name"),
        zone=_text(form, "zone").strip()[:100],
        when=WhenInput(
            repeat=_text(form, "repeat"),
            date=_text(form, "date"),
            time=_text(form, "time"),
            days=tuple(day for day in _texts(form, "days") if day in DAYS),
            day=_text(form, "day"),
            cron=_text(form, "cron")[:200],
        ),
        window=WindowInput(
            start=_text(form, "window_start"),
            end=_text(form, "window_end"),
            whole_day=bool(_text(form, "whole_day")),
            at_close=_text(form, "at_close"),
        ),
    )


def _parts(form: FormData) -> Iterable[PartInput]:
    for number in range(1, MAX_PARTS + 1):
        if f"text-{number}" in form:
            text = _text(form, f"text-{number}").replace("\r\n", "\n")
            # A little more than can be sent, so that the answer says how much too long it is.
            yield PartInput(text[: 4 * MAX_TEXT], _id(_text(form, f"media-{number}")))


def _chosen(form: FormData) -> tuple[UUID, ...]:
    """Return those chosen before, without what was unticked among those shown, and then those ticked."""
    ticked = _ids(_texts(form, "tick"))
    unticked = set(_ids(_text(form, "shown").split())) - set(ticked)
    before = (one for one in _ids(_text(form, "chosen").split()) if one not in unticked)
    return tuple(dict.fromkeys([*before, *ticked]))


def _text(form: FormData, name: str) -> str:
    value = form.get(name)
    return value if isinstance(value, str) else ""


def _texts(form: FormData, name: str) -> list[str]:
    return [value for value in form.getlist(name) if isinstance(value, str)]


def _ids(texts: Sequence[str]) -> list[UUID]:
    return [found for text in texts if (found := _id(text)) is not None]


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 4 else 0


def _wall(date: str, time: str) -> datetime:
    try:
        return datetime.fromisoformat(f"{date}T{time}").replace(tzinfo=None, second=0, microsecond=0)
    except ValueError:
        what = "date" if not date else "time" if not time else "date and a time"
        raise UserError(f"Choose a {what}.") from None
