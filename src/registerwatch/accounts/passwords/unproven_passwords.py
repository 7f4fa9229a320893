"""A password that a key or a session set without the previous one proves nothing for a day.

The contract lets both do so, and either may be stolen. Its user can sign in by it at once; actions that ask for a
password again (keys, members, second factors, deletion) refuse it. A password that a mailed link set proves at once.
"""

from registerwatch.accounts.repository import StoredUser
from registerwatch.errors import PasswordTooNew

UNPROVEN_SECONDS = 24 * 3600
"""Time for the user, who is mailed, to notice."""
TOO_NEW = (
    "A key or a session set this password without the one before it within the last 24 hours, so it does not prove yet"
    " who you are. Set one by a mailed link (“Forgot your password?”): that counts at once."
)


def proves(user: StoredUser, now: float) -> bool:
    """Whether this user's password identifies the user."""
    return user.unproven_password_at is None or now >= user.unproven_password_at + UNPROVEN_SECONDS


def require_proof(user: StoredUser, now: float) -> None:
    """Raise `PasswordTooNew` where a right password of this user proves nothing yet."""
    if not proves(user, now):
        raise PasswordTooNew(TOO_NEW)
