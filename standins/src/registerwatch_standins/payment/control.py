"""The control interface under `/_control`, by which another process steers the stand-in and reads what it did."""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registerwatch_standins.payment.clocks import AheadClock
from registerwatch_standins.payment.courier import Courier, Webhook
from registerwatch_standins.payment.events import Event
from registerwatch_standins.payment.faults import Faults, Mode
from registerwatch_standins.payment.ledger import Ledger
from registerwatch_standins.payment.passing import Passing

Endpoint = Callable[[Request], Awaitable[dict[str, Any]]]


class PassOrder(Struct, forbid_unknown_fields=True):
    """Let so many seconds pass."""

    seconds: Annotated[float, Meta(ge=0)]


class WebhookOrder(Struct, forbid_unknown_fields=True):
    """Send events there from now on."""

    url: str
    secrets: Annotated[list[str], Meta(min_length=1)]


class SendOrder(Struct, forbid_unknown_fields=True):
    """Send events, by default all of them, whether they arrived before or not."""

    ids: list[str] | None = None
    order: Literal["as written", "reversed", "shuffled"] = "as written"
    seed: int = 1


class HoldOrder(Struct, forbid_unknown_fields=True):
    """Whether new events are kept back."""

    holds: bool


class FaultOrder(Struct, forbid_unknown_fields=True):
    """How requests fail from now on."""

    mode: Mode
    times: int | None = None
    path: str = "/v1/"
    method: str = ""


class Control:
    """The control interface's endpoints."""

    def __init__(self, ledger: Ledger, passing: Passing, courier: Courier, faults: Faults, time: AheadClock) -> None:
        self._ledger = ledger
        self._passing = passing
        self._courier = courier
        self._faults = faults
        self._time = time

    def routes(self) -> list[Route]:
        """The routes, relative to `/_control`."""
        routes: list[tuple[str, str, Endpoint]] = [
            ("GET", "/events", self.events),
            ("POST", "/events/send", self.send),
            ("POST", "/events/hold", self.hold),
            ("POST", "/pass", self.let_pass),
            ("POST", "/webhook", self.webhook),
            ("POST", "/faults", self.add_fault),
            ("POST", "/faults/clear", self.clear_faults),
        ]
        return [Route(path, _answering(endpoint), methods=[method]) for method, path, endpoint in routes]

    async def events(self, request: Request) -> dict[str, Any]:
        """All events, oldest first, and how telling of them went."""
        self._passing.catch_up()
        return {"events": [_row(event) for event in self._ledger.log.events]}

    async def send(self, request: Request) -> dict[str, Any]:
        """Send events; the answer has the statuses that they got, in the order of sending."""
        order = msgspec.json.decode(await request.body() or b"{}", type=SendOrder)
        events = [event for event in self._ledger.log.events if order.ids is None or event.id in order.ids]
        if order.order == "reversed":
            events.reverse()
        elif order.order == "shuffled":
            Random(order.seed).shuffle(events)
        attempts = await self._courier.send(events)
        return {"sent": [event.id for event in events], "statuses": [attempt.status for attempt in attempts]}

    async def hold(self, request: Request) -> dict[str, Any]:
        """Keep events back, or no longer."""
        self._courier.holds = msgspec.json.decode(await request.body(), type=HoldOrder).holds
        return {"holds": self._courier.holds}

    async def let_pass(self, request: Request) -> dict[str, Any]:
        """Run ahead; what falls due happens."""
        self._time.let_pass(msgspec.json.decode(await request.body(), type=PassOrder).seconds)
        self._passing.catch_up()
        return {"now": self._ledger.now(), "ahead": self._time.ahead}

    async def webhook(self, request: Request) -> dict[str, Any]:
        """Say where events go, and what signs them."""
        order = msgspec.json.decode(await request.body(), type=WebhookOrder)
        self._courier.webhook = Webhook(order.url, tuple(order.secrets))
        return {"url": order.url}

    async def add_fault(self, request: Request) -> dict[str, Any]:
        """Fail."""
        order = msgspec.json.decode(await request.body(), type=FaultOrder)
        self._faults.fail(order.mode, order.times, order.path, order.method)
        return {"faults": len(self._faults.faults)}

    async def clear_faults(self, request: Request) -> dict[str, Any]:
        """Work again."""
        self._faults.clear()
        return {"faults": 0}


def _row(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "type": event.type,
        "created": event.created,
        "taken": event.was_taken,
        "statuses": [attempt.status for attempt in event.attempts],
    }


def _answering(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """400 with a message for an order that cannot be carried out."""

    async def answer(request: Request) -> Response:
        try:
            content, status = await endpoint(request), 200
        except (msgspec.MsgspecError, ValueError) as error:
            content, status = {"error": f"{type(error).__name__}: {error}"}, 400
        return Response(msgspec.json.encode(content), status, media_type="application/json")

    return answer
