"""Randomness that repeats where it must, and does not where it must not."""

from __future__ import annotations

import pytest

from headgate.kernel.randomness import Randomness, secret_bytes, secret_token

pytestmark = pytest.mark.once


def _draw(randomness: Randomness, count: int = 20) -> list[int]:
    return [randomness.below(1_000_000) for _ in range(count)]


def test_the_same_seed_gives_the_same_choices() -> None:
    assert _draw(Randomness(3)) == _draw(Randomness(3))
    assert _draw(Randomness(3)) != _draw(Randomness(4))


def test_what_one_fork_draws_does_not_shift_another_or_the_parent() -> None:
    quiet, busy = Randomness(3), Randomness(3)
    quiet_forks = quiet.fork("network"), quiet.fork("disk")
    busy_forks = busy.fork("network"), busy.fork("disk")
    _draw(busy_forks[0], 500)
    assert _draw(quiet_forks[1]) == _draw(busy_forks[1])
    assert _draw(quiet) == _draw(busy)


def test_forks_of_different_names_or_turns_differ() -> None:
    assert _draw(Randomness(3).fork("a")) != _draw(Randomness(3).fork("b"))
    parent = Randomness(3)
    assert _draw(parent.fork("a")) != _draw(parent.fork("a"))


def test_jitter_stays_within_its_part() -> None:
    randomness = Randomness(3)
    values = [randomness.jittered(100, part=0.2) for _ in range(500)]
    assert 80 <= min(values) < 90
    assert 110 < max(values) <= 120


def test_the_bounds_of_choices() -> None:
    randomness = Randomness(3)
    assert {randomness.below(3) for _ in range(100)} == {0, 1, 2}
    assert {randomness.choice("ab") for _ in range(100)} == {"a", "b"}
    assert not any(randomness.chance(0) for _ in range(100))
    assert all(randomness.chance(1) for _ in range(100))
    assert all(0 <= randomness.bits(4) < 16 for _ in range(100))


def test_secrets_differ_each_time_and_fit_a_url() -> None:
    assert secret_token() != secret_token()
    assert secret_token(8).replace("-", "").replace("_", "").isalnum()
    assert len(secret_bytes(32)) == 32
