"""Which picture stands for a thing, and why."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.domain.library.covers import (
    MAX_COVERS,
    MESSAGES,
    ContentEntry,
    Cover,
    CoverFacts,
    CoverFile,
    CoverReason,
    NearbyMessage,
    Photo,
    choose_cover,
    list_covers,
)

pytestmark = pytest.mark.once

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PACK = CoverFile("f1", "Brass Dragon.zip", 80_000_000)
POST = NearbyMessage("m10", 10, NOON, author="Ines", topic="prints")


def _photo(key: str, position: int, **changes: object) -> NearbyMessage:
    """Return a photo that Ines posted in the same topic, a minute before for each position."""
    sent_at = NOON - timedelta(minutes=10 - position)
    message = NearbyMessage(
        f"m{position}", position, sent_at, author="Ines", topic="prints", photos=(Photo(key),)
    )
    return replace(message, **changes)  # pyright: ignore[reportArgumentType]


def _facts(*nearby: NearbyMessage, message: NearbyMessage = POST, **changes: object) -> CoverFacts:
    facts = CoverFacts("Brass Dragon", message=message, nearby=nearby, files=(PACK,))
    return replace(facts, **changes)  # pyright: ignore[reportArgumentType]


def _inside(*entries: tuple[str, int], title: str = "Brass Dragon") -> CoverFacts:
    contents = tuple(ContentEntry("f1", path, size) for path, size in entries)
    return CoverFacts(title, files=(PACK,), entries=contents)


def _chosen_path(*entries: tuple[str, int], title: str = "Brass Dragon") -> str:
    chosen = choose_cover(_inside(*entries, title=title))
    assert chosen is not None
    return chosen.path


def test_every_reason_has_words() -> None:
    assert set(MESSAGES) == set(get_args(CoverReason))


def test_nothing_at_all_has_no_cover() -> None:
    assert choose_cover(CoverFacts("Brass Dragon")) is None
    assert choose_cover(_facts()) is None


# ---- what was posted


def test_the_album_goes_before_everything_else() -> None:
    message = replace(POST, album="a1", reply_to="m3")
    facts = _facts(
        _photo("replied", 3),
        _photo("before", 9),
        _photo("album", 12, album="a1", author="somebody"),
        message=message,
        entries=(ContentEntry("f1", "cover.jpg", 200_000),),
    )
    assert [cover.reason for cover in list_covers(facts)] == [
        "album_photo",
        "replied_photo",
        "photo_before",
        "image_inside",
    ]
    assert choose_cover(facts) == Cover("album_photo", "album")


def test_the_first_photo_of_an_album_is_taken_in_whatever_order_they_arrive() -> None:
    photos = [_photo(f"p{n}", n, album="a1") for n in (14, 11, 12)]
    message = replace(POST, album="a1")
    for order in (photos, photos[::-1]):
        assert choose_cover(_facts(*order, message=message)) == Cover("album_photo", "p11")


def test_a_photo_in_the_same_message_counts_as_its_album() -> None:
    message = replace(POST, photos=(Photo("own"),))
    assert choose_cover(_facts(message=message)) == Cover("album_photo", "own")


def test_messages_without_an_album_are_not_one_album() -> None:
    assert choose_cover(_facts(_photo("stranger", 12))) is None


def test_a_photo_replied_to_is_taken_however_old_and_whoever_posted_it() -> None:
    old = _photo("old", 1, sent_at=NOON - timedelta(days=90), author="Tobias", topic="other")
    assert choose_cover(_facts(old, message=replace(POST, reply_to="m1"))) == Cover("replied_photo", "old")


def test_a_photo_posted_directly_before_is_taken() -> None:
    assert choose_cover(_facts(_photo("older", 8), _photo("before", 9))) == Cover("photo_before", "before")


def test_an_album_posted_directly_before_gives_its_first_photo() -> None:
    facts = _facts(
        _photo("first", 7, album="x"), _photo("second", 8, album="x"), _photo("third", 9, album="x")
    )
    assert choose_cover(facts) == Cover("photo_before", "first")


@pytest.mark.parametrize(
    "changes",
    [
        {"author": "Tobias"},
        {"author": ""},
        {"topic": "chat"},
        {"position": 11},
        {"sent_at": NOON - timedelta(hours=2)},
        {"reply_to": "m2"},
        {"photos": ()},
    ],
    ids=str,
)
def test_a_photo_that_belongs_to_something_else_is_not_taken(changes: dict[str, object]) -> None:
    assert choose_cover(_facts(replace(_photo("stranger", 9), **changes))) is None  # pyright: ignore[reportArgumentType]


def test_without_an_author_no_photo_is_posted_by_the_same() -> None:
    facts = _facts(_photo("before", 9, author=""), message=replace(POST, author=""))
    assert choose_cover(facts) is None


def test_a_message_in_between_parts_a_photo_from_its_file() -> None:
    between = _photo("-", 9, author="Tobias", photos=())
    assert choose_cover(_facts(_photo("before", 8), between)) is None
    in_another_topic = replace(between, topic="chat")
    assert choose_cover(_facts(_photo("before", 8), in_another_topic)) == Cover("photo_before", "before")


def test_what_a_person_chose_is_never_replaced() -> None:
    facts = _facts(_photo("before", 9), person_chose=True)
    assert list_covers(facts) == ()
    assert choose_cover(facts) == Cover("set_by_person")


def test_a_picture_is_its_own_cover() -> None:
    picture = CoverFile("f1", "IMG_1.jpg", 900_000)
    message = replace(POST, album="a1")
    facts = _facts(_photo("album", 9, album="a1"), message=message, files=(picture,))
    assert choose_cover(facts) == Cover("own_picture", "f1")


# ---- what is inside


def test_a_name_says_more_than_the_order() -> None:
    entries = [("a.jpg", 300_000), ("body_texture.png", 4_000_000), ("renders/cover.jpg", 250_000)]
    assert _chosen_path(*entries) == "renders/cover.jpg"
    assert _chosen_path(*entries[::-1]) == "renders/cover.jpg"


@pytest.mark.parametrize(
    "name", ["cover", "Preview", "final_render", "FrontView", "title", "thumb", "main-image"]
)
def test_names_of_pictures_of_the_whole_are_preferred(name: str) -> None:
    assert _chosen_path(("aaa.jpg", 300_000), (f"{name}.jpg", 300_000)) == f"{name}.jpg"


@pytest.mark.parametrize(
    "name",
    [
        "Dragon_Normal",
        "dragon-roughness",
        "textures/dragon",
        "uv",
        "icon",
        "BaseColor",
        "patreon",
        "qr_code",
        "license",
    ],
)
def test_names_of_other_things_are_avoided(name: str) -> None:
    assert _chosen_path((f"{name}.png", 300_000), ("zzz.jpg", 300_000)) == "zzz.jpg"


@pytest.mark.parametrize("name", ["paranormal.jpg", "Iconic.jpg", "ready-made.jpg"])
def test_words_count_only_as_a_whole(name: str) -> None:
    assert _chosen_path((name, 300_000), ("zzz.jpg", 300_000)) == name


@pytest.mark.parametrize(
    "path", ["__MACOSX/cover.jpg", "a/._cover.jpg", ".cover.jpg", "__MACOSX/a/._cover.png"]
)
def test_leavings_of_a_mac_are_never_taken(path: str) -> None:
    assert list_covers(_inside((path, 300_000))) == ()


def test_a_tiny_image_is_worse_than_a_plain_one() -> None:
    assert _chosen_path(("preview.png", 2_000), ("photo7.jpg", 400_000)) == "photo7.jpg"


def test_an_image_named_like_the_thing_is_preferred() -> None:
    assert _chosen_path(("castle.jpg", 300_000), ("brass_dragon.jpg", 300_000)) == "brass_dragon.jpg"


def test_the_first_page_of_a_book_wins() -> None:
    pages = [(f"page_{n}.webp", 300_000) for n in (10, 2, 1, 11)]
    assert _chosen_path(*pages, title="Salt Road #4") == "page_1.webp"


def test_a_huge_or_empty_image_is_not_tried() -> None:
    assert list_covers(_inside(("cover.tif", 900_000_000), ("preview.png", 0))) == ()


def test_images_that_pillow_cannot_read_are_not_tried() -> None:
    assert list_covers(_inside(("cover.heic", 300_000), ("cover.svg", 30_000), ("cover.psd", 300_000))) == ()


def test_a_drawing_is_better_than_a_texture_and_a_texture_better_than_nothing() -> None:
    covers = list_covers(_inside(("dragon_normal.png", 300_000), ("dragon.stl", 5_000_000)))
    assert [cover.reason for cover in covers] == ["drawn_model", "leftover_image"]
    assert _chosen_path(("cobble_albedo.png", 300_000)) == "cobble_albedo.png"


# ---- what can be drawn


def test_an_embedded_thumbnail_goes_before_a_drawing() -> None:
    covers = list_covers(_inside(("a.stl", 9_000_000), ("b.3mf", 1_000_000)))
    assert [(cover.reason, cover.path) for cover in covers] == [
        ("embedded_thumbnail", "b.3mf"),
        ("drawn_model", "a.stl"),
        ("drawn_model", "b.3mf"),
    ]


def test_the_model_named_like_the_thing_is_drawn() -> None:
    entries = [("stl/tail.stl", 9_000_000), ("stl/Brass_Dragon.stl", 2_000_000), ("stl/wing.stl", 8_000_000)]
    assert _chosen_path(*entries) == "stl/Brass_Dragon.stl"


def test_else_the_largest_below_the_limit_is_drawn() -> None:
    entries = [("a.stl", 1_000_000), ("b.stl", 40_000_000), ("c.stl", 900_000_000)]
    assert _chosen_path(*entries, title="Something") == "b.stl"


def test_supports_and_bases_are_not_drawn_where_the_figure_is_there() -> None:
    entries = [
        ("supported/figure.stl", 9_000_000),
        ("unsupported/figure.stl", 4_000_000),
        ("base.stl", 6_000_000),
    ]
    assert _chosen_path(*entries, title="Something") == "unsupported/figure.stl"


def test_a_file_of_the_thing_is_drawn_like_one_inside() -> None:
    facts = CoverFacts("Gear", files=(CoverFile("f1", "gear.stl", 100_000),))
    assert choose_cover(facts) == Cover("drawn_model", "f1")


def test_a_video_gives_its_poster_when_nothing_else_does() -> None:
    facts = CoverFacts("Film", files=(CoverFile("f1", "film.mp4", 9_000_000_000),))
    assert choose_cover(facts) == Cover("video_poster", "f1")
    with_model = replace(facts, entries=(ContentEntry("f2", "a.stl", 10),))
    assert [cover.reason for cover in list_covers(with_model)] == ["drawn_model", "video_poster"]


def test_a_video_inside_is_not_extracted_at_any_size() -> None:
    assert list_covers(_inside(("film.mp4", 9_000_000_000))) == ()


# ---- always

names = st.sampled_from(["cover", "a", "B", "normal", "page_2", "page_10", "dragon", "base", "preview"])
endings = st.sampled_from([".jpg", ".png", ".stl", ".3mf", ".mp4", ".txt", ".obj"])
folders = st.sampled_from(["", "renders/", "textures/", "__MACOSX/", "x/y/"])
sizes = st.sampled_from([0, 100, 20_000, 300_000, 5_000_000, 600_000_000])


def _entry(folder: str, name: str, ending: str, size_bytes: int) -> ContentEntry:
    return ContentEntry("f1", folder + name + ending, size_bytes)


entries = st.builds(_entry, folders, names, endings, sizes)


@settings(deadline=None)
@given(contents=st.lists(entries, max_size=12, unique_by=lambda entry: entry.path), seed=st.randoms())
def test_the_order_of_the_facts_changes_nothing(contents: list[ContentEntry], seed: Random) -> None:
    shuffled = list(contents)
    seed.shuffle(shuffled)
    facts = _facts(_photo("a", 8), _photo("b", 9), entries=tuple(contents))
    other = _facts(_photo("b", 9), _photo("a", 8), entries=tuple(shuffled))
    assert list_covers(facts) == list_covers(other)
    assert len(list_covers(facts)) == len(set(list_covers(facts))) <= MAX_COVERS
