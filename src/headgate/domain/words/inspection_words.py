"""What is said of an item's stored files: their states, what is wrong inside, and what to do."""

from __future__ import annotations

from headgate.domain.library.inspections import FileState, InspectionState

INSPECTIONS: dict[InspectionState, str] = {
    "pending": "not read yet",
    "empty": "nothing is stored yet",
    "plain": "not an archive",
    "ok": "OK",
    "partial": "listed in part",
    "encrypted": "password-protected",
    "hostile": "suspicious",
    "incomplete": "incomplete",
    "truncated": "cut off",
    "damaged": "damaged",
    "unsupported": "not supported",
    "unreadable": "cannot be read",
}

REMEDIES: dict[InspectionState, str] = {
    "pending": "",
    "empty": "",
    "plain": "",
    "ok": "",
    "partial": "Download the file to see all of it.",
    "encrypted": "Look for the password in the message, then download and unpack it yourself.",
    "hostile": "The file is kept as it is. Unpack it only if you trust its author.",
    "incomplete": "Headgate looks again when another volume is stored.",
    "truncated": "It was downloaded completely, so it was posted this way. Look for another copy.",
    "damaged": "It was downloaded completely, so it was posted damaged. Look for another copy.",
    "unsupported": "Download it and unpack it with the program that made it.",
    "unreadable": "The file is kept. Download it and unpack it with care.",
}
"""What a person can do about it."""

FILES: dict[FileState, str] = {
    "listed": "not fetched",
    "wanted": "waiting to be fetched",
    "stored": "stored",
    "dropped": "dropped",
    "failed": "failed",
    "gone": "deleted before it was fetched",
}


def inspection_text(state: str) -> str:
    return {**INSPECTIONS}.get(state, state)


def remedy_text(state: str) -> str:
    return {**REMEDIES}.get(state, "")


def file_state_text(state: str) -> str:
    return {**FILES}.get(state, state)
