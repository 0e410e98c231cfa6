"""The door of every route. A route without one cannot be made.

    PUBLIC         anybody
    SIGNED_IN      a person with a session
    ADMIN          a person with a session who is an administrator
    scope("read")  a program whose API token has the scope, or a person whose role includes it
    METRICS        `scope("read")` for programs, administrators, or a program on this machine itself

A door looks before anything of the request's body is read. Sessions are cookies, so every door that
accepts them also checks where an unsafe request comes from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.routing import BaseRoute

from headgate.storage.access.api_tokens import Scope
from headgate.web.callers import Caller, identify
from headgate.web.http.csrf import check_csrf, check_origin
from headgate.web.http.hosts import is_local
from headgate.web.parts import site_of

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Door(ABC):
    """Lets a request in or raises."""

    @abstractmethod
    async def admit(self, request: Request) -> None:
        """Raise 401 for whoever must sign in first and 403 for whoever may not."""


@dataclass(frozen=True)
class PublicDoor(Door):
    """Open, but not for forms that other sites send."""

    async def admit(self, request: Request) -> None:
        check_origin(request, site_of(request).parts.settings)


@dataclass(frozen=True)
class SessionDoor(Door):
    """Opens for people."""

    admins_only: bool = False

    async def admit(self, request: Request) -> None:
        caller = await identify(request)
        if caller is None or caller.session_id is None:
            raise HTTPException(401, "Sign in first.")
        if self.admins_only and not caller.is_admin:
            raise HTTPException(403, "Only administrators may do this.")
        await _check_session_request(request, caller)


@dataclass(frozen=True)
class ScopeDoor(Door):
    """Opens for programs with a token, and for people on our own pages."""

    scope: Scope

    async def admit(self, request: Request) -> None:
        caller = await identify(request)
        if caller is None:
            raise HTTPException(
                401, "Send an API token: Authorization: Bearer …", {"www-authenticate": "Bearer"}
            )
        if self.scope not in caller.scopes:
            raise HTTPException(403, f"This needs the scope {self.scope!r}.")
        if caller.session_id is not None:
            await _check_session_request(request, caller)


@dataclass(frozen=True)
class MetricsDoor(Door):
    """Opens for the monitoring of this machine without a token."""

    async def admit(self, request: Request) -> None:
        if is_local(request, site_of(request).parts.settings):
            return
        await ScopeDoor("read").admit(request)
        caller = await identify(request)
        if caller is not None and caller.session_id is not None and not caller.is_admin:
            raise HTTPException(403, "Only administrators may see the metrics.")


async def _check_session_request(request: Request, caller: Caller) -> None:
    check_origin(request, site_of(request).parts.settings)
    await check_csrf(request, caller)


PUBLIC = PublicDoor()
SIGNED_IN = SessionDoor()
ADMIN = SessionDoor(admins_only=True)
METRICS = MetricsDoor()


def scope(name: Scope) -> Door:
    """Return the door for what an API token with this scope may do."""
    return ScopeDoor(name)


class DoorRoute(APIRoute):
    """A route that asks its door first."""

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        *,
        door: Door,
        largest_body_bytes: int | None = None,
        **options: Any,
    ) -> None:
        """Make a route; `largest_body_bytes` is for what takes more than requests usually have."""
        self.door = door
        super().__init__(path, endpoint, **options)
        if largest_body_bytes is not None:
            self.app = RequestBodyLimitMiddleware(self.app, max_body_size=largest_body_bytes)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def ask_door_first(request: Request) -> Response:
            await self.door.admit(request)
            return await handle(request)

        return ask_door_first


class Routes:
    """The routes of a module, each declared with its door."""

    def __init__(self, prefix: str = "", *, in_schema: bool = False) -> None:
        self._prefix = prefix
        self._in_schema = in_schema
        self.routes: list[DoorRoute] = []

    def get(
        self, path: str, *, door: Door, head: bool = True, **options: Any
    ) -> Callable[[Endpoint], Endpoint]:
        """Declare a page or an answer; pages answer `HEAD` as well."""
        methods = ["GET", "HEAD"] if head and not self._in_schema else ["GET"]
        return self._declare(path, methods, door, options)

    def post(self, path: str, *, door: Door, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._declare(path, ["POST"], door, options)

    def put(self, path: str, *, door: Door, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._declare(path, ["PUT"], door, options)

    def patch(self, path: str, *, door: Door, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._declare(path, ["PATCH"], door, options)

    def delete(self, path: str, *, door: Door, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._declare(path, ["DELETE"], door, options)

    def _declare(
        self, path: str, methods: list[str], door: Door, options: dict[str, Any]
    ) -> Callable[[Endpoint], Endpoint]:
        def declare(endpoint: Endpoint) -> Endpoint:
            route = DoorRoute(
                self._prefix + path,
                endpoint,
                door=door,
                methods=methods,
                include_in_schema=self._in_schema,
                **({} if self._in_schema else {"response_model": None}),
                **options,
            )
            self.routes.append(route)
            return endpoint

        return declare


def install(app: FastAPI, modules: Iterable[Routes]) -> None:
    """Put all routes into the app and make sure that no other way leads in."""
    app.router.route_class = DoorRoute
    for routes in modules:
        app.router.routes.extend(routes.routes)
    if open_ways := list(list_doorless(app.router.routes)):
        raise RuntimeError(f"routes without a door: {open_ways}")


def list_doorless(routes: Iterable[BaseRoute]) -> Iterable[str]:
    """Name the routes that have no door: mounts, sockets and plain routes among them."""
    return [repr(route) for route in routes if not isinstance(route, DoorRoute)]
