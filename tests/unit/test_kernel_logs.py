"""Logs: on standard error, in the chosen form, and never with a secret in them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any, cast

import pytest
import structlog

from headgate.kernel.logs import MASK, LogFormat, configure_logs, get_logger, mask_secrets, mask_url

pytestmark = pytest.mark.once

SECRET = "hunter2"


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def _lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    captured = capsys.readouterr()
    assert captured.out == ""
    return [json.loads(line) for line in captured.err.splitlines()]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"postgresql://me:{SECRET}@host:5432/db", f"postgresql://me:{MASK}@host:5432/db"),
        (f"postgresql://:{SECRET}@host/db", f"postgresql://:{MASK}@host/db"),
        (f"postgresql://me:{SECRET}@{SECRET}@host/db", f"postgresql://me:{MASK}@host/db"),
        (f"postgresql://me:{SECRET}/{SECRET}@host/db", f"postgresql://me:{MASK}@host/db"),
        (f"postgresql://host/db?user=me&password={SECRET}", f"postgresql://host/db?user=me&password={MASK}"),
        (f"host=h password={SECRET} user=me", f"host=h password={MASK} user=me"),
        (f"GET /setup?token={SECRET}&x=1", f"GET /setup?token={MASK}&x=1"),
        (f"two: a://b:{SECRET}@c and d://e:{SECRET}@f", f"two: a://b:{MASK}@c and d://e:{MASK}@f"),
        ("http://127.0.0.1:8420/@user", "http://127.0.0.1:8420/@user"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
    ],
)
def test_passwords_in_addresses_are_masked(text: str, masked: str) -> None:
    assert mask_url(text) == masked


@pytest.mark.parametrize(
    "name", ["password", "api_key", "apikey", "bot_token", "Authorization", "set-cookie", "client_secret"]
)
def test_whatever_carries_a_secrets_name_is_masked(name: str) -> None:
    assert mask_secrets(None, "", {"event": "x", name: SECRET}) == {"event": "x", name: MASK}


def test_secrets_are_found_in_what_is_nested() -> None:
    event = {
        "event": "x",
        "request": {"headers": {"cookie": SECRET}, "urls": [f"a://b:{SECRET}@c"]},
        "steps": ({"password": SECRET},),
        "error": ValueError(f"cannot reach a://b:{SECRET}@c"),
    }
    masked = mask_secrets(None, "", event)
    assert SECRET not in repr(masked)
    assert "cannot reach" in repr(masked)


def test_that_there_is_no_secret_may_be_told() -> None:
    assert mask_secrets(None, "", {"password": None, "token": ""}) == {"password": None, "token": ""}


def test_json_lines_have_a_level_a_name_and_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="info", log_format="json")
    get_logger("intake").info("page read", channel="news", messages=3)
    (line,) = _lines(capsys)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "page read",
        "level": "info",
        "logger": "intake",
        "channel": "news",
        "messages": 3,
    }


def test_records_of_libraries_take_the_same_form_and_mask(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="info", log_format="json")
    logging.getLogger("library").warning("cannot reach %s", f"a://b:{SECRET}@c")
    (line,) = _lines(capsys)
    assert (line["event"], line["logger"]) == (f"cannot reach a://b:{MASK}@c", "library")


def test_less_severe_lines_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="warning", log_format="json")
    get_logger("intake").info("quiet")
    get_logger("intake").warning("loud")
    assert [line["event"] for line in _lines(capsys)] == ["loud"]


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_tracebacks_show_no_secret(log_format: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="info", log_format=cast("LogFormat", log_format))

    def connect(password: str) -> None:
        raise ConnectionError(f"cannot reach postgresql://me:{password}@host/db")

    try:
        connect(SECRET)
    except ConnectionError:
        get_logger("storage").exception("no database")
    shown = capsys.readouterr().err
    assert "ConnectionError" in shown
    assert "no database" in shown
    assert SECRET not in shown


def test_without_a_terminal_the_automatic_form_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="info", log_format="auto")
    get_logger("intake").info("page read")
    assert _lines(capsys)[0]["event"] == "page read"


@pytest.mark.parametrize("library", ["httpx", "httpcore"])
def test_libraries_do_not_log_the_addresses_that_are_called(
    library: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs(level="debug", log_format="json")
    logging.getLogger(library).info("HTTP Request: GET https://host/%s", SECRET)
    assert _lines(capsys) == []
