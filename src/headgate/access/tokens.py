"""Tokens that only their holder knows; we keep what they hash to."""

from __future__ import annotations

import hashlib
import hmac

from headgate.kernel.randomness import secret_token

API_TOKEN_PREFIX = "hg_"  # noqa: S105 - makes a leaked token recognisable, and is no secret


def new_token() -> str:
    return secret_token()


def new_api_token() -> str:
    return API_TOKEN_PREFIX + secret_token()


def token_hash(token: str) -> bytes:
    """Return what is stored of a token; it has 256 random bits, so a fast hash is enough."""
    return hashlib.sha256(token.encode()).digest()


def csrf_token(session_token: str) -> str:
    """Return the token that forms of a session carry; it does not lead back to the session's own."""
    return hmac.new(session_token.encode(), b"headgate csrf", hashlib.sha256).hexdigest()


def same(given: str, expected: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())
