"""What the record of a certificate says beside its scopes, and which documents of certificates were seen."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("certificates", sa.Column("facts", sa.Text))
    op.create_table(
        "certificate_documents",
        sa.Column("uuid", sa.Text, primary_key=True),
        sa.Column("sha256", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("first_seen_at", sa.BigInteger, nullable=False),
    )
