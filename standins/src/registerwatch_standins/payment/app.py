"""The stand-in as one ASGI application: the interface under `/v1`, and pages for people."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from registerwatch_standins.payment.api import Api
from registerwatch_standins.payment.checkouts import Checkouts
from registerwatch_standins.payment.endpoints import Endpoints
from registerwatch_standins.payment.event_sender import EventSender, Webhook
from registerwatch_standins.payment.faults import FaultLayer, Faults
from registerwatch_standins.payment.pages import Pages
from registerwatch_standins.payment.scheduler import AdjustableClock, Clock, Scheduler
from registerwatch_standins.payment.store import Store
from registerwatch_standins.payment.subscriptions import Subscriptions

_POLL_SECONDS = 0.5


class PaymentSandbox:
    """The stand-in's parts, for who runs it in the same process. `app` is the whole of it for everybody else.

    Nothing happens by itself unless the application's lifespan runs: `catch_up` brings it to the present,
    `event_sender.deliver` tells what has happened. `clock` is the time of those who use it; `time` may run ahead.
    """

    def __init__(
        self,
        *,
        base_url: str,
        webhook: Webhook | None = None,
        api_key: str | None = None,
        clock: Clock = time.time,
        client: httpx2.AsyncClient | None = None,
        seed: int | None = None,
    ) -> None:
        self.time = AdjustableClock(clock)
        self.store = Store(self.time, base_url, seed=seed)
        self.subscriptions = Subscriptions(self.store)
        self.checkouts = Checkouts(self.store, self.subscriptions)
        self.scheduler = Scheduler(self.store, self.subscriptions, self.checkouts)
        self.faults = Faults()
        self.event_sender = EventSender(self.store.log, client or httpx2.AsyncClient(), clock, webhook)
        self.app = self._application(api_key)

    def _application(self, api_key: str | None) -> Starlette:
        endpoints = Endpoints(self.store, self.subscriptions)
        api = Starlette(routes=Api(endpoints, self.scheduler, api_key).routes())
        pages = Pages(self.store, self.subscriptions, self.checkouts, self.scheduler, self.event_sender, self.time)
        return Starlette(
            routes=[*pages.routes(), Mount("/", app=FaultLayer(api, self.faults))],
            lifespan=self._lifespan,
        )

    async def close(self) -> None:
        """Give connections back."""
        await self.event_sender.client.aclose()

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """While it is served, time passes and events are sent."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._run)
            yield
            tasks.cancel_scope.cancel()
        await self.close()

    async def _run(self) -> None:
        while True:
            self.scheduler.catch_up()
            await self.event_sender.deliver_due()
            await anyio.sleep(_POLL_SECONDS)


def serve(*, host: str, port: int, base_url: str, api_key: str, webhook_url: str, webhook_secret: str) -> None:
    """Serve over HTTP until interrupted: `/v1` and the pages."""
    sandbox = PaymentSandbox(base_url=base_url, api_key=api_key, webhook=Webhook(webhook_url, webhook_secret))
    uvicorn.run(sandbox.app, host=host, port=port, log_level="warning", access_log=False)
