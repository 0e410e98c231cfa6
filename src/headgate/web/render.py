"""Templates: strict about names, escaped by default."""

from __future__ import annotations

import functools
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from headgate import __version__
from headgate.domain.library.covers import MESSAGES as COVER_REASONS
from headgate.domain.reminders.recurrence import describe
from headgate.domain.reminders.windows import minute_text
from headgate.domain.words import shelf_words, times
from headgate.domain.words.contents import problem_text
from headgate.domain.words.frequency import frequency_word
from headgate.domain.words.inspection_words import file_state_text
from headgate.domain.words.listing_words import breaker_text, check_reason_text, frequency_reason_text
from headgate.domain.words.reasons import verdict_text
from headgate.domain.words.states import AT_CLOSE, TRIGGERS, state_text
from headgate.domain.words.waiting import holder_text
from headgate.kernel.clock import Clock
from headgate.kernel.logs import mask_url
from headgate.web import wording
from headgate.web.http.assets import Assets


@functools.cache
def _load_templates(assets: Assets) -> Environment:
    """Return the templates with their words; compiled once a process, however many apps it builds."""
    environment = Environment(
        loader=PackageLoader("headgate.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    words: dict[str, Any] = {
        "asset": assets.url,
        "version": __version__,
        "relative": wording.relative,
        "exact": times.exact,
        "wall": times.wall,
        "day": times.day,
        "state_text": state_text,
        "holder_text": holder_text,
        "TRIGGERS": TRIGGERS,
        "AT_CLOSE": AT_CLOSE,
        "amount": wording.amount,
        "describe": describe,
        "breaker_text": breaker_text,
        "check_reason": check_reason_text,
        "frequency_reason_text": frequency_reason_text,
        "frequency_word": frequency_word,
        "minute_text": minute_text,
        "verdict_text": verdict_text,
        "file_state_text": file_state_text,
        "problem_text": problem_text,
        "COVER_REASONS": COVER_REASONS,
        "shelf_state": shelf_words.state_text,
        "sort_text": shelf_words.sort_text,
        "label_query": wording.label_query,
    }
    environment.globals |= words
    environment.filters |= {
        "size": wording.size,
        "count": wording.count,
        "share": wording.share,
        "browser": wording.browser,
        "latency": wording.latency,
        "outside": wording.outside,
        "without_secrets": mask_url,
    }
    return environment


class Renderer:
    """Renders pages with the product's time and the addresses of static files at hand."""

    def __init__(self, assets: Assets, clock: Clock) -> None:
        self._clock = clock
        self._templates = _load_templates(assets)

    def render(self, template: str, **context: Any) -> HTMLResponse:
        """Return a page; every one knows who looks at it (`caller`) and when (`now`)."""
        context.setdefault("now", self._clock.now())
        return HTMLResponse(self._templates.get_template(template).render(context))
