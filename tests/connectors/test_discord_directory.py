"""Which newest messages are known without a call: those that the gateway is sure to tell of."""

from __future__ import annotations

import pytest

from headgate.connectors.discord.guilds import TEXT, Channel, Directory, Guild
from headgate.connectors.discord.permissions import VIEW_CHANNEL, Holder

pytestmark = pytest.mark.once


def told_guild(*, view: bool = True) -> Guild:
    """Return a guild with one channel and an archived thread in it."""
    rights = VIEW_CHANNEL if view else 0
    channel = Channel(11, 5, TEXT, "packs", None, last_message=100)
    thread = Channel(12, 5, 11, "old", 11, last_message=90, archived=True)
    return Guild(5, "guild", Holder(1, 5, frozenset(), rights), {11: channel, 12: thread})


def head_of(directory: Directory, channel: int) -> int | None:
    """Return the newest message that is known without a call."""
    fresh = directory.find_fresh(channel)
    return None if fresh is None else fresh.last_message


def test_a_head_is_fresh_while_its_session_lasts_and_the_bot_may_see_the_channel() -> None:
    directory = Directory()
    directory.begin()
    directory.tell(told_guild())
    directory.raise_head(11, 110)
    assert head_of(directory, 11) == 110
    directory.pause()
    assert head_of(directory, 11) is None
    directory.go_on()
    assert head_of(directory, 11) == 110
    directory.tell(told_guild(view=False))
    assert head_of(directory, 11) is None
    directory.begin()
    assert head_of(directory, 11) is None


def test_a_message_that_is_heard_before_its_channel_is_known_counts() -> None:
    directory = Directory()
    directory.begin()
    directory.tell(told_guild())
    directory.raise_head(77, 200)
    directory.learn_channel(Channel(77, 5, 11, "thread", 11, last_message=190), era=directory.era)
    assert head_of(directory, 77) == 200


def test_an_answer_is_not_fresh_if_the_guild_changed_while_it_was_asked_for() -> None:
    directory = Directory()
    directory.begin()
    directory.tell(told_guild())
    directory.unfollow(5)
    before = directory.version(5)
    directory.put_channel(Channel(13, 5, TEXT, "new", None, last_message=None))
    directory.learn(told_guild(), before=before)
    assert head_of(directory, 11) is None
    directory.learn(told_guild(), before=directory.version(5))
    assert head_of(directory, 11) == 100


def test_a_guild_that_the_session_has_not_told_is_never_fresh() -> None:
    directory = Directory()
    directory.begin()
    directory.learn(told_guild(), before=directory.version(5))
    assert head_of(directory, 11) is None


def test_an_archived_thread_of_an_earlier_session_is_known_and_not_fresh() -> None:
    directory = Directory()
    directory.begin()
    directory.tell(told_guild())
    directory.begin()
    again = told_guild()
    del again.channels[12]
    directory.tell(again)
    assert directory.find(12) is not None
    assert head_of(directory, 12) is None
