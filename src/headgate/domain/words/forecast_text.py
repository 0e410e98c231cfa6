"""A forecast in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from headgate.domain.reminders.forecast import HORIZON, Forecast, PlannedRun
from headgate.domain.wall_time import find_zone


def in_words(forecast: Forecast, plan: PlannedRun, *, queued: int = 0) -> str:
    """Say when a run will end and whom it will not reach; `queued` messages of other runs share its lane."""
    return " ".join(_sentences(forecast, plan, queued))


def _sentences(forecast: Forecast, plan: PlannedRun, queued: int) -> Iterator[str]:
    yield _ending(forecast, plan)
    if forecast.targets_unreached and forecast.daily_cap_reached:
        yield "The daily cap of the account is reached before that."
    elif forecast.saturated_until_close:
        yield "The pace of the account does not allow more."
    if forecast.accounts_at_once:
        yield f"{forecast.accounts_at_once:,} accounts send now and take turns, which slows all of them down."
    if queued:
        messages = "1 message" if queued == 1 else f"{queued:,} messages"
        yield f"{messages} of other runs on this account will be sent in turn with it."


def _ending(forecast: Forecast, plan: PlannedRun) -> str:
    total, reached, rest = plan.targets, forecast.targets_reached, forecast.targets_unreached
    if not total:
        return "There is nothing left to send."
    if forecast.ends_at is None:
        return f"Within {HORIZON.days} days it reaches {reached:,} of {_groups(total)}."
    at = f"{_wall(forecast.ends_at, plan)} ({plan.window.zone})"
    if rest:
        are = "is" if rest == 1 else "are"
        return (
            f"{rest:,} of {_groups(total)} {are} not reached before the delivery window closes on {at};"
            f" {reached:,} {'is' if reached == 1 else 'are'}."
        )
    if forecast.carried_windows:
        windows = "window" if forecast.carried_windows == 1 else "windows"
        more = f", in {forecast.carried_windows} further delivery {windows}"
        return f"{_groups(total)}, done by about {at}{more}."
    return f"{_groups(total)}, done by about {at}."


def _wall(at: datetime, plan: PlannedRun) -> str:
    return f"{at.astimezone(find_zone(plan.window.zone)):%Y-%m-%d %H:%M}"


def _groups(count: int) -> str:
    return "1 group" if count == 1 else f"{count:,} groups"
