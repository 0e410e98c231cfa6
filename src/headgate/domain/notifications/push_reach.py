"""What a push to an address gets at, as far as the address itself tells, and how far it may go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Reach:
    """What a push to an address gets at."""

    machine: bool = False
    """It acts on this machine: its log, its screen, its devices."""
    files: bool = False
    """It reads files of this machine, or from wherever it is told."""
    unguarded: bool = False
    """It connects in threads of its own, which the guard does not see."""
    hosts: tuple[str, ...] = ()
    """Whom it connects to, where the address names them."""


@dataclass(frozen=True)
class PushLimits:
    """How far a push may go."""

    machine: bool = False
    """It may act on this machine and read its files."""
    network: bool = False
    """It may connect to this machine and the local network."""


def limits_of(role: Literal["admin", "member"], *, allow_private: bool) -> PushLimits:
    """Administrators may push anywhere; members to the open internet, or the network if a setting says so."""
    is_admin = role == "admin"
    return PushLimits(machine=is_admin, network=is_admin or allow_private)
