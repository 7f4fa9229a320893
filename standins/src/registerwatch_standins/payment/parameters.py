"""The parameters that the stand-in accepts. One that Stripe has and the stand-in has not is refused by name."""

import re
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta, Struct

from registerwatch_standins.payment.errors import ApiError


class NoParameters(Struct, forbid_unknown_fields=True):
    """A request without parameters."""


class LineItem(Struct, forbid_unknown_fields=True):
    """What is bought."""

    price: str
    quantity: Literal[1] = 1


class SubscriptionData(Struct, forbid_unknown_fields=True):
    """What the subscription of a checkout will have."""

    trial_period_days: Annotated[int, Meta(ge=1, le=730)] | None = None


class CheckoutCreate(Struct, forbid_unknown_fields=True, kw_only=True):
    """A new checkout session."""

    mode: Literal["subscription"]
    success_url: str
    line_items: Annotated[list[LineItem], Meta(min_length=1, max_length=1)]
    cancel_url: str | None = None
    client_reference_id: Annotated[str, Meta(max_length=200)] | None = None
    customer: str | None = None
    customer_email: str | None = None
    payment_method_collection: Literal["always"] = "always"
    subscription_data: SubscriptionData = msgspec.field(default_factory=SubscriptionData)


class SubscriptionUpdate(Struct, forbid_unknown_fields=True, kw_only=True):
    """What changes of a subscription. An empty `cancel_at` takes the date back."""

    cancel_at_period_end: bool | None = None
    cancel_at: int | Literal[""] | None = None


class PortalCreate(Struct, forbid_unknown_fields=True, kw_only=True):
    """A new session of the customer portal."""

    customer: str
    return_url: str | None = None


_Parameters = TypeVar("_Parameters", bound=Struct)


def parse_parameters(encoded: bytes, form: type[_Parameters]) -> _Parameters:
    """The parameters of a form or a query, in their types. Raises `ApiError` that says which one is wrong."""
    try:
        return msgspec.convert(form_tree(encoded), form, strict=False)
    except msgspec.ValidationError as error:
        raise ApiError(400, str(error)) from None


def form_tree(encoded: bytes) -> dict[str, Any]:
    """Form-encoded parameters with brackets (`line_items[0][price]=price_1`) as nested objects and lists of text."""
    root: dict[str, Any] = {}
    for name, value in parse_qsl(encoded.decode(), keep_blank_values=True):
        *path, last = re.findall(r"[^\[\]]+", name)
        branch = root
        for key in path:
            branch = branch.setdefault(key, {})
        branch[last] = value
    return {name: _with_lists(branch) for name, branch in root.items()}


def _with_lists(branch: object) -> Any:
    """A branch whose keys are all numbers is a list."""
    if not isinstance(branch, dict):
        return branch
    inner = {key: _with_lists(value) for key, value in branch.items()}
    return [inner[key] for key in sorted(inner, key=int)] if all(key.isdecimal() for key in inner) else inner
