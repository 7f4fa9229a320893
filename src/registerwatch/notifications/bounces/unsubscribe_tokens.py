"""Tokens with which a mail's reader ends these mails without signing in. Pure.

A token names an account and a target, and proves that it was in a mail: it is signed with the target's secret.
"""

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode

import msgspec

from registerwatch.notifications.models import Target

PATH = "/mail/unsubscribe/"
DIGEST_BYTES = 18

_TOKEN = re.compile(r"(?P<account>[1-9][0-9]{0,17})-(?P<target>[1-9][0-9]{0,17})-(?P<proof>[A-Za-z0-9_-]{24})")


class UnsubscribeToken(msgspec.Struct, frozen=True):
    """A token's content. Its proof is not verified yet."""

    account_id: int
    target_id: int
    proof: str

    def is_of(self, target: Target, now: int) -> bool:
        """Whether it was in a mail to this target, whose secrets are decrypted."""
        proofs = [_proof(target, secret) for secret in target.valid_secrets(now) if secret]
        return any(hmac.compare_digest(self.proof, each) for each in proofs)


def token_of(target: Target) -> str:
    """The token for a target, whose secret is decrypted. It stays the same."""
    return f"{target.account_id}-{target.id}-{_proof(target, target.secret)}"


def token_in(text: str) -> UnsubscribeToken | None:
    """The token in a text; None where it is not one."""
    found = _TOKEN.fullmatch(text)
    return UnsubscribeToken(int(found["account"]), int(found["target"]), found["proof"]) if found else None


def _proof(target: Target, secret: str) -> str:
    named = f"unsubscribe {target.account_id} {target.id}".encode()
    digest = hmac.HMAC(secret.encode(), named, hashlib.sha256).digest()
    return urlsafe_b64encode(digest[:DIGEST_BYTES]).decode()
