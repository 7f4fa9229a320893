"""What the routes of accounts take and answer, field by field, for `/openapi.json`."""

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from registerwatch.accounts.passwords import MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH
from registerwatch.accounts.validation import MAX_EMAIL_LENGTH, MAX_LABEL_LENGTH
from registerwatch.rest.bodies import Instant, Request
from registerwatch.rest.schemas import Described
from registerwatch.rest.webhook_schemas import WebhookObject

EMAIL = "someone@example.org"

Email = Annotated[
    str, Field(description="E-mail address of a user.", examples=[EMAIL], json_schema_extra={"format": "email"})
]
NewPassword = Annotated[
    SecretStr,
    Field(
        description=f"{MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH:,} characters, whichever they are.",
        json_schema_extra={"minLength": MIN_PASSWORD_LENGTH, "maxLength": MAX_PASSWORD_LENGTH},
    ),
]
Password = Annotated[SecretStr, Field(max_length=MAX_PASSWORD_LENGTH, description="Password.")]


class TrialRequest(Request):
    """Whoever opens a trial."""

    email: Email
    password: NewPassword
    name: str | None = Field(
        None, description="Company name; by default the domain of the e-mail address.", examples=["Example GmbH"]
    )


class LoginRequest(Request):
    """Whoever signs in."""

    email: str = Field(description="E-mail address of a user.", examples=[EMAIL])
    password: Password


class PasswordRequest(Request):
    """A new password."""

    password: NewPassword


class ForgotRequest(Request):
    """Whoever needs a link to set a new password."""

    email: Email


class ResetRequest(Request):
    """A new password with the token of a mailed link."""

    token: str = Field(description="The `token` in the link.")
    password: NewPassword


class DeleteRequest(Request):
    """The end of an account."""

    password: Annotated[
        SecretStr, Field(max_length=MAX_PASSWORD_LENGTH, description="An owner's password, whoever calls.")
    ]


class UserRequest(Request):
    """A user to add as a member."""

    email: Email
    password: NewPassword


class KeyRequest(Request):
    """A key to make."""

    label: str | None = Field(
        None, description=f"What it is for; trimmed to {MAX_LABEL_LENGTH} characters.", examples=["ERP"]
    )


class Done(Described):
    """It is done, or there was nothing to do."""

    ok: Literal[True] = Field(description="Always true.")


class AccountUser(Described):
    """A user of the account."""

    id: int = Field(description="Number for `DELETE /v1/users/{id}`.", examples=[7])
    email: str = Field(description="E-mail address.", examples=[EMAIL], max_length=MAX_EMAIL_LENGTH)
    role: Literal["owner", "member"] = Field(description="A member may not manage users, keys and webhooks.")
    created_at: str = Field(description="UTC.", **Instant)


class AccountKey(Described):
    """An API key of the account."""

    id: int = Field(description="Number for `DELETE /v1/keys/{id}`.", examples=[3])
    label: str = Field(description="What it is for.", examples=["ERP"])
    prefix: str = Field(description="The key, masked.", examples=["rw_ab…wxyz"])
    created_at: str = Field(description="UTC.", **Instant)
    revoked: bool = Field(description="Whether it has stopped working.")


class SubscriptionObject(Described):
    """What the account pays for, as the payment provider last told it."""

    status: str = Field(
        description="In the provider's words: `trialing`, `active`, `past_due`, `canceled`, `unpaid` and others.",
        examples=["active"],
    )
    cancel_at_period_end: bool = Field(description="Whether it ends with the period instead of being renewed.")
    current_period_end: str = Field(description="End of the period that is paid or due, UTC.", **Instant)


class AccountObject(Described):
    """An account, as the caller sees it."""

    email: str = Field(description="E-mail address of the account.", examples=[EMAIL])
    name: str = Field(description="Company name.", examples=["Example GmbH"])
    role: Literal["owner", "member"] = Field(description="Role of the caller; a key acts as an owner.")
    plan: Literal["trial", "standard", "operator"] = Field(description="What the caps follow.")
    expires_at: str = Field(description="End of the current period, UTC.", **Instant)
    watch_cap: int = Field(description="Most watches.", examples=[25])
    watch_count: int = Field(description="Watches there are.", examples=[3])
    expired: bool = Field(description="Whether the period is over. Reading goes on; adding and syncing do not.")
    subscription: SubscriptionObject | None = Field(
        description="The subscription, also one that is over; null when there never was one."
    )
    webhook_url: str = Field(description="First webhook address, empty when there is none.")
    webhook_secret: str = Field(description="What its deliveries are signed with, empty when there is none.")
    webhooks: list[WebhookObject] = Field(description="All addresses, the first one first.")
    webhook_last_at: str | None = Field(None, description="Last delivery to any address, UTC.", **Instant)
    webhook_last_ok: bool | None = Field(None, description="Whether it was accepted.")
    webhook_last_error: str | None = Field(None, description="Why it was not; empty when it was.")
    users: list[AccountUser] = Field(description="People of the account, oldest first.")
    keys: list[AccountKey] = Field(description="API keys, oldest first; revoked ones stay listed for 90 days.")


class SignedInAccount(AccountObject):
    """An account with a session that was just opened."""

    session: str = Field(description="Send it as `Authorization: Bearer us_…`. It lasts 14 days.", examples=["us_…"])


class TrialAccount(SignedInAccount):
    """An account that was just opened, or that was there before."""

    existing: bool = Field(description="Whether the account was there before.")
    api_key: str | None = Field(
        None, description="The first API key of a new account, told this once.", examples=["rw_…"]
    )


class CreatedKey(Described):
    """A key that was just made."""

    api_key: str = Field(description="The key, told this once. Send it as `X-API-Key: rw_…`.", examples=["rw_…"])
    label: str = Field(description="What it is for.", examples=["ERP"])


class AuditEntry(Described):
    """Somebody did something."""

    id: int = Field(description="Increasing number.", examples=[41])
    created_at: str = Field(description="UTC.", **Instant)
    actor: str = Field(description="E-mail address of a user, a masked API key, or `operator`.", examples=[EMAIL])
    action: str = Field(description="What was done.", examples=["key created"])
    subject: str = Field(description="To whom or what; can be empty.", examples=["rw_ab…wxyz (ERP)"])


class AuditTrail(Described):
    """Who did what in the account."""

    entries: list[AuditEntry] = Field(description="The newest 100, newest first.")
