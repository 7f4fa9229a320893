"""The log of deliveries for people: by outcome, page by page, with the time since which a target fails."""

from collections.abc import Mapping, Sequence

import msgspec

from registerwatch.notifications import repository
from registerwatch.notifications.delivery import delivery_log_repository
from registerwatch.notifications.models import Delivery, LogCounts, LoggedDelivery, Outcome, Target
from registerwatch.notifications.targets import target_repository
from registerwatch.notifications.targets.target_secrets import TargetSecrets
from registerwatch.platform.db.engine import Database

PAGE_ROWS = 25
SHOWN_BODY_LENGTH = 1_000
"""Characters of each body in a page of the log. A delivery of many events has a megabyte."""


class LogPage(msgspec.Struct, frozen=True):
    """Some deliveries to a target, newest first, and how many there are of each outcome."""

    target: Target
    counts: LogCounts
    deliveries: Sequence[LoggedDelivery]
    failing_since: int | None
    """None where the last delivery was accepted, and where there was none."""


class DeliveryLog:
    """Reads deliveries to the targets of an account, in any channel."""

    def __init__(self, database: Database, secrets: TargetSecrets) -> None:
        self._database = database
        self._secrets = secrets

    async def page(self, account_id: int, target_id: int, outcome: Outcome | None, number: int) -> LogPage | None:
        """A page of the log of a target, whole or of one outcome; None where the account has no such target. The first
        page has the number 1.
        """
        async with self._database.reading() as connection:
            target = await target_repository.by_id(connection, account_id, target_id)
            if target is None:
                return None
            counts = await delivery_log_repository.counts(connection, account_id, target_id)
            shown = await delivery_log_repository.page(
                connection,
                account_id,
                target_id,
                outcome,
                offset=(number - 1) * PAGE_ROWS,
                limit=PAGE_ROWS,
                body_length=SHOWN_BODY_LENGTH,
            )
            since = await delivery_log_repository.failing_since(connection, account_id, target_id)
        return LogPage(self._secrets.opened(target), counts, shown, since.get(target_id))

    async def delivery(self, account_id: int, target_id: int, delivery_id: str) -> Delivery | None:
        """One delivery with the whole body; None where the account has none."""
        if not (delivery_id.isascii() and delivery_id.isprintable()):
            return None
        async with self._database.reading() as connection:
            return await repository.by_id(connection, account_id, target_id, delivery_id)

    async def failing_since(self, account_id: int) -> Mapping[int, int]:
        """When the first delivery failed since the last accepted one, by the ids of those targets of the account whose
        last delivery failed.

        Where that is longer ago than deliveries are kept, it is the first kept failure.
        """
        async with self._database.reading() as connection:
            return await delivery_log_repository.failing_since(connection, account_id)
