"""What the measurements of the shelf say, each beside its floor or bound."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from statistics import median

from headgate.dev.bench.library.filter_cases import FilterCase
from headgate.dev.bench.library.search_cases import SearchFigures
from headgate.dev.bench.measuring import Figure, Report, delay_line, percentile

MAX_PAGE_RATIO = 5.0
MAX_APART = 2.0
MAX_DATED_RATIO = 10.0
FEW_MATCHES = 30_000
MAX_FEW_MS = 60.0
MAX_MS = 200.0
MAX_SEARCH_MS = 60.0
MIN_INGEST_RATIO = 0.5


@dataclass
class CaseTimes:
    """What was measured with one filter."""

    case: FilterCase
    ms: list[float] = field(default_factory=list[float])
    matches: int | None = None
    """None: more than are counted."""

    @property
    def p95_ms(self) -> float:
        return percentile(self.ms, 0.95)

    def bound_ms(self, floor_ms: float) -> float:
        if self.case.one_by_date:
            return MAX_DATED_RATIO * floor_ms
        return MAX_FEW_MS if self.matches is not None and self.matches < FEW_MATCHES else MAX_MS


@dataclass
class ShelfTimes:
    """What was measured, in milliseconds each."""

    first: list[float] = field(default_factory=list[float])
    deep: list[float] = field(default_factory=list[float])
    floor: list[float] = field(default_factory=list[float])
    members: list[float] = field(default_factory=list[float])
    count: list[float] = field(default_factory=list[float])
    offset: list[float] = field(default_factory=list[float])
    cases: dict[str, CaseTimes] = field(default_factory=dict[str, CaseTimes])
    search: SearchFigures = field(default_factory=lambda: SearchFigures(0.0, 0.0, {}))
    documents: int = 0
    rows: int = 0
    load_s: float = 0.0
    empty_per_s: float = 0.0
    full_per_s: float = 0.0


def report_shelf(times: ShelfTimes, *, items: int, rounds: int, server_version: str) -> Report:
    first, deep, floor = (percentile(ms, 0.95) for ms in (times.first, times.deep, times.floor))
    all_filters = [ms for case in times.cases.values() for ms in case.ms]
    ingest_ratio = times.full_per_s / times.empty_per_s
    values = {
        "first_page_ms_p95": round(first, 3),
        "deep_page_ms_p95": round(deep, 3),
        "floor_ms_p95": round(floor, 3),
        "first_page_ratio": round(first / floor, 2),
        "deep_page_ratio": round(deep / floor, 2),
        "filter_ms_p95": round(percentile(all_filters, 0.95), 3),
        "filter_cases": [_case_values(case, floor) for case in times.cases.values()],
        "search_ms_p50": round(times.search.p50_ms, 3),
        "search_ms_p95": round(times.search.p95_ms, 3),
        "search_cases": {name: dict(figures) for name, figures in times.search.cases.items()},
        "documents": times.documents,
        "members_ms_p95": round(percentile(times.members, 0.95), 3),
        "count_ms_p95": round(percentile(times.count, 0.95), 3),
        "offset_page_ms": round(median(times.offset), 1),
        "ingest_ratio": round(ingest_ratio, 3),
        "ingest_per_s": round(times.full_per_s, 1),
        "ingest_per_s_empty": round(times.empty_per_s, 1),
        "items": items,
        "rows": times.rows,
        "rounds": rounds,
        "load_s": round(times.load_s, 1),
        "server_version": server_version,
        "python": platform.python_version(),
    }
    lines = [
        _page_line("first page", first, floor),
        _page_line("deep page", deep, floor),
        Figure(
            "first and deep page apart",
            f"{max(first, deep):.2f} ms",
            floor=f"{min(first, deep):.2f} ms",
            ratio=max(first, deep) / min(first, deep),
            bound=f"ratio ≤ {MAX_APART:g}",
            ok=max(first, deep) / min(first, deep) <= MAX_APART,
        ),
        *(_case_line(case, floor) for case in times.cases.values()),
        delay_line("search", delay_ms=times.search.p95_ms, most_ms=MAX_SEARCH_MS),
        delay_line("members of a page", delay_ms=percentile(times.members, 0.95)),
        delay_line("page by OFFSET over items", delay_ms=median(times.offset)),
        Figure(
            "ingest into the full shelf",
            f"{times.full_per_s:,.0f}/s",
            floor=f"{times.empty_per_s:,.0f}/s",
            ratio=ingest_ratio,
            bound=f"ratio ≥ {MIN_INGEST_RATIO:g}",
            ok=ingest_ratio >= MIN_INGEST_RATIO,
        ),
    ]
    title = f"A shelf of {times.rows:,} rows ({items:,} items) on PostgreSQL {server_version}"
    note = "Times are at the 95th percentile. The floor is the bare keyset query for the same columns."
    return Report("shelf", title, values, lines, [note])


def _page_line(what: str, ms: float, floor_ms: float) -> Figure:
    return Figure(
        what,
        f"{ms:.2f} ms",
        floor=f"{floor_ms:.2f} ms",
        ratio=ms / floor_ms,
        bound=f"ratio ≤ {MAX_PAGE_RATIO:g}",
        ok=ms / floor_ms <= MAX_PAGE_RATIO,
    )


def _case_line(case: CaseTimes, floor_ms: float) -> Figure:
    bound_ms = case.bound_ms(floor_ms)
    return Figure(
        case.case.name,
        f"{case.p95_ms:.2f} ms",
        floor=f"{floor_ms:.2f} ms" if case.case.one_by_date else "",
        ratio=case.p95_ms / floor_ms if case.case.one_by_date else None,
        bound=f"ratio ≤ {MAX_DATED_RATIO:g}" if case.case.one_by_date else f"≤ {bound_ms:g} ms",
        ok=case.p95_ms <= bound_ms,
    )


def _case_values(case: CaseTimes, floor_ms: float) -> dict[str, object]:
    return {
        "name": case.case.name,
        "ms_p95": round(case.p95_ms, 3),
        "matches": case.matches,
        "bound_ms": round(case.bound_ms(floor_ms), 3),
        "ok": case.p95_ms <= case.bound_ms(floor_ms),
    }
