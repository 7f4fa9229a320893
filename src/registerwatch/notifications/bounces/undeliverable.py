"""Turns off mails to an address that they do not reach, and notifies its user and the account's owner.

A server's report is trusted where it names a target by its token. A mail server that refuses the recipient at once
needs none. Mails about security (passwords, keys, sign-ins) are still sent.
"""

import re
from collections import Counter
from collections.abc import Iterable

import structlog

from registerwatch.accounts import repository as account_repository
from registerwatch.accounts.audit.audit import MAIL_SERVER, Action
from registerwatch.accounts.models import Caller
from registerwatch.accounts.passwords.confirmation_repository import UNDELIVERABLE, resume_mails
from registerwatch.errors import SecretUnreadable
from registerwatch.notifications.bounces import undeliverable_repository
from registerwatch.notifications.bounces.bounce_address import is_token_of, target_id_in
from registerwatch.notifications.bounces.bounce_report import BounceKind, BounceReport, kind_of_failure
from registerwatch.notifications.models import AttemptResult, Target
from registerwatch.notifications.targets.target_secrets import TargetSecrets
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

UNKNOWN = "unknown"
"""Kind, in metrics, of a report that names no target."""
MISMATCHED = "mismatched"
"""Kind of a report that names a target, and is about another address than its user's."""

_REFUSED = re.compile(r" refused the recipient: 5\d\d (5\.\d{1,3}\.\d{1,3})\.$")
"""The error of mail/smtp.py where a server refuses a recipient and says why (RFC 3463)."""

log = structlog.get_logger(__name__)


def refused_status(result: AttemptResult) -> str | None:
    """The code with which a mail server refused the recipient at once; None where it did not."""
    found = _REFUSED.search(result.error) if result.is_final else None
    return found[1] if found is not None else None


def is_undeliverable(target: Target) -> bool:
    """Whether mails to a target were turned off because they came back."""
    return target.paused_at is not None and target.paused_reason.startswith(UNDELIVERABLE)


def undeliverable_of(targets: Iterable[Target], user_id: int | None) -> Target | None:
    """The user's own target among those of their account, where mails to it were turned off because they came back."""
    return next((each for each in targets if each.user_id == user_id and is_undeliverable(each)), None)


class UndeliverableAddresses:
    """Applies the reports of mail servers."""

    def __init__(self, database: Database, clock: Clock, secrets: TargetSecrets) -> None:
        self._database = database
        self._clock = clock
        self._secrets = secrets
        self.counts: Counter[str] = Counter(dict.fromkeys((*BounceKind, MISMATCHED, UNKNOWN), 0))
        """Reports that this process read, by kind."""

    async def apply(self, report: BounceReport | None) -> None:
        """Turn mails off where the address is bad or gone. Ignores reports without a valid token or about others."""
        target = None if report is None else await self._named(report.token)
        if report is None or target is None:
            self.counts[UNKNOWN] += 1
            return
        if not report.is_about(target.user_email or ""):
            self.counts[MISMATCHED] += 1
            return
        await self._count(target, report.kind, report.status)

    async def apply_to_address(self, email: str, kind: BounceKind, status: str = "") -> None:
        """Apply a provider's report by the address of a user. A provider may give no status."""
        async with self._database.reading() as connection:
            target = await undeliverable_repository.by_address(connection, email)
        if target is None:
            self.counts[UNKNOWN] += 1
            return
        await self._count(target, kind, status)

    async def refused(self, target_id: int, status: str) -> None:
        """Turn mails to a target off if it mails and its address is bad: a server refused the recipient at once."""
        async with self._database.reading() as connection:
            target = await undeliverable_repository.by_id(connection, target_id)
        if target is not None:
            await self._count(target, kind_of_failure(status), status)

    async def _turn_off(self, account_id: int, target_id: int, status: str) -> None:
        """Turn it off, with a line in the audit trail."""
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            await account_repository.lock_account(connection, account_id)
            reason = f"{UNDELIVERABLE} ({status})." if status else f"{UNDELIVERABLE}."
            email = await undeliverable_repository.pause(connection, account_id, target_id, now=now, reason=reason)
            if email is not None:
                await account_repository.note(
                    connection, account_id, now, MAIL_SERVER, Action.MAILS_TURNED_OFF, f"{email} {status}".rstrip()
                )

    async def turn_on(self, caller: Caller) -> None:
        """Send mails to the signed-in user again, after they were turned off because they came back."""
        if caller.user_id is None:
            return
        async with self._database.transaction() as connection:
            await account_repository.locked(connection, caller)
            if await resume_mails(connection, caller.account.id, caller.user_id):
                await account_repository.note_by(
                    connection, caller, int(self._clock.now()), Action.MAILS_TURNED_ON, caller.name
                )

    async def paused(self) -> int:
        """How many addresses of all accounts are turned off because mails came back."""
        async with self._database.reading() as connection:
            return await undeliverable_repository.count(connection)

    async def _named(self, token: str) -> Target | None:
        """The target that a token was made for."""
        target_id = target_id_in(token)
        if target_id is None:
            return None
        async with self._database.reading() as connection:
            stored = await undeliverable_repository.by_id(connection, target_id)
        if stored is None:
            return None
        try:
            target = self._secrets.opened(stored)
        except SecretUnreadable as error:
            log.error("a bounce cannot be checked", reason=str(error))
            return None
        return target if is_token_of(token, target, self._clock.now()) else None

    async def _count(self, target: Target, kind: BounceKind, status: str) -> None:
        self.counts[kind] += 1
        if kind is BounceKind.PERMANENT:
            await self._turn_off(target.account_id, target.id, status)
