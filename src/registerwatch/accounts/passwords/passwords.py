"""Hashes and compares passwords: argon2id, in threads of low priority, those of sign-ins apart from all others.

Parameters are those of the OWASP Password Storage Cheat Sheet (19 MiB, 2 passes, 1 lane).
"""

import asyncio
import os
import threading
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from typing import TypeVar

import structlog
from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

from registerwatch.accounts.passwords.common_passwords import refuse_common
from registerwatch.errors import InvalidInput, Overloaded, RateLimited
from registerwatch.platform.fair_queue import FairQueue

MIN_PASSWORD_LENGTH = 8
MAX_PASSWORD_LENGTH = 1_024
MAX_WAITING = 64
MAX_OF_ACCOUNT = 8
"""Passwords of one account that wait or are being hashed, beside its users' sign-ins."""
SIGN_IN_NICENESS = 2
"""At full load these threads get four tenths of a core beside the event loop: with less sign-ins pile up, with as
much as the event loop reads take longer (docs/performance.md)."""
ACCOUNT_NICENESS = 10

TOO_MANY_SIGN_INS = "Too many people are signing in at the moment. Try again in a few seconds."
TOO_MANY_PASSWORDS = "Too many passwords are being set at the moment. Try again in a few seconds."
TOO_MANY_OF_ACCOUNT = f"{MAX_OF_ACCOUNT} passwords of this account are being set or compared. Try again in a second."

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
    """The hasher for stored passwords."""
    return PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1, type=Type.ID)


class Passwords:
    """Hashes and compares passwords off the event loop.

    Passwords are normalized (NFKC, NIST SP 800-63B), since keyboards write the same character in different ways.
    `refuses_common` is for programs; pages always ask for it.
    """

    def __init__(self, hasher: PasswordHasher | None = None, *, refuses_common: bool = False) -> None:
        self._hasher = hasher or owasp_hasher()
        self._refuses_common = refuses_common
        self._sign_ins = _threads(_sign_in_threads(), "passwords-sign-in", SIGN_IN_NICENESS)
        self._waiting = 0
        self._accounts = _threads(1, "passwords-account", ACCOUNT_NICENESS)
        self._account_queue = FairQueue(1, MAX_WAITING, TOO_MANY_PASSWORDS)

    async def hashed(self, password: str, *, account_id: int | None = None) -> str:
        """The hash to store. `account_id` is the account of the request, None for a sign-in or a sign-up.

        Raises `Overloaded` when too many passwords are waiting already, `RateLimited` when too many of the account are.
        """
        return await self._in_thread(lambda: self._hasher.hash(_normalized(password)), account_id)

    async def is_right(self, password: str, stored: str | None, *, account_id: int | None = None) -> bool:
        """Whether this is the stored password; takes as long when none is stored. Raises as `hashed` does."""
        bounded = password[: MAX_PASSWORD_LENGTH + 1]  # normalizing megabytes would block the process
        return await self._in_thread(lambda: self._compare(_normalized(bounded), stored), account_id)

    async def allowed(self, password: str, email: str) -> str:
        """The password if the user with this address may set it here. Raises `InvalidInput`."""
        if self._refuses_common:
            await self.refuse_common(password, email)
        return acceptable(password)

    async def refuse_common(self, password: str, email: str) -> None:
        """Raise `InvalidInput` for one that cannot be set, is common, or is revealed by the address."""
        chosen = acceptable(password)
        await self._in_thread(lambda: refuse_common(chosen, email), None)

    def is_outdated(self, stored: str) -> bool:
        """Whether its parameters differ from those of a new one."""
        return self._hasher.check_needs_rehash(stored)

    def close(self) -> None:
        """Let the threads finish their present work; what is queued is dropped."""
        for threads in (self._sign_ins, self._accounts):
            threads.shutdown(wait=False, cancel_futures=True)

    @cached_property
    def _dummy_hash(self) -> str:
        """A hash that no password matches, for comparison where none is stored, so that the answer takes as long."""
        return self._hasher.hash(os.urandom(16))

    def _compare(self, password: bytes, stored: str | None) -> bool:
        dummy = self._dummy_hash  # computed by the first call in any case: its time would reveal the need
        try:
            self._hasher.verify(dummy if stored is None else stored, password)
        except VerifyMismatchError:
            return False
        except (InvalidHashError, VerificationError, UnicodeEncodeError) as error:
            log.error("a stored password cannot be read; its user needs a new one", reason=str(error))
            return False
        return stored is not None

    async def _in_thread(self, work: Callable[[], T], account_id: int | None) -> T:
        if account_id is not None:
            return await self._for_account(work, account_id)
        if self._waiting >= MAX_WAITING:
            raise Overloaded(TOO_MANY_SIGN_INS)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._sign_ins, work)
        finally:
            self._waiting -= 1

    async def _for_account(self, work: Callable[[], T], account_id: int) -> T:
        if self._account_queue.entries_of(account_id) >= MAX_OF_ACCOUNT:
            raise RateLimited(TOO_MANY_OF_ACCOUNT, retry_after=1, limit=MAX_OF_ACCOUNT, window=1)
        async with self._account_queue.slot(account_id):
            return await asyncio.get_running_loop().run_in_executor(self._accounts, work)


def _normalized(password: str) -> bytes:
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")


def _sign_in_threads() -> int:
    """The number of cores but one, which is left to other requests; 4 at most."""
    return max(1, min(4, len(os.sched_getaffinity(0)) - 1)) if hasattr(os, "sched_getaffinity") else 1


def _threads(count: int, name: str, niceness: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, name, initializer=partial(_lower_priority, niceness))


def _lower_priority(niceness: int) -> None:
    """Lower the priority of this thread, where a thread has its own (Linux), so that other requests come first."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
