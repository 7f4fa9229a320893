"""Secrets of targets in stored form: encrypted where there is a key for it."""

from dataclasses import replace

from registerwatch.notifications.models import Target
from registerwatch.notifications.tables import owner_of_target_secret
from registerwatch.platform.secret_cipher import SecretCipher


class TargetSecrets:
    """Encrypts and decrypts secrets of targets. All other modules read and write them in stored form."""

    def __init__(self, cipher: SecretCipher) -> None:
        self._cipher = cipher

    def sealed(self, account_id: int, secret: str) -> str:
        """The stored form of the secret of an account's target."""
        return self._cipher.sealed(secret, owner_of_target_secret(account_id))

    def opened(self, target: Target) -> Target:
        """A target with decrypted secrets. Raises `SecretUnreadable`."""
        owner = owner_of_target_secret(target.account_id)
        old = None if target.old_secret is None else self._cipher.opened(target.old_secret, owner)
        return replace(target, secret=self._cipher.opened(target.secret, owner), old_secret=old)
