"""Signatures of deliveries, in two forms with the same secret.

The contract's: HMAC-SHA256 over the time, a dot and the raw body, keyed with the secret's text. The one of Standard
Webhooks (https://www.standardwebhooks.com): over the id, the time and the body, keyed with the bytes in that text.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence

SECRET_PREFIX = "whsec_"  # noqa: S105  # how secrets begin
SECRET_BYTES = 32


def new_secret() -> str:
    """A new secret for an address, in the form of the Standard Webhooks libraries."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """`sha256=` and the contract's signature in hex."""
    signed = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256)
    return f"sha256={signed.hexdigest()}"


def standard_signature(secret: str, delivery_id: str, timestamp: int, body: bytes) -> str:
    """`v1,` and the signature of Standard Webhooks in base64."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    signed = hmac.new(key, f"{delivery_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(signed.digest()).decode()}"


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
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(
            standard_signature(secret, delivery_id, timestamp, body) for secret in valid_secrets
        ),
    }
