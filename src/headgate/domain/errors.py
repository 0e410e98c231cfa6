"""The errors that the core acts on, by class alone.

HeadgateError                 anything we raise on purpose
├── UserError                 a person can fix it: what happened, and what to do
│   ├── NotFound              what was named does not exist
│   └── Forbidden             this user may not do it
└── WorkError                 what a piece of work can end with
    ├── Transient             may succeed if tried again; unknown errors count as this
    │   └── Absent            not there at the moment, says whoever was asked: it is not their fault
    ├── RateLimited           the platform asks to wait
    ├── SlowMode              one target asks to wait, and others do not
    ├── AccountTrouble        the account cannot be used; `Links` suspends it
    │   ├── AuthFailed        it must sign in again
    │   ├── Restricted        the platform limits it
    │   └── Banned            the platform has banned it
    ├── Gone                  the thing is not there any more, or not for us
    ├── Elsewhere             this installation cannot do it, another worker can
    │   └── HeldElsewhere     another process holds the account; its jobs go there
    ├── Malformed             the answer makes no sense; trying again will not help
    └── Ambiguous             a send that may have happened
"""

from __future__ import annotations

from typing import ClassVar, Literal
from uuid import UUID


class HeadgateError(Exception):
    """Anything that Headgate raises on purpose."""


class UserError(HeadgateError):
    """Something that a person can fix; the remedy says how."""

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "", command: str = "", field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy.strip()
        """What to do, for people at a page, a program and a terminal alike."""
        self.command = command
        """The command that helps; only the CLI shows it."""
        self.field = field
        """The input that the error is about, by the name that it has everywhere; empty if there is none."""

    @property
    def terminal_remedy(self) -> str:
        """What to do, with the command for it."""
        return " ".join(filter(None, [self.remedy, f"Run `{self.command}`." if self.command else ""]))

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class NotFound(UserError):
    """What was named does not exist."""


class Forbidden(UserError):
    """This user may not do it."""


class WorkError(HeadgateError):
    """What a piece of work can end with."""

    retryable = True


class Transient(WorkError):
    """It may succeed if tried again."""


class Absent(Transient):
    """It is not there at the moment; who was asked for it has answered."""


class RateLimited(WorkError):
    """The platform asks to wait before the next call of this kind."""

    def __init__(self, message: str = "", *, retry_after_s: float) -> None:
        super().__init__(message or f"rate limited for {retry_after_s:g} s")
        self.retry_after_s = retry_after_s


class SlowMode(WorkError):
    """A target takes no further message of this account for a while; the account's pace is fine."""

    def __init__(self, message: str = "", *, retry_after_s: float) -> None:
        super().__init__(message or f"slow mode: the next message may go in {retry_after_s:g} s")
        self.retry_after_s = retry_after_s


class AccountTrouble(WorkError):
    """The account cannot be used until a person has seen to it."""

    retryable = False
    account_state: ClassVar[Literal["needs_login", "restricted", "banned"]]


class AuthFailed(AccountTrouble):
    """The account must sign in again."""

    account_state = "needs_login"


class Restricted(AccountTrouble):
    """The platform limits the account."""

    account_state = "restricted"


class Banned(AccountTrouble):
    """The platform has banned the account."""

    account_state = "banned"


class Gone(WorkError):
    """The thing is not there any more, or not for this account."""

    retryable = False


class Elsewhere(WorkError):
    """This installation lacks what the work needs; a worker that has it will do it."""


class HeldElsewhere(Elsewhere):
    """Only one process at a time may use the account, and this one is not it."""

    def __init__(self, account_id: UUID, *, holder: str = "") -> None:
        super().__init__(f"the account is in use by {holder or 'another process'}")
        self.account_id = account_id
        self.holder = holder
        """Machine and process, as far as known."""


class Malformed(WorkError):
    """The answer makes no sense; trying again will not help."""

    retryable = False


class Ambiguous(WorkError):
    """A send that may have happened; only its key or a person can tell."""

    retryable = False


def error_class(error: BaseException) -> str:
    """Return the class by which an error is counted and shown."""
    return type(error).__name__ if isinstance(error, WorkError) else Transient.__name__
