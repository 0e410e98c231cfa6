"""Pushes messages out through Apprise, which speaks to some 170 services by their addresses.

Apprise answers with yes or no and tells the rest to its log. So its log is listened to, call by call, and
shown to nobody else: it holds addresses, and these are secrets.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable
from contextlib import nullcontext
from types import ModuleType
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from headgate.connectors.push_guard import guarded
from headgate.domain.errors import Ambiguous, Elsewhere, RateLimited, Transient, UserError
from headgate.domain.notifications.push_reach import PushLimits, Reach
from headgate.kernel.logs import MASK

TIMEOUT_S = 20.0
LIMITED_S = 60.0
"""Services that limit us say for how long, but Apprise does not."""
MAX_ERROR = 500
NOT_FOR_MEMBERS = (
    "The address leads to this machine or the local network, where only administrators may push to."
    " An administrator can set HEADGATE_NOTIFY_ALLOW_PRIVATE=true."
)

_IN_DOUBT = re.compile(
    r"read timed out|readtimeout|connection aborted|connection reset|remote end closed|remotedisconnected"
    r"|incompleteread|broken pipe",
    re.IGNORECASE,
)
"""The request was sent, and its answer was lost: it may have been carried out."""
_LIMITED = re.compile(r"\berror=429\b|too many requests", re.IGNORECASE)
MACHINE = frozenset({"syslog", "dbus", "qt", "kde", "glib", "gio", "gnome", "macosx", "windows", "blink1"})
"""Services that are this machine itself."""
UNGUARDED = frozenset({"xmpp", "xmpps"})
"""Services that connect in threads of their own."""
_ELSEWHERE = frozenset({"cloud", "official", "t2bot"})
"""Modes in which a service is reached at its usual place, and what looks like a host is a name there."""
_FILES = frozenset({"keyfile", "subfile", "pgpkey", "pgppub", "pgpprv"})
"""Parts of addresses that name files."""
_SEPARATORS = re.compile(r"[/?&=@:#,;\s]+")


class AppriseOut:
    """Sends to Apprise addresses."""

    def recognise(self, url: str) -> str:
        """Return what may be shown of an address: its service. Raise `UserError` if it is none."""
        service = _known(url)
        scheme = url.strip().partition("://")[0].lower()
        return f"{service.service_name} ({scheme}://{MASK})"

    def reach(self, url: str) -> Reach:
        """Tell what a push to an address would get at; raise `UserError` if it is none."""
        # Looked at first: some services read their files as soon as they are spoken of.
        if _FILES & {name.lower() for name, _ in parse_qsl(url.partition("?")[2], keep_blank_values=True)}:
            return Reach(files=True)
        service = _known(url)
        return Reach(
            machine=bool(MACHINE & schemes_of(type(service))),
            unguarded=bool(UNGUARDED & schemes_of(type(service))),
            files=_has_files(service),
            hosts=tuple(_hosts(service)),
        )

    async def push(self, url: str, *, title: str, body: str, limits: PushLimits) -> None:
        """Send one message, within limits that are checked at every connection.

        Raises `Transient` or `RateLimited` if it certainly was not taken, `Ambiguous` if it may have been.
        """
        apprise = _load()
        if not limits.machine:
            _check_reach(self.reach(url), limits)
        service = _instantiate(apprise, url)
        if service is None:
            raise Transient("Apprise does not understand the address.")
        # The address could ask for redirects by itself.
        service.redirects = False
        with nullcontext() if limits.network else guarded() as guard:
            result, lines = await self._notify(apprise, service, title=title, body=body)
        if guard is not None and guard.refused:
            raise Transient(NOT_FOR_MEMBERS)
        if not result:
            _raise_failure(lines, url, timed_out=result.status == apprise.AppriseResultStatus.TIMEOUT)

    async def _notify(
        self, apprise: ModuleType, service: Any, *, title: str, body: str
    ) -> tuple[Any, list[str]]:
        """Return what Apprise answers and what it wrote into its log."""
        caller = apprise.Apprise(asset=_asset(apprise))
        caller.add(service)
        lines: list[str] = []

        def listen(entry: Any, _service: Any) -> None:
            lines.append(f"{entry.level} {entry.message}")

        try:
            # Its own limit ends the waiting, but not everything that it does is under that limit.
            async with asyncio.timeout(TIMEOUT_S + 5):
                result = await caller.async_notify(
                    title=title,
                    body=body,
                    body_format=apprise.NotifyFormat.TEXT,
                    timeout=TIMEOUT_S,
                    log_level=logging.DEBUG,
                    log_callback=listen,
                )
        except TimeoutError as error:
            raise Ambiguous(f"No answer within {TIMEOUT_S:g} seconds.") from error
        return result, lines


def _check_reach(reach: Reach, limits: PushLimits) -> None:
    if reach.machine or reach.files or (reach.unguarded and not limits.network):
        raise Transient(NOT_FOR_MEMBERS)


def _known(url: str) -> Any:
    service = _instantiate(_load(), url)
    if service is None:
        raise UserError(
            "This is not a push address.",
            remedy="Write it as https://appriseit.com/services/ shows for your service,"
            " for example ntfy://ntfy.sh/my-topic.",
        )
    return service


def schemes_of(kind: Any) -> set[str]:
    """Return the beginnings of addresses that a service of Apprise has."""
    named = (kind.protocol, kind.secure_protocol)
    return {one for name in named if name for one in ((name,) if isinstance(name, str) else name)}


def _has_files(service: Any) -> bool:
    kind = _load().AppriseAttachment
    kept = cast("dict[str, Any]", vars(service))
    attached: list[Any] = [value for value in kept.values() if isinstance(value, kind)]
    return any(len(one) > 0 for one in attached)


def _hosts(service: Any) -> Iterable[str]:
    """Name the hosts that an address tells; most services have theirs, and it tells none."""
    mail = getattr(service, "smtp_host", "")
    if mail:
        yield mail
    elif "host" in service.template_tokens and getattr(service, "mode", "") not in _ELSEWHERE:
        yield from filter(None, [service.host])
    relays: Iterable[str] = getattr(service, "relays", ())
    for relay in relays:
        yield urlsplit(relay).hostname or ""


def _raise_failure(lines: Iterable[str], url: str, *, timed_out: bool) -> None:
    lines = list(lines)
    everything = "\n".join(lines)
    told = " ".join(line.partition(" ")[2] for line in lines if line.startswith(("WARNING", "ERROR")))
    text = scrub(told, url)[:MAX_ERROR] or "The service did not take it, without a reason."
    if timed_out:
        raise Ambiguous(f"No answer within {TIMEOUT_S:g} seconds.")
    if _IN_DOUBT.search(everything):
        raise Ambiguous(f"{text} The answer was lost on the way.")
    if _LIMITED.search(everything):
        raise RateLimited(text, retry_after_s=LIMITED_S)
    raise Transient(text)


def scrub(text: str, url: str) -> str:
    """Return a text without the address, or any part of it that could be a secret."""
    scheme, _, rest = url.strip().partition("://")
    pieces = {url.strip(), unquote(url.strip())}
    for piece in _SEPARATORS.split(rest):
        if len(piece) >= 4 and piece.lower() != scheme.lower():
            pieces |= {piece, unquote(piece)}
    for piece in sorted(pieces, key=len, reverse=True):
        text = re.sub(re.escape(piece), MASK, text, flags=re.IGNORECASE)
    return " ".join(text.split())


def _load() -> ModuleType:
    own = logging.getLogger("apprise")
    if own.propagate:
        own.propagate = False
        own.setLevel(logging.DEBUG)
        own.addHandler(logging.NullHandler())
        # It writes the path of every request, which is where many services have their token.
        logging.getLogger("urllib3").setLevel(logging.ERROR)
    try:
        import apprise
    except ImportError as error:
        raise Elsewhere("pushing out needs the package `headgate[notify]`") from error
    return apprise


def _asset(apprise: ModuleType) -> Any:
    # In memory: what services let Apprise remember would else be written below the home folder.
    return apprise.AppriseAsset(
        app_id="Headgate",
        app_desc="Headgate",
        app_url="",
        http_redirects=False,
        storage_mode=apprise.PersistentStoreMode.MEMORY,
        secure_logging=True,
    )


def _instantiate(apprise: ModuleType, url: str) -> Any:
    return apprise.Apprise.instantiate(url.strip(), asset=_asset(apprise))
