"""Creators and tags: what rules read, and that a person's word stays."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.domain.errors import UserError
from headgate.domain.library.label_rules import (
    DEFAULT_RULES,
    MAX_LABEL_LENGTH,
    MAX_RULES,
    MAX_TAGS,
    LabelRule,
    check_rules,
    label_key,
)
from headgate.domain.library.labels import (
    CreatorRow,
    LabelTexts,
    TagRow,
    find_labels,
    found_creator,
    found_tags,
    rescan_creator,
    rescan_tags,
    reset_creator,
    reset_tag,
    set_creator,
    set_tag,
    shown_tags,
    try_rules,
)

pytestmark = pytest.mark.once


def _creator(*, topic: str = "", caption: str = "", file: str = "") -> str | None:
    texts = LabelTexts("1", topic, caption, (file,) if file else ())
    return found_creator(find_labels(texts, DEFAULT_RULES))


def _tags(caption: str) -> tuple[str, ...]:
    return found_tags(find_labels(LabelTexts("1", caption=caption), DEFAULT_RULES))


def test_the_rules_that_everybody_starts_with_can_be_used() -> None:
    assert check_rules(DEFAULT_RULES) == DEFAULT_RULES


# ---- tags


@pytest.mark.parametrize(
    ("caption", "tags"),
    [
        ("New! #dragon #Fantasy_Minis", ("dragon", "fantasy minis")),
        ("#dragon #DRAGON #Dragon", ("dragon",)),
        ("#Ёлка and #日本語 #café", ("ёлка", "日本語", "café")),
        ("https://a.example/page#part &#8211; C# a#b ##no #x", ()),
        ("(#one,#two)#three", ("one", "two", "three")),
        ("pack #04, the #1st of #2026 in #32mm", ("1st", "32mm")),
        ("no tags", ()),
        ("", ()),
    ],
)
def test_hashtags_become_tags(caption: str, tags: tuple[str, ...]) -> None:
    assert _tags(caption) == tags


def test_a_wall_of_hashtags_is_cut() -> None:
    assert len(_tags(" ".join(f"#tag{n}" for n in range(500)))) == MAX_TAGS


# ---- creators


@pytest.mark.parametrize(
    ("caption", "creator"),
    [
        ("Ancient Dragon\nCreator: Kestrel Forge", "Kestrel Forge"),
        ("🎨 Artist – Loam & Ash!", "Loam & Ash"),
        ("designer: old_growth", "old growth"),
        ("Ancient Dragon by Kestrel Forge\n32 mm", "Kestrel Forge"),
        ("Ancient Dragon (by Yuki Amano)", "Yuki Amano"),
        ("Sculpted by yuki, painted by me", "yuki"),
        ("see https://www.patreon.com/kestrel_forge?ref=1", "kestrel forge"),
        ("https://www.printables.com/@hexbolt_123/models", "hexbolt 123"),
        ("Lofoten by Night", None),
        ("printed by hand in two days", None),
        ("standby", None),
        ("", None),
    ],
)
def test_creators_are_read_in_captions(caption: str, creator: str | None) -> None:
    assert _creator(caption=caption) == creator


@pytest.mark.parametrize(
    ("file", "creator"),
    [
        ("[Loot Studios] Barbarian_King.part01.rar", "Loot Studios"),
        ("Loot Studios - Barbarian King.7z.001", "Loot Studios"),
        ("Artisan_Guild_Patreon_2024-05.zip", "Artisan Guild"),
        ("Titan Forge (Patreon) May.zip", "Titan Forge"),
        ("Brass_Dragon_by_Kestrel_Forge.tar.gz", "Kestrel Forge"),
        ("01 - Intro.zip", None),
        ("[STL] Dragon.zip", None),
        ("Dragon v1.2.stl", None),
        ("half-open.zip", None),
    ],
)
def test_creators_are_read_in_file_names(file: str, creator: str | None) -> None:
    assert _creator(file=file) == creator


def test_the_topic_is_the_creator_where_nothing_else_says_so() -> None:
    assert _creator(topic="Kestrel Forge", file="dragon.zip") == "Kestrel Forge"
    assert _creator(topic="Prints", caption="Creator: Odile") == "Odile"
    for topic in ("General", "Off-topic", "REQUESTS", "2024", "🎉"):
        assert _creator(topic=topic) is None


# ---- rules


def _rule(pattern: str, **changes: object) -> LabelRule:
    return replace(LabelRule("mine", "caption", pattern, "tag"), **changes)  # pyright: ignore[reportArgumentType]


def _found(rule: LabelRule, caption: str) -> tuple[str, ...]:
    check_rules((rule,))
    return found_tags(find_labels(LabelTexts("1", caption=caption), (rule,)))


def test_a_rule_yields_its_named_group_its_only_group_or_all_that_it_matches() -> None:
    assert _found(_rule(r"(scale|size) (?P<label>\d+ mm)"), "scale 32 mm, size 75 mm") == ("32 mm", "75 mm")
    assert _found(_rule(r"scale (\d+ mm)"), "Scale 32 mm") == ("32 mm",)
    assert _found(_rule(r"\d+ mm"), "scale 32 mm") == ("32 mm",)


def test_a_rule_says_how_its_labels_are_written() -> None:
    text = "set: Big_Red  Dragon."
    assert _found(_rule("set: (.+)"), text) == ("Big_Red Dragon",)
    assert _found(_rule("set: (.+)", normalisation="spaced"), text) == ("Big Red Dragon",)
    assert _found(_rule("set: (.+)", normalisation="lower"), text) == ("big red dragon",)


def test_a_disabled_rule_reads_nothing() -> None:
    assert _found(_rule(r"\w+", enabled=False), "words") == ()


def test_labels_without_letters_signs_alone_and_control_characters_are_cleaned() -> None:
    [label] = _found(_rule(r"set: (.+)"), "set: \u202e**evil\u0007 name**")
    assert label == "evil name"
    assert _found(_rule(r"set: (.+)"), "set: ---") == ()
    [long] = _found(_rule(r"set: (.+)"), "set: " + "x" * 900)
    assert len(long) == MAX_LABEL_LENGTH


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ((_rule("("),), "pattern"),
        ((_rule(r"(a)\1"),), "pattern"),
        ((_rule("(?=x)"),), "pattern"),
        ((_rule(""),), "pattern"),
        ((_rule("x" * 301),), "pattern"),
        ((_rule("(a)(b)"),), "pattern"),
        ((_rule("(a{1000}){1000}"),), "pattern"),
        ((_rule("a", name=" "),), "name"),
        ((_rule("a"), _rule("b")), "name"),
        (tuple(_rule("a", name=str(n)) for n in range(MAX_RULES + 1)), "rules"),
    ],
)
def test_rules_that_cannot_be_used_are_refused_with_the_field(
    rules: tuple[LabelRule, ...], field: str
) -> None:
    with pytest.raises(UserError) as raised:
        check_rules(rules)
    assert raised.value.field == field


def test_a_pattern_that_would_keep_another_engine_busy_for_ever_ends_at_once() -> None:
    signal.alarm(20)  # ends the process where the engine backtracks
    try:
        assert _found(_rule("(a+)+b$"), "a" * 4000) == ()
    finally:
        signal.alarm(0)


def test_a_dry_run_says_which_rule_would_yield_what() -> None:
    things = [
        LabelTexts("1", topic="Tidal Works", caption="Gate by Odile\n#stl"),
        LabelTexts("2", file_names=("a.zip",)),
    ]
    found = try_rules(things, DEFAULT_RULES)
    assert [(each.item, each.kind, each.label, each.rule, each.used) for each in found] == [
        ("1", "tag", "stl", "Hashtags", True),
        ("1", "creator", "Odile", "By, at the end of a line", True),
        ("1", "creator", "Tidal Works", "Topic", False),
    ]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(caption=st.text(max_size=300), topic=st.text(max_size=60), file=st.text(max_size=80))
def test_any_text_can_be_read(caption: str, topic: str, file: str) -> None:
    for found in find_labels(LabelTexts("1", topic, caption, (file,)), DEFAULT_RULES):
        assert 0 < len(found.label) <= MAX_LABEL_LENGTH
        assert "\x00" not in found.label
        assert found.label == found.label.strip()


# ---- a person's word

Change = Callable[[tuple[TagRow, ...]], tuple[TagRow, ...]]
TAGS = ("dragon", "stl", "Big Base", "big_base")


def _scan(tags: tuple[str, ...]) -> Change:
    return lambda rows: rescan_tags(rows, item="1", tags=tags)


def _edit(what: str, tag: str) -> Change:
    if what == "reset":
        return lambda rows: reset_tag(rows, item="1", tag=tag)
    return lambda rows: set_tag(rows, item="1", tag=tag, removed=what == "remove")


def test_a_removed_tag_does_not_come_back() -> None:
    rows = _scan(("dragon", "stl"))(())
    rows = set_tag(rows, item="1", tag="Dragon", removed=True)
    for _ in range(3):
        rows = _scan(("dragon", "stl"))(rows)
    assert shown_tags(rows, item="1") == ("stl",)


def test_an_added_tag_survives_scans_that_do_not_find_it() -> None:
    rows = set_tag((), item="1", tag="favourite")
    assert shown_tags(_scan(())(rows), item="1") == ("favourite",)


def test_what_the_rules_no_longer_find_is_gone() -> None:
    assert shown_tags(_scan(("stl",))(_scan(("dragon",))(())), item="1") == ("stl",)


def test_a_tag_left_to_the_rules_again_shows_what_they_find() -> None:
    rows = set_tag(_scan(("dragon",))(()), item="1", tag="dragon", removed=True)
    assert shown_tags(reset_tag(rows, item="1", tag="DRAGON"), item="1") == ("dragon",)


def test_a_person_decides_how_a_tag_is_written() -> None:
    rows = set_tag(_scan(("big base",))(()), item="1", tag="Big Base")
    assert shown_tags(rows, item="1") == ("Big Base",)


def test_things_do_not_touch_each_other() -> None:
    rows = set_tag(_scan(("dragon",))(()), item="2", tag="dragon", removed=True)
    assert shown_tags(rows, item="1") == ("dragon",)
    assert shown_tags(rescan_tags(rows, item="2", tags=("dragon",)), item="2") == ()


scans = st.lists(st.lists(st.sampled_from(TAGS), max_size=3).map(tuple), min_size=1, max_size=4)
edits = st.lists(st.tuples(st.sampled_from(["add", "remove", "reset"]), st.sampled_from(TAGS)), max_size=6)


@settings(max_examples=400, deadline=None)
@given(scans=scans, edits=edits, order=st.randoms(use_true_random=False))
def test_scans_and_edits_may_mix_in_any_order(
    scans: list[tuple[str, ...]], edits: list[tuple[str, str]], order: Random
) -> None:
    """Scans stay in their order, and so do edits; how they interleave changes nothing."""
    first, second = [_scan(tags) for tags in scans], [_edit(*edit) for edit in edits]
    turns = [0] * len(first) + [1] * len(second)
    order.shuffle(turns)
    mixed, one_after_the_other = (), ()
    waiting = (iter(first), iter(second))
    for turn in turns:
        mixed = next(waiting[turn])(mixed)
    for change in (*first, *second):
        one_after_the_other = change(one_after_the_other)
    assert mixed == one_after_the_other


@settings(deadline=None)
@given(scans=scans, edits=edits)
def test_the_last_word_of_a_person_is_what_shows(
    scans: list[tuple[str, ...]], edits: list[tuple[str, str]]
) -> None:
    rows: tuple[TagRow, ...] = ()
    for change in (*(_edit(*edit) for edit in edits), *(_scan(tags) for tags in scans)):
        rows = change(rows)
    said = {label_key(tag): what for what, tag in edits}
    shown = {label_key(tag) for tag in shown_tags(rows, item="1")}
    found = {label_key(tag) for tag in scans[-1]}
    for key in {label_key(tag) for tag in TAGS}:
        assert (key in shown) == {"add": True, "remove": False}.get(said.get(key, "reset"), key in found)
    assert len({row.key for row in rows}) == len(rows)


def test_a_person_names_the_creator_and_scans_do_not_change_it() -> None:
    row = rescan_creator(CreatorRow(), found="Odile")
    assert row.name == "Odile"
    row = set_creator(row, name="  Yuki   Amano ")
    assert rescan_creator(row, found="Mirela").name == "Yuki Amano"
    assert reset_creator(rescan_creator(row, found="Mirela")).name == "Mirela"


def test_a_person_may_say_that_there_is_no_creator() -> None:
    row = set_creator(rescan_creator(CreatorRow(), found="General"), name="")
    assert rescan_creator(row, found="General").name == ""
