"""How a thing of the library is sent: by reference, as files in pieces, or as a text."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.library.archive_sets.volumes import read_volume_name
from headgate.domain.library.sending_on import (
    MAX_MESSAGES,
    FilesMissing,
    SendPlan,
    SourceFile,
    SourceMessage,
    Thing,
    Unsendable,
    plan_sending,
    split_file,
)

BLOB = UUID(int=7)


def volume(number: int, *, size_bytes: int = 10, message: str = "") -> SourceFile:
    key = message or str(number)
    name = f"pack.part{number}.rar"
    return SourceFile(number, name, "application/vnd.rar", size_bytes, "stored", BLOB, b"h" * 32, (key,))


def thing(*files: SourceFile, alone: bool = True, text: str = "said") -> Thing:
    keys = dict.fromkeys(key for file in files for key in file.messages) or {"1": None}
    return Thing("Pack", "", files, tuple(SourceMessage(key, text, alone) for key in keys))


def plan(of: Thing, *, can_forward: bool = True, max_bytes: int = 100, sent: tuple[int, ...] = ()) -> object:
    return plan_sending(of, can_forward=can_forward, max_bytes=max_bytes, sent=sent)


def planned(of: Thing, **how: object) -> SendPlan:
    found = plan(of, **how)  # pyright: ignore[reportArgumentType]
    assert isinstance(found, SendPlan)
    return found


def test_each_volume_is_forwarded_with_its_message_and_a_shared_message_once() -> None:
    found = planned(thing(volume(1, message="a"), volume(2, message="b"), volume(3, message="b")))
    assert found.way == "forward"
    assert [(one.forward_key, one.volumes) for one in found.messages] == [("a", (1,)), ("b", (2, 3))]


def test_a_message_with_something_else_in_it_makes_everything_an_upload() -> None:
    assert planned(thing(volume(1), alone=False)).way == "upload"
    assert planned(thing(volume(1)), can_forward=False).way == "upload"


def test_volumes_that_were_sent_are_left_out() -> None:
    found = planned(thing(volume(1), volume(2)), can_forward=False, sent=(1,))
    assert [one.volumes for one in found.messages] == [(2,)]


def test_only_the_first_message_of_an_upload_has_the_caption() -> None:
    found = planned(thing(volume(1, size_bytes=150), volume(2)), can_forward=False)
    assert [one.text for one in found.messages] == ["said", "", ""]


def test_a_thing_waits_for_files_that_come_and_fails_for_lost_ones() -> None:
    coming = replace(volume(2), fetching="coming", blob_id=None, sha256=None)
    assert plan(thing(volume(1), coming), can_forward=False) == FilesMissing(1, 2)
    # What is forwarded needs no files.
    assert planned(thing(volume(1), coming)).way == "forward"
    lost = replace(coming, fetching="lost")
    assert isinstance(plan(thing(volume(1), lost), can_forward=False), Unsendable)


def test_a_link_is_forwarded_or_sent_as_title_and_address() -> None:
    link = Thing("A page", "https://example.org/a", (), (SourceMessage("5", "see", alone=True),))
    assert planned(link).messages[0].forward_key == "5"
    assert planned(link, can_forward=False).messages[0].text == "A page\nhttps://example.org/a"


def test_a_thing_of_too_many_messages_is_refused() -> None:
    huge = thing(volume(1, size_bytes=MAX_MESSAGES * 10 + 1))
    assert isinstance(plan(huge, can_forward=False, max_bytes=10), Unsendable)


@given(st.integers(0, 5_000), st.integers(1, 900))
def test_pieces_cover_a_file_without_gap_or_overlap_and_stay_below_the_limit(size: int, limit: int) -> None:
    pieces = split_file("big.zip", size, max_bytes=limit)
    ends = [offset + length for _, offset, length in pieces]
    assert [offset for _, offset, _ in pieces] == [0, *ends[:-1]]
    assert ends[-1] == size
    assert all(length <= limit for _, _, length in pieces)
    assert len({len(name) for name, _, _ in pieces}) == 1


def test_pieces_are_named_so_that_sets_join_them() -> None:
    names = [name for name, _, _ in split_file("big.7z", 25, max_bytes=10)]
    assert names == ["big.7z.001", "big.7z.002", "big.7z.003"]
    read = [read_volume_name(name) for name in names]
    assert [one.number for one in read if one] == [1, 2, 3]
    assert len({one.family for one in read if one}) == 1
