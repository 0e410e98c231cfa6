"""What the answers and exceptions of Matrix and Discord mean to the core, class by class."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import aiohttp
import pytest

from headgate.connectors.discord import errors as discord
from headgate.connectors.discord import rest
from headgate.connectors.matrix import errors as matrix
from headgate.connectors.matrix import http
from headgate.domain.errors import (
    Ambiguous,
    AuthFailed,
    Banned,
    Gone,
    Malformed,
    RateLimited,
    Restricted,
    SlowMode,
    Transient,
    WorkError,
)

Answers = Sequence[tuple[int, Mapping[str, Any], type[WorkError]]]
Classify = Callable[[BaseException], WorkError]

OF_DISCORD: Answers = [
    (429, {"retry_after": 7.5}, RateLimited),
    (429, {"code": 20016, "retry_after": 5}, SlowMode),
    (401, {"code": 0, "message": "401: Unauthorized"}, AuthFailed),
    (403, {"code": 40002, "message": "You need to verify your account"}, Restricted),
    (403, {"code": 20026, "message": "Your bot has been flagged"}, Restricted),
    (403, {"code": 50001, "message": "Missing Access"}, Gone),
    (403, {"code": 50013, "message": "Missing Permissions"}, Gone),
    (404, {"code": 10003, "message": "Unknown Channel"}, Gone),
    (404, {"code": 10008, "message": "Unknown Message"}, Gone),
    (400, {"code": 50035, "message": "Invalid Form Body"}, Malformed),
    (408, {}, Transient),
    (500, {}, Transient),
    (503, {}, Transient),
]
OF_MATRIX: Answers = [
    (429, {"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 7500}, RateLimited),
    (401, {"errcode": "M_UNKNOWN_TOKEN"}, AuthFailed),
    (401, {"errcode": "M_MISSING_TOKEN"}, AuthFailed),
    (403, {"errcode": "M_USER_SUSPENDED"}, Restricted),
    (401, {"errcode": "M_USER_LOCKED"}, Restricted),
    (403, {"errcode": "M_USER_DEACTIVATED"}, Banned),
    (403, {"errcode": "M_FORBIDDEN"}, Gone),
    (404, {"errcode": "M_NOT_FOUND"}, Gone),
    (410, {}, Gone),
    (400, {"errcode": "M_BAD_JSON"}, Malformed),
    (413, {"errcode": "M_TOO_LARGE"}, Malformed),
    (408, {}, Transient),
    (502, {}, Transient),
    (504, {"errcode": "M_NOT_YET_UPLOADED"}, Transient),
]
NO_ANSWER = [
    discord.SendUnanswered("no answer"),
    matrix.Unanswered("no answer"),
]
CONNECTORS = pytest.mark.parametrize(
    "classify", [discord.classify, matrix.classify], ids=["discord", "matrix"]
)


@pytest.mark.parametrize(("status", "body", "meaning"), OF_DISCORD)
def test_an_answer_of_discord_has_one_meaning(
    status: int, body: Mapping[str, Any], meaning: type[WorkError]
) -> None:
    assert type(discord.classify(rest.refusal_of(status, {}, body))) is meaning


@pytest.mark.parametrize(("status", "body", "meaning"), OF_MATRIX)
def test_an_answer_of_a_homeserver_has_one_meaning(
    status: int, body: Mapping[str, Any], meaning: type[WorkError]
) -> None:
    assert type(matrix.classify(http.refusal_of(status, {}, json.dumps(body).encode()))) is meaning


def test_every_class_that_the_core_tells_apart_is_tried() -> None:
    """Discord disables the token of a banned bot, and Matrix has no slow mode."""
    common = {RateLimited, AuthFailed, Restricted, Gone, Malformed, Transient}
    assert {meaning for _, _, meaning in OF_DISCORD} == common | {SlowMode}
    assert {meaning for _, _, meaning in OF_MATRIX} == common | {Banned}
    assert {type(discord.classify(NO_ANSWER[0])), type(matrix.classify(NO_ANSWER[1]))} == {Ambiguous}


@pytest.mark.parametrize(
    ("status", "body", "meaning"), [answer for answer in OF_DISCORD if answer[2] is not Transient]
)
def test_a_special_case_of_an_error_means_what_the_error_means(
    status: int, body: Mapping[str, Any], meaning: type[WorkError]
) -> None:
    error = rest.refusal_of(status, {}, body)
    error.__class__ = type("Special", (type(error),), {})
    assert type(discord.classify(error)) is meaning


@CONNECTORS
@pytest.mark.parametrize("base", [aiohttp.ClientError, OSError, TimeoutError, ConnectionError, Exception])
def test_unknown_exceptions_of_a_library_may_succeed_if_tried_again(
    classify: Classify, base: type[Exception]
) -> None:
    unknown = type("Unknown", (base,), {})("something new")
    assert type(classify(unknown)) is Transient


@CONNECTORS
@pytest.mark.parametrize("error", [Gone("x"), RateLimited(retry_after_s=3), Ambiguous("x")])
def test_an_error_of_ours_stays_what_it_is(classify: Classify, error: WorkError) -> None:
    assert classify(error) is error


def test_a_wait_is_told_as_the_platform_asks_for_it() -> None:
    limits = [
        discord.classify(rest.refusal_of(429, {"Retry-After": "9"}, {})),
        discord.classify(rest.refusal_of(429, {}, {"retry_after": 7.5})),
        matrix.classify(http.refusal_of(429, {}, b'{"retry_after_ms": 2500}')),
    ]
    assert [limit.retry_after_s for limit in limits if isinstance(limit, RateLimited)] == [9, 7.5, 2.5]


def test_a_missing_right_is_named_with_what_the_bot_needs() -> None:
    with (
        pytest.raises(discord.NotAllowed, match=r"Missing Access.*Read Message History"),
        rest.needing("View Channel and Read Message History"),
    ):
        raise rest.refusal_of(403, {}, {"code": 50001, "message": "Missing Access"})
