"""Ends the mails to a user by a link in one of them, without signing in."""

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository as account_repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.errors import SecretUnreadable
from registerwatch.notifications.bounces.unsubscribe_tokens import token_in
from registerwatch.notifications.choices import Frequency
from registerwatch.notifications.models import EMAIL, Target
from registerwatch.notifications.targets import channel_repository, target_repository
from registerwatch.notifications.targets.target_changes import columns_of, shown_name
from registerwatch.notifications.targets.target_secrets import TargetSecrets
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.structs import replace

BY_LINK = "a link in a mail"
"""The actor in the audit trail, who is not signed in."""


class UnsubscribeService:
    """The use cases of the links."""

    def __init__(self, database: Database, clock: Clock, secrets: TargetSecrets) -> None:
        self._database = database
        self._clock = clock
        self._secrets = secrets

    async def target(self, token: str) -> Target | None:
        """The target of a token; None for one that is not valid, or of a user who is gone."""
        async with self._database.reading() as connection:
            return await self._named(connection, token)

    async def turn_off(self, token: str) -> Target | None:
        """Send no more mails to the target of a token, and nothing that waits. None where it is not valid.

        Changes nothing where they are off already.
        """
        claim, now = token_in(token), int(self._clock.now())
        if claim is None:
            return None
        async with self._database.transaction() as connection:
            if await account_repository.lock_account(connection, claim.account_id) is None:
                return None
            await channel_repository.lock(connection, claim.account_id, claim.target_id)
            target = await self._named(connection, token)
            if target is not None and target.choice.frequency is not Frequency.OFF:
                await _turn_off(connection, target, now)
        return target

    async def _named(self, connection: AsyncConnection, token: str) -> Target | None:
        claim = token_in(token)
        if claim is None:
            return None
        stored = await target_repository.by_id(connection, claim.account_id, claim.target_id)
        if stored is None or stored.channel != EMAIL:
            return None
        try:
            target = self._secrets.opened(stored)
        except SecretUnreadable:
            return None
        return target if claim.is_of(target, int(self._clock.now())) else None


async def _turn_off(connection: AsyncConnection, target: Target, now: int) -> None:
    columns = columns_of(choice=replace(target.choice, frequency=Frequency.OFF))
    await target_repository.change(connection, target.account_id, target.id, columns)
    await channel_repository.drop_waiting(connection, target.account_id, target.id, now)
    await account_repository.note(
        connection,
        target.account_id,
        now,
        BY_LINK,
        Action.CHANNEL_CHANGED,
        f"{shown_name(target)}: off instead of {target.choice.frequency}",
    )
