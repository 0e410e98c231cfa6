"""The page that takes a whole list of feeds."""

from __future__ import annotations

import httpx
from outflow_pages import text_of
from series_stage import SeriesStage
from webworld import ORIGIN, form_token

from headgate.domain.listings.opml import MAX_BYTES, OpmlFeed, write_opml

PAGE = "/series/import"


async def send(client: httpx.AsyncClient, content: bytes | str, name: str = "mine.opml") -> httpx.Response:
    """Send a file as the page would."""
    token = await form_token(client)
    files = {"file": (name, content)}
    return await client.post(PAGE, data={"csrf_token": token}, files=files, headers={"origin": ORIGIN})


async def test_a_list_is_taken_and_each_refusal_explained(stage: SeriesStage) -> None:
    feeds = [
        OpmlFeed("https://a.example/feed", "A"),
        OpmlFeed("https://ada:geheim-4711@b.example/feed", "B"),
        OpmlFeed("ftp://ada:geheim-4711@c.example/", ""),
    ]
    document = write_opml(feeds, title="Mine", now=stage.web.clock.now())
    async with stage.web.signed_in() as client:
        assert f'href="{PAGE}"' in (await client.get("/series/add")).text
        assert "Import</button>" in (await client.get(PAGE)).text
        answer = await send(client, document)
        again = text_of(await send(client, document))
    text = text_of(answer)
    assert "2 feeds added" in text
    assert "1 cannot be added" in text
    assert "geheim-4711" not in answer.text
    assert "No new feeds 2 were already here" in again


async def test_what_is_no_list_is_refused_with_the_reason(stage: SeriesStage) -> None:
    async with stage.web.signed_in() as client:
        none = await client.post(
            PAGE, data={"csrf_token": await form_token(client)}, headers={"origin": ORIGIN}
        )
        assert (none.status_code, "No file was chosen" in none.text) == (422, True)
        for content in (b"", b"<rss/>", b"<!DOCTYPE opml [<!ENTITY a 'b'>]><opml/>", b"<opml/>"):
            answer = await send(client, content)
            assert (answer.status_code, 'role="alert"' in answer.text) == (422, True), content
        assert (await send(client, b" " * (MAX_BYTES + 200_000))).status_code == 413


async def test_a_list_without_the_forms_token_is_not_taken(stage: SeriesStage) -> None:
    async with stage.web.signed_in() as client:
        answer = await client.post(
            PAGE, files={"file": ("mine.opml", b"<opml/>")}, headers={"origin": ORIGIN}
        )
    assert answer.status_code == 403
