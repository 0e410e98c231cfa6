"""Which network addresses belong to the open internet, and which to this machine or the local network."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# By which networks of IPv6 alone reach IPv4, and which were once meant for local networks.
_NAT64 = ip_network("64:ff9b::/96")
_SITE_LOCAL = ip_network("fec0::/10")


def is_public(address: str) -> bool:
    """Tell whether an address belongs to the open internet, also when one of version 4 is wrapped in it."""
    found = ip_address(address.partition("%")[0])
    if found in _SITE_LOCAL or any(not is_public(str(one)) for one in _wrapped(found)):
        return False
    # An address of version 4 in the form of version 6 is not global by itself, but was judged above.
    return getattr(found, "ipv4_mapped", None) is not None or (found.is_global and not found.is_multicast)


def _wrapped(address: IPv4Address | IPv6Address) -> Iterable[IPv4Address]:
    if isinstance(address, IPv4Address):
        return ()
    teredo = address.teredo or ()
    translated = IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
    found = (address.ipv4_mapped, address.sixtofour, translated, *teredo)
    return (one for one in found if one is not None)
