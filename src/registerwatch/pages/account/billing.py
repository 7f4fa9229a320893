"""The page of plan and billing: plan and usage; for owners subscribing, the card, cancelling, resuming."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.models import Role
from registerwatch.accounts.plans import PlanName, plans
from registerwatch.billing import provider
from registerwatch.billing.checkout import UNKNOWN_CHECKOUT, Offer
from registerwatch.billing.models import PaidSubscription, PlanEnd
from registerwatch.errors import InvalidInput, PaymentsUnavailable, RegisterwatchError
from registerwatch.pages.account.rendering import app_page, redirect_to
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.visitor import OwnerSignedIn, SignedIn, Visitor
from registerwatch.pages.forms import form_of
from registerwatch.web.injection import InjectedService, limits_of, service_of
from registerwatch.web.limits.rate_limits import Limit

PATH = "/app/billing"
DONE = {
    "subscribed": "Thank you. The subscription has begun.",
    "waiting": "Thank you. The payment provider reports your payment within seconds; then this page shows it.",
    "unknown": "That payment was not started by this account. If you pay for another one, sign in there to see it.",
    "back": "You are back from the payment provider. What you changed there shows here within seconds.",
    "cancelled": "The subscription is cancelled. What is paid for goes on until its end.",
    "resumed": "The cancellation is undone. The subscription goes on.",
}
STATES = {
    provider.TRIALING: ("good", "Free days with a card"),
    provider.ACTIVE: ("good", "Paid"),
    provider.PAST_DUE: ("bad", "The card was refused"),
    provider.CANCELED: ("", "Ended"),
    provider.UNPAID: ("bad", "Ended, because it was not paid"),
    provider.PAUSED: ("warn", "Paused"),
    provider.INCOMPLETE: ("warn", "The first payment is not finished"),
    provider.INCOMPLETE_EXPIRED: ("", "Never began: the first payment was not finished"),
}
"""Badge and words by the provider's word."""
NO_PLAN = "Choose one of the plans."
NO_PAGE = "The payment provider gave no page that can be opened. Try again, or ask who runs this service."

router = account_pages()


@router.get(PATH)
async def billing(request: Request, visitor: SignedIn) -> Response:
    """The plan and its usage."""
    return await _billing_page(request, visitor)


@router.post(f"{PATH}/checkout")
async def checkout(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Lead to the provider's page where the card is entered."""
    form = await form_of(request)

    async def started() -> str:
        if form["plan"] not in list(PlanName):
            raise InvalidInput(NO_PLAN)
        return (await service.billing.checkouts.checkout(visitor.caller, PlanName(form["plan"]))).url

    return await _lead_to(request, visitor, started, "Go to the payment page")


@router.post(f"{PATH}/portal")
async def portal(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Lead to the provider's page with the card and the invoices."""
    return await _lead_to(
        request, visitor, lambda: service.billing.checkouts.portal(visitor.caller), "Go to card and invoices"
    )


@router.get(f"{PATH}/done")
async def paid(request: Request, service: InjectedService, visitor: SignedIn) -> Response:
    """Apply a finished checkout at once; the provider's event would do so a little later."""
    await limits_of(request).check(request, Limit.PAYMENT)
    try:
        await service.billing.checkouts.confirm(visitor.caller, request.query_params.get("session_id", ""))
    except (InvalidInput, PaymentsUnavailable) as error:
        return redirect_to(PATH, done="unknown" if str(error) == UNKNOWN_CHECKOUT else "waiting")
    return redirect_to(PATH, done="subscribed")


@router.get(f"{PATH}/cancel")
async def cancel_question(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Ask before cancelling."""
    shown = await service.billing.shown(visitor.caller.account.id)
    if shown is None or not shown.holds or shown.subscription.cancel_at_period_end:
        return redirect_to(PATH)
    return app_page(request, visitor, "account/cancel.html", section="billing", subscription=shown.subscription)


@router.post(f"{PATH}/cancel")
async def cancel(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Let the subscription end with its period."""
    return await _changed(request, visitor, lambda: service.billing.checkouts.cancel(visitor.caller), "cancelled")


@router.post(f"{PATH}/resume")
async def resume(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Undo a cancellation."""
    return await _changed(request, visitor, lambda: service.billing.checkouts.resume(visitor.caller), "resumed")


async def _changed(request: Request, visitor: Visitor, change: Callable[[], Awaitable[None]], done: str) -> Response:
    """Change the subscription, and show the result."""
    await limits_of(request).check(request, Limit.PAYMENT)
    try:
        await change()
    except (InvalidInput, PaymentsUnavailable) as error:
        return await _billing_page(request, visitor, problem=error)
    return redirect_to(PATH, done=done)


async def _lead_to(
    request: Request, visitor: Visitor, address_of: Callable[[], Awaitable[str]], words: str
) -> Response:
    """A page that opens a page of the provider by itself.

    A redirection is not possible: our forms may be sent only to this site, and browsers apply that to redirections.
    """
    await limits_of(request).check(request, Limit.PAYMENT)
    try:
        address = await address_of()
        if not address.startswith(("https://", "http://")):
            raise PaymentsUnavailable(NO_PAGE)
    except (InvalidInput, PaymentsUnavailable) as error:
        return await _billing_page(request, visitor, problem=error)
    return app_page(request, visitor, "account/payment_page.html", section="billing", address=address, words=words)


async def _billing_page(request: Request, visitor: Visitor, *, problem: RegisterwatchError | None = None) -> Response:
    service, caller = service_of(request), visitor.caller
    profile = await service.accounts.members.renewed(caller)
    account, now = profile.account, service.clock.now()
    shown = await service.billing.shown(account.id)
    return app_page(
        request,
        visitor,
        "account/billing.html",
        section="billing",
        status=200 if problem is None else 503 if isinstance(problem, PaymentsUnavailable) else 400,
        done=DONE,
        problem=str(problem) if problem else "",
        account=account,
        is_over=account.has_expired(now),
        uses=[
            ("Watches", await service.watches.service.count(account.id), account.plan.watches),
            ("Users", len(profile.users), account.plan.users),
            ("API keys", sum(key.works(now) for key in profile.keys), account.plan.keys),
        ],
        paid=shown,
        state=_state(shown),
        plan_end=PlanEnd.of(account.expires_at, shown, now),
        can_resume=shown is not None and shown.holds and shown.subscription.cancel_at_period_end,
        is_set_up=service.billing.payments is not None,
        offer=await _offer(request, visitor, shown),
        plans=plans(service.settings.trial_watch_cap),
        contact=service.settings.contact,
        owners=[user.email for user in profile.users if user.role is Role.OWNER],
        trial_days=service.settings.trial_days,
    )


async def _offer(request: Request, visitor: Visitor, shown: PaidSubscription | None) -> Offer | None:
    """The plans that can be subscribed to now; None if there are none."""
    service = service_of(request)
    if not visitor.is_owner or service.billing.payments is None or (shown is not None and shown.holds):
        return None
    return await service.billing.checkouts.offer(visitor.caller)


def _state(shown: PaidSubscription | None) -> tuple[str, str] | None:
    """Badge and words for a subscription; the provider's own word if it is unknown."""
    if shown is None:
        return None
    status = shown.subscription.status
    return STATES.get(status, ("", f"“{status}”, as the payment provider calls it"))
