"""Manufacturers whose devices are swept, their devices as they were last listed, and what changed in the lists."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

_RowId = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "device_sweeps",
        sa.Column("srn", sa.Text, nullable=False),
        sa.Column("lists_all", sa.Boolean, nullable=False),
        sa.Column("watched", sa.BigInteger, nullable=False),
        sa.Column("added_at", sa.BigInteger, nullable=False),
        sa.Column("turn_at", sa.BigInteger, nullable=False),
        sa.Column("leased_until", sa.BigInteger, nullable=False),
        sa.Column("walk", sa.BigInteger, nullable=False),
        sa.Column("walk_began_at", sa.BigInteger),
        sa.Column("cursor", sa.Text, nullable=False),
        sa.Column("total", sa.BigInteger),
        sa.Column("is_steady", sa.Boolean, nullable=False),
        sa.Column("swept_at", sa.BigInteger),
        sa.Column("complete_at", sa.BigInteger),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("unreadable", sa.Text, nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("srn", name="pk_device_sweeps"),
    )
    op.create_index("ix_device_sweeps_turn_at", "device_sweeps", ["turn_at"])
    op.create_table(
        "portfolio_devices",
        sa.Column("srn", sa.Text, nullable=False),
        sa.Column("uuid", sa.Text, nullable=False),
        sa.Column("primary_di", sa.Text, nullable=False),
        sa.Column("status_code", sa.Text, nullable=False),
        sa.Column("is_latest", sa.Boolean, nullable=False),
        sa.Column("walk", sa.BigInteger, nullable=False),
        sa.Column("on_market", sa.Boolean),
        sa.PrimaryKeyConstraint("srn", "uuid", name="pk_portfolio_devices"),
    )
    op.create_index("ix_portfolio_devices_primary_di", "portfolio_devices", ["srn", "primary_di"])
    op.create_table(
        "portfolio_news",
        sa.Column("id", _RowId, nullable=False),
        sa.Column("srn", sa.Text, nullable=False),
        sa.Column("primary_di", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("change", sa.Text, nullable=False),
        sa.Column("found_at", sa.BigInteger, nullable=False),
        sa.Column("visible_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_portfolio_news"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_portfolio_news_srn", "portfolio_news", ["srn", "id"])
    op.create_index("ix_portfolio_news_found_at", "portfolio_news", ["srn", "found_at"])
