"""The stand-in payment provider in this process, with people who pay at its pages."""

import re
from collections.abc import Mapping
from html import unescape

import httpx2
import stripe

from registerwatch_standins.payment.app import PaymentSandbox
from registerwatch_standins.payment.event_sender import Webhook
from registerwatch_standins.payment.records import Card
from registerwatch_standins.register.transport import InProcessTransport
from tests.support.fakes import SteppedClock

PAYMENTS = "http://payments.test"
WEBHOOK = "http://service.test/v1/billing/webhook"
API_KEY, SECRET = "sk_test_of_the_tests", "whsec_of_the_tests"
DAY = 86_400


class Payments:
    """A sandbox at a test's time. `transport` leads to it; `told` is what the receiver got, in its order.

    `clock` can be replaced by that of a harness, and `lead_events_to` leads to a service instead of the receiver.
    """

    def __init__(self, clock: SteppedClock | None = None) -> None:
        self.clock = clock or SteppedClock()
        self.told: list[httpx2.Request] = []
        self.refusing = 0
        self.sandbox = PaymentSandbox(
            base_url=PAYMENTS,
            api_key=API_KEY,
            clock=lambda: self.clock.now(),
            webhook=Webhook(WEBHOOK, SECRET),
            client=httpx2.AsyncClient(transport=httpx2.MockTransport(self._receive)),
            seed=3,
        )
        self.transport = InProcessTransport(self.sandbox.app)
        self.browser = httpx2.AsyncClient(transport=self.transport, base_url=PAYMENTS)
        self.ledger, self.courier, self.faults = self.sandbox.store, self.sandbox.event_sender, self.sandbox.faults

    def _receive(self, request: httpx2.Request) -> httpx2.Response:
        """A receiver that takes everything, but answers 500 to the next `refusing` events."""
        self.told.append(request)
        self.refusing -= 1
        return httpx2.Response(500 if self.refusing >= 0 else 200)

    async def lead_events_to(self, receiver: httpx2.AsyncBaseTransport) -> None:
        """Send events another way from now on."""
        await self.courier.client.aclose()
        self.courier.client = httpx2.AsyncClient(transport=receiver)

    @property
    def sdk(self) -> stripe.StripeClient:
        """The real SDK, led to the sandbox."""
        return stripe.StripeClient(
            API_KEY, base_addresses={"api": PAYMENTS}, http_client=InProcess(self.transport), max_network_retries=0
        )

    async def pay(self, address: str | None, card: Card = Card.GOOD) -> httpx2.Response:
        """Somebody chooses a card on the checkout's page, and sends it."""
        assert address, "the checkout is over"
        assert (await self.browser.get(address)).status_code == 200
        return await self.browser.post(address, data={"card": card.value, "email": "payer@acme.example"})

    async def wish(self, portal: str, wish: str, card: Card = Card.GOOD) -> httpx2.Response:
        """Somebody presses a button of the portal."""
        return await self.browser.post(portal, data={"wish": wish, "card": card.value})

    async def let_pass(self, seconds: float) -> None:
        """Time passes for everybody; what falls due here happens. Nothing is told yet."""
        self.clock.move(seconds)
        self.sandbox.scheduler.catch_up()

    def types(self) -> list[str]:
        """What happened, by the types of the events."""
        return self.ledger.log.types()

    async def close(self) -> None:
        """Give everything back."""
        await self.browser.aclose()
        await self.sandbox.close()


class InProcess(stripe.HTTPClient):
    """How the SDK sends within this process."""

    name = "in process"

    def __init__(self, transport: httpx2.AsyncBaseTransport) -> None:
        super().__init__()
        self._transport = transport

    async def request_async(
        self, method: str, url: str, headers: Mapping[str, str], post_data: str | None = None
    ) -> tuple[bytes, int, Mapping[str, str]]:
        async with httpx2.AsyncClient(transport=self._transport) as client:
            answer = await client.request(method, url, headers=dict(headers), content=post_data)
        return answer.content, answer.status_code, answer.headers


def texts(html: str) -> str:
    """What a page says, without its markup."""
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL)).split())
