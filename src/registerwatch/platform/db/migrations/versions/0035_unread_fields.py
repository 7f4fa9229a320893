"""Fields of the register's records that could not be read, counted over all processes."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "unread_fields",
        sa.Column("record", sa.Text, nullable=False),
        sa.Column("field", sa.Text, nullable=False),
        sa.Column("records", sa.BigInteger, nullable=False),
        sa.Column("example", sa.Text, nullable=False),
        sa.Column("first_at", sa.BigInteger, nullable=False),
        sa.Column("last_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("record", "field"),
    )
