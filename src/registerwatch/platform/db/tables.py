"""The tables, as SQLAlchemy Core metadata. Migrations lead to exactly this; a test compares them.

Instants are whole unix seconds (UTC). JSON is kept as text, ready to be sent.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

from registerwatch.platform.db.certificate_numbers import of_inserted_row

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_name)s", "pk": "pk_%(table_name)s"},
)

_RowId = BigInteger().with_variant(Integer, "sqlite")

devices = Table(
    "devices",
    metadata,
    Column("id", _RowId, primary_key=True),
    Column("primary_di", Text, nullable=False, doc="UDI-DI; several records can share one"),
    Column("uuid", Text, nullable=False, doc="the register's own id of the record"),
    Column("is_current", Boolean, nullable=False, doc="the one record that answers for its UDI-DI"),
    Column("latest_version", Boolean, nullable=False),
    Column("version_number", Integer, nullable=False, doc="0 when the source does not tell"),
    Column("legislation_code", Text, nullable=False, doc="last segment of the register's code, or empty"),
    Column("detail_version", Integer, doc="version whose detail was read from the register, null if never"),
    Column("revision", BigInteger, nullable=False, index=True, doc="number of the change that stored this"),
    Column(
        "read_at",
        BigInteger,
        nullable=False,
        doc="before the first request of the last read that anybody may know of: not one for watches that brought"
        " nothing new",
    ),
    Column("document", Text, nullable=False, doc="the device as the service serves it"),
    Column("source", Text, nullable=False, doc="the source that brought the document"),
    Column(
        "document_version", Integer, nullable=False, server_default="1", doc="DOCUMENT_VERSION at its last full read"
    ),
    Column("delisted_at", BigInteger, doc="first read in which the register listed it no more, null while it does"),
    Column("detail_read_at", BigInteger, doc="the same of the detail, null if never read"),
    Column("certs_read_at", BigInteger, doc="the same of the certificates, all of them; null as with the detail"),
    Column("first_seen_at", BigInteger, nullable=False, doc="read_at of the read that stored it first"),
    Column("certs_revision", BigInteger, nullable=False, doc="revision of the read of certificates, 0 if never read"),
    Column("lost_certs", Text, doc="JSON: certificates it had and has no more, see scoped_certificates; null for none"),
    Column("basic_key", Text, doc="key in basic_records that its row names (basicUdiDiDataUlid), null where unknown"),
    Column("basic_read_at", BigInteger, doc="read_at of the Basic UDI-DI record that it shows, null if never read"),
    Column("own_revision", BigInteger, nullable=False, doc="revision of what was read of the record itself"),
    Column(
        "watched_read_at", BigInteger, doc="a later read_at, of a read for watches that brought nothing new, or null"
    ),
    Column("watched_certs_at", BigInteger, doc="the certs_read_at of that read; null with watched_read_at"),
    Column("watched_basic_at", BigInteger, doc="a later basic_read_at, of a record that was read for watches, or null"),
    UniqueConstraint("primary_di", "uuid", name="uq_devices_primary_di_uuid"),
    Index(
        "ix_devices_under",
        "basic_key",
        "primary_di",
        sqlite_where=text("basic_key IS NOT NULL"),
        postgresql_where=text("basic_key IS NOT NULL"),
    ),
)

basic_records = Table(  # what all devices under one Basic UDI-DI share
    "basic_records",
    metadata,
    Column("key", Text, primary_key=True, doc="the register's ulid of it"),
    Column("record", Text, nullable=False, doc="BasicRecord in JSON"),
    Column("document_version", Integer, nullable=False, doc="DOCUMENT_VERSION when it was read"),
    Column("read_at", BigInteger, nullable=False, doc="before the request that brought it"),
    Column("revision", BigInteger, nullable=False, doc="copy_state.revision when it was stored last"),
    Column("changed_revision", BigInteger, nullable=False, doc="the same of the last time when it was another one"),
    Column("search", Text, doc="JSON: certificates that the certificate search has for it, null if never searched"),
    Column("searched_at", BigInteger, doc="before the request of that search"),
    Column("search_revision", BigInteger, nullable=False, server_default="0", doc="as revision, of the search"),
    Column("search_changed_revision", BigInteger, nullable=False, server_default="0", doc="as changed_revision"),
    Column("propagated_to", Text, doc="UDI-DI of the last device that was brought up to date, null for all"),
    Column("watched_read_at", BigInteger, doc="as in devices"),
    Column("watched_search_at", BigInteger, doc="the same of searched_at"),
    Column("basic_udi", Text, nullable=False, server_default="", index=True, doc="as record has it, or empty"),
    Column("scoped_at", BigInteger, doc="before the read of certificates whose scopes name it and that changed last"),
    Index(
        "ix_basic_records_propagated",
        "key",
        sqlite_where=text("propagated_to IS NOT NULL"),
        postgresql_where=text("propagated_to IS NOT NULL"),
    ),
)

device_codes = Table(  # what each code of a package, a direct marking and the like belongs to; documents say what it is
    "device_codes",
    metadata,
    Column("code", Text, primary_key=True, doc="never the UDI-DI of the record itself"),
    Column("primary_di", Text, primary_key=True),
    Column("uuid", Text, primary_key=True, doc="with primary_di the record in devices whose document has the code"),
)

actors = Table(
    "actors",
    metadata,
    Column("srn", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("country", Text, nullable=False, doc="ISO 3166 code of two letters, or empty"),
    Column("status_code", Text, nullable=False, doc="the register's full code, or empty"),
    Column("device_total", Integer, doc="the register's own count, null when it was never asked"),
    Column("complete", Boolean, nullable=False, doc="whether it was read as an actor, not only named by a device"),
    Column("read_at", BigInteger, nullable=False, doc="last successful reading, unix seconds"),
    Column("reads", BigInteger, nullable=False, server_default="0", doc="how often it was read and stored"),
    Column("source", Text, nullable=False, doc="the source that told it last"),
    Column("first_seen_at", BigInteger, nullable=False, doc="read_at of the read that stored it first"),
    Column("listed", BigInteger, doc="its records when the copy last had all that the register lists, null if never"),
    Column("listed_at", BigInteger, doc="when the register was last asked for them then"),
    Column("doubted_at", BigInteger, doc="when the first of the counts was read that are doubted, or null"),
    Column("watched_read_at", BigInteger, doc="as in devices"),
)

copy_state = Table(
    "copy_state",
    metadata,
    Column("id", Integer, primary_key=True, doc="always 1"),
    Column("copy_id", Text, nullable=False, doc="tells an index whether it belongs to this copy"),
    Column("revision", BigInteger, nullable=False, doc="number of the last stored change or read"),
    Column("devices", BigInteger, nullable=False, doc="rows of devices"),
    Column("last_read_at", BigInteger, doc="last successful read of the register"),
    Column("history_pruned", BigInteger, doc="last id in record_history whose subject was pruned since"),
    Column("whole_at", BigInteger, doc="began the last load of the whole register that came to its end; null if none"),
)

record_history = Table(
    "record_history",
    metadata,
    Column("id", _RowId, primary_key=True),
    Column("kind", Text, nullable=False, doc="device, actor or certificate"),
    Column("subject", Text, nullable=False, doc="UDI-DI, SRN, or id in certificates"),
    Column("record", Text, nullable=False, doc="uuid of the device record, empty where the subject is the record"),
    Column("revision", BigInteger, nullable=False, doc="number of the change, 0 where it has none"),
    Column("observed_at", BigInteger, nullable=False, doc="before the first request of the read that found it"),
    Column("source", Text, doc="the source that brought the new values"),
    Column("old", Text, nullable=False, doc="JSON: the fields that changed, with their values before"),
    Column("dropped_at", BigInteger, doc="observed_at of the change before this one, where that was deleted"),
    Index("ix_record_history_of", "kind", "subject", "id"),
    sqlite_autoincrement=True,
)

certificates = Table(  # every certificate that the register's certificate search lists
    "certificates",
    metadata,
    Column("id", Text, primary_key=True, doc="the register's ulid, else its uuid"),
    Column("uuid", Text, nullable=False, index=True, doc="the register's id of its present version"),
    Column("srn", Text, nullable=False, doc="the manufacturer's, or empty"),
    Column("actor_name", Text, nullable=False),
    Column("notified_body", Text, nullable=False, doc="its number of four digits, or empty"),
    Column("number", Text, nullable=False, index=True),
    Column("revision", Text, nullable=False, doc="empty where the register has none"),
    Column("type_code", Text, nullable=False, doc="the register's full code, or empty"),
    Column("status_code", Text, nullable=False, doc="the register's full code, or empty"),
    Column("issue_date", Text),
    Column("valid_from", Text),
    Column("expiry", Text, index=True, doc="date, null where the register has none"),
    Column("version", Integer),
    Column("is_latest", Boolean, nullable=False),
    Column("last_expiry", Text, doc="the last one that the register had: an expiry that returns is no change"),
    Column(
        "scopes_due_at", BigInteger, nullable=False, server_default="0", index=True, doc="when they are to be read next"
    ),
    Column("first_seen_at", BigInteger, nullable=False, doc="began the walk that listed it first"),
    Column("seen_at", BigInteger, nullable=False, doc="began the walk that listed it last"),
    Column(
        "listed_revision",
        BigInteger,
        nullable=False,
        server_default="0",
        doc="copy_state.revision before the walk that showed its latest version last",
    ),
    Column(
        "unlisted_at", BigInteger, doc="began the first complete walk that did not list it, null while it is listed"
    ),
    Column("scopes_read_at", BigInteger, doc="null where its own record was never read"),
    Column("scopes", Text, doc="JSON: register.certificates.Scope, null as before"),
    Column("facts", Text, doc="JSON: register.certificates.CertificateFacts, null where they were never read"),
    Column(
        "plain_number",
        Text,
        nullable=False,
        server_default="",
        default=of_inserted_row,
        index=True,
        doc="its number without white space, in capitals: how people look for it",
    ),
    Index("ix_certificates_srn", "srn", "number"),
    Index("ix_certificates_notified_body", "notified_body", "number"),
    Index("ix_certificates_status_code", "status_code", "id"),
)

certificate_scopes = Table(
    "certificate_scopes",
    metadata,
    Column("certificate_id", Text, ForeignKey("certificates.id", ondelete="CASCADE"), primary_key=True),
    Column("basic_udi", Text, primary_key=True, index=True, doc="a Basic UDI-DI that its scopes name"),
)

device_certificates = Table(  # certificates that devices list themselves, as the newest read of one has them
    "device_certificates",
    metadata,
    Column("srn", Text, primary_key=True, doc="the manufacturer's"),
    Column("number", Text, primary_key=True),
    Column("revision", Text, primary_key=True, doc="empty where the register has none"),
    Column("notified_body", Text, primary_key=True, doc="likewise"),
    Column("primary_di", Text, nullable=False, doc="of the device that was read"),
    Column("read_at", BigInteger, nullable=False, doc="before the first request of that read, for its certificates"),
    Column("told", Text, nullable=False, doc="JSON: register.models.Certificate, each that is alike"),
)

certificate_documents = Table(  # documents of certificates that were passed through, as they were seen first
    "certificate_documents",
    metadata,
    Column("uuid", Text, primary_key=True, doc="the register's"),
    Column("sha256", Text, nullable=False, doc="of its content, in hexadecimal digits"),
    Column("size", BigInteger, nullable=False, doc="bytes"),
    Column("first_seen_at", BigInteger, nullable=False),
)

refusals = Table(  # refused applications for a certificate
    "refusals",
    metadata,
    Column("id", Text, primary_key=True, doc="the register's ulid, else its uuid"),
    Column("srn", Text, nullable=False, index=True, doc="the manufacturer's, or empty"),
    Column("actor_name", Text, nullable=False),
    Column("notified_body", Text, nullable=False),
    Column("reference", Text, nullable=False, doc="of the application"),
    Column("procedure_code", Text, nullable=False, doc="conformity assessment procedure, the register's full code"),
    Column("refused_on", Text, doc="date"),
    Column("first_seen_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("unlisted_at", BigInteger),
)

notified_bodies = Table(
    "notified_bodies",
    metadata,
    Column("number", Text, primary_key=True, doc="four digits"),
    Column("name", Text, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
)

certificate_news = Table(  # what changed in the certificates of a manufacturer, in the order in which it was found
    "certificate_news",
    metadata,
    Column("id", _RowId, primary_key=True),
    Column("srn", Text, nullable=False),
    Column("certificate_id", Text, nullable=False, doc="in certificates, or in refusals"),
    Column("changes", Text, nullable=False, doc="JSON: array of {field, old, new, certificate}"),
    Column("found_at", BigInteger, nullable=False),
    Column("visible_at", BigInteger, nullable=False, doc="before the request that listed it"),
    Index("ix_certificate_news_srn", "srn", "id"),
    sqlite_autoincrement=True,
)

walks = Table(  # reads of a whole list: certificates, refusals, notified bodies
    "walks",
    metadata,
    Column("name", Text, primary_key=True),
    Column("began_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger, doc="null while it goes on, and where its process was killed"),
    Column("complete_at", BigInteger, doc="when the last walk began that saw the whole list, null before the first"),
    Column("leased_until", BigInteger, nullable=False, doc="a node has it until then, 0 when none has"),
    Column("listed", BigInteger, nullable=False, doc="records that the last walk saw"),
    Column("total", BigInteger, doc="records that the register counted meanwhile"),
    Column("problem", Text, nullable=False, doc="why the last walk was not complete, or empty"),
    Column(
        "unread", Text, nullable=False, server_default="[]", doc="JSON: ids of listed rows that could not be read yet"
    ),
)

device_sweeps = Table(  # manufacturers that are watched, or have watched devices
    "device_sweeps",
    metadata,
    Column("srn", Text, primary_key=True),
    Column("lists_all", Boolean, nullable=False, doc="whether all its devices are listed, since it is watched itself"),
    Column("watched", BigInteger, nullable=False, doc="its UDI-DIs that are watched"),
    Column("added_at", BigInteger, nullable=False, doc="or since when all its devices are to be listed"),
    Column("turn_at", BigInteger, nullable=False, index=True, doc="its last turn; 0 when it is due at once"),
    Column("leased_until", BigInteger, nullable=False, doc="a node has it until then, 0 when none has"),
    Column("walk", BigInteger, nullable=False, doc="number of its present or last walk"),
    Column("walk_began_at", BigInteger, doc="null while no walk is under way"),
    Column("cursor", Text, nullable=False, doc="where the walk goes on: a page, or the last UDI-DI"),
    Column("total", BigInteger, doc="the register's count of its devices, when it was last listed"),
    Column("is_steady", Boolean, nullable=False, doc="whether that count never fell in the present walk"),
    Column("swept_at", BigInteger, doc="when the last walk began that came to its end, null before the first"),
    Column("complete_at", BigInteger, doc="the same of one that listed every device"),
    Column("doubted_at", BigInteger, doc="when the first of the lists began that are doubted, or null"),
    Column("problem", Text, nullable=False, doc="why the last turn failed, or what is wrong with the list, or empty"),
    Column("unreadable", Text, nullable=False, server_default="", doc="tells rows of the walk that cannot be read"),
)

portfolio_devices = Table(  # the devices of watched manufacturers as they were last listed
    "portfolio_devices",
    metadata,
    Column("srn", Text, primary_key=True),
    Column("uuid", Text, primary_key=True),
    Column("primary_di", Text, nullable=False),
    Column("status_code", Text, nullable=False, doc="the register's full code, or empty"),
    Column("is_latest", Boolean, nullable=False),
    Column("version_number", BigInteger, nullable=False, server_default="0", doc="0 when the row does not tell"),
    Column("walk", BigInteger, nullable=False, doc="number of the last walk that listed it"),
    Column(
        "changed_walk", BigInteger, nullable=False, server_default="0", doc="number of the walk that found it as it is"
    ),
    Column("on_market", Boolean, doc="what the last complete walk found of its UDI-DI, null where it told nothing"),
    Index("ix_portfolio_devices_primary_di", "srn", "primary_di"),
)

portfolio_news = Table(  # what changed in them, in the order in which it was found
    "portfolio_news",
    metadata,
    Column("id", _RowId, primary_key=True),
    Column("srn", Text, nullable=False),
    Column("primary_di", Text, nullable=False),
    Column("name", Text, nullable=False, doc="trade name, or empty"),
    Column("change", Text, nullable=False, doc="registered, off_market or on_market"),
    Column("found_at", BigInteger, nullable=False),
    Column("visible_at", BigInteger, nullable=False, doc="before the request that listed it"),
    Index("ix_portfolio_news_srn", "srn", "id"),
    Index("ix_portfolio_news_found_at", "srn", "found_at"),
    sqlite_autoincrement=True,
)

register_checks = Table(  # what was last verified of how the register answers
    "register_checks",
    metadata,
    Column("name", Text, primary_key=True, doc="register.sources.checks.CheckName"),
    Column("looked_at", BigInteger, nullable=False, doc="last look, whether the register answered or not"),
    Column("checked_at", BigInteger, doc="last look that it answered, null before the first"),
    Column("is_ok", Boolean, doc="what that look found, null before it"),
    Column("found", Text, nullable=False, doc="what was found: a sentence, or a value such as the build"),
    Column("changed_at", BigInteger, doc="when that last became another, null when it never did"),
    Column(
        "unanswered_since", BigInteger, doc="first look that the register did not answer, null where it answered last"
    ),
    Column("reason", Text, nullable=False, doc="why it did not answer, or empty"),
)

fills = Table(
    "fills",
    metadata,
    Column("source", Text, primary_key=True, doc="datalake, register, or a file's address"),
    Column("cursor", Text, nullable=False, doc="where to go on: an address, a page, a line"),
    Column("records", BigInteger, nullable=False, doc="records read so far in this run"),
    Column("changed", BigInteger, nullable=False, doc="records stored because they were new or changed"),
    Column("started_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger, doc="null while the run is unfinished"),
)

unread_fields = Table(
    "unread_fields",
    metadata,
    Column("record", Text, primary_key=True, doc="the kind of record, such as `device row`"),
    Column("field", Text, primary_key=True, doc="the path of the field in it"),
    Column("records", BigInteger, nullable=False, doc="in how many records it could not be read"),
    Column("example", Text, nullable=False, doc="the first value, shortened"),
    Column("first_at", BigInteger, nullable=False),
    Column("last_at", BigInteger, nullable=False, doc="when that was last stored, within a minute"),
)

request_budgets = Table(
    "request_budgets",
    metadata,
    Column("host", Text, primary_key=True, doc="register or data_lake"),
    Column(
        "sent",
        Text,
        nullable=False,
        doc="JSON: of each kind of request, how many were sent in each of the last seconds",
    ),
    Column(
        "asking", Text, nullable=False, doc="JSON: of each kind, since when and when last it asked, when it was served"
    ),
    Column("paused_until", BigInteger, nullable=False, doc="no request before this; the host throttled us"),
    Column("throttled", Integer, nullable=False, doc="pauses in a row"),
    Column("pace", Integer, doc="requests that may leave in a minute, null before the first"),
    Column("quiet_since", BigInteger, nullable=False, doc="since then it neither throttled nor was the pace changed"),
    Column("halved_at", BigInteger, nullable=False, doc="when the pace was halved last, 0 for never"),
)

accounts = Table(
    "accounts",
    metadata,
    Column("id", _RowId, primary_key=True),
    Column("email", Text, nullable=False, doc="the account's e-mail: that of the user who signed up"),
    Column("name", Text, nullable=False, doc="company name"),
    Column("plan", Text, nullable=False, doc="a name in the table of plans"),
    Column("expires_at", BigInteger, nullable=False, doc="end of the current period"),
    Column("created_at", BigInteger, nullable=False),
    Column(
        "paused_until", BigInteger, index=True, doc="until when its notifications wait, null or past where they do not"
    ),
    sqlite_autoincrement=True,  # an id is never given twice, so nobody holds an old one of something else
)


def _of_account() -> Column[int]:
    """The account that a row belongs to and goes away with."""
    return Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True)


def _of_user() -> Column[int]:
    """The user whom a row belongs to and goes away with."""
    return Column("user_id", BigInteger, ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True)


users = Table(
    "users",
    metadata,
    Column("id", _RowId, primary_key=True),
    _of_account(),
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
    Column("id", _RowId, primary_key=True),
    _of_account(),
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
    _of_user(),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
    Column("last_used_at", BigInteger, doc="about; null before the first use that was stored"),
    Column("proved_at", BigInteger, doc="when its user last proved who they are, null where they did not"),
)

confirmation_tokens = Table(  # all of an address go away when one is used; they outlive whoever has used the address
    "confirmation_tokens",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of the token, in hex"),
    Column("address", Text, nullable=False, index=True, doc="SHA-256 of the e-mail address, in hex"),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)

invitations = Table(  # an invitation goes away when it is accepted
    "invitations",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of the token, in hex"),
    _of_account(),
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

reset_tokens = Table(  # a token goes away when it is used
    "reset_tokens",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of the token, in hex"),
    _of_user(),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)

audit = Table(
    "audit",
    metadata,
    Column("id", _RowId, primary_key=True),
    _of_account(),
    Column("created_at", BigInteger, nullable=False, index=True),
    Column("actor", Text, nullable=False, doc="who did it: a user's e-mail, a key as listings show it, operator"),
    Column("action", Text, nullable=False, doc="a value of accounts.audit.Action"),
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

recovery_codes = Table(  # a code goes away when it is used
    "recovery_codes",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of the user's id and the code, in hex"),
    _of_user(),
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
    Column("id", _RowId, primary_key=True),
    _of_user(),
    Column("credential_id", Text, nullable=False, doc="the authenticator's, in URL-safe base64"),
    Column("public_key", Text, nullable=False, doc="COSE, in URL-safe base64"),
    Column("sign_count", BigInteger, nullable=False, doc="as the authenticator told it last; many always tell 0"),
    Column("label", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    UniqueConstraint("credential_id", name="uq_passkeys_credential_id"),
    sqlite_autoincrement=True,
)

passkey_challenges = Table(  # a challenge goes away when it is answered
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
    _of_user(),
    Column("expires_at", BigInteger, nullable=False, index=True),
    Column("tries", Integer, nullable=False, doc="codes that were wrong"),
)

provider_links = Table(  # whom the OpenID provider signs in
    "provider_links",
    metadata,
    Column("id", _RowId, primary_key=True),
    _of_user(),
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False, doc="the provider's id of the person"),
    Column("email", Text, nullable=False, doc="what the provider called them when it was linked"),
    Column("created_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    UniqueConstraint("issuer", "subject", name="uq_provider_links_issuer_subject"),
    sqlite_autoincrement=True,
)

provider_requests = Table(  # who was sent to the OpenID provider; goes away when they come back
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

watches = Table(
    "watches",
    metadata,
    Column("id", _RowId, primary_key=True),
    Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False, doc="udi or srn"),
    Column("subject", Text, nullable=False, doc="the UDI-DI or SRN", index=True),
    Column("label", Text, nullable=False),
    Column("is_renamed", Boolean, nullable=False, doc="whether a person gave the label"),
    Column("snapshot", Text, doc="watches.snapshot.Snapshot in JSON, null before the first successful read"),
    Column(
        "last_sync", BigInteger, doc="before the first request of the last successful read, null when there was none"
    ),
    Column("tried_at", BigInteger, nullable=False, index=True, doc="last try to read it, 0 when it is due at once"),
    Column("last_error", Text, nullable=False, doc="why the last read failed, empty when it did not"),
    Column("failing_since", BigInteger, doc="first failure since the last success, null when there was none"),
    Column("created_at", BigInteger, nullable=False),
    Column("notes", Text, nullable=False, server_default="", doc="what people wrote down beside it"),
    Column("options", Text, nullable=False, server_default="{}", doc="watches.options.WatchOptions in JSON"),
    Column(
        "manufacturer_srn", Text, nullable=False, server_default="", index=True, doc="of the device, or the subject"
    ),
    Column("basic_udi", Text, nullable=False, server_default="", index=True, doc="of the device, or empty"),
    Column("portfolio_seen", BigInteger, doc="last id of portfolio_news that it was told, null without a baseline"),
    Column("certificates_seen", BigInteger, doc="the same of certificate_news"),
    Column("news_since", BigInteger, doc="lists of before are no baseline of news; null stands for created_at"),
    UniqueConstraint("account_id", "subject", name="uq_watches_account_id_subject"),
    sqlite_autoincrement=True,
)

expiry_notices = Table(  # how near the end of a certificate is of which a watch was told
    "expiry_notices",
    metadata,
    Column("watch_id", BigInteger, ForeignKey("watches.id", ondelete="CASCADE"), primary_key=True),
    Column("certificate", Text, primary_key=True, doc="notified body, number and revision"),
    Column("expiry", Text, primary_key=True, doc="date"),
    Column("days", Integer, nullable=False, doc="the last notice: so many days before, or more at the baseline"),
)

work_used = Table(
    "work_used",
    metadata,
    Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("began_at", BigInteger, nullable=False, doc="of the hour in which they were used"),
    Column("milliseconds", BigInteger, nullable=False, doc="of the processor"),
)

item_lists = Table(  # lists of articles that an account keeps, such as those of its enterprise resource planning
    "item_lists",
    metadata,
    Column("id", _RowId, primary_key=True),
    _of_account(),
    Column("name", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("upload_id", BigInteger, doc="in list_uploads: whose lines the list has, null before the first is kept"),
    UniqueConstraint("account_id", "name", name="uq_item_lists_account_id_name"),
    sqlite_autoincrement=True,
)

list_uploads = Table(  # files that were sent for a list: the one that it has now, and one that waits to be kept
    "list_uploads",
    metadata,
    Column("id", _RowId, primary_key=True),
    Column("list_id", BigInteger, ForeignKey("item_lists.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("created_at", BigInteger, nullable=False, index=True),
    Column("queued_at", BigInteger, nullable=False, doc="since when it waits to be read, or to be read in another way"),
    Column("filename", Text, nullable=False, doc="what the sender calls the file; it names nothing here"),
    Column("content", LargeBinary, doc="the file, null once the upload is kept"),
    Column("choices", Text, nullable=False, doc="JSON: tables.table.ReadChoices, how the file is to be read"),
    Column("found", Text, doc="JSON: lists.models.FoundTable, how it was read; null before"),
    Column("state", Text, nullable=False, index=True, doc="lists.models.UploadState"),
    Column("problem", Text, nullable=False, doc="why it failed, or empty"),
    Column("total", Integer, doc="its lines, null before it was read"),
    Column("matched", Integer, nullable=False, doc="lines that are matched and stored"),
    Column("line_bytes", BigInteger, nullable=False, server_default="0", doc="of the cells of its lines, in UTF-8"),
    Column("keeps_itself", Boolean, nullable=False, doc="whether it is kept as soon as it is ready"),
    Column("leased_until", BigInteger, nullable=False, doc="a node works on it until then, 0 when none does"),
    Column("revision", BigInteger, nullable=False, doc="of the copy: what its lines tell is as of then, or later"),
    sqlite_autoincrement=True,
)

list_lines = Table(
    "list_lines",
    metadata,
    Column("upload_id", BigInteger, ForeignKey("list_uploads.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, doc="of the row in the file, from 1"),
    Column("code", Text, nullable=False, doc="the cell of the code column"),
    Column("cells", Text, nullable=False, doc="JSON: array of the other cells, without empty ones at the end"),
    Column("key", Text, nullable=False, doc="the same in the next upload of the list for the same code"),
    Column("nth", Integer, nullable=False, doc="of the lines with this key, from 1"),
    Column(
        "subject", Text, index=True, doc="UDI-DI or SRN that the code means, null where it is none or one of several"
    ),
    Column("standing", Text, nullable=False, doc="lists.models.Standing"),
    Column("reason", Text, nullable=False, doc="why there is no subject, or empty"),
    Column("certified_until", Text, doc="date after which no certificate counts, empty for none; null where not known"),
    Column("certs_read", Boolean, nullable=False, doc="whether the certificates of the device were read"),
    Column("due_at", BigInteger, index=True, doc="when it is matched again, null for what the copy has"),
    Index("ix_list_lines_key", "upload_id", "key", "nth"),
)

watch_tags = Table(
    "watch_tags",
    metadata,
    Column("watch_id", BigInteger, ForeignKey("watches.id", ondelete="CASCADE"), primary_key=True),
    Column("tag", Text, primary_key=True, doc="as the account spelled it first"),
    Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Index("ix_watch_tags_account_id_tag", "account_id", "tag"),
)

sync_runs = Table(  # the last sync that a person of the account started on a page
    "sync_runs",
    metadata,
    Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("run", Text, nullable=False, doc="tells this run from the next one of the account"),
    Column("started_at", BigInteger, nullable=False),
    Column("ends_by", BigInteger, nullable=False, doc="a run that has not finished by then was interrupted"),
    Column("total", Integer, nullable=False, doc="watches that it is to read"),
    Column("done", Integer, nullable=False, doc="those that were tried so far"),
    Column("failed", Integer, nullable=False, doc="those of them that were tried in vain"),
    Column("events", Integer, nullable=False, doc="the account's events since it started"),
    Column("finished_at", BigInteger, doc="null while it goes on, and for ever where its process was killed"),
    Column("error", Text, nullable=False, doc="why it did not try all, or empty"),
)

read_failures = Table(  # reads of a watch that failed; several in a row for the same reason are one row
    "read_failures",
    metadata,
    Column("id", _RowId, primary_key=True),
    Column("watch_id", BigInteger, ForeignKey("watches.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("reason", Text, nullable=False, doc="as `watches.last_error` had it"),
    Column("first_at", BigInteger, nullable=False),
    Column("last_at", BigInteger, nullable=False),
    Column("times", Integer, nullable=False),
    Column("ended_at", BigInteger, doc="when a read went well, or failed for another reason; null before that"),
    sqlite_autoincrement=True,
)

recheck_turns = Table(  # accounts take turns in the recheck; one that has no row waits since it was made
    "recheck_turns",
    metadata,
    Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("rechecked_at", BigInteger, doc="its last turn, in microseconds, null before the first"),
    Column("first_reads_at", BigInteger, doc="the same of turns for watches that were never read"),
)

events = Table(
    "events",
    metadata,
    Column("id", _RowId, primary_key=True),
    _of_account(),
    Column("watch_id", BigInteger, nullable=False, doc="the watch, which the event survives"),
    Column("subject", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("summary", Text, nullable=False),
    Column("changes", Text, nullable=False, doc="JSON: array of {field, old, new}"),
    Column("awaits_sync", Boolean, nullable=False, doc="whether the account's next sync lists it"),
    Column("kind", Text, nullable=False, server_default="record", doc="watches.models.EventKind"),
    Column("severity", Text, nullable=False, doc="watches.models.EventSeverity"),
    Column("cause", Text, doc="watches.causes: the same for events that feeds tell as one"),
    Column("fields", Text, nullable=False, doc="names of the changed fields: ',status,trade_name,'"),
    Column("archived_at", BigInteger, doc="null while the account lists it among its events"),
    Column("visible_at", BigInteger, doc="before the first request that showed the change; null where not noted"),
    Index("ix_events_cause_id", "cause", "id"),
    Index("ix_events_account_id_id", "account_id", "id"),
    Index("ix_events_account_id_watch_id_id", "account_id", "watch_id", "id"),
    Index(  # every column that the page of events filters by: it finds and counts without reading the rows
        "ix_events_listing",
        "account_id",
        "id",
        "archived_at",
        "severity",
        "kind",
        "watch_id",
        "subject",
        "created_at",
        "fields",
    ),
    Index("ix_events_severity", "account_id", "severity", "id", "archived_at"),
    sqlite_autoincrement=True,
)

event_marks = Table(  # what differs from users.events_seen_through
    "event_marks",
    metadata,
    Column("user_id", BigInteger, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("event_id", BigInteger, primary_key=True, doc="an event of the user's account"),
    Column("is_seen", Boolean, nullable=False, doc="true only after events_seen_through, false only up to it"),
    sqlite_with_rowid=False,
)

idempotent_requests = Table(  # POSTs that carry an Idempotency-Key; kept for a day
    "idempotent_requests",
    metadata,
    Column("digest", Text, primary_key=True, doc="SHA-256 of the credential's digest and the key, in hex"),
    _of_account(),
    Column("fingerprint", Text, nullable=False, doc="HMAC of method, address and body, under a key that is not stored"),
    Column("started_at", BigInteger, nullable=False, index=True),
    Column("status", Integer, doc="HTTP status of the answer, null while the request is carried out"),
    Column("body", Text, doc="the answer, null while there is none and where it held a secret that is told once"),
    Column("places", Text, nullable=False, server_default="", doc="accounts.idempotency.Places: whose places it takes"),
)

webhooks = Table(  # targets of every channel
    "webhooks",
    metadata,
    Column("id", _RowId, primary_key=True),
    _of_account(),
    Column("channel", Text, nullable=False, server_default="webhook", doc="how notifications are sent there"),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("old_secret", Text, doc="the secret before, which signs beside the new one for a day"),
    Column("old_secret_until", BigInteger),
    Column("is_first", Boolean, nullable=False, doc="the one that the account object shows as webhook_url"),
    Column("created_at", BigInteger, nullable=False),
    Column("last_at", BigInteger, doc="last attempt to deliver"),
    Column("last_ok", Boolean),
    Column("last_error", Text),
    Column(
        "user_id",
        BigInteger,
        ForeignKey("users.id", ondelete="CASCADE"),
        doc="the user whose own it is (e-mail), null for one of the account",
    ),
    Column("name", Text, nullable=False, server_default="", doc="what people call it, or empty"),
    Column("choice", Text, doc="JSON: notifications.choices.Choice, null for every event at once"),
    Column("time_zone", Text, nullable=False, server_default="UTC", doc="of its digests; one of a user has the user's"),
    Column(
        "repeats", Boolean, nullable=False, server_default=false(), doc="whether a delivery that failed is repeated"
    ),
    Column("failing_since", BigInteger, doc="the first failure after the last success, null while it works"),
    Column("paused_at", BigInteger, doc="since when nothing is sent there, null while it is"),
    Column("paused_reason", Text, nullable=False, server_default="", doc="why, for people"),
    Index("ix_webhooks_user_id", "user_id", "channel", unique=True),
    sqlite_autoincrement=True,
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Text, primary_key=True, doc="whd_…"),
    _of_account(),
    Column("webhook_id", BigInteger, ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    Column("channel", Text, nullable=False, server_default="webhook", doc="that of its target"),
    Column("type", Text, nullable=False, doc="watch.changed or watch.test"),
    Column("batch", Text, nullable=False, doc="events of one batch join one delivery; its own id for a test"),
    Column("created_at", BigInteger, nullable=False),
    Column("due_at", BigInteger, doc="from when on it may be sent; null when it has ended, well or badly"),
    Column("leased_until", BigInteger, nullable=False, doc="a worker has it until then, 0 when none has"),
    Column("body", Text, doc="what is sent, null before the first attempt"),
    Column("attempts", Integer, nullable=False),
    Column("finished_at", BigInteger),
    Column("is_accepted", Boolean, doc="null while it is under way"),
    Column("status", Integer, doc="HTTP status of the last answer"),
    Column("error", Text, nullable=False, doc="why the last attempt failed, or empty"),
    Column("milliseconds", BigInteger, doc="what the last attempt took, null where there was none"),
    Column("is_scheduled", Boolean, nullable=False, server_default=false(), doc="whether due_at may be days from now"),
    Column("round", Integer, nullable=False, server_default="0", doc="how often it was put off after it failed"),
    Column(
        "handed_over_at",
        BigInteger,
        doc="when a target that must get it once began to get it, null where it surely has not arrived",
    ),
    UniqueConstraint("webhook_id", "batch", name="uq_deliveries_webhook_id_batch"),
    Index("ix_deliveries_of_webhook", "webhook_id", "created_at", "is_accepted", "finished_at"),
    Index("ix_deliveries_due_at", "due_at"),
    Index("ix_deliveries_is_scheduled", "is_scheduled", "due_at"),
    Index("ix_deliveries_batch", "batch"),
)

delivery_events = Table(
    "delivery_events",
    metadata,
    Column("id", _RowId, primary_key=True, doc="in the order in which they were put"),
    Column("delivery_id", Text, ForeignKey("deliveries.id", ondelete="CASCADE"), nullable=False),
    Column("events", Text, nullable=False, doc="rendered events that were put together, one a line"),
    Index("ix_delivery_events_delivery_id_id", "delivery_id", "id"),
)
"""What deliveries tell that have no body yet."""

feeds = Table(
    "feeds",
    metadata,
    Column("id", _RowId, primary_key=True),
    _of_account(),
    Column("prefix", Text, nullable=False, doc="the token as listings show it: ft_ab…wxyz"),
    Column("digest", Text, nullable=False, doc="SHA-256 of the token, in hex"),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("digest", name="uq_feeds_digest"),
    sqlite_autoincrement=True,
)

ticks = Table(
    "ticks",
    metadata,
    Column("name", Text, primary_key=True, doc="what is done once in a while over the whole fleet"),
    Column("slot", BigInteger, nullable=False, doc="the last slot of time that somebody claimed"),
)

checkouts = Table(  # kept when the account goes: what is paid for afterwards must be ended
    "checkouts",
    metadata,
    Column("attempt", Text, primary_key=True, doc="made up here; the provider makes one page for each"),
    Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="SET NULL"), index=True),
    Column("terms", Text, nullable=False, doc="SHA-256 of what is to be paid for and how, in hex"),
    Column("session_id", Text, doc="the provider's id, null until it has answered"),
    Column("started_at", BigInteger, nullable=False, index=True),
    Column("asked_at", BigInteger, nullable=False, doc="when the provider was last asked whether it was paid, or 0"),
    Column("is_settled", Boolean, nullable=False, doc="whether it was paid or cannot be any more"),
    UniqueConstraint("session_id", name="uq_checkouts_session_id"),
)

payers = Table(
    "payers",
    metadata,
    Column("account_id", BigInteger, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("version", BigInteger, nullable=False, doc="times that something the provider told was stored"),
    Column("granted_plan", Text, nullable=False, doc="the plan without any subscription"),
    Column("granted_until", BigInteger, nullable=False, doc="its end: that of the trial, or what the operator set"),
    Column("set_plan", Text, nullable=False, doc="what billing wrote into the account last"),
    Column("set_until", BigInteger, nullable=False),
)

subscriptions = Table(
    "subscriptions",
    metadata,
    Column("id", Text, primary_key=True, doc="the provider's"),
    _of_account(),
    Column("customer_id", Text, nullable=False, doc="the provider's"),
    Column("status", Text, nullable=False, doc="in the provider's words"),
    Column("price_id", Text, nullable=False, doc="the provider's"),
    Column("plan", Text, nullable=False, doc="what the price is for: a name in the table of plans"),
    Column("cancel_at_period_end", Boolean, nullable=False),
    Column("period_start", BigInteger, nullable=False),
    Column("period_end", BigInteger, nullable=False),
    Column("ended_at", BigInteger, doc="null while it has not ended"),
    Column("had_trial", Boolean, nullable=False, doc="whether it began with days without a charge"),
    Column("read_at", BigInteger, nullable=False, doc="last time that the provider told all this"),
)

cancellations = Table(
    "cancellations",
    metadata,
    Column("subscription_id", Text, primary_key=True, doc="of an account that is gone, to be ended by the provider"),
    Column("asked_at", BigInteger, nullable=False),
    Column("tried_at", BigInteger, nullable=False, doc="last try, 0 when there was none"),
)

payment_events = Table(
    "payment_events",
    metadata,
    Column("id", Text, primary_key=True, doc="the provider's"),
    Column("type", Text, nullable=False),
    Column("received_at", BigInteger, nullable=False, index=True),
)

nomenclature = Table(
    "nomenclature",
    metadata,
    Column("code", Text, primary_key=True, doc="of the European Medical Device Nomenclature"),
    Column("name", Text, nullable=False, doc="in English"),
)

__all__ = [
    "accounts",
    "actors",
    "api_keys",
    "audit",
    "cancellations",
    "certificate_news",
    "certificate_scopes",
    "certificates",
    "checkouts",
    "confirmation_tokens",
    "copy_state",
    "deletion_notices",
    "deliveries",
    "device_certificates",
    "device_sweeps",
    "devices",
    "events",
    "expiry_notices",
    "feeds",
    "fills",
    "guessed_codes",
    "invitations",
    "known_clients",
    "mail_counts",
    "metadata",
    "nomenclature",
    "notified_bodies",
    "passkey_challenges",
    "passkeys",
    "payers",
    "payment_events",
    "portfolio_devices",
    "portfolio_news",
    "provider_links",
    "provider_requests",
    "read_failures",
    "recheck_turns",
    "record_history",
    "recovery_codes",
    "refusals",
    "register_checks",
    "request_budgets",
    "reset_tokens",
    "sessions",
    "sign_in_steps",
    "subscriptions",
    "sync_runs",
    "ticks",
    "totp_factors",
    "unread_fields",
    "users",
    "walks",
    "watch_tags",
    "watches",
    "webhooks",
]
