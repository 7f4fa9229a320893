"""Wrong codes of second factors by network; clients from which a sign-in was finished."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "guessed_codes",
        sa.Column("user_id", sa.BigInteger, sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("network", sa.Text, primary_key=True),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("codes", sa.Integer, nullable=False),
    )
    op.add_column("known_clients", sa.Column("signed_in_at", sa.BigInteger))
