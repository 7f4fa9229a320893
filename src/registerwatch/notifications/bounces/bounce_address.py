"""The envelope sender of a mail to a target, which identifies a mail that comes back (RFC 5321: the reverse-path).

A channel that mails calls `envelope_sender(settings.bounce_address, target)` with the target as `attempt` gets it, its
secret decrypted, and gives the result to MAIL FROM; the header `From` is unchanged. Without the setting it is None, and
MAIL FROM is the address of `From`.

The address of one target stays the same, since servers that put off first mails (greylisting) remember the sender.
"""

import hmac
from base64 import b32decode, b32encode
from binascii import Error as NotBase32

from registerwatch.notifications.models import Target

ID_BYTES = 5
SIGNATURE_BYTES = 15
TOKEN_LENGTH = (ID_BYTES + SIGNATURE_BYTES) * 8 // 5
MAX_LOCAL_PART = 64


def envelope_sender(bounce_address: str, target: Target) -> str | None:
    """`bounces+<token>@example.org` for the setting `bounces@example.org`; None for an empty one.

    A target without a secret has none either: its signature could be forged.
    """
    local_part, at, domain = bounce_address.rpartition("@")
    return f"{local_part}+{bounce_token(target)}{at}{domain}" if at and target.secret else None


def bounce_token(target: Target) -> str:
    """The target's id, signed with its secret. In base32, as some servers change the case of a local part."""
    return _signed(target.id, target.user_email or "", target.secret)


def token_in(address: str) -> str | None:
    """The part of an address after the plus, where it has the form of a token."""
    token = address.strip("<> \t").rpartition("@")[0].rpartition("+")[2].lower()
    return token if target_id_in(token) is not None else None


def target_id_in(token: str) -> int | None:
    """The id in a token, which is not verified here; None for other texts."""
    if len(token) != TOKEN_LENGTH or not token.isascii():
        return None
    try:
        return int.from_bytes(b32decode(token, casefold=True)[:ID_BYTES], "big")
    except NotBase32:
        return None


def is_token_of(token: str, target: Target, now: float) -> bool:
    """Whether the token was made for this target and the present address of its user."""
    secrets = (each for each in target.valid_secrets(now) if each)
    expected = (_signed(target.id, target.user_email or "", each) for each in secrets)
    return any(hmac.compare_digest(each.encode(), token.lower().encode()) for each in expected)


def _signed(target_id: int, recipient: str, secret: str) -> str:
    name = target_id.to_bytes(ID_BYTES, "big")
    signature = hmac.digest(secret.encode(), b"bounce address " + name + recipient.encode(), "sha256")
    return b32encode(name + signature[:SIGNATURE_BYTES]).decode().lower()
