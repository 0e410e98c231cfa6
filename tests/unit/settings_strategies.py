"""Layers of settings and candidates, as Hypothesis makes them up."""

from __future__ import annotations

from hypothesis import strategies as st

from headgate.domain.streams.channel_settings import ChannelSettings
from headgate.domain.streams.filters import Candidate

MIME_GLOBS = st.sampled_from(
    ["*", "*/*", "image/*", "image/png", "im*/*", "video/*", "application/zip", "?mage/*"]
)
EXTENSIONS = st.sampled_from(["zip", "tar.gz", "jpg", "png", "mp4", "xyz"])
AUTHORS = st.sampled_from(["ada", "Ben", "cleo"])
LINKS = st.sampled_from(["mega.nz/*", "https://example.com/*", r"re:https://pixel\.test/\w+"])


def _lists(of: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(of, max_size=3).map(tuple)


LAYERS = st.builds(
    ChannelSettings,
    mime_types=st.none() | _lists(MIME_GLOBS),
    extensions=st.none() | _lists(EXTENSIONS),
    excluded_extensions=st.none() | _lists(EXTENSIONS),
    min_size_bytes=st.none() | st.integers(0, 50),
    max_size_bytes=st.none() | st.just(0) | st.integers(50, 100),
    authors=st.none() | _lists(AUTHORS),
    excluded_authors=st.none() | _lists(AUTHORS),
    bots=st.none() | st.booleans(),
    webhooks=st.none() | st.booleans(),
    link_patterns=st.none() | _lists(LINKS),
    fetch=st.none() | st.sampled_from(["none", "pictures", "all"]),
    fetch_max_bytes=st.none() | st.integers(0, 100),
    every_nth=st.none() | st.integers(1, 9),
    often_s=st.none() | st.integers(60, 600),
)
CANDIDATES = st.builds(
    Candidate,
    file_name=st.sampled_from(["", "a.zip", "b.tar.gz", "c.JPG", "d.png", "e.mp4", "noending", "f.xyz"]),
    mime_type=st.sampled_from(
        [
            "",
            "application/octet-stream",
            "image/jpeg",
            "image/png",
            "video/mp4",
            "application/zip",
            "IMAGE/X-odd",
        ]
    ),
    size_bytes=st.integers(0, 120),
    author=st.sampled_from(["", "ada", "ADA", "ben", "dora"]),
    from_bot=st.booleans(),
    from_webhook=st.booleans(),
    url=st.sampled_from(["", "https://mega.nz/file/1", "https://example.com/x", "https://pixel.test/abc"]),
)
