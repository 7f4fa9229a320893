"""Hashing and comparing passwords: argon2id, in threads of low priority.

Parameters are those of the OWASP Password Storage Cheat Sheet (19 MiB, 2 passes, 1 lane).
"""

import asyncio
import os
import threading
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from typing import TypeVar

import structlog
from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

from registerwatch.accounts.common_passwords import refuse_common
from registerwatch.errors import InvalidInput, Overloaded

MIN_PASSWORD_LENGTH = 8
MAX_PASSWORD_LENGTH = 1_024
MAX_WAITING = 64
NICENESS = 10

TOO_MANY_SIGN_INS = "Too many people are signing in at the moment. Try again in a few seconds."

T = TypeVar("T")

log = structlog.get_logger(__name__)


def acceptable(password: str) -> str:
    """The password if it may be set. Raises `InvalidInput` when it has fewer than 8 characters, or over 1,024."""
    if len(password) < MIN_PASSWORD_LENGTH:
        raise InvalidInput(f"The password needs at least {MIN_PASSWORD_LENGTH} characters.")
    if len(password) > MAX_PASSWORD_LENGTH:
        raise InvalidInput(f"The password has more than {MAX_PASSWORD_LENGTH:,} characters.")
    return password


def owasp_hasher() -> PasswordHasher:
    """The hasher that passwords are stored by."""
    return PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1, type=Type.ID)


class Passwords:
    """Hashes and compares passwords off the event loop.

    Passwords are normalized (NFKC, NIST SP 800-63B), since keyboards write the same character in different ways.
    """

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or owasp_hasher()
        self._workers = ThreadPoolExecutor(_threads(), "passwords", initializer=_lower_priority)
        self._waiting = 0

    async def hashed(self, password: str) -> str:
        """The hash to store. Raises `Overloaded` when too many passwords are waiting already."""
        return await self._in_thread(lambda: self._hasher.hash(_normalized(password)))

    async def is_right(self, password: str, stored: str | None) -> bool:
        """Whether this is the password that was stored; takes as long when nothing was. Raises `Overloaded`."""
        bounded = password[: MAX_PASSWORD_LENGTH + 1]  # normalizing megabytes would block the process
        return await self._in_thread(lambda: self._compare(_normalized(bounded), stored))

    async def refuse_common(self, password: str, email: str) -> None:
        """Raise `InvalidInput` for what cannot be set, is very common, or is given away by the address."""
        chosen = acceptable(password)
        await self._in_thread(lambda: refuse_common(chosen, email))

    def is_outdated(self, stored: str) -> bool:
        """Whether it was stored with other parameters than a new one would be."""
        return self._hasher.check_needs_rehash(stored)

    def close(self) -> None:
        """Let the threads finish what they are doing; what is queued is dropped."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    @cached_property
    def _dummy_hash(self) -> str:
        """A hash that no password matches, compared with where none is stored, so that the answer takes as long."""
        return self._hasher.hash(os.urandom(16))

    def _compare(self, password: bytes, stored: str | None) -> bool:
        dummy = self._dummy_hash  # computed by the first call, whether or not it needs one: its time would tell
        try:
            self._hasher.verify(dummy if stored is None else stored, password)
        except VerifyMismatchError:
            return False
        except (InvalidHashError, VerificationError, UnicodeEncodeError) as error:
            log.error("a stored password cannot be read; its user needs a new one", reason=str(error))
            return False
        return stored is not None

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if self._waiting >= MAX_WAITING:
            raise Overloaded(TOO_MANY_SIGN_INS)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._workers, work)
        finally:
            self._waiting -= 1


def _normalized(password: str) -> bytes:
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")


def _threads() -> int:
    """As many as there are cores but one, which is left to other requests; 4 at most."""
    return max(1, min(4, len(os.sched_getaffinity(0)) - 1)) if hasattr(os, "sched_getaffinity") else 1


def _lower_priority() -> None:
    """Lower the priority of this thread, where a thread has its own (Linux), so that other requests come first."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
