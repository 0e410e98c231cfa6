"""What a push to an address gets at, as far as the address itself tells."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reach:
    """What a push to an address gets at."""

    machine: bool = False
    """It acts on this machine: its log, its screen, its devices."""
    files: bool = False
    """It reads files of this machine, or from wherever it is told."""
    hosts: tuple[str, ...] = ()
    """Whom it connects to, where the address names them."""
