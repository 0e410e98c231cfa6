"""Which names we answer to. A foreign site that points its own name at us gets nothing."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from fastapi import Request

from headgate.kernel.settings import WebSettings

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


def host_name(header: str) -> str:
    """Return the name in a Host header, without port and brackets."""
    try:
        return (urlsplit(f"//{header}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def known_hosts(settings: WebSettings) -> frozenset[str]:
    """Return loopback, the name that people type, and the address that we listen on."""
    named = {host_name(settings.host)} - {"", "0.0.0.0"}  # noqa: S104 - the address is excluded here
    if settings.public_url:
        named.add(urlsplit(settings.public_url).hostname or "")
    return _LOOPBACK_NAMES | named


def is_local(request: Request, settings: WebSettings) -> bool:
    """Tell whether a program on this machine asks by itself, not a proxy for somebody else."""
    if settings.public_url or request.client is None:
        return False
    if any(name in request.headers for name in _FORWARDED):
        return False
    return _is_loopback(request.client.host) and host_name(request.headers.get("host", "")) in _LOOPBACK_NAMES


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
