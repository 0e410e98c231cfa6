"""Where something that a person typed is most likely found."""

from __future__ import annotations

import pytest

from headgate.app.connectors import load_connectors
from headgate.intake.listings.sources import guess_platform
from headgate.kernel.settings import load_settings

CONNECTORS = load_connectors(load_settings({}))
ELSEWHERE = load_connectors(load_settings({"HEADGATE_MANGADEX_SITE": "https://reader.example"}))


@pytest.mark.parametrize(
    ("query", "platform"),
    [
        ("https://mangadex.org/title/1", "mangadex"),
        ("https://www.mangadex.org/title/1", "mangadex"),
        ("https://mangadex.org.example/title/1", "feeds"),
        ("https://blog.example/feed.xml", "feeds"),
        ("https://[broken", "feeds"),
        ("Salt Road", "mangadex"),
    ],
)
def test_an_address_goes_by_its_site_and_a_title_where_titles_are_known(query: str, platform: str) -> None:
    assert guess_platform(CONNECTORS, query) == platform


def test_a_site_that_the_settings_name_is_known_too() -> None:
    assert guess_platform(ELSEWHERE, "https://reader.example/title/1") == "mangadex"
    assert guess_platform(CONNECTORS, "https://reader.example/title/1") == "feeds"


def test_a_demo_looks_for_titles_in_its_own_world() -> None:
    assert guess_platform({**CONNECTORS, "simulated": CONNECTORS["feeds"]}, "Salt Road") == "simulated"
