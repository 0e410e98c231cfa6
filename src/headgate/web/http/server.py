"""The HTTP server, which ends open event streams before it waits for connections."""

from __future__ import annotations

import socket
from typing import cast

import uvicorn
from fastapi import FastAPI

from headgate.web.http.connections import ConnectionBounds, bounded
from headgate.web.parts import Site

GRACE_S = 5


class Server(uvicorn.Server):
    """Uvicorn that can stop while people look at live pages."""

    def __init__(self, app: FastAPI) -> None:
        self._site = cast("Site", app.state.site)
        settings = self._site.parts.settings
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
                lifespan="off",
                # What a proxy says about its clients counts only where a proxy is expected.
                proxy_headers=bool(settings.public_url),
                http=bounded(
                    ConnectionBounds(
                        settings.headers_timeout_s, settings.body_timeout_s, settings.max_connections
                    )
                ),
                timeout_graceful_shutdown=GRACE_S,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._site.hub.close()
        await super().shutdown(sockets)
