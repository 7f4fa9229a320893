"""What the routes of billing take and answer, field by field, for `/openapi.json`."""

from typing import Literal

from pydantic import Field

from registerwatch.rest.bodies import Request
from registerwatch.rest.schemas import Described

SESSION = "cs_test_a1B2c3"


class CheckoutRequest(Request):
    """What to subscribe to."""

    plan: Literal["standard", "operator"] = Field("standard", description="The plan; `standard` when none is named.")


class ConfirmRequest(Request):
    """A checkout that is finished."""

    session_id: str = Field(description="The `session_id` of the checkout.", examples=[SESSION])


class CheckoutAnswer(Described):
    """A page of the payment provider's."""

    url: str = Field(description="Where to pay; good for a day.", examples=["https://checkout.example/c/pay/cs_1"])
    session_id: str = Field(description="For `POST /v1/billing/confirm`.", examples=[SESSION])


class PortalAnswer(Described):
    """A page of the payment provider's."""

    url: str = Field(description="The card and the invoices; good once.", examples=["https://billing.example/p/1"])


class Received(Described):
    """The event is genuine, and was applied or is of no interest."""

    received: Literal[True] = Field(description="Always true.")
