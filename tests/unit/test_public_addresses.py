"""Which addresses are of the open internet: the IANA registries as a table, and IPv4 in every wrapping."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest

from headgate.domain.public_addresses import is_public

PUBLIC = [
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "191.255.255.255",
    "192.0.1.0",
    "192.31.196.1",
    "192.52.193.1",
    "192.175.48.1",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2001:200::1",
    "2400:cb00::1",
    "2606:2800:220:1::1",
    "2620:4f:8000::1",
    "2a00:1450:4001::1",
]
NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.3.4",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.8",
    "192.0.0.9",
    "192.0.0.170",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::93.184.216.34",
    "64:ff9b:1::7f00:1",
    "64:ff9b:1::5db8:d822",
    "64:ff9b:1:ffff::1",
    "64:ff9b:2::1",
    "100::1",
    "100:0:0:1::1",
    "1fff::1",
    "2001::1",
    "2001:1::1",
    "2001:2::1",
    "2001:3::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "3ffe::1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]
INSIDE = ["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.1", "192.0.0.8", "100.64.0.1", "0.0.0.0"]


def wrapped(form: str, inner: str) -> str:
    """Return an IPv4 address in one of the forms that IPv6 has for it."""
    number = int(IPv4Address(inner))
    high, low = number >> 16, number & 0xFFFF
    forms = {
        "mapped": f"::ffff:{inner}",
        "compatible": f"::{inner}",
        "translated": f"::ffff:0:{inner}",
        "6to4": f"2002:{high:x}:{low:x}::1",
        "NAT64": f"64:ff9b::{inner}",
        "NAT64 local /48": str(IPv6Address((0x0064FF9B0001 << 80) | (high << 64) | (low << 40))),
        "NAT64 local /96": f"64:ff9b:1::{inner}",
        "Teredo client": str(IPv6Address((0x20010000 << 96) | (0x5DB8D822 << 64) | (number ^ 0xFFFFFFFF))),
        "Teredo server": str(IPv6Address((0x20010000 << 96) | (number << 64) | 0xA2472A27)),
        "ISATAP": f"2606:2800:220:1:0:5efe:{inner}",
        "ISATAP global": f"2606:2800:220:1:200:5efe:{inner}",
    }
    return forms[form]


FORMS = [
    "mapped",
    "compatible",
    "translated",
    "6to4",
    "NAT64",
    "NAT64 local /48",
    "NAT64 local /96",
    "Teredo client",
    "Teredo server",
    "ISATAP",
    "ISATAP global",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_open_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_special_purpose_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("inner", INSIDE)
def test_no_wrapping_makes_an_inner_address_public(form: str, inner: str) -> None:
    assert not is_public(wrapped(form, inner))


@pytest.mark.parametrize("form", ["mapped", "6to4", "NAT64", "ISATAP"])
def test_a_public_address_stays_public_in_the_forms_that_reach_it(form: str) -> None:
    assert is_public(wrapped(form, "93.184.216.34"))
