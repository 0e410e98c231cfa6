"""Forecasts as the API tells them."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from headgate.outflow.reminders.preflight import Outlook


class ForecastAnswer(BaseModel):
    """What the account's lane and its queue say; `ends_at` is empty if it takes more than 60 days."""

    opens_at: datetime
    begins_at: datetime | None
    ends_at: datetime | None
    targets_reached: int
    targets_unreached: int
    saturated_until_close: bool
    daily_cap_reached: bool
    carried_windows: int


class OutlookAnswer(BaseModel):
    """What will become of a plan or a run, in figures and in words, and what would help."""

    account_name: str
    zone: str
    targets: int
    messages: int
    queued: int
    forecast: ForecastAnswer
    text: str
    advice: list[str]

    @classmethod
    def of(cls, outlook: Outlook) -> OutlookAnswer:
        return cls.model_validate(outlook, from_attributes=True)
