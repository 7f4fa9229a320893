"""Plain numbers of the certificates that devices list themselves, by which they are found.

Nodes write them with every row. Rows that there are get theirs without spaces, in capitals as the database knows them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("device_certificates", sa.Column("plain_number", sa.Text, nullable=False, server_default=""))
    op.execute("UPDATE device_certificates SET plain_number = ( SELECT upper(replace(number, ' ', '')) )")
    op.create_index("ix_device_certificates_plain_number", "device_certificates", ["plain_number"])
