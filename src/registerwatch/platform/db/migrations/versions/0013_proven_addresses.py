"""Who has proven their e-mail address, what keys may do and for how long, when keys and sessions were last used."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

MARK_WHO_USED_A_LINK = """
UPDATE users SET confirmed_at = (
    SELECT min(audit.created_at) FROM audit
    WHERE audit.account_id = users.account_id AND audit.actor = users.email AND audit.action = 'password reset'
)
"""
"""A link was mailed to them, or handed over by the operator. Nothing else that is stored proves an address."""


def upgrade() -> None:
    op.add_column("users", sa.Column("confirmed_at", sa.BigInteger))
    op.add_column("users", sa.Column("key_set_password_at", sa.BigInteger))
    op.add_column("api_keys", sa.Column("scope", sa.Text, nullable=False, server_default="manage"))
    op.add_column("api_keys", sa.Column("expires_at", sa.BigInteger))
    op.add_column("api_keys", sa.Column("last_used_at", sa.BigInteger))
    op.add_column("sessions", sa.Column("last_used_at", sa.BigInteger))
    _create_confirmation_tokens()
    _create_invitations()
    op.create_table(
        "mail_counts",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("mails", sa.Integer, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_mail_counts_expires_at", "mail_counts", ["expires_at"])
    op.create_table(
        "deletion_notices",
        sa.Column("account_id", sa.BigInteger, sa.ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("noticed_at", sa.BigInteger, nullable=False),
    )
    if not op.get_context().as_sql:
        op.execute(MARK_WHO_USED_A_LINK)


def _create_confirmation_tokens() -> None:
    op.create_table(
        "confirmation_tokens",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_confirmation_tokens_address", "confirmation_tokens", ["address"])
    op.create_index("ix_confirmation_tokens_expires_at", "confirmation_tokens", ["expires_at"])


def _create_invitations() -> None:
    op.create_table(
        "invitations",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("account_id", sa.BigInteger, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
        sa.Column("email", sa.Text, nullable=False),
        sa.Column("invited_by", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_invitations_account_id", "invitations", ["account_id"])
    op.create_index("ix_invitations_expires_at", "invitations", ["expires_at"])
