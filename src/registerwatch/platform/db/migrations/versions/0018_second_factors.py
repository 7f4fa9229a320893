"""Second factors: authenticator apps, recovery codes, passkeys; sign-in by an OpenID provider; steps of a sign-in."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "totp_factors",
        sa.Column("user_id", sa.BigInteger, sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("confirmed_at", sa.BigInteger),
        sa.Column("last_step", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("digest", sa.Text, primary_key=True),
        _of_user(),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "wrong_codes",
        sa.Column("user_id", sa.BigInteger, sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("codes", sa.Integer, nullable=False),
    )
    _create_passkeys()
    _create_sign_in_steps()
    _create_provider_tables()


def _of_user(*, nullable: bool = False) -> sa.Column[int]:
    return sa.Column("user_id", sa.BigInteger, sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=nullable)


def _create_passkeys() -> None:
    row_id = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "passkeys",
        sa.Column("id", row_id, primary_key=True),
        _of_user(),
        sa.Column("credential_id", sa.Text, nullable=False),
        sa.Column("public_key", sa.Text, nullable=False),
        sa.Column("sign_count", sa.BigInteger, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("last_used_at", sa.BigInteger),
        sa.UniqueConstraint("credential_id", name="uq_passkeys_credential_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "passkey_challenges",
        sa.Column("digest", sa.Text, primary_key=True),
        _of_user(nullable=True),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    for table in ("recovery_codes", "passkeys", "passkey_challenges"):
        op.create_index(f"ix_{table}_user_id", table, ["user_id"])
    op.create_index("ix_passkey_challenges_expires_at", "passkey_challenges", ["expires_at"])


def _create_sign_in_steps() -> None:
    op.create_table(
        "sign_in_steps",
        sa.Column("digest", sa.Text, primary_key=True),
        _of_user(),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
    )
    op.create_index("ix_sign_in_steps_user_id", "sign_in_steps", ["user_id"])
    op.create_index("ix_sign_in_steps_expires_at", "sign_in_steps", ["expires_at"])


def _create_provider_tables() -> None:
    row_id = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "provider_links",
        sa.Column("id", row_id, primary_key=True),
        _of_user(),
        sa.Column("issuer", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("email", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("last_used_at", sa.BigInteger),
        sa.UniqueConstraint("issuer", "subject", name="uq_provider_links_issuer_subject"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_provider_links_user_id", "provider_links", ["user_id"])
    op.create_table(
        "provider_requests",
        sa.Column("digest", sa.Text, primary_key=True),
        _of_user(nullable=True),
        sa.Column("nonce", sa.Text, nullable=False),
        sa.Column("verifier", sa.Text, nullable=False),
        sa.Column("next", sa.Text, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_provider_requests_user_id", "provider_requests", ["user_id"])
    op.create_index("ix_provider_requests_expires_at", "provider_requests", ["expires_at"])
