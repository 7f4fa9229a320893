"""One read of EUDAMED's interface: its requests, its deadline, and the proofs that its filters work."""

from collections.abc import Callable
from typing import TypeVar

import msgspec
import structlog

from registerwatch.platform.clock import Clock
from registerwatch.register.outcomes import NoSuchRecord, RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.eudamed import wire
from registerwatch.sources.eudamed.guards import (
    PROBE_VALUE,
    REPROBE_SECONDS,
    FilterProofs,
    check_answered,
    check_probe,
    finds_nothing,
)
from registerwatch.sources.request_budget import SlotWait
from registerwatch.sources.requests import AnswerReader, ApiRequest, RegisterHttpClient, ignore

log = structlog.get_logger(__name__)

Answer = TypeVar("Answer")

DEVICES = "/devices/udiDiData"
LANGUAGE = {"languageIso2Code": "en"}


class RegisterInterface(msgspec.Struct, frozen=True):
    """The interface at one address, with its sender of requests and the knowledge of its filters."""

    requests: RegisterHttpClient
    base_url: str
    clock: Clock
    proofs: FilterProofs = msgspec.field(default_factory=FilterProofs)


class RegisterRead:
    """One read, with a priority and a deadline. A request without a usable answer raises `RegisterFailure`."""

    def __init__(
        self, interface: RegisterInterface, priority: RequestPriority, slot_wait: SlotWait | None = None
    ) -> None:
        self._requests, self._base = interface.requests, interface.base_url
        self._proofs, self._clock = interface.proofs, interface.clock
        self._priority = priority
        self._deadline = self._requests.deadline(priority)
        self._slot_wait = (slot_wait or SlotWait.as_long_as_a_read()).within(self._deadline)

    @property
    def has_begun(self) -> bool:
        """Whether a request was sent to the register."""
        return self._slot_wait.has_begun

    async def record(self, path: str, reader: AnswerReader[Answer], check: Callable[[Answer], None]) -> Answer:
        """A record that a search has listed. A missing one raises `RegisterFailure`."""
        try:
            return await self._requests.get(
                ApiRequest(self._base + path, LANGUAGE, reader, check),
                priority=self._priority,
                deadline=self._deadline,
                slot_wait=self._slot_wait,
            )
        except NoSuchRecord as redirect:
            raise RegisterFailure("The register lists the subject but has no record behind the listing.") from redirect

    async def prove(
        self, name: str, path: str, params: dict[str, str], *, parameter: str | None = None, cost: int = 1
    ) -> None:
        """Make sure that a filter works, by a control probe where the last one is a day old."""
        now = self._clock.monotonic()
        if self._proofs.is_proven(name, now):
            return
        probe = {parameter or name: PROBE_VALUE, **params}
        await self.ask(path, probe, wire.any_rows, check=check_probe, cost=cost)
        self._proofs.prove(name, now)

    async def is_proven(self, name: str, path: str, params: dict[str, str]) -> bool:
        """Whether an optional filter works; a refuted one is probed again after some minutes."""
        now = self._clock.monotonic()
        if self._proofs.is_refuted(name, now):
            return False
        if not self._proofs.is_proven(name, now):
            page = await self.ask(path, {name: PROBE_VALUE, **params}, wire.any_rows, check=check_answered)
            if not finds_nothing(page):
                if self._proofs.last.get(name) is not False:
                    log.warning("the register ignores a filter", filter=name, path=path, probed_every=REPROBE_SECONDS)
                self._proofs.refute(name, now)
                return False
            if self._proofs.last.get(name) is False:
                log.warning("the register heeds a filter again", filter=name, path=path)
            self._proofs.prove(name, now)
        return True

    async def ask(
        self,
        path: str,
        params: dict[str, str],
        reader: AnswerReader[Answer],
        *,
        check: Callable[[Answer], None] = ignore,
        cost: int = 1,
        received: Callable[[int], None] = ignore,
    ) -> Answer:
        """One page of a search. A redirect is a failure: a search that finds nothing answers 200."""
        languages = {"iso2Code": "en", **LANGUAGE}
        request = ApiRequest(self._base + path, {**params, **languages}, reader, check, cost, received)
        try:
            return await self._requests.get(
                request, priority=self._priority, deadline=self._deadline, slot_wait=self._slot_wait
            )
        except NoSuchRecord as redirect:
            raise RegisterFailure("The register redirected the search to its page-not-found route.") from redirect


def sized(rows: int) -> dict[str, str]:
    """The parameters for this many rows a page."""
    return {"pageSize": str(rows), "size": str(rows)}
