"""The HTTP servers of a process: the web part, or for workers the few pages that monitoring reads."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from headgate.kernel.metrics import render_metrics
from headgate.web.http.health import Readiness
from headgate.web.http.server import Server


class Unsignalled(uvicorn.Server):
    """A server without signal handlers of its own: the service stops it."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class WebServer(Unsignalled, Server):
    """The web part."""


class ProbeServer(Unsignalled):
    """Health, readiness and metrics of a process without web part, for programs on the same machine."""

    def __init__(self, readiness: Readiness) -> None:
        super().__init__(
            uvicorn.Config(
                probe_app(readiness),
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
                lifespan="off",
                timeout_graceful_shutdown=1,
            )
        )


def probe_app(readiness: Readiness) -> Starlette:
    """Return the three pages; a foreign site that points its name at us gets none of them."""

    async def report_health(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def report_readiness(_request: Request) -> Response:
        reasons = await readiness.reasons()
        return JSONResponse({"ready": not reasons, "reasons": reasons}, status_code=503 if reasons else 200)

    async def report_metrics(_request: Request) -> Response:
        return Response(render_metrics(), media_type="text/plain; version=1.0.0; charset=utf-8")

    return Starlette(
        routes=[
            Route("/healthz", report_health),
            Route("/readyz", report_readiness),
            Route("/metrics", report_metrics),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])],
    )
