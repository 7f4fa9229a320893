"""What was last verified of how the register answers."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "register_checks",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("looked_at", sa.BigInteger, nullable=False),
        sa.Column("checked_at", sa.BigInteger),
        sa.Column("is_ok", sa.Boolean),
        sa.Column("found", sa.Text, nullable=False),
        sa.Column("changed_at", sa.BigInteger),
        sa.Column("unanswered_since", sa.BigInteger),
        sa.Column("reason", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_register_checks"),
    )
