"""What the Matrix connector makes of answers and events, without a server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headgate.connectors.matrix.contents import content_of
from headgate.connectors.matrix.errors import NotPossible, classify
from headgate.connectors.matrix.events import Deleted, Edited, Unreadable, read_event
from headgate.connectors.matrix.http import refusal_of
from headgate.connectors.matrix.live import tell_sync
from headgate.connectors.protocol import Part
from headgate.domain.errors import AuthFailed, RateLimited
from headgate.domain.streams.messages import Message

pytestmark = pytest.mark.once


def event(content: dict[str, Any], **more: Any) -> dict[str, Any]:
    told = {
        "type": "m.room.message",
        "event_id": "$1",
        "sender": "@a:x",
        "origin_server_ts": 1_700_000_000_000,
    }
    return {**told, "content": content, **more}


def text_event(body: str = "hello", **more: Any) -> dict[str, Any]:
    return event({"msgtype": "m.text", "body": body}, **more)


def file_event(**content: Any) -> dict[str, Any]:
    return event({"msgtype": "m.file", "body": "a.zip", "url": "mxc://x/abc", **content})


def read_message(told: dict[str, Any]) -> Message:
    message = read_event(told)
    assert isinstance(message, Message)
    return message


@pytest.mark.parametrize(
    ("headers", "body", "wait_s"),
    [
        ({}, {"retry_after_ms": 2500}, 2.5),
        ({"Retry-After": "7"}, {}, 7.0),
        ({"Retry-After": "3"}, {"retry_after_ms": 2500}, 3.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, {}, 5.0),
        ({}, {"retry_after_ms": -1}, 5.0),
        ({}, {"retry_after_ms": "soon"}, 5.0),
    ],
)
def test_a_limit_is_read_from_its_header_and_its_body(
    headers: dict[str, str], body: dict[str, object], wait_s: float
) -> None:
    refusal = refusal_of(429, headers, json.dumps({"errcode": "M_LIMIT_EXCEEDED", **body}).encode())
    error = classify(refusal)
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == wait_s


def test_a_soft_logout_asks_for_a_sign_in_and_says_that_the_device_is_kept() -> None:
    body = b'{"errcode": "M_UNKNOWN_TOKEN", "error": "expired", "soft_logout": true}'
    error = classify(refusal_of(401, {}, body))
    assert isinstance(error, AuthFailed)
    assert "device is kept" in str(error)


def test_a_refusal_that_is_no_json_is_told_by_its_status() -> None:
    assert "502" in str(classify(refusal_of(502, {}, b"<html>Bad Gateway</html>")))


@pytest.mark.parametrize(
    "told",
    [
        event({"msgtype": "m.text", "body": 7}),
        event({"body": "no kind"}),
        text_event(origin_server_ts="yesterday"),
        text_event(origin_server_ts=10**30),
    ],
    ids=["body", "kind", "time", "far time"],
)
def test_a_message_that_cannot_be_parsed_is_named(told: dict[str, Any]) -> None:
    assert read_event(told) == Unreadable("$1")


@pytest.mark.parametrize(
    "told",
    [
        event({}, type="m.reaction"),
        event({"ciphertext": "x"}, type="m.room.encrypted"),
        event({"name": "ducks"}, type="m.room.name", state_key=""),
        text_event(event_id=None),
        event({"m.relates_to": {"rel_type": "m.replace"}, "msgtype": "m.text", "body": "x"}),
    ],
    ids=["reaction", "encrypted", "name", "no id", "edit of nothing"],
)
def test_what_is_no_message_is_left_out(told: dict[str, Any]) -> None:
    assert read_event(told) is None


def test_redactions_are_read_in_the_form_of_old_and_new_rooms() -> None:
    assert read_event(event({"redacts": "$0"}, type="m.room.redaction")) == Deleted("$0")
    assert read_event(event({}, type="m.room.redaction", redacts="$0")) == Deleted("$0")
    assert read_event(event({})) == Deleted("$1")


def test_an_edit_names_what_it_changes() -> None:
    relation = {"rel_type": "m.replace", "event_id": "$0"}
    assert read_event(event({"msgtype": "m.text", "body": "* x", "m.relates_to": relation})) == Edited("$0")


def test_an_edit_of_somebody_else_is_not_believed() -> None:
    changed = {"msgtype": "m.text", "body": "other"}
    edit = {**event({"body": "* other", "m.new_content": changed}), "event_id": "$2"}
    for sender, shown in (("@a:x", "other"), ("@b:x", "hello")):
        relations = {"m.relations": {"m.replace": {**edit, "sender": sender}}}
        assert read_message(text_event(unsigned=relations)).text == shown


@pytest.mark.parametrize(("claimed", "size"), [(12, 12), (-5, 0), ("big", 0), (True, 0), (10**30, 2**62)])
def test_the_size_of_a_file_is_a_claim(claimed: object, size: int) -> None:
    (attachment,) = read_message(file_event(info={"size": claimed})).attachments
    assert attachment.size_bytes == size
    assert (attachment.key, attachment.content_id) == ("x/abc", "mxc://x/abc")


def test_the_body_of_a_file_is_its_name_or_its_caption() -> None:
    assert read_message(file_event()).text == ""
    assert read_message(file_event(filename="a.zip")).text == ""
    captioned = read_message(file_event(filename="b.zip", body="a caption"))
    assert (captioned.text, captioned.attachments[0].file_name) == ("a caption", "b.zip")


def test_a_file_of_an_encrypted_kind_has_no_attachment() -> None:
    assert (
        read_message(event({"msgtype": "m.file", "body": "a", "file": {"url": "mxc://x/a"}})).attachments
        == ()
    )


def test_only_the_first_message_of_a_timeline_leads_back_before_it() -> None:
    timeline = {"events": [text_event(), text_event(event_id="$2")], "prev_batch": "before"}
    answer: dict[str, object] = {"next_batch": "now", "rooms": {"join": {"!r": {"timeline": timeline}}}}
    events = list(tell_sync(answer, since="then"))
    assert [(told.kind, told.bookmark) for told in events] == [
        ("message", "before"),
        ("message", "now"),
        ("mark", ""),
    ]
    assert [told.kind for told in tell_sync({"next_batch": "now"}, since="now")] == []


def test_a_text_that_is_too_long_is_refused() -> None:
    assert content_of(Part("ä" * 20_000))["msgtype"] == "m.text"
    with pytest.raises(NotPossible, match="at most"):
        content_of(Part("ä" * 40_000))
