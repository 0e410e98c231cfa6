"""Paths from inside archives are shown so that they lead nowhere, and can still be read."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.library.shown_paths import MAX_SHOWN_LENGTH, is_unsafe, shown_path

_ODD = st.sampled_from(
    ["..", ".", "", "con", "NUL.txt", "a.", "b ", "C:", "%2E", "\0", "\u202e", "é", "x" * 300]
)
NAMES = st.one_of(
    st.text(max_size=60),
    st.lists(st.one_of(_ODD, st.text(max_size=5)), max_size=8).map("/".join),
    st.lists(_ODD, max_size=8).map("\\".join),
)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("models/dragon v2 (fixed).stl", "models/dragon v2 (fixed).stl"),
        ("./models//dragon.stl", "models/dragon.stl"),
        ("models/", "models"),
        ("файл/ü 日本語\u3000.txt", "файл/ü 日本語\u3000.txt"),
        ("a\\b.txt", "a/b.txt"),
        ("../evil", "%2E%2E/evil"),
        ("..\\..\\evil", "%2E%2E/%2E%2E/evil"),
        ("a/.. /b", "a/%2E%2E%20/b"),
        ("/etc/passwd", "%2Fetc/passwd"),
        ("\\\\server\\share", "%2Fserver/share"),
        ("C:\\boot.ini", "C%3A/boot.ini"),
        ("Chapter 1: Start.pdf", "Chapter 1: Start.pdf"),
        ("AUX.h", "%41UX.h"),
        ("auxiliary.h", "auxiliary.h"),
        ("console/x", "console/x"),
        ("name.", "name%2E"),
        ("100%25.txt", "100%2525.txt"),
        ("100%.txt", "100%.txt"),
        ("", "%2E"),
        (".", "%2E"),
        (".hidden", ".hidden"),
    ],
)
def test_examples(raw: str, shown: str) -> None:
    assert shown_path(raw) == shown


@given(NAMES)
def test_a_shown_path_stays_inside_on_every_system_and_can_be_printed(raw: str) -> None:
    shown = shown_path(raw)
    for path in (PurePosixPath(shown), PureWindowsPath(shown)):
        assert not path.is_absolute()
        assert not path.drive
        assert not path.root
        assert ".." not in path.parts
    assert not any(PureWindowsPath(part).is_reserved() for part in shown.split("/"))
    assert all(character.isprintable() or character in "\u00a0\u3000" for character in shown)
    assert 0 < len(shown) <= MAX_SHOWN_LENGTH
    shown.encode("utf-8")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\\"), min_size=1, max_size=80))
def test_escapes_can_be_told_from_what_looks_like_them(raw: str) -> None:
    """Whoever undoes the escapes has the name back."""
    if raw != ".":
        assert unquote(shown_path(raw)) == raw


@given(NAMES)
def test_what_is_safe_stays_inside_and_what_is_not_is_shown_otherwise(raw: str) -> None:
    if is_unsafe(raw):
        assert shown_path(raw) != raw
    else:
        path = PurePosixPath(raw)
        assert not path.is_absolute()
        assert ".." not in path.parts


def test_a_long_path_keeps_its_beginning_and_its_ending() -> None:
    shown = shown_path("folder/" * 300 + "model.stl")
    assert shown.startswith("folder/folder/")
    assert shown.endswith("/model.stl")
    assert len(shown) == MAX_SHOWN_LENGTH
