"""Errors as people and programs see them: a friendly page, or problem details (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from math import ceil
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.exceptions import HTTPException as AnyHTTPException

from headgate.domain.errors import (
    Elsewhere,
    Forbidden,
    Gone,
    Malformed,
    NotFound,
    RateLimited,
    UserError,
    WorkError,
)
from headgate.kernel.logs import get_logger, mask_url
from headgate.storage.errors import Collided, DatabaseAway
from headgate.web.http.headers import security_headers
from headgate.web.parts import site_of

log = get_logger("web")

_STATUS = {NotFound: 404, Forbidden: 403}
_FOR_PROGRAMS = ("/api/", "/events", "/metrics", "/readyz", "/healthz")
_WORDS = {
    400: "The request is not valid.",
    401: "Sign in first.",
    403: "You may not do this.",
    404: "Page not found.",
    405: "This cannot be done here.",
    413: "Too large.",
    422: "Something in the request is not valid.",
    429: "Too many attempts.",
    500: "Something went wrong on our side. It was logged.",
    503: "The database cannot be reached. Try again in a moment.",
}


def install_errors(app: FastAPI) -> None:
    """Answer every error in the caller's language."""
    app.add_exception_handler(AnyHTTPException, _on_http_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(UserError, _on_user_error)
    app.add_exception_handler(WorkError, _on_work_error)
    app.add_exception_handler(DatabaseAway, _on_database_away)
    app.add_exception_handler(Collided, _on_collision)
    app.add_exception_handler(Exception, _on_unknown)


async def answer_error(
    request: Request, status: int, detail: str = "", headers: dict[str, str] | None = None
) -> Response:
    """Return the page or the problem of a status."""
    text = detail if detail and detail != HTTPStatus(status).phrase else _WORDS.get(status, "")
    if request.url.path.startswith(_FOR_PROGRAMS):
        return _problem(status, text, headers)
    if status == HTTPStatus.UNAUTHORIZED:
        return _to_login(request)
    page = site_of(request).renderer.render("error.html", status=status, detail=text, caller=None)
    page.status_code = status
    page.headers.update(headers or {})
    return page


def _problem(status: int, detail: str, headers: dict[str, str] | None, **more: Any) -> Response:
    content = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return JSONResponse(content | more, status, headers, media_type="application/problem+json")


def _to_login(request: Request) -> Response:
    """Send a person to the sign-in; a fragment cannot be redirected, so htmx is told to go there."""
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    target = "/login" if request.method != "GET" or here == "/" else f"/login?next={quote(here, safe='')}"
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"hx-redirect": "/login"})
    return RedirectResponse(target, status_code=303)


async def _on_http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, AnyHTTPException):
        raise error
    return await answer_error(request, error.status_code, error.detail, dict(error.headers or {}))


async def _on_invalid(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    faults = [
        {"where": ".".join(str(step) for step in fault["loc"]), "why": fault["msg"]}
        for fault in error.errors()
    ]
    if request.url.path.startswith(_FOR_PROGRAMS):
        return _problem(422, _WORDS[422], None, faults=faults)
    return await answer_error(request, 422)


async def _on_user_error(request: Request, error: Exception) -> Response:
    """Answer with what is wrong and how to fix it."""
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 422)
    return await answer_error(request, status, str(error))


async def _on_work_error(request: Request, error: Exception) -> Response:
    """Answer for a platform that was asked on behalf of the caller: it is not the caller's fault, or ours."""
    if isinstance(error, RateLimited):
        wait_s = max(1, ceil(error.retry_after_s))
        text = f"This has to wait, so that nobody is asked too often. Try again in {wait_s} seconds."
        return await answer_error(request, 503, text, {"retry-after": str(wait_s)})
    if isinstance(error, Elsewhere | Malformed | Gone):
        return await answer_error(request, 422, _sentence(error))
    return await answer_error(request, 502, _sentence(error))


def _sentence(error: Exception) -> str:
    text = mask_url(str(error)) or "It could not be asked."
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."


async def _on_collision(request: Request, _error: Exception) -> Response:
    """Answer for a change that gave way to another one."""
    text = "Something else changed the same thing at this moment, so nothing was done. Try again."
    return await answer_error(request, 503, text, {"retry-after": "1"})


async def _on_database_away(request: Request, error: Exception) -> Response:
    # The route and not the address: that of a link holds its token.
    route = getattr(request.scope.get("route"), "path", "")
    log.warning("answered without the database", route=route, reason=str(error))
    return await answer_error(request, 503, headers={"retry-after": "5"})


async def _on_unknown(request: Request, _error: Exception) -> Response:
    """Answer from outside of all layers, which is why the headers are put on here; the server logs."""
    response = await answer_error(request, 500)
    for name, value in security_headers(site_of(request).parts.settings).items():
        response.headers.setdefault(name, value)
    return response


def not_found(detail: str = "") -> HTTPException:
    return HTTPException(404, detail)
