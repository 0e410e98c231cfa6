"""Addresses of the web without their secrets: one rule for logs, errors, pages, the API and stored keys.

A login is secret, and so are parameters with the name of a secret and long values that look random. A
parameter called `…id` is a name, not a secret: `channel_id=UC…` stays. So does a UUID in a path.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

MASK = "•••"
_MIN_VALUE_LENGTH = 20
_MIN_SEGMENT_LENGTH = 32
_CHARACTERS_PER_CHANGE = 5
"""Random text changes between digits, small and capital letters at least this often."""

# A quote may be part of an address, so it does not end one: better to hide too much than too little.
_ADDRESS = re.compile(r"(https?|feed)(://)([^\s/?#\"<>]*)([^\s?#\"<>]*)(\?[^\s#\"<>]*)?", re.IGNORECASE)
_SECRET_NAME = re.compile(
    r".*(?:password|passwd|secret|token|api_?-?key|signature|credential).*"
    r"|(?:.*[_.-])?(?:key|pass|pwd|pw|sig|sid|session|session_?id|jwt|auth|authorization)",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r".*id", re.IGNORECASE)
_TEXT = re.compile(r"[\w.~+/=-]+", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CHANGE = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[a-z0-9])|(?<=[0-9])(?=[A-Za-z])")


def mask_addresses(text: str) -> str:
    """Hide the secret parts of every web address in the text; twice is the same as once."""
    return _ADDRESS.sub(_mask_address, text) if "://" in text else text


def _mask_address(found: re.Match[str]) -> str:
    scheme, slashes, authority, path, query = found.groups(default="")
    login, at, host = authority.rpartition("@")
    segments = [MASK if _is_secret_segment(segment) else segment for segment in path.split("/")]
    parameters = [_mask_parameter(parameter) for parameter in re.split("([&;])", query[1:])]
    shown_login = MASK if login else ""
    return f"{scheme}{slashes}{shown_login}{at}{host}{'/'.join(segments)}{query[:1]}{''.join(parameters)}"


def _is_secret_segment(segment: str) -> bool:
    text = unquote(segment)
    return len(text) >= _MIN_SEGMENT_LENGTH and not _UUID.fullmatch(text) and _looks_random(text)


def _mask_parameter(parameter: str) -> str:
    name, equals, value = parameter.partition("=")
    text = unquote(value)
    if not equals:
        return MASK if len(name) >= _MIN_VALUE_LENGTH and _looks_random(unquote(name)) else parameter
    if text and _SECRET_NAME.fullmatch(unquote(name)):
        return f"{name}={MASK}"
    if "://" in text and mask_addresses(text) != text:
        return f"{name}={MASK}"
    is_random = len(text) >= _MIN_VALUE_LENGTH and not _IDENTIFIER.fullmatch(name) and _looks_random(text)
    return f"{name}={MASK}" if is_random else parameter


def _looks_random(text: str) -> bool:
    """Tell whether digits and letters take turns more often than in words, dates and slugs."""
    if not _TEXT.fullmatch(text) or not re.search(r"\d", text) or not re.search("[A-Za-z]", text):
        return False
    joined = re.sub(r"[^A-Za-z0-9]", "", text)
    return len(_CHANGE.findall(joined)) * _CHARACTERS_PER_CHANGE >= len(joined)
