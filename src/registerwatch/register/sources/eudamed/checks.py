"""Looking at how EUDAMED answers now: its build, each filter, list and kind of record that we rely on.

A look takes some twenty requests at the pace of bulk loads. The records that it asks for are those that the lists show
at that moment, so that a filter that finds none of them is known to have changed.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from registerwatch.clock import Clock
from registerwatch.register.outcomes import NoSuchRecord, RegisterFailure
from registerwatch.register.sources.budget_parts import RequestPriority
from registerwatch.register.sources.checks import (
    NO_SUBJECT,
    CheckName,
    CheckResult,
    Looked,
    Outcome,
    Unanswered,
    judge_page,
    judge_shape,
    judge_values,
    outcome_of,
)
from registerwatch.register.sources.eudamed import wire
from registerwatch.register.sources.eudamed.guards import EMPTY_PAGE, PROBE_VALUE
from registerwatch.register.sources.eudamed.shapes import SHAPES
from registerwatch.register.sources.requests import ApiRequest, JsonReader, RegisterHttpClient

SECONDS = 120.0
"""For so long one request may take, the wait for its place included."""
MAX_UNANSWERED = 3
"""After so many requests in a row without an answer a look is over."""
PAGE_SIZE = 300
SMALL_PAGE_SIZE = 25
EOS_COST = 2
"""The register tolerates half as many actor searches as device searches a minute."""
LANGUAGE = {"languageIso2Code": "en"}
IGNORED = "It is ignored: a value that nothing has finds records."
FINDS_NOTHING = "It does not find a record that was listed a moment before."
OTHERS = "It finds records that do not have the value."
OPTIONAL_IGNORED = "The register ignores it; certificates are read without it."
NO_PAGE = "Its answer is no page of records with a total."

DEVICES, ACTORS, CERTIFICATES = "/devices/udiDiData", "/eos", "/certificates/search/"

_BUILD = re.compile(r"[0-9A-Za-z._+-]{1,64}")
_json = JsonReader()

Row = Mapping[str, Any]


class EudamedChecks:
    """The checks of the register at `base_url`."""

    names = frozenset(CheckName) - {CheckName.DATA_LAKE_ROW, CheckName.DATA_LAKE_VALUES}

    def __init__(self, requests: RegisterHttpClient, base_url: str, clock: Clock) -> None:
        self._requests = requests
        self._base = base_url.rstrip("/")
        self._clock = clock

    async def look(self, due: Collection[CheckName], certified: str = "") -> Looked:
        """Look at these, and at what the same requests show."""
        look = _Look(self._requests, self._base, self._clock, frozenset(due), certified)
        await look.run()
        return look.looked


class _Look:
    """One look at what is due."""

    def __init__(
        self, requests: RegisterHttpClient, base_url: str, clock: Clock, due: frozenset[CheckName], certified: str
    ) -> None:
        self._requests, self._base, self._clock = requests, base_url, clock
        self._due, self._certified = due, certified
        self._unanswered = 0
        self._device: Row | None = None
        self._certificate: Row | None = None
        self.looked = Looked()

    async def run(self) -> None:
        """Everything that is due, lists first."""
        name = CheckName
        await self._step(self._build, name.BUILD)
        await self._step(
            self._devices,
            name.LIST_DEVICES,
            name.DEVICE_ROW,
            name.DEVICE_VALUES,
            name.TOTAL_DEVICES,
            name.STATUS_CODES,
            name.RISK_CODES,
            name.ACTOR_STATUS_CODES,
            needed_by=(*_OF_DEVICE, *_OF_ACTOR),
        )
        await self._step(self._primary_di, name.FILTER_PRIMARY_DI)
        await self._step(self._srn, name.FILTER_SRN)
        await self._step(self._detail, name.DEVICE_DETAIL)
        await self._step(self._basic_record, name.BASIC_UDI_RECORD, name.LEGISLATION_CODES)
        await self._step(self._actor, *_OF_ACTOR)
        await self._step(
            self._certificates,
            name.LIST_CERTIFICATES,
            name.CERTIFICATE_ROW,
            name.TOTAL_CERTIFICATES,
            name.CERTIFICATE_STATUS_CODES,
            needed_by=(name.CERTIFICATE_DETAIL,),
        )
        await self._step(self._certificate_record, name.CERTIFICATE_DETAIL)
        await self._step(self._basic_udi, name.FILTER_BASIC_UDI)
        await self._step(self._refusals, name.LIST_REFUSALS, name.REFUSAL_ROW)
        await self._step(self._notified_bodies, name.NOTIFIED_BODY)

    async def _step(
        self, work: Callable[[], Awaitable[None]], *names: CheckName, needed_by: Sequence[CheckName] = ()
    ) -> None:
        """Do a part of the look where any of its checks is due; what it leaves open has the outcome of its failure."""
        if not self._due.intersection((*names, *needed_by)):
            return
        outcome: Outcome = Unanswered(NO_SUBJECT)
        try:
            if self._unanswered >= MAX_UNANSWERED:
                raise RegisterFailure("The register did not answer the requests before.", is_asked=False)
            await work()
        except RegisterFailure as failure:
            outcome = outcome_of(failure)
            self._unanswered = self._unanswered + 1 if isinstance(outcome, Unanswered) else 0
        for name in names:
            if name in self.looked.codes or name in self.looked.totals:
                continue
            if isinstance(outcome, Unanswered) or not (name.is_of_codes or name.is_of_total):
                self.looked.outcomes.setdefault(name, outcome)

    def _found(self, name: CheckName, outcome: Outcome) -> None:
        self.looked.outcomes[name] = outcome

    # Lists

    async def _build(self) -> None:
        answer = await self._get("/applicationInfo", {})
        build = answer.get("buildVersion") if isinstance(answer, dict) else None
        named = isinstance(build, str) and _BUILD.fullmatch(build)
        self._found(
            CheckName.BUILD, CheckResult(True, str(build)) if named else CheckResult(False, "It names no build.")
        )

    async def _devices(self) -> None:
        rows, total = await self._page(DEVICES, {}, PAGE_SIZE)
        self._found(CheckName.LIST_DEVICES, judge_page(len(rows), total, PAGE_SIZE))
        self._found(CheckName.DEVICE_ROW, judge_shape(SHAPES[CheckName.DEVICE_ROW], rows))
        self._found(CheckName.DEVICE_VALUES, judge_values(SHAPES[CheckName.DEVICE_ROW], rows))
        self.looked.totals[CheckName.TOTAL_DEVICES] = total
        self._see(CheckName.STATUS_CODES, rows, "deviceStatusType")
        self._see(CheckName.RISK_CODES, rows, "riskClass")
        self._see(CheckName.ACTOR_STATUS_CODES, rows, "manufacturerStatus")
        self._device = next((row for row in reversed(rows) if _is_subject(row)), None)

    async def _certificates(self) -> None:
        rows, total = await self._page(CERTIFICATES, {}, PAGE_SIZE)
        self._found(CheckName.LIST_CERTIFICATES, judge_page(len(rows), total, PAGE_SIZE))
        self._found(CheckName.CERTIFICATE_ROW, judge_shape(SHAPES[CheckName.CERTIFICATE_ROW], rows))
        self.looked.totals[CheckName.TOTAL_CERTIFICATES] = total
        self._see(CheckName.CERTIFICATE_STATUS_CODES, rows, "certificateStatus")
        self._certificate = next((row for row in reversed(rows) if _is_key(row.get("uuid"))), None)

    async def _refusals(self) -> None:
        rows, total = await self._page("/applications/search/", {}, PAGE_SIZE)
        self._found(CheckName.LIST_REFUSALS, judge_page(len(rows), total, PAGE_SIZE))
        self._found(CheckName.REFUSAL_ROW, judge_shape(SHAPES[CheckName.REFUSAL_ROW], rows))

    async def _notified_bodies(self) -> None:
        answer = await self._get("/ses/notifiedBodies", {})
        if not isinstance(answer, list):
            raise RegisterFailure("The register's answer has an unexpected form (no list).")
        self._found(CheckName.NOTIFIED_BODY, judge_shape(SHAPES[CheckName.NOTIFIED_BODY], answer))

    # Filters

    async def _primary_di(self) -> None:
        if self._device is not None:
            outcome, _ = await self._filter(DEVICES, "primaryDi", self._device["primaryDi"], "primaryDi")
            self._found(CheckName.FILTER_PRIMARY_DI, outcome)

    async def _srn(self) -> None:
        if self._device is not None:
            srn = self._device["manufacturerSrn"]
            outcome, _ = await self._filter(DEVICES, "srn", srn, "manufacturerSrn", size=PAGE_SIZE)
            self._found(CheckName.FILTER_SRN, outcome)

    async def _basic_udi(self) -> None:
        """The one filter that reads do without where it does not filter."""
        is_heeded = await self._finds_nothing(CERTIFICATES, "basicUdi")
        self._found(CheckName.FILTER_BASIC_UDI, CheckResult(True, "" if is_heeded else OPTIONAL_IGNORED))

    async def _filter(
        self, path: str, parameter: str, value: str, shown_as: str, *, size: int = SMALL_PAGE_SIZE, cost: int = 1
    ) -> tuple[CheckResult, Sequence[Row]]:
        """Whether a filter finds what has a value, and nothing for a value that nothing has; and what it found."""
        if not await self._finds_nothing(path, parameter, cost):
            return CheckResult(False, IGNORED), []
        rows, total = await self._page(path, {parameter: value}, size, cost)
        if not rows:
            return CheckResult(False, FINDS_NOTHING), []
        if any(row.get(shown_as) != value for row in rows):
            return CheckResult(False, OTHERS), []
        return judge_page(len(rows), total, size), rows

    async def _finds_nothing(self, path: str, parameter: str, cost: int = 1) -> bool:
        rows, total = await self._page(path, {parameter: PROBE_VALUE}, SMALL_PAGE_SIZE, cost)
        return not rows and not total

    # Records

    async def _detail(self) -> None:
        if self._device is not None:
            record = await self._get(f"/devices/udiDiData/{self._device['uuid']}", LANGUAGE)
            self._found(CheckName.DEVICE_DETAIL, judge_shape(SHAPES[CheckName.DEVICE_DETAIL], [record]))

    async def _basic_record(self) -> None:
        """One that lists certificates, where one is known."""
        uuids = [self._certified] if _is_key(self._certified) else []
        uuids += [self._device["uuid"]] if self._device is not None else []
        for uuid in uuids:
            try:
                record = await self._get(f"/devices/basicUdiData/udiDiData/{uuid}", LANGUAGE)
            except RegisterFailure as failure:
                if failure.transient or uuid == uuids[-1]:
                    raise
                continue  # the stored one may have left the register
            self._found(CheckName.BASIC_UDI_RECORD, judge_shape(SHAPES[CheckName.BASIC_UDI_RECORD], [record]))
            self._see(CheckName.LEGISLATION_CODES, [record], "legislation")
            return

    async def _actor(self) -> None:
        if self._device is None:
            return
        outcome, rows = await self._filter(ACTORS, "srn", self._device["manufacturerSrn"], "srn", cost=EOS_COST)
        self._found(CheckName.FILTER_ACTOR_SRN, outcome)
        self._found(
            CheckName.ACTOR_ROW, judge_shape(SHAPES[CheckName.ACTOR_ROW], rows) if rows else Unanswered(NO_SUBJECT)
        )
        uuid = next((row["uuid"] for row in rows if _is_key(row.get("uuid"))), None)
        if uuid is not None:
            record = await self._get(f"/actors/{uuid}/publicInformation", LANGUAGE)
            self._found(CheckName.ACTOR_DETAIL, judge_shape(SHAPES[CheckName.ACTOR_DETAIL], [record]))
            self._see(CheckName.ACTOR_STATUS_CODES, [_within(record, "actorDataPublicView")], "actorStatus")

    async def _certificate_record(self) -> None:
        if self._certificate is not None:
            record = await self._get(f"/certificates/{self._certificate['uuid']}", LANGUAGE)
            self._found(CheckName.CERTIFICATE_DETAIL, judge_shape(SHAPES[CheckName.CERTIFICATE_DETAIL], [record]))

    def _see(self, name: CheckName, records: Iterable[object], coded: str) -> None:
        self.looked.see(name, (_within(record, coded).get("code") for record in records))

    # Requests

    async def _page(self, path: str, filters: Mapping[str, str], size: int, cost: int = 1) -> tuple[Sequence[Row], int]:
        """The first page of a search, and its total. Raises `RegisterFailure`."""
        paging = {"page": "0", "pageSize": str(size), "size": str(size), "iso2Code": "en", **LANGUAGE}
        answer = await self._get(path, {**filters, **paging}, cost)
        content, total = _envelope(answer)
        return [row for row in content if isinstance(row, dict)], total

    async def _get(self, path: str, params: dict[str, str], cost: int = 1) -> Any:
        """One answer, whatever JSON it is. Raises `RegisterFailure`."""
        request = ApiRequest(self._base + path, params, _json, _check_not_throttled, cost)
        deadline = self._clock.monotonic() + SECONDS
        try:
            answer = await self._requests.get(request, priority=RequestPriority.BULK_LOAD, deadline=deadline)
        except NoSuchRecord as redirect:
            raise RegisterFailure("The register redirected to its page-not-found route.") from redirect
        self._unanswered = 0
        return answer


_OF_DEVICE = (
    CheckName.FILTER_PRIMARY_DI,
    CheckName.FILTER_SRN,
    CheckName.DEVICE_DETAIL,
    CheckName.BASIC_UDI_RECORD,
    CheckName.LEGISLATION_CODES,
)
_OF_ACTOR = (CheckName.FILTER_ACTOR_SRN, CheckName.ACTOR_ROW, CheckName.ACTOR_DETAIL)


def _check_not_throttled(answer: object) -> None:
    if isinstance(answer, dict) and answer.get("content") == [] and answer.get("totalElements") not in (None, 0):
        raise RegisterFailure(EMPTY_PAGE, transient=True, throttled=True)


def _envelope(answer: object) -> tuple[list[Any], int]:
    page = answer if isinstance(answer, dict) else {}
    content, total = page.get("content"), page.get("totalElements")
    if not isinstance(content, list) or not isinstance(total, int) or isinstance(total, bool):
        raise RegisterFailure(NO_PAGE)
    return content, total


def _within(record: object, name: str) -> Row:
    inner = record.get(name) if isinstance(record, dict) else None
    return inner if isinstance(inner, dict) else {}


def _is_subject(row: Row) -> bool:
    """Whether filters can be asked for this row."""
    named = all(isinstance(row.get(name), str) and row[name] for name in ("primaryDi", "manufacturerSrn"))
    return named and _is_key(row.get("uuid"))


def _is_key(value: object) -> bool:
    return isinstance(value, str) and wire.RECORD_KEY.fullmatch(value) is not None
