"""The ports that a process listens on."""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass

from headgate.domain.errors import UserError

LOOPBACK = "127.0.0.1"
PORTS_TO_TRY = 50
# What to type into a browser for an address that means "all of them".
_REACHED_AT = {"0.0.0.0": LOOPBACK, "::": "::1"}  # noqa: S104 - this is where it is replaced


@dataclass(frozen=True)
class WebAddress:
    """Where the web part listens."""

    socket: socket.socket
    host: str
    port: int
    wanted_port: int

    @property
    def url(self) -> str:
        host = _REACHED_AT.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def bind_web(host: str, port: int) -> WebAddress:
    """Take the wanted port, or the next free one."""
    for candidate in range(port, min(port + PORTS_TO_TRY, 65536)):
        try:
            return WebAddress(_listen(host, candidate), host, candidate, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            raise UserError(
                f"The web server cannot listen on {host} port {candidate}: {error.strerror}.",
                remedy="Set HEADGATE_WEB_HOST and HEADGATE_WEB_PORT to an address of this machine.",
            ) from error
    raise UserError(
        f"No port from {port} to {port + PORTS_TO_TRY - 1} is free.",
        remedy="Set HEADGATE_WEB_PORT to another.",
    )


def bind_probes(port: int) -> socket.socket:
    """Take exactly this port, because scrapers are configured with it."""
    try:
        return _listen(LOOPBACK, port)
    except OSError as error:
        raise UserError(
            f"The metrics cannot be served on port {port}: {error.strerror}.",
            remedy="Set HEADGATE_JOBS_METRICS_PORT to a different free port for each worker, or to 0.",
        ) from error


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)
    return listening
