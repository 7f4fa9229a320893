"""Encrypts stored values that must be read again: AES-256-GCM under keys that are not in the database.

A stored value is `enc:1:<key>:<data>`: the id of its key, which reveals nothing about it, and nonce and ciphertext in
URL-safe base64. The value's owner is authenticated with it, so that a copy in another row cannot be read there. Without
a key values are stored and read as they are.
"""

import base64
import binascii
import hashlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from registerwatch.errors import SecretUnreadable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PREFIX = "enc:1:"
NONCE_BYTES = 12

NO_KEY = "A stored secret cannot be read: REGISTERWATCH_SECRETS_KEY does not have the key {key}."
DAMAGED = "A stored secret cannot be read: it is damaged, or was moved here from another row."


def key_id(key: bytes) -> str:
    """The id of a key in stored values."""
    return hashlib.sha256(b"registerwatch secrets key " + key).hexdigest()[:8]


def key_id_of(stored: str) -> str | None:
    """The id of the key that a stored value is encrypted under; None for a value in clear."""
    return stored[len(PREFIX) :].partition(":")[0] if stored.startswith(PREFIX) else None


class SecretCipher:
    """Encrypts under the first of its keys, decrypts under any of them."""

    def __init__(self, keys: Sequence[bytes] = ()) -> None:
        self._ciphers = {key_id(key): _cipher(key) for key in keys}
        self.current = next(iter(self._ciphers), None)
        """The id of the key that encrypts; None without one."""

    def knows_key_of(self, stored: str) -> bool:
        """Whether the key of a stored value is known."""
        key = key_id_of(stored)
        return key is None or key in self._ciphers

    def is_outdated(self, stored: str) -> bool:
        """Whether a stored value is not encrypted as a new one would be."""
        return bool(stored) and self.current is not None and key_id_of(stored) != self.current

    def sealed(self, text: str, belongs_to: str) -> str:
        """The value to store. An empty text is not a secret and stays as it is."""
        if self.current is None or not text:
            return text
        nonce = os.urandom(NONCE_BYTES)
        ciphertext = self._ciphers[self.current].encrypt(nonce, text.encode(), belongs_to.encode())
        return f"{PREFIX}{self.current}:{base64.urlsafe_b64encode(nonce + ciphertext).decode()}"

    def opened(self, stored: str, belongs_to: str) -> str:
        """The stored text. Raises `SecretUnreadable`."""
        key = key_id_of(stored)
        if key is None:
            return stored
        if key not in self._ciphers:
            raise SecretUnreadable(NO_KEY.format(key=key))
        from cryptography.exceptions import InvalidTag

        try:
            sealed = base64.b64decode(stored.rpartition(":")[2], altchars=b"-_", validate=True)
            plain = self._ciphers[key].decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], belongs_to.encode())
        except (binascii.Error, ValueError, InvalidTag):
            raise SecretUnreadable(DAMAGED) from None
        return plain.decode()


def _cipher(key: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # takes time to load, which few need

    return AESGCM(key)
