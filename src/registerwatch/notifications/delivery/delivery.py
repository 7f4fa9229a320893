"""Delivers: claims what is due, sends it, stores the result.

A delivery is a row until it has ended. A worker that claims it has it for the length of a lease. If it is killed,
another one claims its deliveries after the lease: a target may get a delivery twice, with the same id, but never misses
one. Where a channel sends once, what may have arrived is not sent again; the log says so.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.errors import SecretUnreadable
from registerwatch.notifications import repository
from registerwatch.notifications.bounces.undeliverable import UndeliverableAddresses, is_undeliverable, refused_status
from registerwatch.notifications.channels import Channel, HandOver
from registerwatch.notifications.delivery import delivery_event_repository
from registerwatch.notifications.delivery.mail_pace import MailPace
from registerwatch.notifications.models import MAX_WAIT_SECONDS, REPEAT_PAUSES, AttemptResult, Notification, Target
from registerwatch.notifications.repository import ClaimedDelivery, FinishedDelivery
from registerwatch.notifications.targets.target_secrets import TargetSecrets
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.leases import LEASE_SECONDS, LeaseLost
from registerwatch.platform.secret_cipher import SecretCipher
from registerwatch.platform.structs import replace

log = structlog.get_logger(__name__)

MAX_CONCURRENT = 100
MAX_PER_TARGET = 4
MAX_MAILS_AT_ONCE = 8
"""Sessions of one process with the mail server: many servers refuse more than ten."""
MAIL_CANDIDATES = 50
MAX_MAILS_PER_CLAIM = 4
"""All are sent when the last of them is written: the largest takes 40 ms, one of 50,000 events a second."""

UNWRITTEN = "It could not be put together; the log of the service says why."
TURNED_OFF = "It failed before, and was not tried again as its channel was turned off meanwhile."
CUT_OFF = "The process that sent it ended meanwhile. It may have arrived, and is not sent again by itself."


class _PaceReached(Exception):
    """Other processes used up this minute's mails."""


class DeliveryService:
    """Sends deliveries over the channels of their targets; with a `pace`, at most that many in a minute."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        channels: Mapping[str, Channel],
        secrets: TargetSecrets | None = None,
        pace: MailPace | None = None,
    ) -> None:
        self._database = database
        self._pace = pace
        self._secrets = secrets or TargetSecrets(SecretCipher())
        self._clock = clock
        self._channels = channels
        self.undeliverable = UndeliverableAddresses(database, clock, self._secrets)
        self.results = {"accepted": 0, "failed": 0}
        """Deliveries that have ended in this process, by result."""

    async def claim(self, limit: int = MAX_CONCURRENT) -> Sequence[ClaimedDelivery]:
        """Claim due deliveries, with their bodies.

        A body is written at the first claim, so that every attempt and every resend sends the same: in a thread, as one
        of many events takes a while, and after the transaction that claims. From then on nothing is added to it.
        Deliveries that another worker has claimed since, after the lease, are left to it.
        """
        now = int(self._clock.now())
        try:
            async with self._database.transaction() as connection:
                claimed = await self._claimed(connection, limit, now)
        except _PaceReached:
            return []
        unwritten = [each for each in claimed if each.delivery.body is None]
        if not unwritten:
            return claimed
        bodies = await asyncio.to_thread(self._bodies, await self._with_events(unwritten, now + LEASE_SECONDS))
        async with self._database.transaction() as connection:
            stored = await repository.set_bodies(connection, bodies, now + LEASE_SECONDS)
        lost = [each.delivery.id for each in unwritten if each.delivery.id not in stored]
        if lost:
            log.warning("deliveries were no longer this worker's when they were written", deliveries=lost)
        return [_with_body(each, stored) for each in claimed if each.delivery.id not in lost]

    async def _claimed(self, connection: AsyncConnection, limit: int, now: int) -> Sequence[ClaimedDelivery]:
        if self._pace is not None:
            limit = min(limit, MAX_MAILS_PER_CLAIM, await self._pace.left(connection, now))
        if not limit:
            return []
        claimed = await repository.claim(
            connection,
            self._channels.keys(),
            now=now,
            lease_until=now + LEASE_SECONDS,
            limit=limit,
            limit_per_target=MAX_PER_TARGET,
            candidates=None if self._pace is None else MAIL_CANDIDATES,
        )
        if claimed and self._pace is not None and not await self._pace.take(connection, len(claimed), now):
            raise _PaceReached
        return claimed

    async def deliver(self, claimed: ClaimedDelivery) -> FinishedDelivery:
        """Send one delivery, with the channel's retries. The caller stores the result.

        Raises `LeaseLost`, and `SecretUnreadable` where the target has no rounds.
        """
        if self._clock.now() >= claimed.leased_until:
            raise LeaseLost
        delivery = claimed.delivery
        unsent = _without_an_attempt(claimed)
        result, attempts = await self._outcome(claimed) if unsent is None else (unsent, 0)
        again_at = self._again_at(claimed.target, delivery.round, result)
        return FinishedDelivery(delivery.id, claimed.target.id, claimed.leased_until, result, attempts, again_at)

    async def _outcome(self, claimed: ClaimedDelivery) -> tuple[AttemptResult, int]:
        """The last result of sending a delivery, and the number of attempts."""
        delivery = claimed.delivery
        try:
            target = self._secrets.opened(claimed.target)
        except SecretUnreadable as error:
            if not claimed.target.repeats:
                raise
            return AttemptResult(is_accepted=False, status=None, error=str(error)), 0
        if delivery.body is None:
            return AttemptResult(is_accepted=False, status=None, error=UNWRITTEN), 0
        hand_over = partial(self._hand_over, delivery.id, claimed.leased_until)
        return await self._sent(target, claimed.notification, delivery.body, hand_over)

    async def store(self, ended: Sequence[FinishedDelivery]) -> None:
        """Store the results of deliveries, all or none of them: what is not stored falls due again."""
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            await repository.finish(connection, ended, now)
        for each in ended:
            if each.again_at is None:
                self.results["accepted" if each.result.is_accepted else "failed"] += 1
        for each in ended:
            status = refused_status(each.result)
            if status is not None:
                await self.undeliverable.refused(each.target_id, status)

    async def send_test(self, target: Target, notification: Notification, body: str) -> tuple[AttemptResult, int]:
        """Send a test, which no worker claims; returns its last result and the number of attempts: none where nothing
        can be sent to the target. Raises `SecretUnreadable`.
        """
        return await self._sent(self._secrets.opened(target), notification, body, _noted_nowhere)

    async def _sent(
        self, target: Target, notification: Notification, body: str, hand_over: HandOver
    ) -> tuple[AttemptResult, int]:
        """Attempt until the target accepts it or the channel's retries are used up.

        A target that asks for more time than a pause gets it before its next round, if it has rounds.
        """
        channel = self._channels[target.channel]
        problem = channel.problem(target)
        if problem is not None:
            return AttemptResult(is_accepted=False, status=None, error=problem), 0
        result = await self._attempt(channel, target, notification, body, hand_over)
        for attempts, pause in enumerate(channel.pauses, start=1):
            if not result.may_be_repeated() or (target.repeats and (result.wait_seconds or 0) > pause):
                return result, attempts
            await self._clock.sleep(pause)
            result = await self._attempt(channel, target, notification, body, hand_over)
        return result, len(channel.pauses) + 1

    async def _attempt(
        self, channel: Channel, target: Target, notification: Notification, body: str, hand_over: HandOver
    ) -> AttemptResult:
        """One attempt, with its duration."""
        started = self._clock.monotonic()
        result = await channel.attempt(target, notification, body, int(self._clock.now()), hand_over)
        return replace(result, milliseconds=round((self._clock.monotonic() - started) * 1000))

    async def _hand_over(self, delivery_id: str, leased_until: int) -> None:
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            if now >= leased_until or not await repository.hand_over(connection, delivery_id, leased_until, now):
                raise LeaseLost

    def _again_at(self, target: Target, rounds: int, result: AttemptResult) -> int | None:
        """When a failed delivery is tried again; None when it is not."""
        if not (target.repeats and result.may_be_repeated() and rounds < len(REPEAT_PAUSES)):
            return None
        asked = min(result.wait_seconds or 0, MAX_WAIT_SECONDS)
        return int(self._clock.now()) + max(REPEAT_PAUSES[rounds], asked)

    async def waiting(self) -> tuple[int, int | None]:
        """How many deliveries have not ended, and since when the oldest is due (unix seconds)."""
        async with self._database.reading() as connection:
            return await repository.waiting(connection)

    async def forget(self, older_than: int) -> int:
        """Delete deliveries that ended that many seconds ago; returns how many."""
        async with self._database.transaction() as connection:
            return await repository.delete_finished(connection, int(self._clock.now()) - older_than)

    async def _with_events(self, unwritten: Sequence[ClaimedDelivery], leased_until: int) -> Sequence[ClaimedDelivery]:
        """Those still this worker's, with their events."""
        async with self._database.reading() as connection:
            ids = [each.delivery.id for each in unwritten]
            put = await delivery_event_repository.of_claimed(connection, ids, leased_until)
        return [replace(each, events=put[each.delivery.id]) for each in unwritten if each.delivery.id in put]

    def _bodies(self, unwritten: Sequence[ClaimedDelivery]) -> Mapping[str, str | None]:
        """The bodies of deliveries by their ids; None for those that cannot be written."""
        return {each.delivery.id: self._rendered(each) for each in unwritten}

    def _rendered(self, claimed: ClaimedDelivery) -> str | None:
        """The body; None where it cannot be written, which `deliver` reports. Others are claimed all the same."""
        try:
            target = self._secrets.opened(claimed.target)
            events = [line for lines in claimed.events for line in lines.split("\n")]
            return self._channels[target.channel].render(target, claimed.notification, events)
        except SecretUnreadable:
            return None
        except Exception:
            log.exception("a delivery cannot be written", delivery=claimed.delivery.id)
            return None


def _with_body(claimed: ClaimedDelivery, bodies: Mapping[str, str | None]) -> ClaimedDelivery:
    body = bodies.get(claimed.delivery.id, claimed.delivery.body)
    return replace(claimed, delivery=replace(claimed.delivery, body=body))


def _without_an_attempt(claimed: ClaimedDelivery) -> AttemptResult | None:
    """The result of a delivery that is not sent (again); None where it is."""
    target = claimed.target
    if claimed.delivery.handed_over_at is not None:
        return AttemptResult(is_accepted=False, status=None, error=CUT_OFF, is_uncertain=True)
    if is_undeliverable(target):
        return AttemptResult(is_accepted=False, status=None, error=target.paused_reason, is_final=True)
    if claimed.delivery.round and not target.is_on:
        return AttemptResult(is_accepted=False, status=None, error=TURNED_OFF, is_final=True)
    return None


async def _noted_nowhere() -> None:
    """Do nothing: a test is sent once, by its own request."""
