"""Whose devices a watch is about, what it was told last, and when a change was first visible."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("watches", sa.Column("manufacturer_srn", sa.Text, nullable=False, server_default=""))
    op.add_column("watches", sa.Column("basic_udi", sa.Text, nullable=False, server_default=""))
    op.add_column("watches", sa.Column("portfolio_seen", sa.BigInteger))
    op.add_column("watches", sa.Column("certificates_seen", sa.BigInteger))
    op.add_column("watches", sa.Column("news_since", sa.BigInteger))
    op.add_column("events", sa.Column("visible_at", sa.BigInteger))
    for name, of_actor in (("manufacturer_srn", "watches.subject"), ("basic_udi", "''")):
        op.execute(_fill(op.get_context().dialect.name, name, of_actor))
    op.create_index("ix_watches_manufacturer_srn", "watches", ["manufacturer_srn"])
    op.create_index("ix_watches_basic_udi", "watches", ["basic_udi"])
    op.create_table(
        "expiry_notices",
        sa.Column("watch_id", sa.BigInteger, sa.ForeignKey("watches.id", ondelete="CASCADE"), nullable=False),
        sa.Column("certificate", sa.Text, nullable=False),
        sa.Column("expiry", sa.Text, nullable=False),
        sa.Column("days", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("watch_id", "certificate", "expiry", name="pk_expiry_notices"),
    )


_DOCUMENT = {"postgresql": "document::json", "sqlite": "document"}


def _fill(dialect: str, name: str, of_actor: str) -> str:
    """The statement that takes a field of watched devices from the copy."""
    of_device = f"{_DOCUMENT[dialect]} ->> '{name}'"
    return f"""UPDATE watches SET {name} = ( SELECT COALESCE(CASE WHEN watches.kind = 'srn' THEN {of_actor} ELSE (
        SELECT {of_device} FROM devices WHERE primary_di = watches.subject AND is_current LIMIT 1
    ) END, ''))"""  # noqa: S608  # names of our own
