"""Checkouts, payers, subscriptions, what must be cancelled, events of the payment provider."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "checkouts",
        sa.Column("attempt", sa.Text, nullable=False),
        sa.Column("account_id", sa.BigInteger, sa.ForeignKey("accounts.id", ondelete="SET NULL")),
        sa.Column("terms", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("asked_at", sa.BigInteger, nullable=False),
        sa.Column("is_settled", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("attempt", name="pk_checkouts"),
        sa.UniqueConstraint("session_id", name="uq_checkouts_session_id"),
    )
    op.create_index("ix_checkouts_account_id", "checkouts", ["account_id"])
    op.create_index("ix_checkouts_started_at", "checkouts", ["started_at"])
    op.create_table(
        "payers",
        _of_account(),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("granted_plan", sa.Text, nullable=False),
        sa.Column("granted_until", sa.BigInteger, nullable=False),
        sa.Column("set_plan", sa.Text, nullable=False),
        sa.Column("set_until", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("account_id", name="pk_payers"),
    )
    op.create_table(
        "subscriptions",
        sa.Column("id", sa.Text, nullable=False),
        _of_account(),
        sa.Column("customer_id", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("price_id", sa.Text, nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("cancel_at_period_end", sa.Boolean, nullable=False),
        sa.Column("period_start", sa.BigInteger, nullable=False),
        sa.Column("period_end", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("had_trial", sa.Boolean, nullable=False),
        sa.Column("read_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_subscriptions"),
    )
    op.create_index("ix_subscriptions_account_id", "subscriptions", ["account_id"])
    op.create_table(
        "cancellations",
        sa.Column("subscription_id", sa.Text, nullable=False),
        sa.Column("asked_at", sa.BigInteger, nullable=False),
        sa.Column("tried_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("subscription_id", name="pk_cancellations"),
    )
    op.create_table(
        "payment_events",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("received_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_payment_events"),
    )
    op.create_index("ix_payment_events_received_at", "payment_events", ["received_at"])


def _of_account() -> sa.Column[int]:
    return sa.Column("account_id", sa.BigInteger, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False)
