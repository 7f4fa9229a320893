"""What the routes of webhooks take and answer, field by field, for `/openapi.json`."""

from typing import Literal

from pydantic import Field

from registerwatch.rest.bodies import Instant, Request
from registerwatch.rest.schemas import Described

ADDRESS = "https://example.org/registerwatch"


class UrlRequest(Request):
    """An address."""

    url: str = Field(description="A public https address.", examples=[ADDRESS], json_schema_extra={"format": "uri"})


class FirstUrlRequest(Request):
    """The first address, or nothing."""

    url: str = Field(description="A public https address; empty to remove it.", examples=[ADDRESS])


class WebhookObject(Described):
    """An address of the account."""

    id: int = Field(description="Number.", examples=[5])
    url: str = Field(description="Where deliveries go.", examples=[ADDRESS])
    secret: str = Field(description="What they are signed with.", examples=["whsec_…"])
    created_at: str = Field(description="UTC.", **Instant)
    last_at: str | None = Field(description="End of the last delivery, UTC; null when there was none.", **Instant)
    last_ok: bool | None = Field(description="Whether it was accepted.")
    last_error: str | None = Field(description="Why it was not; empty when it was.")


class OneWebhook(Described):
    """A webhook."""

    webhook: WebhookObject


class Webhooks(Described):
    """The account's webhooks."""

    webhooks: list[WebhookObject] = Field(description="The first one first, then the oldest.")


class TestAnswer(Described):
    """How a test was received."""

    ok: bool = Field(description="Whether the receiver answered with 2xx.")
    status: int | None = Field(description="HTTP status of its last answer, null when there was none.", examples=[200])
    error: str = Field(description="Why it was not accepted; empty when it was.")
    delivery: str = Field(description="Id of the delivery.", examples=["whd_…"])


class DeliveryObject(Described):
    """One delivery."""

    id: str = Field(description="As in its body and headers.", examples=["whd_…"])
    type: Literal["watch.changed", "watch.test"] = Field(description="What it is about.")
    created_at: str = Field(description="UTC.", **Instant)
    finished_at: str | None = Field(description="UTC; null while it is under way.", **Instant)
    ok: bool | None = Field(description="Whether it was accepted; null while it is under way.")
    attempts: int = Field(description="Attempts so far.", examples=[1])
    status: int | None = Field(description="HTTP status of the last answer, null when there was none.", examples=[200])
    error: str = Field(description="Why the last attempt failed, or empty.")
    body: str | None = Field(description="What is sent, to the byte; null before the first attempt.")


class Deliveries(Described):
    """Deliveries to one address."""

    deliveries: list[DeliveryObject] = Field(description="The newest 50, newest first.")
