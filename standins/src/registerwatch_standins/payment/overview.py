"""The stand-in's front page: what there is, what was told, and buttons that let time pass."""

from html import escape

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from registerwatch_standins.payment.clocks import AheadClock
from registerwatch_standins.payment.courier import Courier
from registerwatch_standins.payment.events import Event
from registerwatch_standins.payment.ledger import Ledger
from registerwatch_standins.payment.markup import button, moment, page, posted, table
from registerwatch_standins.payment.passing import Passing
from registerwatch_standins.payment.periods import DAY

_STEPS = {"an hour": 3600, "a day": DAY, "a week": 7 * DAY, "31 days": 31 * DAY}
_SHOWN_EVENTS = 50


class Overview:
    """The page at `/`."""

    def __init__(self, ledger: Ledger, passing: Passing, courier: Courier, time: AheadClock) -> None:
        self._ledger = ledger
        self._passing = passing
        self._courier = courier
        self._time = time

    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route("/", self.show, methods=["GET"]),
            Route("/pass", self.let_pass, methods=["POST"]),
            Route("/send/{id}", self.send, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        """Subscriptions and events, newest first."""
        self._passing.catch_up()
        clock = f"<p>It is {moment(self._time())} here."
        if self._time.ahead:
            clock += f" The service's own clock says {moment(self._time.base())}: it does not move along."
        clock += "</p>"
        steps = "".join(button("/pass", f"Let {name} pass", seconds=str(length)) for name, length in _STEPS.items())
        return page("Payments", clock + steps + self._subscriptions() + self._events())

    async def let_pass(self, request: Request) -> Response:
        """Run ahead."""
        seconds = (await posted(request)).get("seconds", "")
        if seconds.isdecimal() and len(seconds) < 10:
            self._time.let_pass(int(seconds))
            self._passing.catch_up()
        return RedirectResponse("/", 303)

    async def send(self, request: Request) -> Response:
        """Send an event again."""
        event = self._ledger.log.of(request.path_params["id"])
        if event is not None:
            await self._courier.send([event])
        return RedirectResponse("/", 303)

    def _subscriptions(self) -> str:
        rows = [
            [
                escape(each.id),
                escape(self._ledger.customer(each.customer).email or each.customer),
                escape(self._ledger.price(each.price).name),
                each.status if each.ends_at is None or each.has_ended else f"{each.status}, ends then",
                moment(each.ended_at or each.period_end),
            ]
            for each in reversed(self._ledger.subscriptions.values())
        ]
        return "<h2>Subscriptions</h2>" + table(["id", "customer", "price", "status", "until"], rows)

    def _events(self) -> str:
        rows = [
            [moment(event.created), escape(event.type), _told(event), button(f"/send/{event.id}", "Send again")]
            for event in list(reversed(self._ledger.log.events))[:_SHOWN_EVENTS]
        ]
        return "<h2>Events</h2>" + table(["at", "type", "told", ""], rows)


def _told(event: Event) -> str:
    if not event.attempts:
        return "not yet"
    last = event.attempts[-1]
    outcome = str(last.status or "no answer")
    return f"{len(event.attempts)} ×, last: {outcome} {escape(last.error[:80])}"
