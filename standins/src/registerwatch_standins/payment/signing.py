"""Stripe's signature of an event."""

import hmac
from collections.abc import Sequence
from hashlib import sha256


def signature_header(body: bytes, secrets: Sequence[str], now: float) -> str:
    """`t=…,v1=…`, with one `v1` for each secret: while one is being replaced there are two."""
    signed = b"%d.%s" % (int(now), body)
    digests = [hmac.new(secret.encode(), signed, sha256).hexdigest() for secret in secrets]
    return ",".join([f"t={int(now)}", *(f"v1={digest}" for digest in digests)])
