"""The parameters that the stand-in takes. One that Stripe has and the stand-in has not is refused by name."""

import re
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from registerwatch_standins.payment.errors import ApiError

Metadata = dict[str, str]
_MISSING = re.compile("Object missing required field `([^`]+)`")
_Parameters = TypeVar("_Parameters", bound=Struct)


class Parameters(Struct, forbid_unknown_fields=True, kw_only=True):
    """What every request may ask for: ids in the answer to be replaced by what they name."""

    expand: list[str] = []


class LineItem(Struct, forbid_unknown_fields=True, kw_only=True):
    """What is bought."""

    price: str
    quantity: Annotated[int, Meta(ge=1)] = 1


class SubscriptionContent(Struct, forbid_unknown_fields=True, kw_only=True):
    """What the subscription of a checkout will have."""

    trial_period_days: Annotated[int, Meta(ge=1, le=730)] | None = None
    metadata: Metadata = {}
    description: str | None = None


class CheckoutCreate(Parameters, kw_only=True):
    """A new checkout session."""

    mode: Literal["subscription"]
    success_url: str
    line_items: Annotated[list[LineItem], Meta(min_length=1, max_length=1)]
    cancel_url: str | None = None
    client_reference_id: Annotated[str, Meta(max_length=200)] | None = None
    customer: str | None = None
    customer_email: str | None = None
    expires_at: int | None = None
    metadata: Metadata = {}
    payment_method_collection: Literal["always", "if_required"] = "always"
    subscription_data: SubscriptionContent = msgspec.field(default_factory=SubscriptionContent)
    ui_mode: Literal["hosted_page"] = "hosted_page"
    locale: str | None = None
    allow_promotion_codes: bool | None = None
    billing_address_collection: Literal["auto", "required"] | None = None


class CustomerFields(Parameters, kw_only=True):
    """A customer's fields."""

    email: str | None = None
    name: str | None = None
    metadata: Metadata = {}


class CustomerList(Parameters, kw_only=True):
    """Which customers."""

    email: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    starting_after: str | None = None


class CancellationDetails(Struct, forbid_unknown_fields=True, kw_only=True):
    """Why somebody leaves."""

    comment: str | None = None
    feedback: str | None = None


class ItemChange(Struct, forbid_unknown_fields=True, kw_only=True):
    """Another price."""

    id: str
    price: str


class SubscriptionUpdate(Parameters, kw_only=True):
    """What changes of a subscription."""

    cancel_at_period_end: bool | None = None
    cancel_at: int | Literal[""] | None = None
    metadata: Metadata | None = None
    items: Annotated[list[ItemChange], Meta(min_length=1, max_length=1)] | None = None
    proration_behavior: Literal["always_invoice", "create_prorations", "none"] | None = None
    cancellation_details: CancellationDetails | None = None


class SubscriptionCancel(Parameters, kw_only=True):
    """How a subscription ends."""

    invoice_now: bool | None = None
    prorate: bool | None = None
    cancellation_details: CancellationDetails | None = None


class SubscriptionList(Parameters, kw_only=True):
    """Which subscriptions; without a status those that have not ended."""

    customer: str | None = None
    price: str | None = None
    status: Literal["trialing", "active", "past_due", "unpaid", "canceled", "ended", "all"] | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    starting_after: str | None = None


class PortalCreate(Parameters, kw_only=True):
    """A new session of the customer portal."""

    customer: str
    return_url: str | None = None


class AnyList(Parameters, kw_only=True):
    """Which part of a list."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    starting_after: str | None = None


class EventList(AnyList, kw_only=True):
    """Which events."""

    type: str | None = None


def parsed(tree: dict[str, Any], form: type[_Parameters]) -> _Parameters:
    """The parameters in their types, or the error that says which of them cannot be."""
    unknown = sorted(tree.keys() - {field.encode_name for field in msgspec.structs.fields(form)})
    if unknown:
        raise ApiError.of_parameter(unknown[0], f"Received unknown parameter: {unknown[0]}", "parameter_unknown")
    try:
        return msgspec.convert(tree, form, strict=False)
    except msgspec.ValidationError as error:
        raise _refusal(str(error)) from None


def _refusal(trouble: str) -> ApiError:
    """What msgspec says, with the parameter of which it says that named in brackets as Stripe does."""
    message, _, place = trouble.partition(" - at `$")
    way = place.rstrip("`").replace("[", ".").replace("]", "").strip(".").split(".") if place else []
    missing = _MISSING.fullmatch(message)
    if missing is not None:
        way.append(missing[1])
    param = (way[0] if way else "") + "".join(f"[{key}]" for key in way[1:])
    if missing is not None:
        return ApiError.of_parameter(param, f"Missing required param: {param}.", "parameter_missing")
    return ApiError.of_parameter(param, message, "parameter_invalid")
