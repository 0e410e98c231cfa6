"""Secrets in addresses: what is hidden, and what is not a secret."""

from __future__ import annotations

import pytest

from headgate.kernel.masking import MASK, mask_addresses

TOKEN = "a8f3b2c19d4e5f60718293a4b5c6d7e8"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://me:pw@host/feed", f"https://{MASK}@host/feed"),
        ("https://token@host/feed", f"https://{MASK}@host/feed"),
        ("https://host/feed?key=a&x=1", f"https://host/feed?key={MASK}&x=1"),
        ("https://host/feed?x=1&auth=a", f"https://host/feed?x=1&auth={MASK}"),
        ("https://host/feed?apikey=a;API_KEY=b", f"https://host/feed?apikey={MASK};API_KEY={MASK}"),
        ("https://host/feed?feed_token=a", f"https://host/feed?feed_token={MASK}"),
        ("https://host/feed?X-Amz-Signature=a", f"https://host/feed?X-Amz-Signature={MASK}"),
        ("https://host/feed?t%6Fken=a", f"https://host/feed?t%6Fken={MASK}"),
        (f"https://host/feed?u={TOKEN}", f"https://host/feed?u={MASK}"),
        (f"https://host/feed?{TOKEN}", f"https://host/feed?{MASK}"),
        (f"https://host/private/{TOKEN}/rss", f"https://host/private/{MASK}/rss"),
        ("https://host/?of=http%3A%2F%2Fme%3Apw%40inner%2F", f"https://host/?of={MASK}"),
        ("https://host/o'neill?key=a", f"https://host/o'neill?key={MASK}"),
        ("HTTPS://me:pw@host/", f"HTTPS://{MASK}@host/"),
    ],
)
def test_the_secret_parts_of_an_address_are_hidden(address: str, shown: str) -> None:
    assert mask_addresses(f"see {address} there") == f"see {shown} there"
    assert mask_addresses(shown) == shown


@pytest.mark.parametrize(
    "address",
    [
        "https://host/feed?author=5&cat=3&format=rss",
        "https://www.youtube.com/feeds/videos.xml?channel_id=UCX6OQ3DkcsbYNE6H8uQQuVA",
        "https://host/shows/5e7b777ba085cbe7192b0607",
        "https://host/d/playlist/e73c998e-6e60-432f-8610-ae210140c5b1/podcast.rss",
        "https://host/one-piece-chapter-1044-english-translation-of-2024/feed",
        "https://host/feed?since=2024-01-15T10:00:00Z&of=http%3A%2F%2Finner%2F",
        "https://host/@user",
        "https://host/feed?token=",
    ],
)
def test_what_is_a_name_stays_readable(address: str) -> None:
    assert mask_addresses(address) == address
