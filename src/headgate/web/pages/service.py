"""Static files, events, health and metrics."""

from __future__ import annotations

from fastapi import Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse

from headgate.kernel.metrics import render_metrics
from headgate.storage.errors import DatabaseAway
from headgate.web.callers import CurrentCaller, identify
from headgate.web.door import METRICS, PUBLIC, SIGNED_IN, Routes
from headgate.web.errors import not_found
from headgate.web.events import stream_events
from headgate.web.parts import CurrentSite

routes = Routes()


@routes.get("/static/{digest}/{path:path}", door=PUBLIC)
async def send_static(site: CurrentSite, digest: str, path: str) -> Response:
    asset = site.assets.find(digest=digest, path=path)
    if asset is None:
        raise not_found()
    return Response(
        asset.content,
        media_type=asset.media_type,
        headers={"cache-control": "public, max-age=31536000, immutable", "vary": "Accept-Encoding"},
    )


@routes.get("/events", door=SIGNED_IN, head=False)
async def send_events(site: CurrentSite, caller: CurrentCaller, since: str = "") -> Response:
    site.hub.check_room(caller.user_id)
    return StreamingResponse(
        stream_events(site, caller, since=since),
        media_type="text/event-stream",
        headers={"x-accel-buffering": "no"},
    )


@routes.get("/healthz", door=PUBLIC)
async def report_health() -> Response:
    """Answer as long as the process does."""
    return PlainTextResponse("ok\n")


@routes.get("/readyz", door=PUBLIC)
async def report_readiness(request: Request, site: CurrentSite) -> Response:
    """Say whether work can be done; why not is told to those who are signed in."""
    reasons = await site.readiness.reasons()
    answer: dict[str, object] = {"ready": not reasons}
    if reasons and await _is_signed_in(request):
        answer["reasons"] = reasons
    return JSONResponse(answer, status_code=503 if reasons else 200)


async def _is_signed_in(request: Request) -> bool:
    try:
        return await identify(request) is not None
    except DatabaseAway:
        return False


@routes.get("/metrics", door=METRICS)
async def report_metrics() -> Response:
    return Response(render_metrics(), media_type="text/plain; version=1.0.0; charset=utf-8")
