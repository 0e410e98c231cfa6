"""A breaker: closed, open, half open, and how long it stays open."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from headgate.domain.breaker import (
    FIRST_OPEN_S,
    MAX_OPEN_S,
    OPEN_AFTER,
    Breaker,
    fail,
    state_of,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_few_failures_leave_it_closed() -> None:
    breaker = Breaker()
    for _ in range(OPEN_AFTER - 1):
        breaker = fail(breaker, now=NOW)
        assert state_of(breaker, now=NOW) == "closed"
    assert breaker == Breaker(failures=OPEN_AFTER - 1)


def test_one_more_opens_it() -> None:
    breaker = fail(Breaker(failures=OPEN_AFTER - 1), now=NOW)
    assert breaker == Breaker(OPEN_AFTER, 1, NOW + timedelta(seconds=FIRST_OPEN_S))
    assert state_of(breaker, now=NOW) == "open"


def test_it_opens_at_once_where_trying_cannot_help() -> None:
    breaker = fail(Breaker(), now=NOW, at_once=True)
    assert (breaker.failures, breaker.opened) == (1, 1)
    assert state_of(breaker, now=NOW) == "open"


def test_when_its_time_is_over_it_is_half_open() -> None:
    breaker = fail(Breaker(), now=NOW, at_once=True)
    over = NOW + timedelta(seconds=FIRST_OPEN_S)
    assert state_of(breaker, now=over - timedelta(seconds=1)) == "open"
    assert state_of(breaker, now=over) == "half_open"


def test_a_failed_probe_opens_it_again_for_twice_as_long() -> None:
    breaker, now = fail(Breaker(), now=NOW, at_once=True), NOW
    lengths_s: list[float] = []
    for _ in range(12):
        assert breaker.open_until is not None
        lengths_s.append((breaker.open_until - now).total_seconds())
        now = breaker.open_until
        breaker = fail(breaker, now=now)
    assert lengths_s[:4] == [300, 600, 1200, 2400]
    assert lengths_s[-1] == MAX_OPEN_S
    assert lengths_s == sorted(lengths_s)


def test_failures_without_end_do_not_make_the_time_overflow() -> None:
    breaker = fail(Breaker(failures=10**6, opened=10**6, open_until=NOW), now=NOW)
    assert breaker.open_until == NOW + timedelta(seconds=MAX_OPEN_S)
