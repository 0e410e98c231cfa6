"""Which network addresses belong to the open internet.

The lists follow the IANA special-purpose address registries for IPv4 and IPv6. They are our own because
`ipaddress.is_global` changed its answers between patch releases of Python. Blocks with a few reachable
addresses inside are refused whole: no feed and no push service lives there.

A network's own NAT64 prefix looks like any public block and cannot be recognised here; that takes a firewall.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_REFUSED_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared by carriers
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link-local, cloud metadata
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relays, deprecated
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarking
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
        ),
    )
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, Teredo among them
            "2001:db8::/32",  # documentation
            "3ffe::/16",  # 6bone, returned
            "3fff::/20",  # documentation
        ),
    )
)
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")
_ISATAP = (0x00005EFE, 0x02005EFE)


def is_public(address: str) -> bool:
    """Tell whether an address belongs to the open internet, and so does every IPv4 address inside it."""
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv4Address):
        return not any(found in network for network in _REFUSED_V4)
    if not all(is_public(str(one)) for one in _embedded(found)):
        return False
    if found in _MAPPED or found in _NAT64:
        return True
    return found in _GLOBAL_UNICAST and not any(found in network for network in _REFUSED_V6)


def _embedded(address: IPv6Address) -> Iterator[IPv4Address]:
    """List the IPv4 addresses that packets to an IPv6 address can end up at.

    The other forms lie outside of what is public at all: IPv4-compatible (`::/96`), IPv4-translated
    (`::ffff:0:0:0/96`), NAT64 for local use (`64:ff9b:1::/48`) and Teredo (`2001::/32`).
    """
    number = int(address)
    if address in _MAPPED or address in _NAT64:
        yield IPv4Address(number & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR:
        yield IPv4Address(number >> 80 & 0xFFFFFFFF)
    if number >> 32 & 0xFFFFFFFF in _ISATAP:
        yield IPv4Address(number & 0xFFFFFFFF)
