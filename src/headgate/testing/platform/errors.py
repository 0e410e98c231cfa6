"""The exceptions of the simulated platform's library, and what they mean to the core.

SimError
├── SimFlood            wait so many seconds
│   └── SimSlowMode     before the next message to this group
├── SimTimeout          no answer came; whether anything happened is not known
├── SimDisconnected     the connection ended
├── SimAuthError        signed out, or unknown
├── SimBanned           the account is banned
├── SimRestricted       the account may read but not send
├── SimNotFound         no such stream, listing, target or file, or not for this account
├── SimMediaLapsed      the uploaded file is not kept any longer
├── SimLinkExpired      the link to a file is too old; fetching the message again renews it
├── SimBadRequest       the platform does not understand
├── SimDuplicate        a message with this key was sent before
└── SimClosed           this end has closed the connection
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from headgate.domain.errors import (
    Ambiguous,
    AuthFailed,
    Banned,
    Gone,
    Malformed,
    RateLimited,
    Restricted,
    SlowMode,
    Transient,
    WorkError,
)


class SimError(Exception):
    """Anything that the simulated platform's library raises."""


class SimFlood(SimError):
    """The platform asks to wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"flood: wait {seconds:g} s")
        self.seconds = seconds


class SimSlowMode(SimFlood):
    """A group takes no further message of this account for a while."""


class SimInterrupted(SimError):
    """No answer came; `kind` is the call that was waiting for it."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"no answer to {kind}")
        self.kind = kind


class SimTimeout(SimInterrupted):
    """The answer took too long."""


class SimDisconnected(SimInterrupted):
    """The connection ended."""


class SimAuthError(SimError):
    """The account is signed out, or unknown."""


class SimBanned(SimError):
    """The account is banned."""


class SimRestricted(SimError):
    """The account may read but not send."""


class SimNotFound(SimError):
    """It is not there, or not for this account."""


class SimMediaLapsed(SimError):
    """The uploaded file is not kept any longer."""


class SimLinkExpired(SimError):
    """The link to a file is too old; fetching the message again renews it."""


class SimBadRequest(SimError):
    """The platform does not understand."""


class SimDuplicate(SimError):
    """A message with this key was sent before."""


class SimClosed(SimError):
    """This end has closed the connection."""


_MEANING: Mapping[type[SimError], type[WorkError]] = MappingProxyType(
    {
        SimAuthError: AuthFailed,
        SimBanned: Banned,
        SimRestricted: Restricted,
        SimNotFound: Gone,
        SimMediaLapsed: Gone,
        SimBadRequest: Malformed,
    }
)


def classify(error: BaseException) -> WorkError:
    """Turn an exception of the library into one of ours; unknown ones may succeed if tried again."""
    if isinstance(error, WorkError):
        return error
    if isinstance(error, SimSlowMode):
        return SlowMode(retry_after_s=error.seconds)
    if isinstance(error, SimFlood):
        return RateLimited(str(error), retry_after_s=error.seconds)
    if isinstance(error, SimInterrupted) and error.kind in {"send", "forward"}:
        return Ambiguous(str(error))
    meaning = next((ours for theirs, ours in _MEANING.items() if isinstance(error, theirs)), Transient)
    return meaning(str(error) or type(error).__name__)
