"""Signatures of deliveries: HMAC-SHA256 over the time, a dot, and the raw body."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence

SECRET_PREFIX = "whsec_"  # noqa: S105  # how secrets begin


def new_secret() -> str:
    """A new secret of an address."""
    return SECRET_PREFIX + secrets.token_urlsafe(32)


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """`sha256=` and the signature in hex."""
    signed = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256)
    return f"sha256={signed.hexdigest()}"


def headers(
    service: str, delivery_id: str, event_type: str, body: bytes, valid_secrets: Sequence[str], timestamp: int
) -> Mapping[str, str]:
    """The headers of one delivery. While a new secret overlaps with the old one, both sign, with a space between."""
    return {
        "Content-Type": "application/json",
        f"X-{service}-Timestamp": str(timestamp),
        f"X-{service}-Signature": " ".join(signature(secret, timestamp, body) for secret in valid_secrets),
        f"X-{service}-Event": event_type,
        f"X-{service}-Delivery": delivery_id,
    }
