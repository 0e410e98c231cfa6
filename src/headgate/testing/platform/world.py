"""The simulated world: a platform, and everything that can happen to it.

The same seed, clock and calls give the same world, faults included. Time comes from the clock alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from headgate.domain.listings.listings import Entry
from headgate.domain.streams.messages import Message
from headgate.testing.content.activity import Activity, PostingPace
from headgate.testing.content.content import (
    SHAPES,
    Content,
    Generated,
    Shape,
    SimFile,
    WrittenContent,
    write_out,
)
from headgate.testing.content.seeds import derive_seed
from headgate.testing.content.themes import THEMES
from headgate.testing.platform.errors import SimNotFound
from headgate.testing.platform.places import AccountState
from headgate.testing.platform.platform_state import PlatformState
from headgate.testing.platform.streams.live import Happening
from headgate.testing.platform.streams.positions import to_ms
from headgate.testing.platform.streams.rows import Row
from headgate.testing.platform.streams.stream import Stream

_SOON_MS = 60_000


class World(PlatformState):
    """One platform, as people use it and as it treats its accounts."""

    def fill(self, stream: str, count: int, *, hours: float = 48.0, shape: Shape | None = None) -> None:
        """Give a stream a history: so many messages, spread evenly over the hours until now."""
        target = self.stream(stream)
        start_ms, step_ms = self.now_ms - int(hours * 3_600_000), hours * 3_600_000 / (count + 1)
        if target.posted and target.posted[-1].arrived_ms > start_ms:
            raise ValueError(f"{stream} has messages already; history goes in first")
        for n in range(1, count + 1):
            at_ms = start_ms + int(n * step_ms)
            topic = target.choices.choice(target.topics) if target.topics else ""
            target.posted.append(self._row(target, at_ms, self._generate(target, shape), topic=topic))

    def clear(self, stream: str, *, first: int, count: int) -> None:
        """Remove some messages of a history for good, so that nothing is left where they were."""
        for row in self.stream(stream).posted[first : first + count]:
            row.deleted_ms = row.arrived_ms + 1

    def schedule(self, stream: str, pace: PostingPace, *, theme: str = "prints") -> None:
        """Let messages come by themselves, as a pure function of the seed and the time."""
        target = self.stream(stream)
        target.activity = Activity(
            seed=derive_seed(self.seed, "activity", stream),
            scale=target.scale,
            profile=self.profile,
            pace=pace,
            theme=theme,
            topics=tuple(target.topics),
        )

    def post(
        self,
        stream: str,
        *,
        text: str = "",
        files: Sequence[SimFile] = (),
        links: Sequence[str] = (),
        shape: Shape | None = None,
        topic: str = "",
        album: str = "",
        reply_to: str = "",
        author: str = "someone",
        from_bot: bool = False,
        from_webhook: bool = False,
        sent_at: datetime | None = None,
        heard: bool = True,
    ) -> Message:
        """Post a message: as written, or generated (of a shape) if nothing is written.

        One that is not `heard` comes with no live event, as if it had come while nobody listened.
        """
        self.advance()
        target = self._open_stream(stream)
        content: Content
        if text or files or links:
            content = WrittenContent(text, author, from_bot, tuple(files), tuple(links), from_webhook)
        else:
            content = self._generate(target, shape)
        message = self._publish(target, content, topic=topic, album=album, sent_at=sent_at, heard=heard)
        if not reply_to:
            return message
        row = self.row(stream, message.key)
        row.reply_to = self.row(stream, reply_to).position
        return self.tell(row)

    def post_at(
        self,
        stream: str,
        content: Content,
        *,
        at: datetime,
        album: str = "",
        deleted_at: datetime | None = None,
    ) -> None:
        """Post at a time of its own, before or after now; within a stream, times only grow."""
        target, at_ms = self.stream(stream), to_ms(at)
        row = self._row(target, at_ms, content, album=album)
        target.posted.append(row)
        if at_ms > self.now_ms:
            self.timeline.plan(Happening("message", stream, row, at_ms))
        if deleted_at is not None:
            row.deleted_ms = to_ms(deleted_at)
            if row.deleted_ms > self.now_ms:
                self.timeline.plan(Happening("delete", stream, row, row.deleted_ms))

    def post_set(
        self, stream: str, *, parts: int, topic: str = "", theme: str = "prints", albums: bool = True
    ) -> list[Message]:
        """Post a multi-part archive, one part a message, in albums of at most ten."""
        self.advance()
        target = self._open_stream(stream)
        seed = target.choices.bits(60)
        return [
            self._publish(
                target,
                Generated("part", seed, theme, part, parts),
                topic=topic,
                album=f"{seed}-{(part - 1) // 10}" if albums else "",
            )
            for part in range(1, parts + 1)
        ]

    def post_album(self, stream: str, *, pictures: int, topic: str = "") -> list[Message]:
        """Post pictures that belong together."""
        self.advance()
        target = self._open_stream(stream)
        seed = target.choices.bits(60)
        return [
            self._publish(
                target, Generated("picture", seed, "photos", n, pictures), topic=topic, album=str(seed)
            )
            for n in range(1, pictures + 1)
        ]

    def repost(self, stream: str, key: str, *, into: str = "") -> Message:
        """Post the same content again, here or elsewhere."""
        self.advance()
        row = self.row(stream, key)
        return self._publish(self._open_stream(into or stream), row.content_at(self.now_ms))

    def edit(
        self,
        stream: str,
        key: str,
        *,
        text: str = "",
        files: Sequence[SimFile] = (),
        links: Sequence[str] = (),
    ) -> None:
        """Replace what a message says and holds."""
        self.advance()
        row = self.row(stream, key)
        *former, row.content = row.forms(self.now_ms)
        row.former = tuple(former)
        before = write_out(row.content)
        row.edited_ms = self.now_ms
        row.edited_content = replace(before, text=text, files=tuple(files), links=tuple(links))
        self.timeline.tell(Happening("edit", stream, row, self.now_ms))

    def delete(self, stream: str, key: str) -> None:
        self.advance()
        row = self.row(stream, key)
        row.deleted_ms = self.now_ms
        self.timeline.tell(Happening("delete", stream, row, self.now_ms))

    def garble(self, stream: str, key: str, *, garbled: bool = True) -> None:
        """Let a message come in a way that cannot be parsed, or mend it."""
        self.row(stream, key).garbled = garbled

    def expire_links(self, stream: str) -> None:
        """Let all links to files be stale; fetching a message again renews its own."""
        self.links.end_all(stream, now_ms=self.now_ms)

    def publish(self, listing: str, entry: Entry) -> None:
        """Put an entry into a listing, or replace the one with its key."""
        self.listings[listing].posted[entry.key] = entry
        self.listings[listing].changed_at[entry.key] = self.clock.now()

    def withdraw(self, listing: str, key: str) -> None:
        """Take an entry out of a listing again."""
        del self.listings[listing].posted[key]
        del self.listings[listing].changed_at[key]

    def create_topic(self, stream: str, topic: str) -> None:
        self.stream(stream).topics.append(topic)

    def remove_topic(self, stream: str, topic: str) -> None:
        """Remove a topic; its messages go with it."""
        self.advance()
        target = self.stream(stream)
        target.topics.remove(topic)
        for row in target.newest_first(now_ms=self.now_ms):
            if row.topic == topic and not row.is_deleted(self.now_ms):
                row.deleted_ms = self.now_ms
                self.timeline.tell(Happening("delete", stream, row, self.now_ms))

    def convert_to_forum(self, stream: str, topics: Sequence[str]) -> None:
        """Turn a plain channel into a forum; its sequence of positions goes on."""
        target = self.stream(stream)
        target.is_forum, target.topics = True, list(topics)

    def convert_to_channel(self, stream: str) -> None:
        target = self.stream(stream)
        target.is_forum, target.topics = False, []

    def migrate_group(self, stream: str) -> str:
        """Let a group move: a new stream continues it, and the old one is closed to new messages."""
        old = self.stream(stream)
        new = self.add_stream(f"{stream}-moved", title=old.title, members=old.members, parent=old.parent)
        new.continues, old.continued_by = old.key, new.key
        self.disconnect()
        return new.key

    def remove_stream(self, stream: str) -> None:
        self.disconnect()
        del self.streams[stream]

    def kick(self, account: str, stream: str) -> None:
        """Take an account's access away; a change of membership ends its live connection."""
        target = self.stream(stream)
        target.members = (set(self.accounts) if target.members is None else target.members) - {account}
        self.disconnect(account)

    def admit(self, account: str, stream: str) -> None:
        target = self.stream(stream)
        if target.members is not None:
            target.members = target.members | {account}
        self.disconnect(account)

    def ban(self, account: str) -> None:
        self._put_account(account, "banned")

    def restrict(self, account: str) -> None:
        """Let an account read, but not send."""
        self.accounts[account].state = "restricted"

    def logout(self, account: str) -> None:
        self._put_account(account, "logged_out")

    def restore(self, account: str) -> None:
        self.accounts[account].state = "active"

    def calm(self) -> None:
        """Stop all faults and mend what they broke for good, so that everything can come to rest."""
        self.faults.stop()
        for account in self.accounts:
            self.restore(account)
        self.mend()

    def mend(self) -> None:
        """Let every message be readable."""
        for stream in self.streams.values():
            for row in stream.posted:
                row.garbled = False

    def _put_account(self, account: str, state: AccountState) -> None:
        self.accounts[account].state = state
        self.disconnect(account)

    def _open_stream(self, key: str) -> Stream:
        stream = self.stream(key)
        if stream.continued_by:
            raise SimNotFound(f"{key} has moved to {stream.continued_by}")
        return stream

    def _generate(self, stream: Stream, shape: Shape | None) -> Generated:
        theme = stream.choices.choice(tuple(THEMES))
        shape = shape or stream.choices.choice(SHAPES[:-1])
        return Generated(shape, stream.choices.bits(60), theme)

    def _publish(
        self,
        stream: Stream,
        content: Content,
        *,
        topic: str = "",
        album: str = "",
        sent_at: datetime | None = None,
        heard: bool = True,
    ) -> Message:
        row = self._row(stream, self.now_ms, content, topic=topic, album=album)
        if sent_at is not None:
            row.skew_ms = to_ms(sent_at) - row.arrived_ms
        if stream.choices.chance(self.profile.late_order_chance) and stream.posted:
            row.position = stream.earlier_position(stream.choices.below(self.profile.late_order) + 1)
        stream.insert(row)
        if heard:
            self.timeline.tell(Happening("message", stream.key, row, row.arrived_ms))
        self._draw_changes(stream, row)
        return self.tell(row)

    def _row(self, stream: Stream, at_ms: int, content: Content, *, topic: str = "", album: str = "") -> Row:
        return Row(
            position=stream.next_position(at_ms),
            arrived_ms=at_ms,
            content=content,
            topic=topic,
            album=album,
            reply_to=_answered(stream, content),
            skew_ms=self.profile.draw_skew_ms(stream.choices),
            visible_ms=at_ms + self.profile.draw_delay_ms(stream.choices),
        )

    def _draw_changes(self, stream: Stream, row: Row) -> None:
        """Let the faults edit or delete a message soon after it was posted."""
        if self.faults.strikes("edit", stream.key):
            row.edited_ms = row.arrived_ms + 1 + self.faults.choices("edit", stream.key).below(_SOON_MS)
            before = write_out(row.content)
            after = write_out(self._generate(stream, "archive"))
            row.edited_content = replace(after, author=before.author, from_bot=before.from_bot)
            self.timeline.plan(Happening("edit", stream.key, row, row.edited_ms))
        if self.faults.strikes("delete", stream.key):
            row.deleted_ms = row.arrived_ms + 1 + self.faults.choices("delete", stream.key).below(_SOON_MS)
            self.timeline.plan(Happening("delete", stream.key, row, row.deleted_ms))


def _answered(stream: Stream, content: Content) -> int | None:
    """Return the message before, which every fifth of the generated ones answers."""
    answers = isinstance(content, Generated) and content.seed % 5 == 0 and stream.posted
    return stream.posted[-1].position if answers else None
