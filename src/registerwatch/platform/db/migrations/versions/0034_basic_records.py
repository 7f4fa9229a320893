"""Basic UDI-DI records, which all devices under one Basic UDI-DI share, and what each device has of them."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "basic_records",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("record", sa.Text, nullable=False),
        sa.Column("document_version", sa.Integer, nullable=False),
        sa.Column("read_at", sa.BigInteger, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("changed_revision", sa.BigInteger, nullable=False),
        sa.Column("search", sa.Text),
        sa.Column("searched_at", sa.BigInteger),
        sa.Column("search_revision", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("search_changed_revision", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("propagated_to", sa.Text),
    )
    op.create_index(
        "ix_basic_records_propagated",
        "basic_records",
        ["key"],
        sqlite_where=sa.text("propagated_to IS NOT NULL"),
        postgresql_where=sa.text("propagated_to IS NOT NULL"),
    )
    op.add_column("devices", sa.Column("basic_key", sa.Text))
    op.add_column("devices", sa.Column("basic_read_at", sa.BigInteger))
    op.add_column("devices", sa.Column("own_revision", sa.BigInteger))
    op.create_index(
        "ix_devices_under",
        "devices",
        ["basic_key", "primary_di"],
        sqlite_where=sa.text("basic_key IS NOT NULL"),
        postgresql_where=sa.text("basic_key IS NOT NULL"),
    )
