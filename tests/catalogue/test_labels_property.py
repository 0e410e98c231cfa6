"""Labels depend on the current messages, the rules and what people said, whatever the order of events."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from label_bench import LabelBench, message

from headgate.catalogue import label_rules
from headgate.domain.library.item_labels import ItemLabels, LabelRow, combine_labels
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
)
from headgate.domain.streams.messages import Message

CAPTIONS = ("", "#otters", "Creator: Tidewater\n#otters #Seals", "sculpted by Northwind, #owls", "by Mia")
FILES = ("otter.zip", "[Tidewater] otter.zip", "Northwind - owl 32mm.zip")
TAGS = ("otters", "seals", "owls", "resin")
CREATORS = ("Tidewater", "Somebody", "")
TOPICS = ("", "Mara Sculpts")


class Model:
    """The library in memory, labelled anew from the start whenever somebody asks."""

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.creators: dict[str, CreatorRow] = {}
        self.tags: tuple[TagRow, ...] = ()

    def texts(self, key: str) -> LabelTexts:
        own = self.messages[key]
        album = sorted(
            (one for one in self.messages.values() if own.album and one.album == own.album),
            key=lambda one: one.position,
        )
        captions = dict.fromkeys(text for text in (own.text, *(one.text for one in album)) if text)
        return LabelTexts(key, own.topic, "\n".join(captions), (own.attachments[0].file_name,))

    def expected(self, key: str, rules: label_rules.RuleSet) -> tuple[str, tuple[str, ...]]:
        found = find_labels(self.texts(key), [rule.rule for rule in rules.rules])
        creator = rescan_creator(self.creators.get(key, CreatorRow()), found=found_creator(found))
        rows = rescan_tags(self.tags, item=key, tags=found_tags(found))
        return creator.name, shown_tags(rows, item=key)


class Play:
    """Things happen to a real library and to its model alike."""

    def __init__(self, library: LabelBench, seed: int) -> None:
        self.library, self.model, self.choices = library, Model(), Random(seed)
        self.edits = 0
        self.forms: dict[str, list[Message]] = {}

    async def step(self) -> None:
        act = self.choices.choice(
            [
                self.post,
                self.post,
                self.edit,
                self.reread,
                self.say_tag,
                self.say_creator,
                self.rule,
                self.work,
            ]
        )
        await act()

    async def post(self) -> None:
        number = self.choices.randrange(1, 60)
        if str(number) in self.model.messages:
            return
        new = message(
            number,
            self.choices.choice(CAPTIONS),
            self.choices.choice(FILES),
            topic=self.choices.choice(TOPICS),
            album=self.choices.choice(["", "", "7", "8"]),
        )
        self.model.messages[new.key] = new
        self.forms[new.key] = [new]
        await self.library.accept(new)

    async def edit(self) -> None:
        if not self.model.messages:
            return
        old = self.model.messages[self.choices.choice(sorted(self.model.messages))]
        self.edits += 1
        edited = replace(
            old, text=self.choices.choice(CAPTIONS), edited_at=old.sent_at + timedelta(seconds=self.edits)
        )
        self.model.messages[old.key] = edited
        self.forms[old.key].append(edited)
        await self.library.accept(edited)

    async def reread(self) -> None:
        """A page with messages as they were at any time."""
        forms = [self.choices.choice(forms) for forms in self.forms.values()]
        if forms:
            await self.library.accept(*forms)

    async def say_tag(self) -> None:
        if not self.model.messages:
            return
        key, tag = self.choices.choice(sorted(self.model.messages)), self.choices.choice(TAGS)
        how = self.choices.choice(["add", "remove", "reset"])
        if how == "reset":
            self.model.tags = reset_tag(self.model.tags, item=key, tag=tag)
        else:
            self.model.tags = set_tag(self.model.tags, item=key, tag=tag, removed=how == "remove")
        await self.library.say(int(key), **{how: (tag,)})

    async def say_creator(self) -> None:
        if not self.model.messages:
            return
        key, name = self.choices.choice(sorted(self.model.messages)), self.choices.choice(CREATORS)
        row = self.model.creators.get(key, CreatorRow())
        if self.choices.random() < 0.3:
            self.model.creators[key] = reset_creator(row)
            await self.library.say(int(key), reset_creator=True)
        else:
            self.model.creators[key] = set_creator(row, name=name)
            await self.library.say(int(key), creator=name)

    async def rule(self) -> None:
        async with self.library.database.transaction() as tx:
            rules = (await label_rules.list_rules(tx)).rules
            rule = self.choices.choice(rules)
            place = self.choices.choice([None, self.choices.randrange(1, len(rules) + 1)])
            await label_rules.edit_rule(tx, rule.id, {"enabled": self.choices.random() < 0.7}, position=place)

    async def work(self) -> None:
        await self.library.work()


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("seed", range(12))
async def test_labels_follow_from_messages_rules_and_people_alone(library: LabelBench, seed: int) -> None:
    play = Play(library, seed)
    for _ in range(40):
        await play.step()
    await library.work()
    async with library.database.transaction() as tx:
        rules = await label_rules.list_rules(tx)
    labelled = {key: await library.labels_of(int(key)) for key in play.model.messages}
    assert labelled
    assert {key: (one.creator_name, one.tag_names) for key, one in labelled.items()} == {
        key: play.model.expected(key, rules) for key in play.model.messages
    }


def test_the_later_of_two_words_on_one_label_counts() -> None:
    rows = [
        LabelRow("tag", "rule", "otters", "Hashtags"),
        LabelRow("tag", "person", "Otters", removed=True),
        LabelRow("tag", "person", "otters"),
        LabelRow("creator", "person", "", removed=True),
        LabelRow("creator", "person", "Tidewater"),
    ]
    shown = combine_labels(rows)
    assert (shown.creator_name, shown.tag_names) == ("Tidewater", ("otters",))
    assert combine_labels(rows[:2]).removed_tags == ("Otters",)
    assert combine_labels(rows[:4]) == ItemLabels(no_creator=True, tags=shown.tags)
