"""API keys, sessions and reset tokens: making, masking, and digests to store.

Each has 256 random bits. So a plain SHA-256 is enough (a slow hash protects what can be guessed), and the time of a
lookup by digest reveals nothing about the secret.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Literal

KEY_PREFIX = "rw_"
SESSION_PREFIX = "us_"
BROWSER_SESSION_PREFIX = "ub_"
"""Prefix of a session in a cookie. The digest covers the prefix too, so neither kind can be sent as the other."""
RANDOM_BYTES = 32
MAX_SECRET_LENGTH = 200
"""Longer credentials are not looked up; ours have 46 characters."""

NO_CREDENTIAL = "Send an API key or a session: `X-API-Key: rw_…` or `Authorization: Bearer us_…`."
UNKNOWN_CREDENTIAL = "This key or session is unknown, revoked or expired. Sign in again, or use another key."


@dataclass(frozen=True, slots=True)
class Credential:
    """A request's credential, by its digest."""

    kind: Literal["key", "session"]
    digest: str = field(repr=False)
    mac_key: bytes = field(default=b"", repr=False, compare=False)
    """Made from the secret, and never stored."""

    def mac(self, content: bytes) -> str:
        """HMAC-SHA256 in hex. A reader of the database cannot compute it, so they cannot guess `content` by it."""
        assert self.mac_key, "this credential was not made from what a request carried"
        return hmac.new(self.mac_key, content, hashlib.sha256).hexdigest()


def new_key() -> str:
    """A new API key."""
    return KEY_PREFIX + secrets.token_urlsafe(RANDOM_BYTES)


def new_session(*, is_of_browser: bool = False) -> str:
    """A new session, of a program or of a browser."""
    return (BROWSER_SESSION_PREFIX if is_of_browser else SESSION_PREFIX) + secrets.token_urlsafe(RANDOM_BYTES)


def new_token() -> str:
    """A new reset token."""
    return secrets.token_urlsafe(RANDOM_BYTES)


def masked(key: str) -> str:
    """A key as listings show it: `rw_ab…wxyz`."""
    return f"{key[: len(KEY_PREFIX) + 2]}…{key[-4:]}"


def digest_of(secret: str) -> str:
    """The stored form of a secret: SHA-256 in hex."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_same(digest: str, stored: str) -> bool:
    """Whether two digests are equal, in constant time."""
    return hmac.compare_digest(digest, stored)


def credential_of(api_key: str | None, bearer: str | None) -> Credential | None:
    """The credential of a request, from `X-API-Key` or else a bearer value; None when there is none.

    A bearer value that begins `us_` is a session, any other one an API key, so a browser's session opens nothing.
    """
    value = (api_key or bearer or "").strip()
    if not value or len(value) > MAX_SECRET_LENGTH:
        return None
    is_session = not api_key and value.startswith(SESSION_PREFIX)
    return Credential("session" if is_session else "key", digest_of(value), _mac_key(value))


def browser_session_of(cookie: str) -> Credential | None:
    """The session of a browser by the value of its cookie; None for anything else, a program's session or a key too."""
    if not cookie.startswith(BROWSER_SESSION_PREFIX) or len(cookie) > MAX_SECRET_LENGTH:
        return None
    return Credential("session", digest_of(cookie), _mac_key(cookie))


def _mac_key(secret: str) -> bytes:
    return hashlib.sha256(b"mac:" + secret.encode("utf-8", "surrogatepass")).digest()
