"""A client over a stand-in register, and the requests that it has sent."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import httpx2

from registerwatch.platform.db.engine import Database
from registerwatch.register.basic_records import SharedRecord, SharedSearch
from registerwatch.register.models import Device, DeviceReading
from registerwatch.register.outcomes import Found
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.eudamed import convert, wire
from registerwatch.sources.eudamed.client import EudamedClient
from registerwatch.sources.eudamed.guards import PROBE_VALUE
from registerwatch.sources.request_budget import RequestBudget
from registerwatch.sources.request_pace import PaceLimits
from registerwatch.sources.requests import RegisterHttpClient, RetryPolicy
from registerwatch.sources.source import KnownRecord
from registerwatch_standins.register.app import create_app
from registerwatch_standins.register.faults import Faults
from registerwatch_standins.register.request_log import RequestLog
from registerwatch_standins.register.transport import InProcessTransport
from registerwatch_standins.register.world import World
from tests.support.fakes import SteppedClock

BASE = "http://register.test/eudamed"
IMPATIENT = {priority: RetryPolicy(tries=2, pause=0.1, limit=30.0) for priority in RequestPriority}


@dataclass(frozen=True, slots=True)
class Reader:
    """What a test of reads plays with."""

    client: EudamedClient
    world: World
    faults: Faults
    log: RequestLog
    clock: SteppedClock
    state: Any

    def asked(self) -> Counter[str]:
        """Kinds of the requests since the last call, probes apart."""
        kinds = Counter(
            f"{request.kind} probe" if PROBE_VALUE in request.query else request.kind for request in self.log.requests
        )
        self.log.clear()
        return kinds

    def queries(self, kind: str) -> list[dict[str, str]]:
        """Parameters of the logged requests of one kind."""
        return [
            {name: values[0] for name, values in parse_qs(request.query).items()}
            for request in self.log.requests
            if request.kind == kind
        ]

    async def found(self, udi: str, known: Mapping[str, KnownRecord] | None = None) -> list[DeviceReading]:
        """The readings of a device that the register has."""
        result = await self.client.read_device(udi, known=known)
        assert isinstance(result, Found), result
        return result.value


def known_from(readings: list[DeviceReading]) -> dict[str, KnownRecord]:
    """What the copy would know after these readings."""
    return {each.device.uuid: KnownRecord(each.device, each.detail_version) for each in readings}


def reading_of(
    row: wire.DeviceRow,
    detail: wire.DeviceDetail | None,
    basic: wire.BasicUdiRecord,
    stored: Device | None,
    found: Sequence[wire.CertificateRow] = (),
) -> DeviceReading:
    """The reading of a device by the answers to the requests of one read, which shares nothing with others."""
    search = SharedSearch(tuple(convert.certificate_rows(found)))
    shared = SharedRecord(convert.record_of(basic))
    return convert.reading_of_device(convert.reading_of_row(row), detail, shared, search, stored)


@asynccontextmanager
async def reading(world: World, database: Database, clock: SteppedClock, **options: bool) -> AsyncIterator[Reader]:
    """A client over a stand-in of this world."""
    faults = Faults()
    register = create_app(world, faults, **options)  # type: ignore[arg-type]  # switches are all that is passed
    async with httpx2.AsyncClient(transport=InProcessTransport(register)) as http:
        requests = RegisterHttpClient(
            http,
            RequestBudget(database, PaceLimits(100_000, start=100_000), clock),
            user_agent="Registerwatch/1.0 (+https://example.org)",
            timeout=5.0,
            retry_policies=IMPATIENT,
        )
        client = EudamedClient(requests, BASE, clock)
        yield Reader(client, world, faults, register.state.log, clock, register.state)
