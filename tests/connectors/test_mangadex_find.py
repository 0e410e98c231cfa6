"""Finding a series on MangaDex by its address, its id or its name."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from mangadex_server import MangaDexServer

from headgate.connectors.protocol import FoundChannel, Link

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    "address",
    [
        "https://mangadex.org/title/{}/a-name",
        "https://mangadex.org/title/{}",
        " https://www.mangadex.org/title/{}?tab=art ",
        "https://mangadex.example/title/{}",
        "{}",
    ],
)
async def test_an_address_or_an_id_is_that_series(server: MangaDexServer, guest: Link, address: str) -> None:
    server.add_manga("Another")
    manga = server.add_manga("Wanted")
    found = await guest.find(address.format(manga))
    assert found == [FoundChannel(manga, "Wanted", "listing", is_series=True)]
    assert await guest.find(address.format(manga.upper())) == found


async def test_the_address_of_a_chapter_is_its_series(server: MangaDexServer, guest: Link) -> None:
    manga = server.add_manga("Wanted")
    chapter = server.add_chapter(manga)
    assert [one.key for one in await guest.find(f"https://mangadex.org/chapter/{chapter}/3")] == [manga]


async def test_a_name_finds_series_of_every_rating_the_likeliest_first(
    server: MangaDexServer, guest: Link
) -> None:
    keys = [server.add_manga(f"The Gate {rating}", rating=rating) for rating in ("safe", "pornographic")]
    server.add_manga("Something else")
    found = await guest.find("the gate")
    assert [one.key for one in found] == keys
    asked = server.calls[0]
    assert (asked.one("limit"), asked.one("order[relevance]")) == ("20", "desc")


@pytest.mark.parametrize(
    "query",
    [
        "",
        "  ",
        "nothing like it",
        "https://other.example/title/{}",
        "https://mangadex.org/group/{}",
        "http://[x",
    ],
)
async def test_nothing_found_is_an_empty_answer(server: MangaDexServer, guest: Link, query: str) -> None:
    manga = server.add_manga("A series")
    assert await guest.find(query.format(manga)) == []


async def test_a_series_that_is_gone_is_not_found(server: MangaDexServer, guest: Link) -> None:
    manga = server.add_manga()
    server.remove_manga(manga)
    assert await guest.find(manga) == []


@pytest.mark.parametrize(
    ("title", "alternatives", "told"),
    [
        ({"en": "English"}, [{"ja-ro": "Roman"}], "English"),
        ({"ja-ro": "Roman"}, [{"fr": "Français"}, {"en": "English"}], "English"),
        ({"ja": "日本"}, [{"fr": "Français"}, {"ja-ro": "Roman"}], "Roman"),
        ({"ko": "한국"}, [{"ja-ro": "Roman"}], "Roman"),
        ({"ja": "日本"}, [{"fr": "Français"}, {"ko-ro": "Other"}], "日本"),
        ({}, [{"fr": "Français"}], "Français"),
    ],
)
async def test_a_title_is_english_else_the_original_in_latin_letters_else_any(
    server: MangaDexServer,
    guest: Link,
    title: Mapping[str, str],
    alternatives: list[Mapping[str, str]],
    told: str,
) -> None:
    manga = server.add_manga(title, alternatives=alternatives, language="ja")
    assert [one.title for one in await guest.find(manga)] == [told]
