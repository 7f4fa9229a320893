"""Watches, events, webhooks, deliveries, feeds, ticks."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_ROW_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.add_column("actors", sa.Column("reads", sa.BigInteger, nullable=False, server_default="0"))
    op.create_table(
        "watches",
        sa.Column("id", _ROW_ID, nullable=False),
        _owned_by("account_id", "accounts.id"),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("is_renamed", sa.Boolean, nullable=False),
        sa.Column("snapshot", sa.Text),
        sa.Column("last_sync", sa.BigInteger),
        sa.Column("tried_at", sa.BigInteger, nullable=False),
        sa.Column("last_error", sa.Text, nullable=False),
        sa.Column("failing_since", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_watches"),
        sa.UniqueConstraint("account_id", "subject", name="uq_watches_account_id_subject"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_watches_subject", "watches", ["subject"])
    op.create_index("ix_watches_tried_at", "watches", ["tried_at"])
    op.create_table(
        "events",
        sa.Column("id", _ROW_ID, nullable=False),
        _owned_by("account_id", "accounts.id"),
        sa.Column("watch_id", sa.BigInteger, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("summary", sa.Text, nullable=False),
        sa.Column("changes", sa.Text, nullable=False),
        sa.Column("batch", sa.Text, nullable=False),
        sa.Column("awaits_sync", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_account_id", "events", ["account_id"])
    op.create_index("ix_events_batch", "events", ["batch"])
    op.create_table(
        "webhooks",
        sa.Column("id", _ROW_ID, nullable=False),
        _owned_by("account_id", "accounts.id"),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("old_secret", sa.Text),
        sa.Column("old_secret_until", sa.BigInteger),
        sa.Column("is_first", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("last_at", sa.BigInteger),
        sa.Column("last_ok", sa.Boolean),
        sa.Column("last_error", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_webhooks_account_id", "webhooks", ["account_id"])
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Text, nullable=False),
        _owned_by("account_id", "accounts.id"),
        _owned_by("webhook_id", "webhooks.id"),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("batch", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("due_at", sa.BigInteger),
        sa.Column("leased_until", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("finished_at", sa.BigInteger),
        sa.Column("is_accepted", sa.Boolean),
        sa.Column("status", sa.Integer),
        sa.Column("error", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
        sa.UniqueConstraint("webhook_id", "batch", name="uq_deliveries_webhook_id_batch"),
    )
    op.create_index("ix_deliveries_account_id", "deliveries", ["account_id"])
    op.create_index("ix_deliveries_due_at", "deliveries", ["due_at"])
    op.create_index("ix_deliveries_batch", "deliveries", ["batch"])
    op.create_table(
        "feeds",
        sa.Column("id", _ROW_ID, nullable=False),
        _owned_by("account_id", "accounts.id"),
        sa.Column("prefix", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_feeds"),
        sa.UniqueConstraint("digest", name="uq_feeds_digest"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_feeds_account_id", "feeds", ["account_id"])
    op.create_table(
        "ticks",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("slot", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_ticks"),
    )


def _owned_by(column: str, owner: str) -> sa.Column[int]:
    return sa.Column(column, sa.BigInteger, sa.ForeignKey(owner, ondelete="CASCADE"), nullable=False)
