"""Headers of every answer, the names that we answer to, and figures about requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.kernel import metrics
from headgate.kernel.clock import Clock
from headgate.kernel.settings import WebSettings
from headgate.web.http.hosts import host_name, known_hosts

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)

_REQUESTS = metrics.duration(
    "web_request", "Time until an answer began, by route and status.", ("method", "route", "status")
)


def security_headers(settings: WebSettings) -> Mapping[str, str]:
    """Return what every answer carries unless it says otherwise itself."""
    headers = {
        "content-security-policy": CONTENT_SECURITY_POLICY,
        "x-content-type-options": "nosniff",
        # Not `no-referrer`: that makes browsers send `Origin: null` with our own forms.
        "referrer-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
        "vary": "Cookie, HX-Request",
    }
    if settings.public_url.startswith("https://"):
        headers["strict-transport-security"] = "max-age=31536000"
    return headers


class Outside:
    """The outermost layer: refuses foreign names, adds the headers, measures."""

    def __init__(self, app: ASGIApp, settings: WebSettings, clock: Clock) -> None:
        self._app = app
        self._headers = security_headers(settings)
        self._hosts = known_hosts(settings)
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began_s = self._clock.monotonic()

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
                self._measure(scope, message["status"], began_s)
            await send(message)

        if self._is_known(scope):
            await self._app(scope, receive, send_with_headers)
        else:
            refusal = PlainTextResponse(
                "Headgate does not answer to this name. Set HEADGATE_WEB_PUBLIC_URL to the address that"
                " people type.\n",
                status_code=421,
            )
            await refusal(scope, receive, send_with_headers)

    def _is_known(self, scope: Scope) -> bool:
        hosts: list[bytes] = [value for name, value in scope["headers"] if name == b"host"]
        return len(hosts) == 1 and host_name(hosts[0].decode("latin-1")) in self._hosts

    def _measure(self, scope: Scope, status: int, began_s: float) -> None:
        # Only what we declared ourselves becomes a label: strangers must not make up new ones.
        route: Any = scope.get("route")
        path = getattr(route, "path", "")
        method = scope["method"] if scope["method"] in (getattr(route, "methods", None) or ()) else ""
        elapsed_s = self._clock.monotonic() - began_s
        _REQUESTS.labels(method, path, str(status)).observe(elapsed_s)
