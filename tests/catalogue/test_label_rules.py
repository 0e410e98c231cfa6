"""Rules of labels are edited as a list that can always be used, and tried before they are saved."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from label_bench import LabelBench, message

from headgate.catalogue import label_rules, labels
from headgate.catalogue.label_trials import CountedLabel, Trial, try_rule
from headgate.domain.errors import NotFound, UserError
from headgate.domain.library.label_rules import DEFAULT_RULES, MAX_RULES

SCALE: dict[str, Any] = {"name": "Scale", "field": "file_name", "kind": "tag", "pattern": r"\b(\d+mm)\b"}


async def names(library: LabelBench) -> list[str]:
    async with library.database.transaction() as tx:
        return [rule.name for rule in (await label_rules.list_rules(tx)).rules]


async def try_typed(library: LabelBench, typed: dict[str, Any] | None, **more: Any) -> Trial:
    rule = None if typed is None else label_rules.read_rule(typed)
    async with library.database.transaction() as tx:
        return await try_rule(tx, rule, clock=library.clock, **more)


async def test_rules_are_added_moved_and_removed(library: LabelBench) -> None:
    defaults = [rule.name for rule in DEFAULT_RULES]
    await library.add_rule(**SCALE)
    assert await names(library) == [*defaults, "Scale"]
    await library.edit_rule("Scale", position=1)
    assert await names(library) == ["Scale", *defaults]
    await library.edit_rule("Scale", position=len(defaults) + 1, name="Size")
    assert await names(library) == [*defaults, "Size"]
    await library.remove_rule("Size")
    assert await names(library) == defaults


async def test_two_rules_swap_their_names(library: LabelBench) -> None:
    await library.edit_rule("Hashtags", name="For a moment")
    await library.edit_rule("Topic", name="Hashtags")
    await library.edit_rule("For a moment", name="Topic")
    assert (await names(library))[0] == "Topic"


async def test_the_order_of_rules_decides_whose_creator_counts(library: LabelBench) -> None:
    await library.accept(message(1, "Creator: Tidewater", "[Northwind] otter.zip"))
    await library.work()
    assert await library.creator(1) == "Tidewater"
    await library.edit_rule("[Creator] title", position=1)
    await library.work()
    assert await library.creator(1) == "Northwind"
    await library.edit_rule("[Creator] title", enabled=False)
    await library.work()
    assert await library.creator(1) == "Tidewater"


async def test_a_change_that_changes_nothing_labels_nothing_again(library: LabelBench) -> None:
    await library.accept(message(1))
    await library.work()
    await library.edit_rule("Hashtags", position=1, enabled=True)
    assert await library.value("count_waiting") == 0


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "Hashtags"}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"pattern": "("}, "pattern"),
        ({"pattern": ""}, "pattern"),
        ({"pattern": "x" * 301}, "pattern"),
        ({"pattern": "(a)(b)"}, "pattern"),
        ({"pattern": r"(?=a)"}, "pattern"),
        ({"field": "author"}, "field"),
        ({"kind": "colour"}, "kind"),
        ({"normalisation": "upper"}, "normalisation"),
    ],
)
async def test_a_rule_that_cannot_be_used_is_refused_with_its_field(
    library: LabelBench, change: dict[str, Any], field: str
) -> None:
    with pytest.raises(UserError) as refused:
        await library.add_rule(**(SCALE | change))
    assert refused.value.field == field
    with pytest.raises(UserError) as refused:
        await try_typed(library, SCALE | change)
    assert refused.value.field == field
    await library.add_rule(**SCALE)
    with pytest.raises(UserError) as refused:
        await library.edit_rule("Scale", **change)
    assert refused.value.field == field
    assert (await names(library))[-1] == "Scale"


async def test_a_place_that_is_not_there_and_an_unknown_rule_are_refused(library: LabelBench) -> None:
    for position in (0, len(DEFAULT_RULES) + 2):
        with pytest.raises(UserError) as refused:
            await library.add_rule(position, **SCALE)
        assert refused.value.field == "position"
    async with library.database.transaction() as tx:
        for act in (label_rules.remove_rule(tx, uuid4()), label_rules.edit_rule(tx, uuid4(), {})):
            with pytest.raises(NotFound):
                await act


async def test_there_are_only_so_many_rules(library: LabelBench) -> None:
    for number in range(MAX_RULES - len(DEFAULT_RULES)):
        await library.add_rule(None, **SCALE | {"name": f"Rule {number}"})
    with pytest.raises(UserError) as refused:
        await library.add_rule(**SCALE)
    assert refused.value.field == "rules"


async def test_two_people_who_add_rules_at_once_both_succeed(library: LabelBench) -> None:
    await asyncio.gather(
        *(library.add_rule(None, **SCALE | {"name": f"Rule {number}"}) for number in range(5))
    )
    assert sorted((await names(library))[-5:]) == [f"Rule {number}" for number in range(5)]


async def test_a_trial_tells_which_items_would_change_and_writes_nothing(library: LabelBench) -> None:
    await library.accept(
        message(1, "#otters", "owl 32mm.zip"),
        message(2, "", "fox 32mm.zip"),
        message(3, "", "elk 75mm.zip"),
        message(4, "", "bare.zip"),
    )
    await library.work()
    await library.say(3, remove=("75mm",))
    await library.say(2, add=("32MM",))
    before = await library.everything()
    trial = await try_typed(library, SCALE)
    assert (trial.tried, trial.matched, trial.changed, trial.has_older) == (4, 3, 1, False)
    assert trial.counts == (CountedLabel("tag", "32mm", gained=1, lost=0),)
    (example,) = trial.examples
    assert (example.title, example.added_tags, example.text) == ("owl 32mm", ("32mm",), "owl 32mm")
    assert await library.everything() == before
    assert await library.value("count_waiting") == 0
    assert "Scale" not in await names(library)


async def test_a_trial_shows_what_saving_then_does(library: LabelBench) -> None:
    await library.accept(
        message(1, "Creator: Tidewater", "[Northwind] otter 32mm.zip"), message(2, "#otters")
    )
    await library.work()
    rule_id = await library.rule("Creator line")
    tried = await try_typed(library, None, replacing=rule_id)
    (example,) = tried.examples
    assert (example.creator_before, example.creator_after) == ("Tidewater", "Northwind")
    await library.remove_rule("Creator line")
    await library.work()
    assert await library.creator(1) == example.creator_after
    again = {"name": "Creator line", "field": "caption", "kind": "creator", "pattern": "^Creator: (.+)"}
    tried = await try_typed(library, again, position=1)
    assert [(one.creator_before, one.creator_after) for one in tried.examples] == [("Northwind", "Tidewater")]


async def test_a_trial_counts_by_the_names_that_people_gave(library: LabelBench) -> None:
    await library.accept(message(1, "#dnd"))
    await library.work()
    async with library.database.transaction() as tx:
        await labels.rename(tx, "tag", "dnd", to="D&D")
    tried = await try_typed(library, None, replacing=await library.rule("Hashtags"))
    assert tried.counts == (CountedLabel("tag", "D&D", gained=0, lost=1),)


async def test_a_trial_of_a_large_library_ends_and_says_that_there_is_more(library: LabelBench) -> None:
    await library.accept(*(message(number, "", f"{number}mm.zip") for number in range(1, 301)))
    trial = await try_typed(library, SCALE, limit=250)
    assert (trial.tried, trial.matched, trial.has_older) == (250, 250, True)
    assert (len(trial.examples), len(trial.counts)) == (20, 50)
