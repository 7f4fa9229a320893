"""The certificate sweep of part `watching`: how much of a processor an hourly look at all certificates takes."""

import asyncio
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import httpx2
import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection
from structlog.testing import capture_logs

from bench.figures import Figure, Goal, Row
from bench.setup import Setup, remove_database, timed
from registerwatch.copy.records import RecordStore
from registerwatch.ingest.checks.register_checks import RegisterChecks
from registerwatch.ingest.scoped_devices import ScopedDevices
from registerwatch.ingest.sweeps.certificate_sweep import CertificateSweep
from registerwatch.platform.clock import SystemClock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.migrate import upgrade
from registerwatch.register.certificate_reads import CertificateRead
from registerwatch.sources.eudamed.certificate_lists import PAGE_SIZE, EudamedCertificateLists
from registerwatch.sources.request_budget import RequestBudget
from registerwatch.sources.request_pace import PaceLimits
from registerwatch.sources.requests import RegisterHttpClient
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.wire.certificates import listing_row

CERTIFICATES, CHANGED = 5_000, 200
MAX_SECONDS = 2.0
WITHDRAWN = {"code": "refdata.certificate-status.withdrawn"}
EMPTY = b'{"content":[],"totalElements":0,"last":true}'
BODIES = b'[{"name":"A notified body","eudamedIdentifier":"0123"}]'


class PreparedRegister(httpx2.AsyncBaseTransport):
    """Answers with pages that were rendered before, so that rendering them is not measured."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.show(rows)

    def show(self, rows: list[dict[str, Any]]) -> None:
        """List these rows from now on."""
        self._pages = [
            msgspec.json.encode(
                {
                    "content": rows[start : start + PAGE_SIZE],
                    "totalElements": len(rows),
                    "last": start + PAGE_SIZE >= len(rows),
                }
            )
            for start in range(0, len(rows), PAGE_SIZE)
        ]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request."""
        path = request.url.path
        if path.endswith("/certificates/search/"):
            return httpx2.Response(200, content=self._pages[int(request.url.params["page"])])
        if path.endswith("/applications/search/"):
            return httpx2.Response(200, content=EMPTY)
        if path.endswith("/notifiedBodies"):
            return httpx2.Response(200, content=BODIES)
        return httpx2.Response(200, content=msgspec.json.encode({"uuid": path.rpartition("/")[2], "scopes": []}))


class NoWatches:
    """Nobody watches anything."""

    async def named_by(self, connection: AsyncConnection, basic_udis: Sequence[str], *, now: int) -> Sequence[str]:
        """No device."""
        return ()

    async def with_found(
        self, connection: AsyncConnection, numbers: Collection[tuple[str, str]], *, now: int
    ) -> Sequence[str]:
        """No device."""
        return ()

    async def with_other(
        self, connection: AsyncConnection, reads: Sequence[CertificateRead], *, besides: Collection[str], now: int
    ) -> Sequence[str]:
        """No device."""
        return ()

    async def notify_portfolio(self, connection: AsyncConnection, srn: str, *, now: int) -> None:
        """Do nothing."""

    async def notify_certificates(self, connection: AsyncConnection, *, now: int) -> None:
        """Do nothing."""


def certificate_sweep(setup: Setup) -> Row:
    """Sweep, change some, and sweep again, which is what is measured."""
    what = f"a sweep of {CERTIFICATES:,} certificates, {CHANGED} of them changed: time of the processor"
    with timed(what), capture_logs():
        seconds = asyncio.run(_swept(setup.path("certificates.db")))
    return Row(what, Figure(seconds, "s"), {}, Goal(f"< {MAX_SECONDS:g} s", seconds < MAX_SECONDS))


async def _propagate_nothing(_most: int) -> None:
    """No device is stored."""


async def _swept(path: Path) -> float:
    world = GeneratedWorld(20_000, certificates=CERTIFICATES)
    rows = [listing_row(each) for each in world.search_certificates(CertificateFilter(), 0, CERTIFICATES)[1]]
    register = PreparedRegister(rows)
    remove_database(path)
    database, clock = Database(f"sqlite:///{path}"), SystemClock()
    try:
        await upgrade(database)
        async with httpx2.AsyncClient(transport=register) as http:
            requests = RegisterHttpClient(
                http,
                RequestBudget(database, PaceLimits(100_000, start=100_000), clock),
                user_agent="bench",
                timeout=5.0,
            )
            sweep = CertificateSweep(
                database,
                EudamedCertificateLists(requests, "http://register"),
                clock,
                NoWatches(),
                RegisterChecks(database, clock, [], frozenset()),
                ScopedDevices(RecordStore(database), NoWatches(), _propagate_nothing),
                every=0,
            )
            await sweep.run_where_due()
            for row in rows[:: len(rows) // CHANGED][:CHANGED]:
                row.update(certificateStatus=WITHDRAWN, versionNumber=9)
            register.show(rows)
            started = time.process_time()
            result = await sweep.run_where_due()
            took = time.process_time() - started
    finally:
        await database.close()
    assert result is not None, "it was due"
    assert result.listed == len(rows), result
    return took
