"""Tags of watches, the sync that a page started, and the events of a watch by its id."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def _account() -> sa.ForeignKey:
    return sa.ForeignKey("accounts.id", ondelete="CASCADE")


def upgrade() -> None:
    op.create_table(
        "watch_tags",
        sa.Column("watch_id", sa.BigInteger, sa.ForeignKey("watches.id", ondelete="CASCADE"), nullable=False),
        sa.Column("tag", sa.Text, nullable=False),
        sa.Column("account_id", sa.BigInteger, _account(), nullable=False),
        sa.PrimaryKeyConstraint("watch_id", "tag", name="pk_watch_tags"),
    )
    op.create_index("ix_watch_tags_account_id_tag", "watch_tags", ["account_id", "tag"])
    op.create_table(
        "sync_runs",
        sa.Column("account_id", sa.BigInteger, _account(), nullable=False),
        sa.Column("run", sa.Text, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("started_at", "ends_by")),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("total", "done", "failed", "events")),
        sa.Column("finished_at", sa.BigInteger),
        sa.Column("error", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("account_id", name="pk_sync_runs"),
    )
    op.create_index("ix_events_account_id_watch_id_id", "events", ["account_id", "watch_id", "id"])
