"""Of a stored record: which source brought it, and the version of its document, which is the first one so far."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("devices", sa.Column("source", sa.Text))
    op.add_column("devices", sa.Column("document_version", sa.Integer, nullable=False, server_default="1"))
    op.add_column("actors", sa.Column("source", sa.Text))
