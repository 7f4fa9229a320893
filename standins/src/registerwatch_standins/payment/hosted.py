"""The pages on which people pay, and look after their subscription."""

from collections.abc import Awaitable, Callable
from html import escape

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from registerwatch_standins.payment.checkouts import CardRefused, Checkouts, put_card_on_file
from registerwatch_standins.payment.ledger import Ledger
from registerwatch_standins.payment.markup import button, card_choice, card_of, cost, link, moment, page, posted
from registerwatch_standins.payment.passing import Passing
from registerwatch_standins.payment.records import Card, Checkout, Portal, Subscription
from registerwatch_standins.payment.refusals import Refusal
from registerwatch_standins.payment.subscriptions import Subscriptions

Page = Callable[[Request], Awaitable[Response]]
_DECLINED = "Your card was declined. Try another one."


class HostedPages:
    """The checkout at `/c/pay/…` and the portal at `/p/session/…`."""

    def __init__(self, ledger: Ledger, subscriptions: Subscriptions, checkouts: Checkouts, passing: Passing) -> None:
        self._ledger = ledger
        self._subscriptions = subscriptions
        self._checkouts = checkouts
        self._passing = passing

    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route("/c/pay/{id}", self._at_present(self.checkout), methods=["GET"]),
            Route("/c/pay/{id}", self._at_present(self.pay), methods=["POST"]),
            Route("/p/session/{id}", self._at_present(self.portal), methods=["GET"]),
            Route("/p/session/{id}", self._at_present(self.change), methods=["POST"]),
        ]

    async def checkout(self, request: Request) -> Response:
        """Where somebody pays."""
        return self._checkout_page(self._ledger.checkout(request.path_params["id"]))

    async def pay(self, request: Request) -> Response:
        """Take the card, and send the person back; or say what is wrong with it."""
        checkout, fields = self._ledger.checkout(request.path_params["id"]), await posted(request)
        try:
            address = self._checkouts.pay(checkout, card_of(fields), fields.get("email", ""))
        except CardRefused:
            return self._checkout_page(checkout, _DECLINED, 402)
        return RedirectResponse(address, 303)

    async def portal(self, request: Request) -> Response:
        """A customer's subscription, card and wishes."""
        return self._portal_page(self._portal(request))

    async def change(self, request: Request) -> Response:
        """What a customer does there: `end`, `renew`, `card`, `pay`."""
        portal, fields = self._portal(request), await posted(request)
        wish, subscription = fields.get("wish", ""), self._subscription_of(portal)
        if wish == "card":
            card = card_of(fields)
            if card is None or card is Card.REFUSED:
                return self._portal_page(portal, _DECLINED, 402)
            put_card_on_file(self._ledger, self._ledger.customer(portal.customer), card)
        elif subscription is None or subscription.has_ended:
            return self._portal_page(portal, "There is no subscription any more.", 400)
        elif wish == "end":
            self._subscriptions.set_cancel_at(subscription, subscription.period_end)
        elif wish == "renew":
            self._subscriptions.set_cancel_at(subscription, None)
        elif wish == "pay" and not self._subscriptions.pay_open_invoice(subscription):
            return self._portal_page(portal, _DECLINED, 402)
        return RedirectResponse(request.url.path, 303)

    def _at_present(self, show: Page) -> Page:
        """The page as of now; 404 or 400 for what is not there or over."""

        async def answer(request: Request) -> Response:
            self._passing.catch_up()
            try:
                return await show(request)
            except Refusal as refusal:
                return page("Not available", f"<p>{escape(refusal.message)}</p>", refusal.status)

        return answer

    def _checkout_page(self, checkout: Checkout, wrong: str = "", status: int = 200) -> Response:
        price = self._ledger.price(checkout.price)
        back = f"<p>{link(checkout.cancel_url, 'Go back without paying')}</p>" if checkout.cancel_url else ""
        if checkout.status != "open":
            return page("This checkout is over", f"<p>It is {checkout.status}.</p>{back}", 410)
        terms = f"<p><strong>{escape(price.name)}</strong>, {cost(price)}</p>"
        if checkout.trial_days:
            terms = f"<p><strong>{escape(price.name)}</strong>, {checkout.trial_days} days free, then {cost(price)}</p>"
        email = "<label>E-mail <input type='email' name='email' required></label>"
        if checkout.customer or checkout.customer_email:
            email = ""
        form = f"<form method='post'>{email}{card_choice()}<button>Subscribe</button></form>"
        return page("Checkout", _wrong(wrong) + terms + form + back, status)

    def _portal_page(self, portal: Portal, wrong: str = "", status: int = 200) -> Response:
        customer, subscription = self._ledger.customer(portal.customer), self._subscription_of(portal)
        card = f"<p>Card on file: •••• {customer.card[-4:]}</p>" if customer.card else "<p>No card is on file.</p>"
        form = (
            f"<form method='post'><input type='hidden' name='wish' value='card'>{card_choice()}"
            "<button>Use this card from now on</button></form>"
        )
        back = f"<p>{link(portal.return_url, 'Return')}</p>" if portal.return_url else ""
        own = f"/p/session/{portal.id}"
        return page("Your subscription", _wrong(wrong) + self._told(subscription, own) + card + form + back, status)

    def _told(self, subscription: Subscription | None, own: str) -> str:
        """The subscription, and what can be done about it."""
        if subscription is None:
            return "<p>There is no subscription.</p>"
        price = self._ledger.price(subscription.price)
        told = f"<p><strong>{escape(price.name)}</strong>, {cost(price)}: {subscription.status}</p>"
        if subscription.has_ended:
            return told + f"<p>It ended at {moment(subscription.ended_at or 0)}.</p>"
        if subscription.ends_at is None:
            told += f"<p>The period ends at {moment(subscription.period_end)}, and the next one begins.</p>"
            told += button(own, "End it then", wish="end")
        else:
            told += f"<p>It ends at {moment(subscription.ends_at)}.</p>" + button(own, "Let it go on", wish="renew")
        if self._ledger.open_invoice(subscription) is not None:
            told += button(own, "Pay the open invoice now", wish="pay")
        return told

    def _portal(self, request: Request) -> Portal:
        id_ = request.path_params["id"]
        portal = self._ledger.portals.get(id_)
        if portal is None:
            raise Refusal.missing("billing_portal.session", id_)
        return portal

    def _subscription_of(self, portal: Portal) -> Subscription | None:
        """The customer's newest one."""
        return next(iter(self._ledger.subscriptions_of(portal.customer)), None)


def _wrong(text: str) -> str:
    return f"<p class='wrong' role='alert'>{escape(text)}</p>" if text else ""
