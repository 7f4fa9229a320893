"""The time zone of a user: pages show times in it, and digests of their mails are due by it."""

from registerwatch.accounts import repository as account_repository
from registerwatch.accounts.models import Caller
from registerwatch.accounts.profile import zone_of
from registerwatch.accounts.repository import locked
from registerwatch.accounts.second_factors.second_factors import user_of
from registerwatch.notifications.delivery import waiting_deliveries
from registerwatch.notifications.targets import channel_repository
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database


class UserTimeZones:
    """Changes the time zones of users."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def set(self, caller: Caller, zone: str) -> None:
        """Set the zone of the signed-in user from now on. A waiting digest is due at the earlier of its time and the
        new one. Raises `InvalidInput` for a zone that is not offered.
        """
        found, user_id, now = zone_of(zone), user_of(caller), int(self._clock.now())
        account_id = caller.account.id
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            await channel_repository.lock(connection, account_id)
            before = await channel_repository.of_user(connection, account_id, user_id)
            await account_repository.set_time_zone(connection, account_id, user_id, found)
            after = await channel_repository.of_user(connection, account_id, user_id)
            for old, new in zip(before, after, strict=True):
                await waiting_deliveries.reschedule(connection, old, new, now)
