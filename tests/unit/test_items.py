"""What a caught thing is, by its file."""

from __future__ import annotations

import pytest

from headgate.domain.items import content_key, item_kind, item_title

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("file_name", "mime_type", "kind"),
    [
        ("a.zip", "", "package"),
        ("a.part1.rar", "", "package"),
        ("a.7z.001", "application/octet-stream", "package"),
        ("a.z01", "", "package"),
        ("a.tar.gz", "application/gzip", "package"),
        ("a.mp4", "video/mp4", "clip"),
        ("a.jpg", "image/jpeg", "picture"),
        ("a.pdf", "application/pdf", "file"),
        ("", "image/png", "picture"),
    ],
)
def test_kinds_follow_name_and_type(file_name: str, mime_type: str, kind: str) -> None:
    assert item_kind(file_name=file_name, mime_type=mime_type) == kind


@pytest.mark.parametrize(
    ("file_name", "title"),
    [
        ("Iron_Dragon.zip", "Iron Dragon"),
        ("Iron Dragon.tar.gz", "Iron Dragon"),
        ("Iron.7z.001", "Iron (001)"),
        ("Iron.z02", "Iron (z02)"),
        ("photo.jpg", "photo"),
        (".hidden", ".hidden"),
        ("", "Unnamed"),
    ],
)
def test_titles_are_names_without_their_endings(file_name: str, title: str) -> None:
    assert item_title(file_name) == title


def test_content_is_the_same_by_its_own_name_or_by_its_only_place() -> None:
    named = content_key(message_key="1", attachment_key="a", content_id="c")
    assert named == content_key(message_key="2", attachment_key="b", content_id="c")
    assert content_key(message_key="1", attachment_key="a", content_id="") != named
