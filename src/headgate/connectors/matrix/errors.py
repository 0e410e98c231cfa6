"""What can go wrong with a homeserver, and what it means to the core.

MatrixError
├── Refused          an answer that says no, with its status and Matrix error code
├── Unanswered       a send without an answer: it may have happened
├── NotUnderstood    the answer is not what the specification says
├── NotPossible      something that Headgate or the server never does, such as a send to an encrypted room
└── NotSignedIn      the account has no session, or the server takes its password or token no longer
"""

from __future__ import annotations

from http import HTTPStatus

import aiohttp

from headgate.domain.errors import (
    Ambiguous,
    AuthFailed,
    Banned,
    Gone,
    Malformed,
    RateLimited,
    Restricted,
    Transient,
    WorkError,
)

DEFAULT_WAIT_S = 5.0
"""How long to wait where a server names no time."""
TOKEN_CODES = frozenset({"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN"})
_MEANINGS: dict[str, type[WorkError]] = {
    "M_USER_DEACTIVATED": Banned,
    "M_USER_LOCKED": Restricted,
    "M_USER_SUSPENDED": Restricted,
    "M_RESOURCE_LIMIT_EXCEEDED": Restricted,
    "M_CONSENT_NOT_GIVEN": Restricted,
    # It is about one room, so the account as a whole is fine.
    "M_FORBIDDEN": Gone,
    "M_GUEST_ACCESS_FORBIDDEN": Gone,
    "M_NOT_FOUND": Gone,
    "M_NOT_YET_UPLOADED": Transient,
}


class MatrixError(Exception):
    """Anything that a homeserver answers but what was asked for."""


class Refused(MatrixError):
    """An answer that says no."""

    def __init__(
        self,
        status: int,
        code: str = "",
        words: str = "",
        *,
        retry_after_s: float | None = None,
        soft_logout: bool = False,
    ) -> None:
        super().__init__(f"{words or f'the homeserver answered with status {status}'} ({code or status})")
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s
        self.soft_logout = soft_logout


class Unanswered(MatrixError):
    """A send without an answer."""


class NotUnderstood(MatrixError):
    """The answer is not what the specification says."""


class NotPossible(MatrixError):
    """Something that Headgate or the server never does."""


class NotSignedIn(MatrixError):
    """The account has no session."""


def classify(error: BaseException) -> WorkError:
    """Turn an exception into one of ours; unknown ones may succeed if tried again."""
    words = str(error) or type(error).__name__
    match error:
        case WorkError():
            return error
        case Refused():
            return _meaning_of(error)
        case Unanswered():
            return Ambiguous(words)
        case NotSignedIn():
            return AuthFailed(words)
        case NotPossible() | NotUnderstood():
            return Malformed(words)
        case TimeoutError():
            return Transient("the homeserver did not answer in time")
        case aiohttp.ClientError() | OSError():
            return Transient(f"the homeserver cannot be reached: {words}")
        case _:
            return Transient(words)


def never_arrived(error: Exception) -> bool:
    """Tell that a request has not reached the server, so it did nothing."""
    return isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)


def _meaning_of(refusal: Refused) -> WorkError:
    words = str(refusal)
    if refusal.status == HTTPStatus.TOO_MANY_REQUESTS or refusal.code == "M_LIMIT_EXCEEDED":
        return RateLimited(words, retry_after_s=refusal.retry_after_s or DEFAULT_WAIT_S)
    if known := _MEANINGS.get(refusal.code):
        return known(words)
    if refusal.code in TOKEN_CODES or refusal.status == HTTPStatus.UNAUTHORIZED:
        kept = " The device is kept." if refusal.soft_logout else ""
        return AuthFailed(f"the session has ended; sign in again.{kept} {words}")
    return _meaning_of_status(refusal.status)(words)


def _meaning_of_status(status: int) -> type[WorkError]:
    if status in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return Gone
    is_ours = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    return Malformed if is_ours and status != HTTPStatus.REQUEST_TIMEOUT else Transient
