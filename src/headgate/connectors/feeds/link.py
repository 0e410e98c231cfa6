"""Reading feeds: one listing is one address."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence

from headgate.connectors.feeds.addresses import Address, guess_addresses, parse_address
from headgate.connectors.feeds.answers import cached_s, classify, longest
from headgate.connectors.feeds.decoding import decode
from headgate.connectors.feeds.discovery import USUAL_PLACES, feeds_of_page
from headgate.connectors.feeds.fetching import Fetched, Fetcher
from headgate.connectors.feeds.parsing import ParsedFeed, is_page, parse_feed
from headgate.connectors.listing_link import ListingLink
from headgate.connectors.protocol import FoundChannel
from headgate.domain.errors import Malformed, Transient
from headgate.domain.listings.listings import Listed
from headgate.kernel.clock import Clock
from headgate.kernel.masking import mask_addresses

_CONDITIONS = {"etag": "If-None-Match", "modified": "If-Modified-Since"}
_VALIDATORS = {"etag": "etag", "modified": "last-modified"}
_VALIDATOR_CHARACTERS = 500
_LOOKED_AT_BYTES = 16_384


class FeedsLink(ListingLink):
    """Reads any feed; needs no account."""

    platform = "a feed"

    def __init__(
        self, fetcher: Fetcher, clock: Clock, parsing: asyncio.Semaphore, *, max_entries: int
    ) -> None:
        self._fetcher = fetcher
        self._max_entries = max_entries
        self._clock = clock
        self._parsing = parsing

    async def list(self, listing: str, cursor: Mapping[str, str]) -> Listed:
        conditions = {_CONDITIONS[name]: cursor[name] for name in _CONDITIONS if cursor.get(name)}
        answer = await self._fetcher.fetch(parse_address(listing), conditions)
        digest = hashlib.sha256(answer.body).hexdigest()
        if answer.unchanged or digest == cursor.get("digest"):
            return self._unchanged(answer, cursor)
        feed = await self._parse(answer)
        return Listed(
            feed.entries,
            _cursor(answer, feed, digest),
            bad=feed.bad,
            warnings=feed.warnings,
            title=feed.title,
            loose_keys=True,
            rest_s=longest(feed.rest_s, cached_s(answer.headers, self._clock.now())),
            moved_to=_moved_to(answer),
        )

    async def find(self, query: str) -> Sequence[FoundChannel]:
        for guess in guess_addresses(query):
            try:
                return await self._find_at(parse_address(guess))
            except Exception as error:
                # An address without http:// may be a mere name: only one that answers was meant.
                if "://" in query or not isinstance(classify(error), Transient):
                    raise
        return ()

    async def close(self) -> None:
        await self._fetcher.close()

    async def _find_at(self, address: Address) -> Sequence[FoundChannel]:
        answer = await self._fetcher.fetch(address)
        if not await asyncio.to_thread(_is_page_answer, answer):
            feed = await self._parse(answer)
            return [_found(answer.address, feed.title)]
        named = await asyncio.to_thread(_feeds_of, answer)
        if named:
            return named
        return await self._find_in_usual_places(answer.address)

    async def _find_in_usual_places(self, page: Address) -> Sequence[FoundChannel]:
        """Return the first of the places where feeds often are; few calls, and all to the page's own host."""
        for place in USUAL_PLACES:
            try:
                answer = await self._fetcher.fetch(page.redirected(place))
                feed = await self._parse(answer)
            except Exception:  # noqa: BLE001, S112 - a place without a feed is the rule here
                continue
            return [_found(answer.address, feed.title)]
        return ()

    async def _parse(self, answer: Fetched) -> ParsedFeed:
        async with self._parsing:
            return await asyncio.to_thread(self._parse_answer, answer)

    def _parse_answer(self, answer: Fetched) -> ParsedFeed:
        return parse_feed(
            answer.body,
            content_type=answer.headers.get("content-type", ""),
            # A link without a path of its own is completed by this address, and then shown.
            base=mask_addresses(str(answer.address.url)),
            now=self._clock.now(),
            max_entries=self._max_entries,
        )

    def _unchanged(self, answer: Fetched, cursor: Mapping[str, str]) -> Listed:
        """Say that nothing is new; a rest that the document asked for when it was read still holds."""
        told_s = float(cursor["rest_s"]) if cursor.get("rest_s") else None
        return Listed(
            (),
            {**cursor, **_validators(answer)},
            unchanged=True,
            rest_s=longest(told_s, cached_s(answer.headers, self._clock.now())),
            moved_to=_moved_to(answer),
        )


def _cursor(answer: Fetched, feed: ParsedFeed, digest: str) -> dict[str, str]:
    """Return what the next call needs; a document that broke off is asked for whole again."""
    validators = {} if feed.cut_off else _validators(answer)
    rest = {} if feed.rest_s is None else {"rest_s": f"{feed.rest_s:g}"}
    return {"digest": digest, **validators, **rest}


def _validators(answer: Fetched) -> dict[str, str]:
    found = {name: answer.headers.get(header, "") for name, header in _VALIDATORS.items()}
    return {name: value for name, value in found.items() if 0 < len(value) <= _VALIDATOR_CHARACTERS}


def _moved_to(answer: Fetched) -> str:
    return answer.address.key if answer.moved else ""


def _is_page_answer(answer: Fetched) -> bool:
    try:
        text = decode(answer.body[:_LOOKED_AT_BYTES], answer.headers.get("content-type", "")).text
    except Malformed:
        return False
    return is_page(text.lstrip("\ufeff"))


def _feeds_of(answer: Fetched) -> list[FoundChannel]:
    named = feeds_of_page(
        answer.body, content_type=answer.headers.get("content-type", ""), base=str(answer.address.url)
    )
    # A password that opened the page is for its host alone, and may be needed for the feed as well.
    return [_found(answer.address.redirected(one.url), one.title) for one in named]


def _found(address: Address, title: str) -> FoundChannel:
    return FoundChannel(address.key, title or address.host, "listing")
