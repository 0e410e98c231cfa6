"""When items are labelled: by a job, after whatever their labels depend on has changed."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from label_bench import LabelBench, message

from headgate.domain.library.item_labels import ShownLabel
from headgate.domain.library.label_rules import DEFAULT_RULES
from headgate.ingest.labels import labelling
from headgate.jobs.execution import REST
from headgate.jobs.job import Settlement
from headgate.storage.jobs.dead_letters import DeadLetter, bury
from headgate.storage.labels import queue


async def test_a_new_instance_has_the_default_rules(library: LabelBench) -> None:
    async with library.database.transaction() as tx:
        stored = await labelling.rules.list_rules(tx)
    assert tuple(rule.rule for rule in stored) == DEFAULT_RULES
    assert [rule.position for rule in stored] == list(range(1, len(DEFAULT_RULES) + 1))


async def test_new_items_are_labelled_and_say_by_which_rule(library: LabelBench) -> None:
    await library.accept(message(1, "Creator: Tidewater\n#otters #River_bank"))
    assert (await library.labels_of(1)).tags == ()
    await library.work()
    shown = await library.labels_of(1)
    assert shown.creator == ShownLabel("Tidewater", "rule", "Creator line")
    assert shown.tag_names == ("otters", "river bank")
    assert await library.value("count_waiting") == 0


async def test_a_batch_of_messages_waits_as_one_row(library: LabelBench) -> None:
    await library.accept(*(message(number) for number in range(1, 101)))
    assert await library.value("count_queued") == 1


async def test_what_is_read_again_unchanged_is_not_labelled_again(library: LabelBench) -> None:
    await library.accept(message(1, "#otters"))
    await library.work()
    await library.accept(message(1, "#otters"))
    assert await library.value("count_queued") == 0


async def test_an_edit_changes_the_labels(library: LabelBench) -> None:
    await library.accept(message(1, "Creator: Tidewater #otters"), message(2, "#seals"))
    await library.work()
    await library.accept(message(1, "Made by Northwind.\n#owls", edited=5))
    await library.work()
    assert (await library.creator(1), await library.tags(1)) == ("Northwind", ("owls",))
    assert await library.tags(2) == ("seals",)


async def test_a_page_from_before_an_edit_does_not_bring_its_labels_back(library: LabelBench) -> None:
    await library.accept(message(1, "#owls", edited=5))
    await library.work()
    await library.accept(message(1, "#otters"))
    await library.work()
    assert await library.tags(1) == ("owls",)


async def test_a_file_that_gets_another_name_is_labelled_again(library: LabelBench) -> None:
    await library.accept(message(1, file="[Tidewater] otter.zip"))
    await library.work()
    renamed = message(1, file="[Northwind] otter.zip", edited=5)
    await library.accept(renamed)
    await library.work()
    assert await library.creator(1) == "Northwind"


async def test_a_topics_new_title_labels_its_channel_again(library: LabelBench) -> None:
    await library.accept(message(1, topic="Tidewater"))
    await library.work()
    assert await library.creator(1) == "Tidewater"
    async with library.database.transaction() as tx:
        await queue.sweep_channel(tx, library.channel_id)
    await library.change("title_topic", channel_id=library.channel_id, key="Tidewater", title="Northwind")
    await library.work()
    assert await library.creator(1) == "Northwind"


async def test_a_changed_rule_labels_everything_again(library: LabelBench) -> None:
    other = await library.add_channel("others")
    await library.accept(message(1, "#otters"))
    await library.accept(message(1, "#seals"), channel_id=other)
    await library.work()
    await library.edit_rule("Hashtags", normalisation="as_written", pattern="^(o.*)$")
    await library.work()
    assert await library.tags(1) == ("otters",)
    assert (await library.labels_of(1, other)).tags == ()
    assert set(await library.column("versions")) == {2}


async def test_items_that_are_made_later_are_labelled(library: LabelBench) -> None:
    await library.change("refuse_items")
    await library.accept(message(1, "#otters"))
    await library.change("permit_items")
    await library.work()
    assert await library.tags(1) == ("otters",)


async def test_a_repost_adds_what_is_said_there(library: LabelBench) -> None:
    first = message(1, "Creator: Tidewater\n#otters")
    again = replace(message(2, "Creator: Somebody\n#seals"), attachments=first.attachments)
    await library.accept(again)
    await library.work()
    await library.accept(first)
    await library.work()
    assert await library.item_of(1) == await library.item_of(2)
    # The first message of the platform names the creator, although it was read last.
    assert (await library.creator(2), await library.tags(2)) == ("Tidewater", ("otters", "seals"))


async def test_more_than_a_batch_is_labelled_by_successors(
    library: LabelBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labelling, "BATCH", 10)
    for first in range(1, 41, 4):
        await library.accept(*(message(number, f"#tag{number}") for number in range(first, first + 4)))
    assert await library.work() >= 4
    assert [await library.tags(number) for number in (1, 20, 40)] == [("tag1",), ("tag20",), ("tag40",)]
    await library.edit_rule("Hashtags", pattern="^tag(.+)$")
    assert await library.work() >= 4
    assert [await library.tags(number) for number in (1, 20, 40)] == [("1",), ("20",), ("40",)]


async def test_a_rule_that_changes_in_the_middle_of_a_sweep_restarts_it(
    library: LabelBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labelling, "BATCH", 2)
    await library.accept(*(message(number, "#otters") for number in range(1, 6)))
    await library.work()
    await library.edit_rule("Hashtags", pattern="^(ot)")
    await library.execute(await library.claim())
    await library.edit_rule("Hashtags", pattern="^(otter)")
    await library.work()
    assert {await library.tags(number) for number in range(1, 6)} == {("otter",)}


async def test_a_rule_that_changes_during_a_batch_is_not_passed_over(library: LabelBench) -> None:
    await library.accept(message(1, "#otters"))
    await library.work()
    await library.edit_rule("Hashtags", pattern="^(ot)")
    library.clock.meanwhile = lambda: library.edit_rule("Hashtags", pattern="^(otte)")
    await library.work()
    assert await library.tags(1) == ("otte",)


async def test_an_edit_that_comes_during_a_batch_is_not_passed_over(library: LabelBench) -> None:
    await library.accept(message(1, "#otters"))
    library.clock.meanwhile = lambda: library.accept(message(1, "#owls", edited=5))
    await library.work()
    assert await library.tags(1) == ("owls",)


async def test_an_item_that_is_removed_during_a_batch_does_not_stop_the_others(library: LabelBench) -> None:
    await library.accept(message(1, "#otters"), message(2, "#seals"))
    gone = await library.item_of(1)
    library.clock.meanwhile = lambda: library.change("remove_item", id=gone)
    await library.execute(await library.claim())
    assert await library.tags(2) == ("seals",)


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("steps", range(0, 48, 3))
async def test_a_job_that_is_stopped_anywhere_loses_nothing(library: LabelBench, steps: int) -> None:
    await library.accept(message(1, "Creator: Tidewater\n#otters"))
    job = await library.claim()
    stepper = await library.stepper()
    task = asyncio.create_task(stepper.execute(job))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    # All of it was written, or nothing was.
    waits = await library.value("count_queued")
    assert len(await library.everything()) == (0 if waits else 2)
    # Whoever picks the job up again ends it.
    if waits:
        await library.execute(job)
    assert await library.work() == 0
    assert (await library.creator(1), await library.tags(1)) == ("Tidewater", ("otters",))


async def test_a_worker_that_lost_its_job_writes_nothing(library: LabelBench) -> None:
    await library.accept(message(1, "#otters"))
    job = await library.claim()
    await library.change("lose_jobs")
    assert await library.execute(job) is Settlement.LEAVE
    assert await library.everything() == []
    assert await library.value("count_queued") == 1


async def test_a_channel_rests_after_its_job_gave_up(library: LabelBench) -> None:
    await library.accept(message(1, "#otters"))
    now = library.clock.now()
    letter = DeadLetter(
        id=library.ids.new(),
        kind="label",
        key=str(library.channel_id),
        error_class="Crashed",
        message="its worker died",
        stack="",
        attempts=1,
        crashes=5,
        first_tried_at=now,
        died_at=now,
    )
    async with library.database.transaction() as tx:
        await bury(tx, letter)
    assert await library.work() == 0
    library.clock.advance(REST.total_seconds() + 1)
    assert await library.work() == 1
