"""Answers of the routes of webhooks."""

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from registerwatch.notifications.models import Delivery, Target
from registerwatch.notifications.targets.targets import TestResult
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.db.row_pages import RowPage
from registerwatch.web.answers.answers import Answer, doc, instant, iso_or_none

EXAMPLE_FAILURE = "the receiver answered with 500"
EXAMPLE_URL = "https://example.org/registerwatch"


class WebhookObject(Answer):
    """An address of the account."""

    id: Annotated[int, doc("Number.", 5)]
    url: Annotated[str, doc("Where deliveries go.", EXAMPLE_URL)]
    secret: Annotated[
        str, doc("What they are signed with; empty for members and for keys without the scope `manage`.", "whsec_…")
    ]
    created_at: Annotated[str, instant("UTC.")]
    last_at: Annotated[str | None, instant("End of the last delivery, UTC; null when there was none.")]
    last_ok: Annotated[bool | None, doc("Whether it was accepted.")]
    last_error: Annotated[str | None, doc("Why it was not; empty when it was.", EXAMPLE_FAILURE)]

    @classmethod
    def of(cls, webhook: Target, *, shows_secret: bool = True) -> "WebhookObject":
        """An address with how its last delivery ended."""
        return cls(
            id=webhook.id,
            url=webhook.url,
            secret=webhook.secret if shows_secret else "",
            created_at=iso_utc(webhook.created_at),
            last_at=iso_or_none(webhook.last_at),
            last_ok=webhook.last_ok,
            last_error=webhook.last_error,
        )


class OneWebhook(Answer):
    """A webhook."""

    webhook: Annotated[WebhookObject, doc("The address as it is now.")]


class WebhookList(Answer):
    """The account's webhooks."""

    webhooks: Annotated[list[WebhookObject], doc("The first one first, then the oldest.")]


class TestAnswer(Answer):
    """How a test was received."""

    ok: Annotated[bool, doc("Whether the receiver answered with 2xx.")]
    status: Annotated[int | None, doc("HTTP status of its last answer, null when there was none.", 200)]
    error: Annotated[str, doc("Why it was not accepted; empty when it was.", EXAMPLE_FAILURE)]
    delivery: Annotated[str, doc("Id of the delivery.", "whd_…")]

    @classmethod
    def of(cls, result: TestResult) -> "TestAnswer":
        """The result of a test."""
        return cls(ok=result.is_accepted, status=result.status, error=result.error, delivery=result.delivery_id)


class DeliveryObject(Answer):
    """One delivery."""

    id: Annotated[str, doc("As in its body and headers.", "whd_…")]
    type: Annotated[Literal["watch.changed", "watch.test"], doc("What it is about.")]
    created_at: Annotated[str, instant("UTC.")]
    finished_at: Annotated[str | None, instant("UTC; null while it is under way.")]
    ok: Annotated[bool | None, doc("Whether it was accepted; null while it is under way.")]
    attempts: Annotated[int, doc("Attempts so far.", 1)]
    status: Annotated[int | None, doc("HTTP status of the last answer, null when there was none.", 200)]
    error: Annotated[str, doc("Why the last attempt failed, or empty.", EXAMPLE_FAILURE)]
    body: Annotated[str | None, doc("What is sent, to the byte; null before the first attempt.", '{"id":"whd_…"}')]
    again_at: Annotated[str | UnsetType, instant("UTC; there where it failed and is tried again: from when on.")] = (
        UNSET
    )

    @classmethod
    def of(cls, delivery: Delivery) -> "DeliveryObject":
        """A delivery in the log."""
        return cls(
            id=delivery.id,
            type=delivery.type.value,
            created_at=iso_utc(delivery.created_at),
            finished_at=iso_or_none(delivery.finished_at),
            ok=delivery.is_accepted,
            attempts=delivery.attempts,
            status=delivery.status,
            error=delivery.error,
            body=delivery.body,
            again_at=UNSET if delivery.again_at is None else iso_utc(delivery.again_at),
        )


class DeliveryList(Answer):
    """Deliveries to one address. `next` and `more` are there where the request has a parameter."""

    deliveries: Annotated[list[DeliveryObject], doc("Newest first.")]
    next: Annotated[str | UnsetType, doc("Send it as `after` to go on with earlier ones.", "whd_…")] = UNSET
    more: Annotated[bool | UnsetType, doc("Whether there are earlier ones.")] = UNSET

    @classmethod
    def of_page(cls, page: RowPage[Delivery], after: str) -> "DeliveryList":
        """A page of deliveries."""
        last = page.rows[-1].id if page.rows else after
        return cls([DeliveryObject.of(each) for each in page.rows], next=last, more=page.more)
