"""What can go wrong with MangaDex, and what it means to the core.

MangaDexError
├── TooMany          asked too often: wait so many seconds
├── GuestRefused     only somebody who is signed in may ask this
├── Blocked          a captcha or a wall in front of the site keeps this address out
├── SignInRefused    the name, password, client or session is not, or no longer, good
├── Refused          any other answer that says no, with its status
└── NotUnderstood    the answer is not what the API publishes
"""

from __future__ import annotations

from http import HTTPStatus

import httpx

from headgate.domain.errors import (
    AuthFailed,
    Gone,
    Malformed,
    RateLimited,
    Restricted,
    Transient,
    WorkError,
)

_KEPT_OUT_S = 900.0
"""How long to leave a site alone that lets this address, or guests, in no further."""


class MangaDexError(Exception):
    """Anything that MangaDex answers but what was asked for."""


class TooMany(MangaDexError):
    """Asked too often."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"MangaDex asks to wait {retry_after_s:g} s")
        self.retry_after_s = retry_after_s


class GuestRefused(MangaDexError):
    """Only somebody who is signed in may ask this."""

    def __init__(self, words: str = "") -> None:
        super().__init__(f"MangaDex limits what guests may ask; sign in to MangaDex. {words}".strip())


class Blocked(MangaDexError):
    """A captcha or a wall in front of the site keeps this address out."""


class SignInRefused(MangaDexError):
    """The name, password, client or session is not, or no longer, good."""


class ApiRefused(MangaDexError):
    """Any other answer that says no."""

    def __init__(self, status: int, words: str = "") -> None:
        super().__init__(words or f"MangaDex answered with status {status}")
        self.status = status


class NotUnderstood(MangaDexError):
    """The answer is not what the API publishes."""


def classify(error: BaseException) -> WorkError:
    """Turn an exception into one of ours; unknown ones may succeed if tried again."""
    words = str(error) or type(error).__name__
    match error:
        case WorkError():
            return error
        case TooMany():
            return RateLimited(words, retry_after_s=error.retry_after_s)
        case GuestRefused() | Blocked():
            return RateLimited(words, retry_after_s=_KEPT_OUT_S)
        case SignInRefused():
            return AuthFailed(words)
        case ApiRefused():
            return _meaning_of(error.status)(words)
        case httpx.TimeoutException() | TimeoutError():
            return Transient("MangaDex did not answer in time")
        case httpx.TransportError():
            return Transient(f"MangaDex cannot be reached: {words}")
        case _:
            return Transient(words)


def _meaning_of(status: int) -> type[WorkError]:
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return Gone
    if status == HTTPStatus.FORBIDDEN:
        return Restricted
    is_ours = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    return Malformed if is_ours and status != HTTPStatus.REQUEST_TIMEOUT else Transient
