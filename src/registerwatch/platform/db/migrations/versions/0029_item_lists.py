"""Lists of articles that accounts upload, with their lines."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

_RowId = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "item_lists",
        sa.Column("id", _RowId, nullable=False),
        sa.Column("account_id", sa.BigInteger, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("upload_id", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_item_lists"),
        sa.UniqueConstraint("account_id", "name", name="uq_item_lists_account_id_name"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_item_lists_account_id", "item_lists", ["account_id"])
    op.create_table(
        "list_uploads",
        sa.Column("id", _RowId, nullable=False),
        sa.Column("list_id", sa.BigInteger, sa.ForeignKey("item_lists.id", ondelete="CASCADE"), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("queued_at", sa.BigInteger, nullable=False),
        sa.Column("filename", sa.Text, nullable=False),
        sa.Column("content", sa.LargeBinary),
        sa.Column("choices", sa.Text, nullable=False),
        sa.Column("found", sa.Text),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("total", sa.Integer),
        sa.Column("matched", sa.Integer, nullable=False),
        sa.Column("keeps_itself", sa.Boolean, nullable=False),
        sa.Column("leased_until", sa.BigInteger, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_list_uploads"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_list_uploads_list_id", "list_uploads", ["list_id"])
    op.create_index("ix_list_uploads_created_at", "list_uploads", ["created_at"])
    op.create_index("ix_list_uploads_state", "list_uploads", ["state"])
    op.create_table(
        "list_lines",
        sa.Column("upload_id", sa.BigInteger, sa.ForeignKey("list_uploads.id", ondelete="CASCADE"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("cells", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("nth", sa.Integer, nullable=False),
        sa.Column("subject", sa.Text),
        sa.Column("standing", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("certified_until", sa.Text),
        sa.Column("certs_read", sa.Boolean, nullable=False),
        sa.Column("due_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("upload_id", "number", name="pk_list_lines"),
    )
    op.create_index("ix_list_lines_key", "list_lines", ["upload_id", "key", "nth"])
    op.create_index("ix_list_lines_subject", "list_lines", ["subject"])
    op.create_index("ix_list_lines_due_at", "list_lines", ["due_at"])
