"""The demonstration: the service on SQLite over a stand-in register and payment provider, all in this process."""

import asyncio
import logging
import signal
import socket
from pathlib import Path
from secrets import token_hex, token_urlsafe

import msgspec
import typer
import uvicorn

from registerwatch.accounts.models import NewSession
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.app import app_over
from registerwatch.bootstrap import Service, build_service
from registerwatch.commands.display.progress import bar
from registerwatch.copy.search.filters import Filters
from registerwatch.ingest.bulk_load import LoadProgress
from registerwatch.mail.mailer import Mail
from registerwatch.mail.memory_mailer import MemoryMailer
from registerwatch.platform import logs
from registerwatch.platform.db.migrate import upgrade
from registerwatch.register.codes import RiskFilter, StatusFilter
from registerwatch.settings import Settings, load_settings
from registerwatch.web.limits.http_server import SideServer, server_config
from registerwatch_standins.payment.app import PaymentSandbox
from registerwatch_standins.payment.event_sender import Webhook
from registerwatch_standins.register.app import create_app as create_register
from registerwatch_standins.register.generated import GeneratedWorld

CHANGES_PER_MINUTE = 30.0
PACE = 100_000
"""Requests a minute to its own stand-ins, which need no caution."""
EMAIL = "demo@example.org"
WATCHED_DEVICES = 8


def run(folder: Path, *, port: int, devices: int, seed: int) -> None:
    """Fill a copy from the stand-in's Data Lake, then serve all three until interrupted."""
    asyncio.run(_run(folder, port=port, devices=devices, seed=seed))


async def _run(folder: Path, *, port: int, devices: int, seed: int) -> None:
    register_port, payments, password = _free_port(), _Payments(), token_urlsafe(9)
    settings = load_settings(
        data_dir=folder,
        database_url=None,
        public_url=f"http://localhost:{port}",
        contact="demo@localhost",
        signup="open",
        register_url=f"http://127.0.0.1:{register_port}/eudamed",
        datalake_url=f"http://127.0.0.1:{register_port}/datalake",
        register_requests_per_minute=PACE,
        datalake_requests_per_minute=PACE,
        recheck_interval=60,
        sweep_interval=20,
        **payments.settings(),
    )
    logs.set_up(settings.log_format)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    stand_ins = [_Server(_register_config(devices, seed, register_port)), _Server(payments.config(port))]
    built = build_service(settings, mailer=MemoryMailer(_show_mail), start_pace=PACE)
    service = _Server(server_config(app_over(built), "127.0.0.1", port))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, service.end)
    standing_in = [asyncio.create_task(server.serve()) for server in stand_ins]
    try:
        typer.echo(f"Filling the copy from a made-up register of {devices:,} registrations …", err=True)
        service.said_when_ready = _welcome(port, await _prepare(settings, password), password, payments.url)
        await service.serve()
    finally:
        for server in stand_ins:
            server.end()
        await asyncio.gather(*standing_in)


class _Payments(msgspec.Struct, frozen=True):
    """The stand-in payment provider, and the service's settings for it."""

    port: int = msgspec.field(default_factory=lambda: _free_port())
    key: str = msgspec.field(default_factory=lambda: f"sk_test_{token_hex(12)}")
    secret: str = msgspec.field(default_factory=lambda: f"whsec_{token_hex(16)}")

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def settings(self) -> dict[str, str]:
        return {
            "payment_api_key": self.key,
            "payment_api_url": f"http://127.0.0.1:{self.port}",
            "payment_webhook_secret": self.secret,
            "payment_prices": "standard=price_standard,operator=price_operator",
        }

    def config(self, service_port: int) -> uvicorn.Config:
        webhook = Webhook(f"http://127.0.0.1:{service_port}/v1/billing/webhook", self.secret)
        sandbox = PaymentSandbox(base_url=self.url, api_key=self.key, webhook=webhook)
        return uvicorn.Config(sandbox.app, host="127.0.0.1", port=self.port, log_config=None, access_log=False)


class _Server(SideServer):
    """One of three servers in this process."""

    said_when_ready = ""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.said_when_ready and self.started:
            typer.echo(self.said_when_ready, err=True)


async def _prepare(settings: Settings, password: str) -> str:
    """Fill the copy, index it, open the account with this password. Returns the account's key."""
    service = build_service(settings, mailer=MemoryMailer(_show_mail), start_pace=PACE)
    try:
        await upgrade(service.database)
        with bar("stored") as advance:

            def watch(progress: LoadProgress) -> None:
                advance(progress.records, progress.total)

            await service.bulk_loader.load(service.bulk_source("datalake"), watch)
        await service.indexer.catch_up()
        opened = await service.accounts.sessions.trial("Demo Hospital", EMAIL, password)
        await _watch_some(service, opened)
    finally:
        await service.close()
    assert opened.api_key is not None, "the account is new"
    return opened.api_key


async def _watch_some(service: Service, opened: NewSession) -> None:
    """Let the account watch some devices and a manufacturer, so that its pages are not empty."""
    caller = await service.accounts.sessions.caller(credential_of(None, opened.session))
    for filters in (Filters(StatusFilter.ON, RiskFilter.III), Filters(StatusFilter.ON)):
        found = await service.search.search("", filters)
        if found.total >= WATCHED_DEVICES:
            break
    rows = found.results[:WATCHED_DEVICES]
    for subject in [*(row.udi for row in rows), *(row.manufacturer_srn for row in rows[:1])]:
        await service.watches.service.add(caller, subject)


def _show_mail(mail: Mail) -> None:
    typer.echo(
        f"\nA mail to {mail.to}, which a service with REGISTERWATCH_SMTP_URL would send:\n\n{mail.text}", err=True
    )


def _register_config(devices: int, seed: int, port: int) -> uvicorn.Config:
    app = create_register(GeneratedWorld(devices, seed), changes_per_minute=CHANGES_PER_MINUTE)
    return uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None, access_log=False)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _welcome(port: int, key: str, password: str, payments: str) -> str:
    return f"""
Registerwatch is at http://localhost:{port} – over a made-up register that changes as one looks.

  in the browser  http://localhost:{port}/?q=titan
  your account    http://localhost:{port}/login with {EMAIL}, password {password}
  with curl       curl 'http://localhost:{port}/v1/search?q=titan'
  its description http://localhost:{port}/openapi.json

  It watches {WATCHED_DEVICES} devices and a manufacturer, and shows what changes within a minute. Its API key:
  {key}

  its key         curl -H 'X-API-Key: {key}' http://localhost:{port}/v1/me
  its login       curl --json '{{"email": "{EMAIL}", "password": "{password}"}}' http://localhost:{port}/v1/login
  one of your own curl --json '{{"email": "you@example.org", "password": "at least 8"}}' http://localhost:{port}/v1/trial
  a subscription  curl -H 'X-API-Key: {key}' --json '{{}}' http://localhost:{port}/v1/billing/checkout
                  leads to a page where made-up cards pay; {payments} tells of payments and lets time pass

Ctrl-C ends it; nothing is kept.
"""
