"""Recovery codes: each replaces a user's second factor once.

A code has 120 random bits, so its SHA-256 is stored like that of other secrets (`credentials.py`).
"""

import re
import secrets
import unicodedata
from collections.abc import Sequence

from registerwatch.accounts.sessions.credentials import digest_of

CODES = 10
GROUPS, GROUP_LENGTH = 4, 6
ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
"""32 characters that are not mistaken for one another."""
MAX_CODE_LENGTH = 100
"""Longer texts are not looked at."""


def new_codes() -> Sequence[str]:
    """Ten new codes as users see them: `abcdef-ghjkmn-pqrstu-vwxyz2`."""
    return ["-".join(_group() for _ in range(GROUPS)) for _ in range(CODES)]


def typed_code(text: str) -> str:
    """A code for comparison: without spaces and dashes, in lower case, with plain digits."""
    plain = unicodedata.normalize("NFKC", text[:MAX_CODE_LENGTH])
    return re.sub(r"[\s\-‐-―]", "", plain).lower()


def digest_of_code(user_id: int, code: str) -> str:
    """The stored form of a code."""
    return digest_of(f"recovery code of user {user_id}: {typed_code(code)}")


def _group() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(GROUP_LENGTH))
