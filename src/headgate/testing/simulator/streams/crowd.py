"""What happens on the platform meanwhile: people post, edit and delete; channels change and move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headgate.kernel.randomness import Randomness
from headgate.testing.content.content import SimFile, file_of
from headgate.testing.platform.streams.stream import Stream
from headgate.testing.platform.world import World
from headgate.testing.simulator.engine.stage import Stage
from headgate.testing.simulator.streams.set_names import MARK, NAMINGS

RECENT = 6
MAX_MOVES = 1


@dataclass
class Crowd:
    """Everybody on the platform who is not us."""

    stage: Stage
    world: World
    choices: Randomness
    _files: int = 0
    _moves: int = 0
    _out: dict[str, str] = field(default_factory=dict[str, str])
    """Streams that one account cannot see at the moment."""

    async def live_on(self) -> None:
        """Do something every few seconds, for ever."""
        deeds = [deed for deed, weight in self._deeds().items() for _ in range(weight)]
        while True:
            await self.stage.sleep(self.choices.uniform(0.3, 6))
            stream = self.choices.choice([s for s in self.world.streams.values() if not s.continued_by])
            self.choices.choice(deeds)(stream)

    def _deeds(self) -> dict[Callable[[Stream], None], int]:
        return {
            self._post: 12,
            self._post_words: 4,
            self._post_album: 4,
            self._post_set: 3,
            self._post_series: 4,
            self._reply: 6,
            self._repost: 2,
            self._edit: 6,
            self._delete: 3,
            self._garble: 3,
            self._mend: 1,
            self._change_topics: 2,
            self._convert: 1,
            self._move: 1,
            self._shut_out: 2,
        }

    def _post(self, stream: Stream) -> None:
        if self.choices.chance(0.2):
            self.world.post(stream.key, files=self._some_files(), from_bot=True, topic=self._topic(stream))
        else:
            self.world.post(stream.key, topic=self._topic(stream))

    def _post_words(self, stream: Stream) -> None:
        links = (f"https://example.org/{self.choices.below(9)}",) if self.choices.chance(0.6) else ()
        self.world.post(stream.key, text="words", links=links, topic=self._topic(stream))

    def _post_album(self, stream: Stream) -> None:
        self.world.post_album(stream.key, pictures=2 + self.choices.below(3), topic=self._topic(stream))

    def _post_set(self, stream: Stream) -> None:
        """Post the volumes of an archive in any order, one message each; sometimes one is missing."""
        self._files += 1
        name_of = self.choices.choice(NAMINGS)
        numbers = list(range(1, 3 + self.choices.below(3)))
        last = numbers[-1]
        numbers.sort(key=lambda _: self.choices.uniform(0, 1))
        for number in numbers[: -1 if self.choices.chance(0.2) else None]:
            content = f"{self._files} {number}".encode().ljust(3_000 if number == last else 5_000, b".")
            name = name_of(f"{MARK}{self._files}", number, last)
            # Platforms know the endings of whole archives, and guess at others.
            known = "application/vnd.rar" if name.endswith(".rar") else "application/octet-stream"
            file = file_of(name, content, mime_type=known)
            self.world.post(stream.key, files=[file], topic=self._topic(stream))

    def _post_series(self, stream: Stream) -> None:
        """Post the next part of something, and say who made it."""
        creator, series = self.choices.choice(_CREATORS), self.choices.choice(_SERIES)
        file = self._file(name=f"{series} part {self._files + 1}")
        self.world.post(stream.key, text=f"Creator: {creator}", files=[file], topic=self._topic(stream))

    def _reply(self, stream: Stream) -> None:
        if key := self._recent(stream):
            files = self._some_files(least=0)
            self.world.post(
                stream.key, text="an answer", files=files, reply_to=key, topic=self._topic(stream)
            )

    def _repost(self, stream: Stream) -> None:
        if key := self._recent(stream):
            self.world.repost(stream.key, key)

    def _edit(self, stream: Stream) -> None:
        """Let a message gain files, change them or lose them all."""
        if key := self._recent(stream):
            links = ("https://example.org/later",) if self.choices.chance(0.3) else ()
            self.world.edit(stream.key, key, text="edited", files=self._some_files(least=0), links=links)

    def _delete(self, stream: Stream) -> None:
        if key := self._recent(stream):
            self.world.delete(stream.key, key)

    def _garble(self, stream: Stream) -> None:
        if key := self._recent(stream):
            self.world.garble(stream.key, key)

    def _mend(self, stream: Stream) -> None:
        for row in stream.posted:
            row.garbled = False

    def _change_topics(self, stream: Stream) -> None:
        if not stream.is_forum:
            return
        if len(stream.topics) > 1 and self.choices.chance(0.4):
            self.world.remove_topic(stream.key, self.choices.choice(stream.topics))
        else:
            self.world.create_topic(stream.key, f"Topic {self.choices.below(1000)}")

    def _convert(self, stream: Stream) -> None:
        if stream.is_forum:
            self.world.convert_to_channel(stream.key)
        else:
            self.world.convert_to_forum(stream.key, ["General", "More"])

    def _move(self, stream: Stream) -> None:
        if self._moves < MAX_MOVES:
            self._moves += 1
            self.world.migrate_group(stream.key)

    def _shut_out(self, stream: Stream) -> None:
        """Take one account's access away, or give it back; somebody of ours can always read."""
        if self.world.profile.position_scope == "account":
            return
        if account := self._out.pop(stream.key, None):
            self.world.admit(account, stream.key)
        elif stream.members is None or len(stream.members) > 1:
            account = self.choices.choice(sorted(stream.members or self.world.accounts))
            self._out[stream.key] = account
            self.world.kick(account, stream.key)

    def _recent(self, stream: Stream) -> str:
        rows = [row for row in stream.posted[-RECENT:] if not row.is_deleted(self.world.now_ms)]
        return str(self.choices.choice(rows).position) if rows else ""

    def _topic(self, stream: Stream) -> str:
        return self.choices.choice(stream.topics) if stream.topics else ""

    def _some_files(self, *, least: int = 1) -> list[SimFile]:
        return [self._file() for _ in range(least + self.choices.below(3))]

    def _file(self, *, name: str = "") -> SimFile:
        self._files += 1
        ending, mime_type = self.choices.choice(_TYPES)
        size = 100 + self.choices.below(100_000)
        content = f"{self._files}".encode().ljust(size, b".")
        return file_of(f"{name or f'crowd-{self._files}'}.{ending}", content, mime_type=mime_type)


_CREATORS = ("Mara", "Tidewater")
_SERIES = ("Castle", "Dragon hoard")
_TYPES = (("zip", "application/zip"), ("jpg", "image/jpeg"), ("mp4", "video/mp4"), ("pdf", "application/pdf"))
