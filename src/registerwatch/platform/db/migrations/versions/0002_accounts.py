"""Accounts, their users, API keys, sessions, reset tokens, audit trail."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ROW_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", _ROW_ID, nullable=False),
        sa.Column("email", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_accounts"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "users",
        sa.Column("id", _ROW_ID, nullable=False),
        _owned_by("account_id", "accounts.id"),
        sa.Column("email", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("password_hash", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("email", name="uq_users_email"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_users_account_id", "users", ["account_id"])
    op.create_table(
        "api_keys",
        sa.Column("id", _ROW_ID, nullable=False),
        _owned_by("account_id", "accounts.id"),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("prefix", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
        sa.UniqueConstraint("digest", name="uq_api_keys_digest"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_api_keys_account_id", "api_keys", ["account_id"])
    op.create_table(
        "sessions",
        sa.Column("digest", sa.Text, nullable=False),
        _owned_by("user_id", "users.id"),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_sessions"),
    )
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"])
    op.create_index("ix_sessions_expires_at", "sessions", ["expires_at"])
    op.create_table(
        "reset_tokens",
        sa.Column("digest", sa.Text, nullable=False),
        _owned_by("user_id", "users.id"),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_reset_tokens"),
    )
    op.create_index("ix_reset_tokens_user_id", "reset_tokens", ["user_id"])
    op.create_index("ix_reset_tokens_expires_at", "reset_tokens", ["expires_at"])
    op.create_table(
        "audit",
        sa.Column("id", _ROW_ID, nullable=False),
        _owned_by("account_id", "accounts.id"),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_account_id", "audit", ["account_id"])
    op.create_index("ix_audit_created_at", "audit", ["created_at"])


def _owned_by(column: str, owner: str) -> sa.Column[int]:
    return sa.Column(column, sa.BigInteger, sa.ForeignKey(owner, ondelete="CASCADE"), nullable=False)
