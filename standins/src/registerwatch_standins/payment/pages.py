"""The pages for people: the checkout, the customer portal, and an overview on which time can be moved on."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from registerwatch_standins.payment.checkouts import CardRefused, Checkouts
from registerwatch_standins.payment.errors import ApiError
from registerwatch_standins.payment.event_sender import EventSender
from registerwatch_standins.payment.records import Card, Checkout, Portal
from registerwatch_standins.payment.scheduler import AdjustableClock, Scheduler
from registerwatch_standins.payment.store import Store
from registerwatch_standins.payment.subscriptions import DAY, HOUR, Subscriptions

Page = Callable[[Request], Awaitable[Response]]
_DECLINED = "Your card was declined. Try another one."
_CARDS = {
    Card.GOOD.value: "a good card",
    Card.REFUSED.value: "a card that is refused",
    Card.REFUSED_LATER.value: "a card that is accepted now and refused at every later charge",
}
_STEPS = {"an hour": HOUR, "a day": DAY, "a week": 7 * DAY, "31 days": 31 * DAY}
_MAX_EVENTS = 50
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}


class Pages:
    """The checkout at `/c/pay/…`, the portal at `/p/session/…`, the overview at `/`."""

    def __init__(
        self,
        store: Store,
        subscriptions: Subscriptions,
        checkouts: Checkouts,
        scheduler: Scheduler,
        event_sender: EventSender,
        clock: AdjustableClock,
    ) -> None:
        self._store = store
        self._subscriptions = subscriptions
        self._checkouts = checkouts
        self._scheduler = scheduler
        self._event_sender = event_sender
        self._clock = clock

    def routes(self) -> list[Route]:
        table: list[tuple[str, str, Page]] = [
            ("GET", "/c/pay/{id}", self.checkout),
            ("POST", "/c/pay/{id}", self.pay),
            ("GET", "/p/session/{id}", self.portal),
            ("POST", "/p/session/{id}", self.change_subscription),
            ("GET", "/", self.overview),
            ("POST", "/pass", self.move_time),
            ("POST", "/send/{id}", self.send_again),
        ]
        return [Route(path, self._at_present(show), methods=[method]) for method, path, show in table]

    async def checkout(self, request: Request) -> Response:
        return self._checkout_page(self._store.checkout(request.path_params["id"]))

    async def pay(self, request: Request) -> Response:
        """Take the card and lead the person back, or say what is wrong with the card."""
        checkout, fields = self._store.checkout(request.path_params["id"]), await _form(request)
        try:
            address = self._checkouts.pay(checkout, _card(fields), fields.get("email", ""))
        except CardRefused:
            return self._checkout_page(checkout, _DECLINED, 402)
        return RedirectResponse(address, 303)

    async def portal(self, request: Request) -> Response:
        return self._portal_page(self._store.portal(request.path_params["id"]))

    async def change_subscription(self, request: Request) -> Response:
        """What a customer asks for in the portal: `end`, `renew`, `card`, `pay`."""
        portal, fields = self._store.portal(request.path_params["id"]), await _form(request)
        wish, subscription = fields.get("wish", ""), self._store.newest_subscription(portal.customer)
        if wish == "card":
            card = _card(fields)
            if card is None or card is Card.REFUSED:
                return self._portal_page(portal, _DECLINED, 402)
            self._store.customer(portal.customer).card = card
        elif subscription is None or subscription.has_ended:
            return self._portal_page(portal, "There is no subscription any more.", 400)
        elif wish in ("end", "renew"):
            self._subscriptions.set_cancel_at(subscription, subscription.period_end if wish == "end" else None)
        elif wish == "pay" and not self._subscriptions.pay_open_invoice(subscription):
            return self._portal_page(portal, _DECLINED, 402)
        return RedirectResponse(request.url.path, 303)

    async def overview(self, request: Request) -> Response:
        """Subscriptions and events, newest first."""
        store = self._store
        subscriptions = [
            (each, store.customer(each.customer), store.price(each.price))
            for each in reversed(store.subscriptions.values())
        ]
        events = list(reversed(store.log.events))[:_MAX_EVENTS]
        return _page(
            "overview", "Payments", clock=self._clock, steps=_STEPS, subscriptions=subscriptions, events=events
        )

    async def move_time(self, request: Request) -> Response:
        seconds = (await _form(request)).get("seconds", "")
        if seconds.isdecimal() and len(seconds) < 10:
            self._clock.ahead += int(seconds)
        return RedirectResponse("/", 303)

    async def send_again(self, request: Request) -> Response:
        events = self._store.log.events
        await self._event_sender.send(event for event in events if event.id == request.path_params["id"])
        return RedirectResponse("/", 303)

    def _at_present(self, show: Page) -> Page:
        """A page after everything due has happened; 404 or 400 for what does not exist or is over."""

        async def answer(request: Request) -> Response:
            self._scheduler.catch_up()
            try:
                return await show(request)
            except ApiError as error:
                return _page("layout", "Not available", error.message, error.status)

        return answer

    def _checkout_page(self, checkout: Checkout, problem: str = "", status: int = 200) -> Response:
        if checkout.status != "open":
            return _page("checkout", "This checkout is over", status=410, checkout=checkout)
        price = self._store.price(checkout.price)
        return _page("checkout", "Checkout", problem, status, checkout=checkout, price=price)

    def _portal_page(self, portal: Portal, problem: str = "", status: int = 200) -> Response:
        subscription = self._store.newest_subscription(portal.customer)
        return _page(
            "portal",
            "Your subscription",
            problem,
            status,
            portal=portal,
            customer=self._store.customer(portal.customer),
            subscription=subscription,
            price=self._store.price(subscription.price) if subscription else None,
            open_invoice=self._store.open_invoice(subscription) if subscription else None,
        )


@cache
def _templates() -> Environment:
    templates = Environment(loader=PackageLoader("registerwatch_standins.payment"), autoescape=True)
    templates.filters["moment"] = lambda instant: f"{datetime.fromtimestamp(instant, UTC):%Y-%m-%d %H:%M} UTC"
    templates.globals["cards"] = _CARDS
    return templates


def _page(name: str, title: str, problem: str = "", status: int = 200, **values: Any) -> HTMLResponse:
    content = _templates().get_template(f"{name}.html").render(title=title, problem=problem, **values)
    return HTMLResponse(content, status, _HEADERS)


async def _form(request: Request) -> dict[str, str]:
    return dict(parse_qsl((await request.body()).decode(errors="replace"), keep_blank_values=True))


def _card(fields: dict[str, str]) -> Card | None:
    """The card that was chosen; `None` for none or an unknown number."""
    number = fields.get("card", "").replace(" ", "")
    return Card(number) if number in list(Card) else None
