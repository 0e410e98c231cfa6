"""Addresses of feeds: where a password goes along, what is shown, and what reaches the connector."""

from __future__ import annotations

import pytest

from headgate.app.connectors import load_connectors
from headgate.connectors.feeds.addresses import guess_addresses, parse_address
from headgate.domain.errors import Malformed
from headgate.kernel.settings import SettingsError, load_settings

LOGIN = ("me", "pw")


@pytest.mark.parametrize(
    ("location", "login"),
    [
        ("/b", LOGIN),
        ("http://example.org/b", LOGIN),
        ("https://example.org/b", LOGIN),
        ("https://example.org:8443/b", None),
        ("http://example.org:8080/b", None),
        ("http://www.example.org/b", None),
        ("http://you:other@evil.example/b", None),
        ("//evil.example/b", None),
    ],
)
def test_a_password_goes_along_to_its_own_host_or_its_safer_self(
    location: str, login: tuple[str, str] | None
) -> None:
    assert parse_address("http://me:pw@example.org/a").redirected(location).login == login


def test_a_password_is_not_carried_from_a_safe_connection_to_an_open_one() -> None:
    assert parse_address("https://me:pw@example.org/a").redirected("http://example.org/a").login is None


def test_a_token_in_the_path_is_not_shown() -> None:
    address = parse_address("https://example.org/private/a8f3b2c19d4e5f60718293a4b5c6d7e8/rss")
    assert f"{address} {address!r}" == "example.org/private/•••/rss example.org/private/•••/rss"


def test_an_address_without_its_secrets_is_not_taken_for_one() -> None:
    with pytest.raises(Malformed, match="needed in full"):
        parse_address("https://%E2%80%A2%E2%80%A2%E2%80%A2@example.org/feed")


def test_what_is_shown_has_neither_password_nor_parameters() -> None:
    address = parse_address("https://me:pw@example.org:8443/feed?token=abc#top")
    assert f"{address} {address!r}" == "example.org:8443/feed example.org:8443/feed"
    assert address.key == "https://me:pw@example.org:8443/feed?token=abc"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("https://example.org/feed", ["https://example.org/feed"]),
        ("feed://example.org/x", ["feed://example.org/x"]),
        (" example.org/feed?x=1 ", ["https://example.org/feed?x=1", "http://example.org/feed?x=1"]),
        ("localhost:8000", ["https://localhost:8000", "http://localhost:8000"]),
        ("[::1]:81/feed", ["https://[::1]:81/feed", "http://[::1]:81/feed"]),
        ("Dr. Stone", []),
        ("chapter", []),
    ],
)
def test_what_is_typed_is_an_address_or_a_name(typed: str, meant: list[str]) -> None:
    assert guess_addresses(typed) == meant


@pytest.mark.parametrize("typed", ["feed://example.org/x", "feed:http://example.org/x"])
def test_links_of_feed_readers_are_understood(typed: str) -> None:
    assert parse_address(typed).key == "http://example.org/x"


def test_the_connector_is_there_and_needs_no_account() -> None:
    connector = load_connectors(load_settings({"HEADGATE_FEEDS_ALLOW_PRIVATE": "true"}))["feeds"]
    assert connector.manifest.platform == "feeds"
    assert connector.manifest.capabilities == {"listings", "find", "anonymous"}


def test_a_name_that_would_break_a_header_is_refused() -> None:
    with pytest.raises(SettingsError, match="HEADGATE_FEEDS_USER_AGENT"):
        load_settings({"HEADGATE_FEEDS_USER_AGENT": "a\r\nX-Evil: 1"})
