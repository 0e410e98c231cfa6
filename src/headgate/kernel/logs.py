"""Structured logs: JSON in service, readable lines in a terminal, secrets in neither."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any, Literal, cast

import structlog

from headgate.kernel.masking import MASK, mask_addresses

LogFormat = Literal["auto", "json", "console"]

_SECRET_NAME = re.compile(
    r"(password|passwd|secret|token|api_?key|authorization|cookie|session_?id|private|credential)",
    re.IGNORECASE,
)
# A database's password may hold a bare slash or at sign; elsewhere they begin the path (`/@user`).
_DATABASE_PASSWORD = re.compile(r"(postgres(?:ql)?://[^:/@\s]*):\S+@")
_URL_PASSWORD = re.compile(r"(\w+://[^:/@\s]*):[^/\s]+@")
_PARAMETER = re.compile(r"\b(\w*(?:password|passwd|secret|token|api_?key)=)[^&\s#;'\"]+", re.IGNORECASE)


def mask_url(text: str) -> str:
    """Hide the password and the secret parameters inside any address in the text."""
    text = mask_addresses(text)
    text = _DATABASE_PASSWORD.sub(rf"\1:{MASK}@", text)
    text = _URL_PASSWORD.sub(rf"\1:{MASK}@", text)
    return _PARAMETER.sub(rf"\1{MASK}", text)


def _masked(name: str, value: Any) -> Any:
    if _SECRET_NAME.search(name) and value not in (None, "", False, True):
        return MASK
    if isinstance(value, str):
        return mask_url(value)
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value)
        return {key: _masked(str(key), inner) for key, inner in pairs.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_masked(name, inner) for inner in cast("Iterable[Any]", value)]
    if isinstance(value, Exception):
        return mask_url(repr(value))
    return value


def mask_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace whatever carries a secret's name, and passwords inside addresses."""
    return {name: _masked(name, value) for name, value in event.items()}


def configure_logs(*, level: str, log_format: LogFormat) -> None:
    """Set up logging for the process; everything goes to standard error."""
    console = log_format == "console" or (log_format == "auto" and sys.stderr.isatty())
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if console else "iso", utc=not console),
        structlog.processors.StackInfoRenderer(),
        # Before the masking, and plain: a pretty traceback would show the values of local variables.
        structlog.processors.format_exc_info,
        mask_secrets,
    ]
    renderer: Any = (
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
        if console
        else structlog.processors.JSONRenderer(ensure_ascii=False)
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # httpx and httpcore name every address they call.
    for noisy in ("pgqueuer", "uvicorn.access", "uvicorn.error", "asyncio", "httpx", "httpcore"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))
    # It warns at each try to connect; that the database is away is said once, by the storage layer.
    logging.getLogger("psycopg.pool").setLevel(max(logging.ERROR, root.level))
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return the logger of a module; name it by its part of the product."""
    return structlog.stdlib.get_logger(name)
