"""How texts and queries are split into words, and which words a misspelt one may mean."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from headgate.domain.errors import UserError
from headgate.domain.library.search.search_documents import (
    MAX_TERMS,
    MAX_WORDS,
    SearchTexts,
    build_document,
    names_query,
    parse_terms,
    slice_prefix,
    slice_query,
)
from headgate.domain.library.search.search_words import MAX_WORD_LENGTH, split_query, split_words
from headgate.domain.library.search.spelling import (
    max_mistakes,
    mistakes_between,
    spelling_variants,
    words_meant,
)

LETTERS = st.text("abcdefghijklmnop", min_size=4, max_size=14)
TEXTS = st.text(max_size=60)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("models/knight_base.stl", ["models", "knight", "base", "stl"]),
        ("KnightBase", ["knight", "base", "knightbase"]),
        ("STLFiles", ["stl", "files", "stlfiles"]),
        ("Vol12b", ["vol", "12", "b"]),
        ("part007", ["part", "7"]),
        ("000", ["0"]),
        ("Über-Mädchen straße", ["uber", "madchen", "strasse"]),
        ("Ærø Łódź", ["aero", "lodz"]),
        ("ЗамокДракона", ["замок", "дракона", "замокдракона"]),
        ("東京都", ["東京", "京都", "都"]),
        ("..._-/", []),
        ("x" * 100, ["x" * MAX_WORD_LENGTH]),
    ],
)
def test_words_are_split_at_punctuation_case_and_digits(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("KnightBase", ["knight", "base"]),
        ("東京都", ["東京", "京都"]),
        ("都", ["都"]),
        ("Part 01", ["part", "1"]),
    ],
)
def test_a_query_is_split_by_the_same_rules_without_what_is_joined(typed: str, words: list[str]) -> None:
    assert split_query(typed) == words


@given(TEXTS)
@example("ﬁ Ǆ İ ŉ")
def test_words_are_short_folded_and_without_anything_that_a_query_could_mistake(text: str) -> None:
    for word in split_words(text):
        assert 0 < len(word) <= MAX_WORD_LENGTH
        assert word.isalnum()
        assert word == word.casefold()


@given(TEXTS)
def test_whatever_is_written_finds_itself(text: str) -> None:
    words = split_words(text)
    assume(words)
    assert all(any(word.startswith(typed) for word in words) for typed in split_query(text))


@given(TEXTS)
def test_accents_written_in_one_sign_or_two_are_the_same(text: str) -> None:
    assert split_words(unicodedata.normalize("NFD", text)) == split_words(unicodedata.normalize("NFC", text))


@given(st.lists(LETTERS, min_size=1, max_size=4), st.data())
def test_every_beginning_of_a_word_finds_it(words: list[str], data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(words))
    typed = word[: data.draw(st.integers(1, len(word)))]
    (term,) = parse_terms(typed)
    assert term.found_in(split_words("_".join(words)))


def test_the_last_word_and_long_ones_may_be_unfinished() -> None:
    assert [(term.word, term.begins) for term in parse_terms("dra 12 go v2 a")] == [
        ("dra", True),
        ("12", False),
        ("go", False),
        ("v", False),
        ("2", False),
        ("a", True),
    ]


@pytest.mark.parametrize("typed", ["", "  ", "-_/", "!!"])
def test_nothing_to_search_for_is_refused(typed: str) -> None:
    with pytest.raises(UserError, match="Type a word"):
        parse_terms(typed)


def test_a_query_has_a_limited_number_of_words() -> None:
    assert len(parse_terms(" ".join(f"word{number}x" for number in range(50)))) == MAX_TERMS


def test_a_query_names_the_slice_in_every_word() -> None:
    terms = parse_terms("knight ba")
    assert names_query(terms) == "('knight':*) & ('ba':*)"
    assert names_query(terms, whole=True) == "('knight') & ('ba')"
    assert slice_query(terms, [(1, 2), (-1,)], number=37) == (
        "('011knight':*) & ('011ba':*) & ('011#00000001' | '011#00000002') & ('011#ffffffff')"
    )


def test_prefixes_of_slices_have_one_length_and_sort_by_number() -> None:
    prefixes = [slice_prefix(number) for number in range(0, 36**3, 7)]
    assert {len(prefix) for prefix in prefixes} == {3}
    assert prefixes == sorted(set(prefixes))
    with pytest.raises(ValueError, match="at most"):
        slice_prefix(36**3)


def texts(**changed: object) -> SearchTexts:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    base: dict[str, object] = {
        "id": UUID(int=1),
        "is_group": False,
        "posted_at": at,
        "caught_at": at,
        "name": "Knight",
    }
    return SearchTexts(**{**base, **changed})  # pyright: ignore[reportArgumentType] - fields by their names


def test_a_document_has_all_words_and_its_facets() -> None:
    document = build_document(
        texts(creator="Tide Water", tags=("owls",), captions=("Look!",), paths=("a/base.stl",), facets=(5,))
    )
    assert document.names == {"knight", "tide", "water", "owls"}
    assert document.words == document.names | {"look", "a", "base", "stl", "#00000005"}


def test_facets_of_many_members_never_push_out_the_name_of_a_group() -> None:
    document = build_document(texts(is_group=True, facets=tuple(range(MAX_WORDS))))
    assert len(document.words) == MAX_WORDS
    assert "knight" in document.words


def test_a_document_has_a_limited_number_of_words_and_keeps_its_name() -> None:
    many = "\n".join(f"f{number}/x{number:x}" for number in range(MAX_WORDS))
    document = build_document(texts(paths=(many,)))
    assert len(document.words) == MAX_WORDS
    assert "knight" in document.words


@pytest.mark.parametrize(
    ("typed", "word", "mistakes"),
    [
        ("knihgt", "knight", 1),
        ("knigt", "knight", 1),
        ("knnight", "knight", 1),
        ("kmight", "knight", 1),
        ("a", "bcd", 3),
    ],
)
def test_mistakes_are_letters_too_many_missing_wrong_or_swapped(typed: str, word: str, mistakes: int) -> None:
    assert mistakes_between(typed, word) == mistakes_between(word, typed) == mistakes


@given(LETTERS, st.data())
def test_a_word_with_one_mistake_shares_a_variant_with_the_right_one(word: str, data: st.DataObject) -> None:
    typed = _with_mistake(word, data)
    assume(len(typed) >= 4)
    assert mistakes_between(typed, word) <= 1
    assert set(spelling_variants(typed)) & set(spelling_variants(word))


@given(st.text("abcdefgh", min_size=9, max_size=14), st.data())
def test_a_long_word_with_two_mistakes_shares_one_too(word: str, data: st.DataObject) -> None:
    typed = _with_mistake(_with_mistake(word, data), data)
    assume(len(typed) >= 8)
    assume(mistakes_between(typed, word) <= 2)
    assert set(spelling_variants(typed)) & set(spelling_variants(word))


@given(LETTERS, st.lists(LETTERS, max_size=20))
def test_only_the_nearest_words_are_meant(typed: str, candidates: list[str]) -> None:
    meant = words_meant(typed, candidates)
    distances = {mistakes_between(typed, word) for word in meant}
    assert len(distances) <= 1
    assert all(0 < distance <= max_mistakes(typed) for distance in distances)
    if not meant:
        assert all(
            word == typed or mistakes_between(typed, word) > max_mistakes(typed) for word in candidates
        )


def _with_mistake(word: str, data: st.DataObject) -> str:
    place = data.draw(st.integers(0, len(word) - 2))
    letter = data.draw(st.sampled_from("abcz"))
    return data.draw(
        st.sampled_from(
            [
                word[:place] + word[place + 1 :],
                word[:place] + letter + word[place:],
                word[:place] + letter + word[place + 1 :],
                word[:place] + word[place + 1] + word[place] + word[place + 2 :],
            ]
        )
    )
