"""Certificates as the newest read of a device has them, beside the register's list. They come as devices are read."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "device_certificates",
        sa.Column("srn", sa.Text, nullable=False),
        sa.Column("number", sa.Text, nullable=False),
        sa.Column("revision", sa.Text, nullable=False),
        sa.Column("notified_body", sa.Text, nullable=False),
        sa.Column("primary_di", sa.Text, nullable=False),
        sa.Column("read_at", sa.BigInteger, nullable=False),
        sa.Column("told", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("srn", "number", "revision", "notified_body", name="pk_device_certificates"),
    )
