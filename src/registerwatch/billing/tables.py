"""The tables of payments."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Table, Text, UniqueConstraint

from registerwatch.platform.db.tables import metadata, of_account

checkouts = Table(  # kept when the account is deleted: a later payment must be ended
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
    Column("version", BigInteger, nullable=False, doc="how often an answer of the provider was stored"),
    Column("granted_plan", Text, nullable=False, doc="the plan without any subscription"),
    Column("granted_until", BigInteger, nullable=False, doc="its end: that of the trial, or what the operator set"),
    Column("set_plan", Text, nullable=False, doc="what billing wrote into the account last"),
    Column("set_until", BigInteger, nullable=False),
)

subscriptions = Table(
    "subscriptions",
    metadata,
    Column("id", Text, primary_key=True, doc="the provider's"),
    of_account(),
    Column("customer_id", Text, nullable=False, doc="the provider's"),
    Column("status", Text, nullable=False, doc="in the provider's words"),
    Column("price_id", Text, nullable=False, doc="the provider's"),
    Column("plan", Text, nullable=False, doc="what the price is for: a name in the table of plans"),
    Column("cancel_at_period_end", Boolean, nullable=False),
    Column("period_start", BigInteger, nullable=False),
    Column("period_end", BigInteger, nullable=False),
    Column("ended_at", BigInteger, doc="null while it has not ended"),
    Column("had_trial", Boolean, nullable=False, doc="whether it began with days without a charge"),
    Column("read_at", BigInteger, nullable=False, doc="when all this was last read from the provider"),
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
