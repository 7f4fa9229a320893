"""The tables of accounts, their users, and their credentials."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from registerwatch.platform.db.sealed_columns import SealedColumn
from registerwatch.platform.db.tables import ROW_ID, metadata, of_account, of_user

accounts = Table(
    "accounts",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    Column("email", Text, nullable=False, doc="the account's e-mail: that of the user who signed up"),
    Column("name", Text, nullable=False, doc="company name"),
    Column("plan", Text, nullable=False, doc="a name in the table of plans"),
    Column("expires_at", BigInteger, nullable=False, doc="end of the current period"),
    Column("created_at", BigInteger, nullable=False),
    Column(
        "paused_until", BigInteger, index=True, doc="until when its notifications wait, null or past where they do not"
    ),
    sqlite_autoincrement=True,  # an id is never given twice, so an old one never refers to another row
)

users = Table(
    "users",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    of_account(),
    Column("email", Text, nullable=False, doc="in lower case; one user of the whole service has it"),
    Column("role", Text, nullable=False, doc="owner or member"),
    Column("password_hash", Text, doc="argon2id in its encoded form, null before the first password"),
    Column("created_at", BigInteger, nullable=False),
    Column("confirmed_at", BigInteger, doc="when a mailed link proved the address, null while none has"),
    Column("key_set_password_at", BigInteger, doc="when a key or a session set it without the one before; else null"),
    Column("time_zone", Text, nullable=False, server_default="UTC", doc="IANA name, for what pages show"),
    Column("signed_in_at", BigInteger, doc="last sign-in, null before the first that was stored"),
    Column(
        "events_seen_through",
        BigInteger,
        nullable=False,
        server_default="0",
        doc="events up to this id are seen, later ones are not, unless event_marks says otherwise",
    ),
    UniqueConstraint("email", name="uq_users_email"),
    sqlite_autoincrement=True,
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    of_account(),
    Column("label", Text, nullable=False),
    Column("prefix", Text, nullable=False, doc="the key as listings show it: rw_ab…wxyz"),
    Column("digest", Text, nullable=False, doc="SHA-256 of the key, in hex"),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger, doc="null while the key works"),
    Column("scope", Text, nullable=False, server_default="manage", doc="accounts.models.Scope"),
    Column("expires_at", BigInteger, doc="from when on it does not work any more, null where it has no end"),
    Column("last_used_at", BigInteger, doc="about; null before the first use that was stored"),
    UniqueConstraint("digest", name="uq_api_keys_digest"),
    sqlite_autoincrement=True,
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of the session, in hex"),
    of_user(),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
    Column("last_used_at", BigInteger, doc="about; null before the first use that was stored"),
    Column("proved_at", BigInteger, doc="when its user last proved who they are, null where they did not"),
)

confirmation_tokens = Table(  # all of an address are deleted when one is used; they outlive users with the address
    "confirmation_tokens",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of the token, in hex"),
    Column("address", Text, nullable=False, index=True, doc="SHA-256 of the e-mail address, in hex"),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)

invitations = Table(  # an invitation is deleted when it is accepted
    "invitations",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of the token, in hex"),
    of_account(),
    Column("email", Text, nullable=False, doc="whom it was mailed to, as users have it"),
    Column("invited_by", Text, nullable=False, doc="the actor, as the audit trail names them"),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)

mail_counts = Table(  # outlives users and accounts: deleting one must not allow more mails
    "mail_counts",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of what is counted and its window of time, in hex"),
    Column("mails", Integer, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True, doc="end of the window"),
)

deletion_notices = Table(
    "deletion_notices",
    metadata,
    Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("noticed_at", BigInteger, nullable=False, doc="last mail that its period ends or it is deleted"),
)

reset_tokens = Table(  # a token is deleted when it is used
    "reset_tokens",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of the token, in hex"),
    of_user(),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)

audit = Table(
    "audit",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    of_account(),
    Column("created_at", BigInteger, nullable=False, index=True),
    Column("actor", Text, nullable=False, doc="who did it: a user's e-mail, a key as listings show it, operator"),
    Column("action", Text, nullable=False, doc="a value of accounts.audit.audit.Action"),
    Column("subject", Text, nullable=False, doc="whom or what it was done to, or empty"),
    Column("repeated", BigInteger, doc="how often it happened where the line stands for more than one, else null"),
    Column("last_at", BigInteger, doc="when it happened last in such a line, else null"),
    Index("ix_audit_of_actor", "account_id", "action", "actor", "id"),
    sqlite_autoincrement=True,
)

known_clients = Table(  # from where users signed in: guessing from elsewhere does not lock them out
    "known_clients",
    metadata,
    Column("user_id", BigInteger, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("address", Text, primary_key=True, doc="IPv4 address, or the /64 of an IPv6 address"),
    Column("last_at", BigInteger, nullable=False, index=True, doc="last sign-in, or password set by a mailed link"),
    Column("signed_in_at", BigInteger, doc="last sign-in that was finished; null where only a link was used"),
)

totp_factors = Table(
    "totp_factors",
    metadata,
    Column("user_id", BigInteger, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("secret", Text, nullable=False, doc="in base32, encrypted where there is a key"),
    Column("created_at", BigInteger, nullable=False),
    Column("confirmed_at", BigInteger, doc="null until its first code was given: it is not asked for before"),
    Column("last_step", BigInteger, nullable=False, doc="time step of the last code that was used: none works twice"),
)

recovery_codes = Table(  # a code is deleted when it is used
    "recovery_codes",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of the user's id and the code, in hex"),
    of_user(),
    Column("created_at", BigInteger, nullable=False),
)

guessed_codes = Table(  # wrong codes of second factors
    "guessed_codes",
    metadata,
    Column("user_id", BigInteger, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column(
        "network",
        Text,
        primary_key=True,
        doc="IPv4 address or /64, or a name of accounts/second_factors/guessed_codes.py",
    ),
    Column("since", BigInteger, nullable=False, doc="the first of them; they are counted for a day"),
    Column("codes", Integer, nullable=False),
)

passkeys = Table(
    "passkeys",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    of_user(),
    Column("credential_id", Text, nullable=False, doc="the authenticator's, in URL-safe base64"),
    Column("public_key", Text, nullable=False, doc="COSE, in URL-safe base64"),
    Column("sign_count", BigInteger, nullable=False, doc="as the authenticator last sent it; many always send 0"),
    Column("label", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    UniqueConstraint("credential_id", name="uq_passkeys_credential_id"),
    sqlite_autoincrement=True,
)

passkey_challenges = Table(  # a challenge is deleted when it is answered
    "passkey_challenges",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of the challenge, in hex"),
    Column(
        "user_id",
        BigInteger,
        ForeignKey("users.id", ondelete="CASCADE"),
        index=True,
        doc="who adds a passkey; null where somebody signs in",
    ),
    Column("expires_at", BigInteger, nullable=False, index=True),
)

sign_in_steps = Table(  # the password was right, and the second factor is to come
    "sign_in_steps",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of its token, in hex"),
    of_user(),
    Column("expires_at", BigInteger, nullable=False, index=True),
    Column("tries", Integer, nullable=False, doc="codes that were wrong"),
)

provider_links = Table(  # people whom the OpenID provider signs in
    "provider_links",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    of_user(),
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False, doc="the provider's id of the person"),
    Column("email", Text, nullable=False, doc="what the provider called them when it was linked"),
    Column("created_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    UniqueConstraint("issuer", "subject", name="uq_provider_links_issuer_subject"),
    sqlite_autoincrement=True,
)

provider_requests = Table(  # people at the OpenID provider; deleted when they come back
    "provider_requests",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of the state, in hex"),
    Column(
        "user_id",
        BigInteger,
        ForeignKey("users.id", ondelete="CASCADE"),
        index=True,
        doc="who links themselves; null where somebody signs in",
    ),
    Column("nonce", Text, nullable=False),
    Column("verifier", Text, nullable=False, doc="of PKCE"),
    Column("next", Text, nullable=False, doc="path to go on at"),
    Column("expires_at", BigInteger, nullable=False, index=True),
)

work_used = Table(
    "work_used",
    metadata,
    Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("began_at", BigInteger, nullable=False, doc="of the hour in which they were used"),
    Column("milliseconds", BigInteger, nullable=False, doc="of the processor"),
)

idempotent_requests = Table(  # POSTs that carry an Idempotency-Key; kept for a day
    "idempotent_requests",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of the credential's digest and the key, in hex"),
    of_account(),
    Column("fingerprint", Text, nullable=False, doc="HMAC of method, address and body, under a key that is not stored"),
    Column("started_at", BigInteger, nullable=False, index=True),
    Column("status", Integer, doc="HTTP status of the answer, null while the request is carried out"),
    Column("body", Text, doc="the answer, null while there is none and where it held a secret that is shown once"),
    Column(
        "places",
        Text,
        nullable=False,
        server_default="",
        doc="accounts.limits.idempotency.RequestQuota: where it counts",
    ),
)


def owner_of_app_secret(user_id: int) -> str:
    """The owner of an authenticator app's secret, for the cipher."""
    return f"authenticator app of user {user_id}"


_IDS = totp_factors.c.user_id, totp_factors.c.user_id, owner_of_app_secret
SEALED = (SealedColumn("secrets of authenticator apps", totp_factors.c.secret, *_IDS),)
"""The encrypted columns."""
