"""The targets of an account in a channel: addresses, secrets, tests, the log of deliveries."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository as account_repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller
from registerwatch.accounts.notices import AccountNotices, NoticeKind, no_notices
from registerwatch.accounts.repository import locked
from registerwatch.errors import CapReached, InvalidInput
from registerwatch.mail.mailer import Mail
from registerwatch.notifications import repository
from registerwatch.notifications.channels import Channel
from registerwatch.notifications.choices import EVERYTHING
from registerwatch.notifications.delivery.delivery import DeliveryService
from registerwatch.notifications.models import (
    LOG_LENGTH,
    MAX_TARGETS,
    OVERLAP_SECONDS,
    Delivery,
    EventType,
    Notification,
    Target,
    new_delivery_id,
)
from registerwatch.notifications.repository import FinishedDelivery
from registerwatch.notifications.targets import target_repository
from registerwatch.notifications.targets.target_addresses import StoredAddress, stored_address
from registerwatch.notifications.targets.target_secrets import TargetSecrets
from registerwatch.platform.account_slots import AccountSlots
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.row_pages import RowPage
from registerwatch.platform.db.statements import PreparedSelect
from registerwatch.platform.secret_cipher import SecretCipher

MAX_TESTS, MAX_TESTS_PER_ACCOUNT = 50, 3
"""Tests that a process sends at a time."""

_TARGETS = PreparedSelect(target_repository.TARGETS)


class TestResult(msgspec.Struct, frozen=True):
    """The result of a test."""

    is_accepted: bool
    status: int | None
    error: str
    delivery_id: str
    milliseconds: int | None = None
    """Duration of the last attempt; None where nothing was sent."""


class TargetService:
    """Operations of owners and API keys on their account's targets in one channel."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        deliveries: DeliveryService,
        channel: Channel,
        tests: AccountSlots,
        notices: AccountNotices | None = None,
        secrets: TargetSecrets | None = None,
    ) -> None:
        self._notices = notices or no_notices(clock)
        self._database = database
        self._clock = clock
        self._deliveries = deliveries
        self._channel = channel
        self._tests = tests
        self._secrets = secrets or TargetSecrets(SecretCipher())

    async def all(self, account_id: int) -> Sequence[Target]:
        """The account's targets, the first one first."""
        rows = await self._database.rows(_TARGETS, account_id=account_id, channel=self._channel.name)
        return [self._secrets.opened(target_repository.target_of(row)) for row in rows]

    async def set_first(self, caller: Caller, url: str) -> None:
        """Set the address of the first target, which keeps its secret; an empty one removes both.

        A target that gets everything at this address already replaces the first one, with its own secret: an address
        gets nothing twice. Raises `InvalidInput` for an address that the channel refuses, `CapReached`.
        """
        entered = stored_address(self._channel, url) if url.strip() else None
        wanted = entered.url if entered is not None else ""
        async with self._database.transaction() as connection:
            present = await self._locked(connection, caller)
            first = next((each for each in present if each.is_first), None)
            if first is not None and first.url == wanted:
                return
            there = None if entered is None else self._unfiltered(present, entered)
            if there is not None:
                if first is not None:
                    await target_repository.remove(connection, caller.account.id, first.id)
                await target_repository.change(connection, caller.account.id, there.id, {"is_first": True})
            elif first is not None and wanted:
                await target_repository.change(connection, caller.account.id, first.id, {"url": wanted})
            elif first is not None:
                await target_repository.remove(connection, caller.account.id, first.id)
            elif entered is not None:
                await self._add(connection, caller, present, entered, is_first=True)
            if first is not None or wanted:
                await self._note(connection, caller, wanted or "removed")
            notices: Sequence[Mail] = ()
            if wanted != (first.url if first is not None else ""):
                what = f"set the first {self._channel.name} to {_host(wanted) or 'none'}"
                notices = await self._notices.prepare(connection, caller, NoticeKind.WEBHOOKS, what)
        self._notices.send(notices)

    async def add(self, caller: Caller, url: str, *, repeats: bool = False) -> Target:
        """Add an address with a secret of its own. With `repeats`, failed deliveries are tried again in rounds.

        Where a target gets everything at this address already, it is that one, unchanged: an address gets nothing
        twice. Raises `InvalidInput`, `CapReached`.
        """
        wanted = stored_address(self._channel, url)
        async with self._database.transaction() as connection:
            present = await self._locked(connection, caller)
            there = self._unfiltered(present, wanted)
            if there is not None:
                return self._secrets.opened(there)
            target_id = await self._add(connection, caller, present, wanted, is_first=False, repeats=repeats)
            await self._note(connection, caller, wanted.url)
            added = await self._target(connection, caller, target_id)
            what = f"added a {self._channel.name} to {_host(wanted.url)}"
            notices = await self._notices.prepare(connection, caller, NoticeKind.WEBHOOKS, what)
        self._notices.send(notices)
        return self._secrets.opened(added)

    async def remove(self, caller: Caller, target_id: int) -> None:
        """Remove an address of the account, if it is one, with its deliveries."""
        async with self._database.transaction() as connection:
            await self._locked(connection, caller)
            target = await self._by_id(connection, caller, target_id)
            notices: Sequence[Mail] = ()
            if target is not None:
                await target_repository.remove(connection, caller.account.id, target_id)
                await self._note(connection, caller, f"{target.url} removed")
                what = f"removed the {self._channel.name} to {_host(target.url)}"
                notices = await self._notices.prepare(connection, caller, NoticeKind.WEBHOOKS, what)
        self._notices.send(notices)

    async def rotate(self, caller: Caller, target_id: int) -> Target:
        """A new secret; the old one signs beside it for 24 hours.

        Raises `InvalidInput` for an unknown id, and where the address is the secret.
        """
        if self._channel.address_is_secret:
            raise InvalidInput(f"The address is the secret: make a new one in {self._channel.title}, and add it.")
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            await self._locked(connection, caller)
            target = await self._target(connection, caller, target_id)
            renewal = {
                "secret": self._secrets.sealed(caller.account.id, self._channel.new_secret()),
                "old_secret": target.secret,
                "old_secret_until": now + OVERLAP_SECONDS,
            }
            await target_repository.change(connection, caller.account.id, target.id, renewal)
            await self._note(connection, caller, f"{target.url}: new secret")
            renewed = await self._target(connection, caller, target_id)
            what = f"gave the {self._channel.name} to {_host(target.url)} a new secret"
            notices = await self._notices.prepare(connection, caller, NoticeKind.WEBHOOKS, what)
        self._notices.send(notices)
        return self._secrets.opened(renewed)

    async def set_repeats(self, caller: Caller, target_id: int, *, repeats: bool) -> None:
        """Choose whether failed deliveries are tried again in rounds. Raises `InvalidInput` for an unknown id."""
        async with self._database.transaction() as connection:
            await self._locked(connection, caller)
            target = await self._target(connection, caller, target_id)
            if target.repeats is repeats:
                return
            await target_repository.change(connection, caller.account.id, target_id, {"repeats": repeats})
            await self._note(connection, caller, f"{target.url}: rounds {'on' if repeats else 'off'}")

    async def test(self, caller: Caller, target_id: int | None) -> TestResult:
        """Send a signed test to one target, or to the first one. Raises `InvalidInput` when there is none.

        Tests have slots of their own, few for an account: a receiver that hangs delays only its owner's tests.
        """
        async with self._tests.slot(caller.account.id):
            return await self._send_test(caller, target_id)

    async def _send_test(self, caller: Caller, target_id: int | None) -> TestResult:
        notification = Notification(new_delivery_id(), EventType.TEST, int(self._clock.now()), caller.account.email)
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            if target_id is not None:
                target = await self._target(connection, caller, target_id)
            else:
                target = await self._first(connection, caller)
            body = self._channel.render(self._secrets.opened(target), notification, [])
            await repository.add_test(connection, target, notification, body)
        result, attempts = await self._deliveries.send_test(target, notification, body)
        await self._deliveries.store([FinishedDelivery(notification.id, target.id, 0, result, attempts)])
        return TestResult(result.is_accepted, result.status, result.error, notification.id, result.milliseconds)

    async def log(self, caller: Caller, target_id: int) -> Sequence[Delivery]:
        """The newest 50 deliveries to a target. Raises `InvalidInput` for an unknown id."""
        async with self._database.reading() as connection:
            await self._target(connection, caller, target_id)
            return await repository.log_of(connection, caller.account.id, target_id, LOG_LENGTH)

    async def log_page(self, caller: Caller, target_id: int, *, after: str | None, limit: int) -> RowPage[Delivery]:
        """Deliveries to a target, newest first, those that come after one. Raises `InvalidInput` for unknown ids."""
        async with self._database.reading() as connection:
            await self._target(connection, caller, target_id)
            last = None if after is None else await self._delivery(connection, caller, target_id, after)
            found = await repository.log_of(connection, caller.account.id, target_id, limit + 1, last)
            return RowPage.cut(found, limit)

    async def send_again(self, caller: Caller, target_id: int, delivery_id: str) -> None:
        """Send a delivery that has ended, or waits for its round, once more, unchanged.

        Raises `InvalidInput` for an unknown one, and for one that is under way.
        """
        if not _may_be_id(delivery_id):
            raise InvalidInput(self._not_ended)
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            if await self._by_id(connection, caller, target_id) is None:
                raise InvalidInput(self._not_ended)
            if not await repository.send_again(connection, caller.account.id, target_id, delivery_id, now):
                raise InvalidInput(self._not_ended)

    async def _locked(self, connection: AsyncConnection, caller: Caller) -> Sequence[Target]:
        """The account's targets, locked against other changes until the end of the transaction."""
        await locked(connection, caller)
        return await target_repository.of_account(connection, caller.account.id, self._channel.name)

    def _unfiltered(self, present: Sequence[Target], address: StoredAddress) -> Target | None:
        """The target that gets every event at once at this address. One with a choice gets others than a new one."""
        unfiltered = (each for each in present if each.choice == EVERYTHING)
        if self._channel.address_is_secret:
            return next((each for each in unfiltered if self._secrets.opened(each).secret == address.secret), None)
        return next((each for each in unfiltered if each.url == address.url), None)

    async def _add(
        self,
        connection: AsyncConnection,
        caller: Caller,
        present: Sequence[Target],
        address: StoredAddress,
        *,
        is_first: bool,
        repeats: bool = False,
    ) -> int:
        if len(present) >= MAX_TARGETS:
            raise CapReached(f"An account has at most {MAX_TARGETS} {self._channel.name} addresses.")
        columns = {
            "channel": self._channel.name,
            "url": address.url,
            "secret": self._secrets.sealed(caller.account.id, address.secret),
            "is_first": is_first,
            "repeats": repeats,
        }
        return await target_repository.add(connection, caller.account.id, columns, int(self._clock.now()))

    async def _note(self, connection: AsyncConnection, caller: Caller, subject: str) -> None:
        await account_repository.note_by(connection, caller, int(self._clock.now()), Action.WEBHOOK_CHANGED, subject)

    @property
    def _not_ended(self) -> str:
        return f"This {self._channel.name} has no delivery with this id that has ended."

    async def _by_id(self, connection: AsyncConnection, caller: Caller, target_id: int) -> Target | None:
        found = await target_repository.by_id(connection, caller.account.id, target_id)
        return found if found is not None and found.channel == self._channel.name else None

    async def _target(self, connection: AsyncConnection, caller: Caller, target_id: int) -> Target:
        target = await self._by_id(connection, caller, target_id)
        if target is None:
            raise InvalidInput(f"The account has no {self._channel.name} with this id.")
        return target

    async def _delivery(
        self, connection: AsyncConnection, caller: Caller, target_id: int, delivery_id: str
    ) -> Delivery:
        found = None
        if _may_be_id(delivery_id):
            found = await repository.by_id(connection, caller.account.id, target_id, delivery_id)
        if found is None:
            raise InvalidInput(f"This {self._channel.name} has no delivery with this id any more, or never had one.")
        return found

    async def _first(self, connection: AsyncConnection, caller: Caller) -> Target:
        for target in await target_repository.of_account(connection, caller.account.id, self._channel.name):
            if target.is_first:
                return target
        raise InvalidInput(f"No {self._channel.name} address is saved.")


def _host(url: str) -> str:
    """A mail's name of an address, whose path may be secret."""
    return urlsplit(url).hostname or ""


def _may_be_id(delivery_id: str) -> bool:
    """Whether a text can be the id of a delivery. No database looks up just any text."""
    return delivery_id.isascii() and delivery_id.isprintable()
