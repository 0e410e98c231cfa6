"""What can go wrong with Discord, and what it means to the core.

DiscordError
├── TooMany           a route or the whole bot has asked too often: wait so many seconds
├── ChannelSlowed     slow mode: one channel takes no further message for a while
├── SignInRefused     the token is not, or no longer, good; or the bot lacks an intent
├── BotLimited        Discord limits the bot as a whole
├── NotAllowed        the bot lacks a right in this place
├── NotThere          unknown channel, message or file
├── LinkExpired       the link to a file has run out; the message has a new one
├── UploadLapsed      a file that was to be sent is not in the spool any more
├── SendUnanswered    no clear answer to a send: it may have happened
├── ConnectionLost    the gateway cannot be reached, or ended the session
├── ApiRefused        any other answer that says no, with its status
└── NotUnderstood     the answer is not what Discord's documents say
"""

from __future__ import annotations

from http import HTTPStatus

import aiohttp

from headgate.domain.errors import (
    Ambiguous,
    AuthFailed,
    Gone,
    Malformed,
    RateLimited,
    Restricted,
    SlowMode,
    Transient,
    WorkError,
)

NO_CONTENT_INTENT = (
    "The bot lacks the message content intent, so messages would arrive without text and files."
    " Switch on MESSAGE CONTENT INTENT under Bot in the developer portal, save, and sign in again"
)


class DiscordError(Exception):
    """Anything that Discord answers but what was asked for."""


class TooMany(DiscordError):
    """A route or the whole bot has asked too often."""

    def __init__(self, retry_after_s: float, *, everywhere: bool = False) -> None:
        reach = "all calls of this bot" if everywhere else "calls of this kind"
        super().__init__(f"Discord asks to wait {retry_after_s:g} s with {reach}")
        self.retry_after_s = retry_after_s


class ChannelSlowed(DiscordError):
    """One channel takes no further message for a while."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"The channel is in slow mode for another {retry_after_s:g} s")
        self.retry_after_s = retry_after_s


class SignInRefused(DiscordError):
    """The token is not, or no longer, good; or the bot lacks an intent."""


class BotLimited(DiscordError):
    """Discord limits the bot as a whole."""


class NotAllowed(DiscordError):
    """The bot lacks a right in this place."""


class NotThere(DiscordError):
    """The channel, the message or the file is unknown."""


class LinkExpired(DiscordError):
    """The link to a file has run out."""


class UploadLapsed(DiscordError):
    """A file that was to be sent is not in the spool any more."""


class SendUnanswered(DiscordError):
    """No clear answer to a send came."""


class ConnectionLost(DiscordError):
    """The gateway cannot be reached, or ended the session."""


class ApiRefused(DiscordError):
    """Any other answer that says no."""

    def __init__(self, status: int, words: str = "") -> None:
        super().__init__(words or f"Discord answered with status {status}")
        self.status = status


class NotUnderstood(DiscordError):
    """The answer is not what Discord's documents say."""


_MEANINGS: dict[type, type[WorkError]] = {
    SignInRefused: AuthFailed,
    BotLimited: Restricted,
    NotAllowed: Gone,
    NotThere: Gone,
    UploadLapsed: Gone,
    LinkExpired: Transient,
    SendUnanswered: Ambiguous,
    ConnectionLost: Transient,
    NotUnderstood: Malformed,
}


def classify(error: BaseException) -> WorkError:
    """Turn an exception into one of ours; unknown ones may succeed if tried again."""
    words = str(error) or type(error).__name__
    match error:
        case WorkError():
            return error
        case TooMany():
            return RateLimited(words, retry_after_s=error.retry_after_s)
        case ChannelSlowed():
            return SlowMode(words, retry_after_s=error.retry_after_s)
        case ApiRefused():
            return _meaning_of_status(error.status)(words)
        case DiscordError():
            return _meaning_of_kind(type(error))(words)
        case TimeoutError():
            return Transient("Discord did not answer in time")
        case aiohttp.ClientError() | OSError():
            return Transient(f"Discord cannot be reached: {words}")
        case _:
            return Transient(words)


def _meaning_of_kind(kind: type[DiscordError]) -> type[WorkError]:
    """Return the meaning of an error, or of the kind that it is a special case of."""
    known = [base for base in kind.__mro__ if base in _MEANINGS]
    return _MEANINGS[known[0]] if known else Transient


def _meaning_of_status(status: int) -> type[WorkError]:
    is_ours = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    return Malformed if is_ours and status != HTTPStatus.REQUEST_TIMEOUT else Transient
