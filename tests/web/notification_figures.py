"""What is said of a series, its source, its site, and of notifications and pushes, place by place.

`{series}`, `{listing}` and `{address}` are the ids of the only ones; `{title}` is the title of the series.
"""

from __future__ import annotations

from typing import Any

from figures import Figure, Find, Page, moment, number

SERIES_LIST = "headgate series list"
SERIES = "headgate series show {series}"
EXPLAIN = "headgate explain {series}"
HOSTS = "headgate hosts"
TOLD = "headgate notifications list"
TOLD_UNREAD = "headgate notifications list --unread"
ADDRESSES = "headgate push list"
HISTORY = "headgate push history phone"
DOCTOR = "headgate doctor"
API_SERIES_LIST = "/api/v1/series"
API_SERIES = "/api/v1/series/{series}"
API_PROGRESS = "/api/v1/series/{series}/progress"
API_CHAPTERS = "/api/v1/series/{series}/chapters"
API_LISTING = "/api/v1/listings/{listing}"
API_LISTINGS = "/api/v1/listings"
API_HOSTS = "/api/v1/hosts"
API_TOLD = "/api/v1/notifications"
API_UNREAD = "/api/v1/notifications/unread"
API_ADDRESSES = "/api/v1/push-addresses"
API_ADDRESS = "/api/v1/push-addresses/{address}"
API_PUSHES = "/api/v1/push-addresses/{address}/pushes"
SERIES_LIST_PAGE = "/series"
SERIES_PAGE = "/series/{series}"
CHANNELS_PAGE = "/channels"
TOLD_PAGE = "/notifications"
ADDRESSES_PAGE = "/account/notifications"
ADDRESS_PAGE = "/account/addresses/{address}"
METRICS = "/metrics"


def of_series(name: str) -> dict[str, Find]:
    """Return how all documents say something of a series."""
    return {
        SERIES_LIST: lambda lines: lines[0][name],
        SERIES: lambda shown: shown[name],
        API_SERIES_LIST: lambda answer: answer["series"][0][name],
        API_SERIES: lambda answer: answer["series"][name],
    }


def of_listing(name: str) -> dict[str, Find]:
    """Return how all documents say something of the source."""
    return {
        EXPLAIN: lambda shown: shown[0][name],
        SERIES: lambda shown: shown["sources"][0][name],
        API_SERIES: lambda answer: answer["sources"][0]["listing"][name],
        API_LISTING: lambda answer: answer[name],
        API_LISTINGS: lambda answer: answer["listings"][0][name],
    }


def left_to_read(page: Page) -> int:
    text = page.text(r'<td class="left">(.*?)</td>')
    return 0 if text == "all read" else number(text)


def unread_on_page(page: Page) -> int:
    text = page.text(r'id="reading">.*?</span>\s*<span>(.*?)</span>')
    return 0 if text == "all read" else number(text)


def amount(word: str) -> Find:
    """Return the number before a word in the line below a title."""
    return lambda page: number(page.text(rf'<span class="line muted">[^<]*?([\d\u202f]+ {word})'))


def bell(page: Page) -> int:
    counts = page.texts(r'<span class="bell-count"[^>]*>(.*?)</span>')
    return int(counts[0]) if counts else 0


def sent_pushes(rows: list[dict[str, Any]]) -> int:
    return sum(row["state"] == "sent" for row in rows)


def tries(rows: list[dict[str, Any]]) -> int:
    return sum(row["attempts"] for row in rows)


def waiting_on_page(page: Page) -> int:
    found = page.texts(r"·\s*(\S+ notifications? waits?)")
    return number(found[0]) if found else 0


def open_sites(shown: dict[str, Any]) -> int:
    (sites,) = [check for check in shown["checks"] if check["name"] == "sites"]
    return int(sites["message"].startswith("Resting"))


NOTIFICATION_FIGURES = [
    Figure(
        "chapters",
        {
            **of_series("chapters"),
            SERIES: lambda shown: len(shown["chapters"]),
            API_CHAPTERS: lambda answer: len(answer["chapters"]),
            SERIES_LIST_PAGE: amount("chapters?"),
            SERIES_PAGE: (
                lambda page: page.number(r'id="reading">\s*<span><b>(.*?)</b>'),
                lambda page: len(page.texts(r'(<tr id="chapter-)')),
            ),
        },
    ),
    Figure(
        "sources",
        {
            **of_series("sources"),
            SERIES: lambda shown: len(shown["sources"]),
            SERIES_LIST_PAGE: amount("sources?"),
            SERIES_PAGE: lambda page: page.number(r'<a href="#sources">(.*?)</a>'),
        },
    ),
    Figure(
        "unread chapters",
        {
            **of_series("unread"),
            API_PROGRESS: lambda answer: answer["unread"],
            API_CHAPTERS: lambda answer: sum(not chapter["read"] for chapter in answer["chapters"]),
            SERIES_LIST_PAGE: left_to_read,
            SERIES_PAGE: unread_on_page,
        },
    ),
    Figure("latest chapter", of_series("latest_chapter")),
    Figure("read up to", {**of_series("read_chapter"), API_PROGRESS: lambda answer: answer["read_chapter"]}),
    Figure("checks", of_listing("checks")),
    Figure(
        "state of the source",
        {
            **of_listing("state"),
            CHANNELS_PAGE: lambda page: page.text(r'<td class="stands"[^>]*>\s*(<span.*?</span>)'),
            SERIES_PAGE: lambda page: page.text(r'<span class="tag">simulated</span>\s*(<span.*?</span>)'),
        },
    ),
    Figure("failures of the source", of_listing("failures")),
    Figure("next check", {place: moment(find) for place, find in of_listing("due_at").items()}),
    Figure(
        "sources of the site",
        {
            HOSTS: lambda hosts: hosts[0]["listings"],
            API_HOSTS: lambda answer: answer["hosts"][0]["listings"],
            API_LISTINGS: lambda answer: len(answer["listings"]),
        },
    ),
    Figure(
        "failures of the site",
        {
            HOSTS: lambda hosts: hosts[0]["failures"],
            API_HOSTS: lambda answer: answer["hosts"][0]["failures"],
        },
    ),
    Figure(
        "open breakers of sites",
        {
            HOSTS: lambda hosts: sum(host["state"] == "open" for host in hosts),
            API_HOSTS: lambda answer: sum(host["breaker"] == "open" for host in answer["hosts"]),
            API_LISTINGS: lambda answer: sum(one["host_breaker"] == "open" for one in answer["listings"]),
            DOCTOR: open_sites,
            METRICS: lambda shown: shown.gauge('headgate_breakers{of="host",state="open"}'),
        },
    ),
    Figure(
        "half-open breakers of sites",
        {
            HOSTS: lambda hosts: sum(host["state"] == "half_open" for host in hosts),
            API_HOSTS: lambda answer: sum(host["breaker"] == "half_open" for host in answer["hosts"]),
            METRICS: lambda shown: shown.gauge('headgate_breakers{of="host",state="half_open"}'),
        },
    ),
    Figure(
        "unread notifications",
        {
            TOLD: (
                lambda shown: int(shown["unread"]),
                lambda shown: sum(one["read_at"] is None for one in shown["notifications"]),
            ),
            TOLD_UNREAD: lambda shown: len(shown["notifications"]),
            API_TOLD: (
                lambda answer: answer["unread"]["count"],
                lambda answer: sum(one["read_at"] is None for one in answer["notifications"]),
            ),
            API_UNREAD: (lambda answer: answer["count"], lambda answer: int(answer["text"])),
            TOLD_PAGE: (bell, lambda page: len(page.texts(r'(class="is-unread")'))),
            "/": bell,
        },
    ),
    Figure(
        "notifications",
        {
            TOLD: lambda shown: len(shown["notifications"]),
            API_TOLD: lambda answer: len(answer["notifications"]),
            TOLD_PAGE: lambda page: len(page.texts(r'(<li id="notification-)')),
        },
    ),
    Figure(
        "notifications to be pushed",
        {
            ADDRESSES: lambda addresses: addresses[0]["waiting"],
            API_ADDRESSES: lambda answer: answer["addresses"][0]["waiting"],
            API_ADDRESS: lambda answer: answer["waiting"],
            ADDRESSES_PAGE: waiting_on_page,
            METRICS: lambda shown: shown.gauge("headgate_push_notifications_waiting"),
        },
    ),
    Figure(
        "pushes",
        {
            HISTORY: sent_pushes,
            API_PUSHES: lambda answer: sent_pushes(answer["pushes"]),
            ADDRESS_PAGE: lambda page: len(page.texts(r'<span class="tag good">(sent)</span>')),
            METRICS: lambda shown: shown.grown('headgate_pushes_total{result="sent"}'),
        },
    ),
    Figure(
        "tries to push",
        {
            HISTORY: tries,
            API_PUSHES: lambda answer: tries(answer["pushes"]),
            ADDRESS_PAGE: lambda page: sum(map(number, page.texts(r'data-label="tries">(.*?)</td>'))),
            METRICS: lambda shown: shown.grown("headgate_pushes_total"),
        },
    ),
]
