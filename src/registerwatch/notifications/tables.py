"""The tables of targets, deliveries and feeds."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint, false

from registerwatch.platform.db.sealed_columns import SealedColumn
from registerwatch.platform.db.tables import ROW_ID, metadata, of_account

webhooks = Table(  # targets of every channel
    "webhooks",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    of_account(),
    Column("channel", Text, nullable=False, server_default="webhook", doc="how notifications are sent there"),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("old_secret", Text, doc="the secret before, which signs beside the new one for a day"),
    Column("old_secret_until", BigInteger),
    Column("is_first", Boolean, nullable=False, doc="the one that the account object shows as webhook_url"),
    Column("created_at", BigInteger, nullable=False),
    Column("last_at", BigInteger, doc="last attempt to deliver"),
    Column("last_ok", Boolean),
    Column("last_error", Text),
    Column(
        "user_id",
        BigInteger,
        ForeignKey("users.id", ondelete="CASCADE"),
        doc="the user whose own it is (e-mail), null for one of the account",
    ),
    Column("name", Text, nullable=False, server_default="", doc="what people call it, or empty"),
    Column("choice", Text, doc="JSON: notifications.choices.Choice, null for every event at once"),
    Column("time_zone", Text, nullable=False, server_default="UTC", doc="of its digests; one of a user has the user's"),
    Column(
        "repeats", Boolean, nullable=False, server_default=false(), doc="whether a delivery that failed is repeated"
    ),
    Column("failing_since", BigInteger, doc="the first failure after the last success, null while it works"),
    Column("paused_at", BigInteger, doc="since when nothing is sent there, null while it is"),
    Column("paused_reason", Text, nullable=False, server_default="", doc="why, for people"),
    Index("ix_webhooks_user_id", "user_id", "channel", unique=True),
    sqlite_autoincrement=True,
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Text, primary_key=True, doc="whd_…"),
    of_account(),
    Column("webhook_id", BigInteger, ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    Column("channel", Text, nullable=False, server_default="webhook", doc="that of its target"),
    Column("type", Text, nullable=False, doc="watch.changed or watch.test"),
    Column("batch", Text, nullable=False, doc="events of one batch join one delivery; its own id for a test"),
    Column("created_at", BigInteger, nullable=False),
    Column("due_at", BigInteger, doc="from when on it may be sent; null when it has ended, well or badly"),
    Column("leased_until", BigInteger, nullable=False, doc="a worker has it until then, 0 when none has"),
    Column("body", Text, doc="what is sent, null before the first attempt"),
    Column("attempts", Integer, nullable=False),
    Column("finished_at", BigInteger),
    Column("is_accepted", Boolean, doc="null while it is under way"),
    Column("status", Integer, doc="HTTP status of the last answer"),
    Column("error", Text, nullable=False, doc="why the last attempt failed, or empty"),
    Column("milliseconds", BigInteger, doc="what the last attempt took, null where there was none"),
    Column("is_scheduled", Boolean, nullable=False, server_default=false(), doc="whether due_at may be days from now"),
    Column("round", Integer, nullable=False, server_default="0", doc="how often it was put off after it failed"),
    Column(
        "handed_over_at",
        BigInteger,
        doc="when a target that must get it once began to get it, null where it surely has not arrived",
    ),
    UniqueConstraint("webhook_id", "batch", name="uq_deliveries_webhook_id_batch"),
    Index("ix_deliveries_of_webhook", "webhook_id", "created_at", "is_accepted", "finished_at"),
    Index("ix_deliveries_due_at", "due_at"),
    Index("ix_deliveries_is_scheduled", "is_scheduled", "due_at"),
    Index("ix_deliveries_batch", "batch"),
)

delivery_events = Table(
    "delivery_events",
    metadata,
    Column("id", ROW_ID, primary_key=True, doc="in the order in which they were put"),
    Column("delivery_id", Text, ForeignKey("deliveries.id", ondelete="CASCADE"), nullable=False),
    Column("events", Text, nullable=False, doc="rendered events that were put together, one a line"),
    Index("ix_delivery_events_delivery_id_id", "delivery_id", "id"),
)

"""The events of deliveries without a body."""

feeds = Table(
    "feeds",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    of_account(),
    Column("prefix", Text, nullable=False, doc="the token as listings show it: ft_ab…wxyz"),
    Column("digest", Text, nullable=False, doc="SHA-256 of the token, in hex"),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("digest", name="uq_feeds_digest"),
    sqlite_autoincrement=True,
)


def owner_of_target_secret(account_id: int) -> str:
    """The owner of a target's secret, for the cipher."""
    return f"webhook of account {account_id}"


_IDS = webhooks.c.id, webhooks.c.account_id, owner_of_target_secret
SEALED = (
    SealedColumn("webhook secrets", webhooks.c.secret, *_IDS),
    SealedColumn("webhook secrets", webhooks.c.old_secret, *_IDS),
)
"""The encrypted columns."""
