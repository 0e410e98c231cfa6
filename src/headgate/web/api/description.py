"""The description of the API, behind the same door as the API itself."""

from __future__ import annotations

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from headgate.web.door import Routes, scope

routes = Routes("/api")


@routes.get("/openapi.json", door=scope("read"))
async def describe(request: Request) -> Response:
    return JSONResponse(request.app.openapi())
