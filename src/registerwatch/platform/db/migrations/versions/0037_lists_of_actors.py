"""Whether the copy has every device that the register lists of an actor."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("actors", sa.Column("listed", sa.BigInteger))
    op.add_column("actors", sa.Column("listed_at", sa.BigInteger))
    op.add_column("copy_state", sa.Column("whole_at", sa.BigInteger))
    op.execute(
        "UPDATE copy_state SET whole_at = ( SELECT max(started_at) FROM fills"
        " WHERE source IN ('datalake', 'register') AND finished_at IS NOT NULL )"
    )
