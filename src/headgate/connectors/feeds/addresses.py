"""Addresses of feeds: what they name, how they are shown, and when a password may go along."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

import httpx

from headgate.connectors.feeds.http1 import Origin
from headgate.domain.errors import Malformed
from headgate.kernel.masking import MASK, mask_addresses

_SCHEMES = {"http": 80, "https": 443}
_WITH_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?=//|https?:)", re.IGNORECASE)
_HOST = re.compile(rb"[\w.-]{1,253}|[0-9a-fA-F:.]{2,45}")
_BARE_HOST = re.compile(
    r"(\[[0-9a-f:.]+\]|localhost|[^\s/?#@:]+\.[^\s/?#@:]+)(:\d{1,5})?([/?#].*)?", re.IGNORECASE
)


@dataclass(frozen=True)
class Address:
    """An address without its password, which is kept apart so that nothing shows it by accident."""

    url: httpx.URL
    login: tuple[str, str] | None = None

    @property
    def key(self) -> str:
        """The address in full, with its secrets: what is asked for."""
        if self.login is None:
            return str(self.url)
        return str(self.url.copy_with(username=self.login[0], password=self.login[1]))

    @property
    def host(self) -> str:
        """The host in small letters, with its port if that is not the usual one."""
        name = self.url.raw_host.decode("ascii").lower()
        shown_name = f"[{name}]" if ":" in name else name
        return shown_name if self.url.port is None else f"{shown_name}:{self.url.port}"

    @property
    def origin(self) -> Origin:
        """Whom to connect to."""
        name = self.url.raw_host.decode("ascii")
        return Origin(name, self.url.port or _SCHEMES[self.url.scheme], secure=self.url.scheme == "https")

    @property
    def netloc(self) -> str:
        """The host as a request names it."""
        return self.url.netloc.decode("ascii")

    @property
    def target(self) -> bytes:
        """The path and parameters, as a request names them."""
        return self.url.raw_path

    def __str__(self) -> str:
        """Return what may be shown: host and path, without secrets."""
        path = self.url.raw_path.partition(b"?")[0].decode("ascii")
        return unquote(mask_addresses(f"https://{self.host}{path}").removeprefix("https://"))

    __repr__ = __str__

    def redirected(self, location: str) -> Address:
        """Return where a redirect leads; a password goes along only within the same host."""
        try:
            url = self.url.join(location)
        except (httpx.InvalidURL, ValueError) as error:
            raise Malformed(f"{self} redirects to an address that makes no sense") from error
        target = _bare(url, shown_as=f"{self} redirects to")
        same_origin = (target.scheme, target.host, target.port) == (
            self.url.scheme,
            self.url.host,
            self.url.port,
        )
        upgraded = (
            target == self.url.copy_with(scheme="https", raw_path=target.raw_path) and target.port is None
        )
        return Address(target, self.login if same_origin or upgraded else None)


@lru_cache(maxsize=2000)
def parse_address(text: str) -> Address:
    """Read the address of a feed; raise `Malformed` if it is none."""
    text = text.strip()
    if text.lower().startswith("feed:"):
        rest = text[5:]
        text = f"http:{rest}" if rest.startswith("//") else rest
    if MASK in unquote(text):
        raise Malformed("this address leaves out its login or token; it is needed in full")
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        raise Malformed("this is not an address of the web") from error
    login = (url.username, url.password) if url.userinfo else None
    return Address(_bare(url, shown_as="the address is"), login)


def _bare(url: httpx.URL, *, shown_as: str) -> httpx.URL:
    if url.scheme not in _SCHEMES:
        raise Malformed(
            f"{shown_as} {url.scheme or 'nothing'}:, but feeds are read over http and https alone"
        )
    if not _HOST.fullmatch(url.raw_host):
        raise Malformed(f"{shown_as} without a host that can be")
    return url.copy_with(userinfo=b"", fragment=None)


def guess_addresses(query: str) -> list[str]:
    """Return the addresses that a person may mean by what they typed; none if it looks like none."""
    query = query.strip()
    if _WITH_SCHEME.match(query):
        return [query]
    if _BARE_HOST.fullmatch(query):
        return [f"https://{query}", f"http://{query}"]
    return []
