"""The copy of the register: devices, actors, fills, the budget of requests."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ROW_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "devices",
        sa.Column("id", _ROW_ID, nullable=False),
        sa.Column("primary_di", sa.Text, nullable=False),
        sa.Column("uuid", sa.Text, nullable=False),
        sa.Column("is_current", sa.Boolean, nullable=False),
        sa.Column("latest_version", sa.Boolean, nullable=False),
        sa.Column("version_number", sa.Integer, nullable=False),
        sa.Column("legislation_code", sa.Text, nullable=False),
        sa.Column("detail_version", sa.Integer),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("read_at", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_devices"),
        sa.UniqueConstraint("primary_di", "uuid", name="uq_devices_primary_di_uuid"),
    )
    op.create_index("ix_devices_revision", "devices", ["revision"])
    op.create_table(
        "actors",
        sa.Column("srn", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("country", sa.Text, nullable=False),
        sa.Column("status_code", sa.Text, nullable=False),
        sa.Column("device_total", sa.Integer),
        sa.Column("complete", sa.Boolean, nullable=False),
        sa.Column("read_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("srn", name="pk_actors"),
    )
    copy_state = op.create_table(
        "copy_state",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("copy_id", sa.Text, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("devices", sa.BigInteger, nullable=False),
        sa.Column("last_read_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_copy_state"),
    )
    op.bulk_insert(copy_state, [{"id": 1, "copy_id": secrets.token_hex(8), "revision": 0, "devices": 0}])
    op.create_table(
        "fills",
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("cursor", sa.Text, nullable=False),
        sa.Column("records", sa.BigInteger, nullable=False),
        sa.Column("changed", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("source", name="pk_fills"),
    )
    register_budget = op.create_table(
        "register_budget",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("spent", sa.Text, nullable=False),
        sa.Column("paused_until", sa.BigInteger, nullable=False),
        sa.Column("throttled", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_register_budget"),
    )
    op.bulk_insert(register_budget, [{"id": 1, "spent": "{}", "paused_until": 0, "throttled": 0}])
