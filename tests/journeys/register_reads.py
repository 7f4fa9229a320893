"""Makes requests to the register fail, and notes what each read was truly answered.

It is part of the stand-in, so that it knows the world at the moment of each answer and shares nothing with the product
but the name of the task that reads: `refresh SUBJECT`. The year runs its sweeps in tasks named `sweep …`.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol, TypeVar, get_args

import httpx2

from registerwatch_standins.register.faults import Drift, Faults, Kind, Mode, Rule, kind_of
from registerwatch_standins.register.filters import CertificateFilter, DeviceFilter
from registerwatch_standins.register.records import Actor, Certificate, Registration
from registerwatch_standins.register.wire.codes import certificate_type
from registerwatch_standins.register.world import World
from tests.journeys.expected_events import (
    CertificateKey,
    CertificateName,
    Certificates,
    Seen,
    Value,
    WatchedCertificate,
    keyed,
    plain,
    together,
)

READ = "refresh "
LIST = READ + "devices of "
"""An actor's list of devices, of which every page is stored as those of a sweep are."""
SWEEP = "sweep "
PROBE = "RW-CONTROL-00000000"
BELIEVED = 21_000_000
"""Bytes of a huge answer; one that is no larger than the largest that is read would be an answer like any other."""

_EVERY: tuple[Mode, ...] = get_args(Mode)
_OF_PAGES: frozenset[Mode] = frozenset({"empty-page", "ignored-filter", "wrong-rows"})
_UNFILTERED: frozenset[Mode] = frozenset({"ignored-filter", "wrong-rows"})
_PAGES: frozenset[Kind] = frozenset({"search", "actor-search", "certificates", "refusals"})
_IN_FORCE = frozenset({"mdr", "ivdr"})
_ODD: tuple[Mode, ...] = ("ignored-filter", "wrong-rows")
"""Answers to the control probe of a filter that filters, which it cannot have given."""
IN_RECORD = "basic-udi-record"
FEWEST_ROWS = 4
"""Rows of the shortest page of a list that is asked for."""
_NAMED = ("MF", "PR")
"""Kinds of actors whose SRN stands in the rows of their devices."""

RISKS = {
    **{f"class-{letter}": f"Class {letter.upper()}" for letter in "iabcd"},
    "class-iia": "Class IIa",
    "class-iib": "Class IIb",
    "class-iii": "Class III",
    "aimdd": "Active implantable (AIMDD)",
    "ivd-general": "IVD general",
    "ivd-annex-ii-list-a": "IVD Annex II List A",
    "ivd-annex-ii-list-b": "IVD Annex II List B",
    "ivd-devices-self-testing": "IVD self-testing",
}
STATUSES = {
    "on-the-market": "On the EU market",
    "no-longer-on-the-market": "No longer placed on the EU market",
    "not-intended-for-eu-market": "Not intended for the EU market",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A question that a read asked: the last try of it counts. `truth` is what the world said at that moment."""

    truth: Any
    fault: Mode | None


@dataclass
class Read:
    """One read under way or over: whose, and what it asked."""

    subject: str
    task: "asyncio.Task[Any]"
    began: int
    """When it began and ended, in steps."""
    ended: int = 0
    questions: dict[tuple[Kind, str], Question] = field(default_factory=dict)
    is_short: bool = False
    """Whether its requests are so few that it may end before it asked everything."""
    began_at: float = 0.0
    asked_at: float = 0.0
    """When it asked first and last, by the service's clock."""

    @property
    def is_said_to_be_stored(self) -> bool:
        """What the product says of it."""
        return not self.task.cancelled() and type(self.task.result()).__name__ == "Refreshed"

    @property
    def is_said_to_be_overtaken(self) -> bool:
        """Whether the product says that another read was stored meanwhile, and nothing of this one."""
        return self.is_said_to_be_stored and getattr(self.task.result(), "is_overtaken", False)

    def begins_again(self, kind: Kind, key: str) -> bool:
        """Whether it asks its first question again, though that was answered: another read was stored meanwhile and
        nothing of this one, so that it is made a second time.
        """
        first = next((each for each in self.questions if each[1] != PROBE), None)
        return first == (kind, key) and self.questions[kind, key].fault is None

    def of(self, kind: Kind) -> Mapping[str, Question]:
        """Questions of a kind that were asked for the subject, by their key, without control probes."""
        return {key: asked for (each, key), asked in self.questions.items() if each == kind and key != PROBE}

    def probe(self, kind: Kind) -> Question | None:
        """The control probe of a kind, if this read sent one."""
        return self.questions.get((kind, PROBE))


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row of a device that a sweep was shown, and when, in steps."""

    udi: str
    fields: Mapping[str, Value]
    at: int


@dataclass
class SweepHold:
    """Stops a sweep before one of its requests, or `after` it was answered, once `skip` others were sent.

    With `last_of` only a request of this kind counts that shows the end of a list, or the record of a certificate; with
    `of` only one that asks for one of these SRNs or UDI-DIs.
    """

    task_name: str
    skip: int
    after: bool
    last_of: Kind | None = None
    of: Collection[str] = ()
    key: str = ""
    """What the request asked for that was held up: an SRN or a UDI-DI, empty where it lists everything."""
    has_come: asyncio.Event = field(default_factory=asyncio.Event)
    may_go: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Hold:
    """Stops the next read of a subject before its first request of a kind, until it may go on."""

    subject: str
    kind: Kind
    has_come: asyncio.Event = field(default_factory=asyncio.Event)
    may_go: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[Any] | None" = None


class RegisterReads(Faults):
    """Decides which request fails in which way; `share` is the part of requests that do."""

    def __init__(
        self,
        world: World,
        rng: Random,
        now: Callable[[], float],
        *,
        share: float,
        odd_probes: float,
        basic_udi_filter_works: bool,
    ) -> None:
        super().__init__()
        self._world, self._rng, self._now, self.share = world, rng, now, share
        self.odd_probes = odd_probes
        """The part of control probes of the certificate search that are answered oddly."""
        self.filter_works = basic_udi_filter_works
        self._under_way: dict[asyncio.Task[Any], Read] = {}
        self.steps = 0
        """Goes up with every beginning and end of a read, and by whoever changes the world."""
        self.finished: list[Read] = []
        self.requests = 0
        self.faults: Counter[tuple[Kind, Mode | Drift]] = Counter()
        self.between: Callable[[], None] = lambda: None
        """What happens in the world before a request is answered while no other one is."""
        self.holds: list[Hold] = []
        self.sweep_hold: SweepHold | None = None
        self.listed: list[ListedRow] = []
        """Rows that sweeps were shown since somebody looked."""
        self._shown: dict[str, Question] = {}
        """What lists showed last, by UDI-DI."""
        self._answering = 0

    def transport(self, inner: httpx2.AsyncBaseTransport, *, is_short: bool = False) -> httpx2.AsyncBaseTransport:
        """The way to the register on which requests are noted and held; `is_short` where there can be only a few."""
        return _ObservedTransport(self, inner, is_short)

    @asynccontextmanager
    async def answering(self, target: str, *, is_short: bool) -> AsyncIterator[None]:
        """A request is answered in the block: held before it, after a change of the world."""
        read = self._read()
        if read is not None:
            read.is_short = is_short
            await self._hold_up(read, kind_of(target.partition("?")[0]))
        await self._hold_up_sweep(target, after=False)
        if not self._answering:
            self.between()
        self._answering += 1
        try:
            yield
        finally:
            self._answering -= 1
        await self._hold_up_sweep(target, after=True)

    def take(self, kind: Kind, target: str) -> Rule | None:
        """The fault of this request, if it has one."""
        key, read = _key(kind, target), self._read()
        is_searched = kind == "certificates" and key  # the one question whose failure fails no read
        share = self.share * (3 if is_searched else 1)
        mode = self._rng.choice(self._possible(kind, key)) if self._rng.random() < share else None
        if kind == "certificates" and key == PROBE:
            mode = self._rng.choice(_ODD) if self._rng.random() < self.odd_probes else mode
            is_plain = (read is not None and read.is_short) or (mode in _ODD and not self._lists_certificates())
            mode = None if is_plain else mode
        lies = mode is None and kind == "search" and is_srn(key) and self._rng.random() < self.share
        self.requests += 1
        if mode is not None:
            self.faults[kind, mode] += 1
        if read is not None:
            if read.begins_again(kind, key):
                self._begin_again(read)
            read.questions[kind, key] = Question((0, []) if lies else self._truth(kind, key), mode)
            read.asked_at = self._now()
        elif kind == "search" and mode is None and not lies and key not in ("", PROBE):
            if self._is_sweep():
                self._note_listed(key, target)
            else:
                self._note_shown(key, target)
        if lies:
            self.faults[kind, "no-rows"] += 1
            return Rule(kind, "no-rows")
        return None if mode is None else Rule(kind, mode, size=BELIEVED)

    def _read(self) -> Read | None:
        """The read that asks; none for fills, which ask page by page."""
        task = asyncio.current_task()
        assert task is not None, "requests are sent by tasks"
        if not task.get_name().startswith(READ) or task.get_name().startswith(LIST):
            return None
        if task not in self._under_way:
            self.steps += 1
            self._under_way[task] = Read(task.get_name().removeprefix(READ), task, self.steps, began_at=self._now())
            task.add_done_callback(self._end)
        return self._under_way[task]

    def _begin_again(self, read: Read) -> None:
        self.steps += 1
        read.began, read.began_at = self.steps, self._now()
        read.questions.clear()

    def _end(self, task: "asyncio.Task[Any]") -> None:
        read = self._under_way.pop(task)
        self.steps += 1
        if not read.of("search") and read.subject in self._shown:
            read.questions["search", read.subject] = self._shown[read.subject]
        read.ended = self.steps
        self.finished.append(read)

    async def _hold_up(self, read: Read, kind: Kind) -> None:
        """One read is stopped by the first hold on its subject that stops none yet."""
        its = next((hold for hold in self.holds if hold.task is read.task), None)
        free = next((hold for hold in self.holds if hold.task is None and hold.subject == read.subject), None)
        hold = its or free
        if hold is not None:
            hold.task = read.task
            if hold.kind == kind:
                hold.has_come.set()
                await hold.may_go.wait()

    async def _hold_up_sweep(self, target: str, *, after: bool) -> None:
        hold, task = self.sweep_hold, asyncio.current_task()
        if hold is None or hold.after is not after or task is None or task.get_name() != hold.task_name:
            return
        kind = kind_of(target.partition("?")[0])
        if hold.of and _key(kind, target) not in hold.of:
            return
        if hold.last_of is not None and not (kind == hold.last_of and self._is_last(kind, target)):
            return
        if hold.skip:
            hold.skip -= 1
            return
        hold.key = _key(kind, target)
        hold.has_come.set()
        await hold.may_go.wait()

    def _is_last(self, kind: Kind, target: str) -> bool:
        """Whether a request shows the end of what it asks for."""
        key = _key(kind, target)
        if key == PROBE or kind == "certificate":
            return key != PROBE
        page, size = (int(_asked(target)[name]) for name in ("page", "size"))
        if kind == "certificates":
            total = self._world.search_certificates(CertificateFilter(), 0, 1)[0]
        else:
            total = self._world.search(_wanted(key), 0, 1)[0]
        return (page + 1) * size >= total

    def manufacturer_of(self, key: str) -> str:
        """The manufacturer of which a request asked; empty where it asked for none."""
        found = [] if is_srn(key) else self._world.by_primary_di(key)
        return found[0].manufacturer.srn if found else key if is_srn(key) else ""

    def is_alone(self, udi: str) -> bool:
        """Whether a UDI-DI has one record, under a regulation: then its row proves what it tells."""
        found = self._world.by_primary_di(udi)
        return len(found) == 1 and found[0].legislation in _IN_FORCE

    def _is_sweep(self) -> bool:
        task = asyncio.current_task()
        return task is not None and task.get_name().startswith((SWEEP, LIST))

    def _note_listed(self, key: str, target: str) -> None:
        """Note the rows of a page, or of a UDI-DI, that a sweep is about to be shown."""
        page, size = (int(_asked(target)[name]) for name in ("page", "size"))
        self.steps += 1
        for record in self._world.search(_wanted(key), page * size, size)[1]:
            self.listed.append(ListedRow(record.primary_di, row_fields(record), self.steps))

    def _note_shown(self, srn: str, target: str) -> None:
        """Note what a page of a list shows of UDI-DIs that are read after it without a search."""
        page, size = (int(_asked(target)[name]) for name in ("page", "size"))
        for record in self._world.search(_wanted(srn), page * size, size)[1]:
            self._shown[record.primary_di] = Question(self._world.by_primary_di(record.primary_di), None)

    def _possible(self, kind: Kind, key: str) -> list[Mode]:
        """Ways to fail that a reader can tell from an answer.

        What the register's form cannot tell apart at all is left out: another record of the same Basic UDI-DI or
        manufacturer, no rows or rows of one manufacturer among certificates, devices that an actor represents, and no
        rows where all that come without a filter are of the actor.
        """
        modes = [mode for mode in _EVERY if mode not in _OF_PAGES or kind in _PAGES]
        if kind in _PAGES or kind == "datalake":
            modes.remove("wrong-record")
        if kind == "basic":
            record, other = self._world.by_uuid(key), self._world.newest(0, 1)[0]
            if record is None or record.manufacturer.srn == other.manufacturer.srn:
                modes.remove("wrong-record")
        if kind == "certificates" and key != PROBE:
            owners = {each.manufacturer.srn for each in self._world.search_certificates(CertificateFilter(), 0, 3)[1]}
            if len(owners) <= 1:
                modes.remove("wrong-rows")
        if kind in ("certificates", "refusals") and not key:
            modes = [mode for mode in modes if mode != "wrong-rows"]  # fewer rows of a list are a shorter list
        if kind == "search" and is_srn(key):
            first = self._world.search(DeviceFilter(), 0, FEWEST_ROWS)[1]
            owners = {each.manufacturer.srn for each in first}
            if key[3:5] not in _NAMED or owners <= {key}:
                modes.remove("wrong-rows")
        return modes

    def _lists_certificates(self) -> bool:
        """Whether there is anything that a search without a filter can answer with."""
        return self._world.search_certificates(CertificateFilter(), 0, 1)[0] > 0

    def _truth(self, kind: Kind, key: str) -> Any:
        """What the world says now to a question."""
        if key == PROBE:
            return None
        if kind == "search":
            return self._world.search(DeviceFilter(srn=key), 0, 20) if is_srn(key) else self._world.by_primary_di(key)
        if kind == "actor-search":
            return self._world.actor(key)
        if kind == "actor":
            return self._world.actor_by_uuid(key)
        if kind == "certificates":
            return _searched(self._world, key)
        return self._world.detail(key) if kind == "detail" else self._world.by_uuid(key)


class _ObservedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, reads: RegisterReads, inner: httpx2.AsyncBaseTransport, is_short: bool) -> None:
        self._reads, self._inner, self._is_short = reads, inner, is_short

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        target = f"{request.url.path}?{request.url.query.decode()}"
        async with self._reads.answering(target, is_short=self._is_short):
            response = await self._inner.handle_async_request(request)
        is_search = request.url.path.endswith("/devices/udiDiData") and response.status_code == 200
        return _without_keys(response, await response.aread()) if is_search else response


def _without_keys(response: httpx2.Response, content: bytes) -> httpx2.Response:
    """A search whose rows name no key of a Basic UDI-DI record: then each read is judged by its own requests alone.

    Reads that share records have a test of their own (`tests/watches/test_sharing_truth.py`).
    """
    content = re.sub(rb'"basicUdiDiDataUlid": ?"[^"]*"', b'"basicUdiDiDataUlid":null', content)
    kept = {name: value for name, value in response.headers.items() if name.lower() != "content-length"}
    return httpx2.Response(response.status_code, headers=kept, content=content)


Searched = tuple[str, str]
"""UDI-DI and Basic UDI-DI of the records that have the same certificates by a search."""


@dataclass
class Memory:
    """What successful reads have brought so far, which later reads build upon."""

    details: dict[str, tuple[Value, int]] = field(default_factory=dict)
    """Status dates, and the versions whose details told them, by uuid."""
    searched: dict[Searched, Certificates] = field(default_factory=dict)
    """Certificates that the last search brought and no record listed."""

    def before(self) -> "Memory":
        """What it is now, for who may have to go back to it."""
        return Memory(self.details, dict(self.searched))


def seen_of(read: Read, memory: Memory) -> Seen | None:
    """What a read saw by its answers; None where one of its questions was not answered, or the subject is not there."""
    return _actor_seen(read) if is_srn(read.subject) else _device_seen(read, memory)


class Ranked(Protocol):
    """What decides which of several records of one UDI-DI answers for it."""

    @property
    def uuid(self) -> str:
        """The record's own id."""

    @property
    def latest_version(self) -> bool:
        """Whether it is no superseded version."""

    @property
    def legislation(self) -> str:
        """The regulation or directive."""

    @property
    def version_number(self) -> int:
        """Its version."""


Record = TypeVar("Record", bound=Ranked)


def answering(records: Iterable[Record]) -> Record:
    """Of several records of one UDI-DI the one that answers for it."""
    return min(
        records,
        key=lambda each: (not each.latest_version, each.legislation not in _IN_FORCE, -each.version_number, each.uuid),
    )


def row_fields(record: Registration) -> dict[str, Value]:
    """What a row of the device search says."""
    return {
        "status": Value(record.status, STATUSES.get(record.status) or _readable(record.status)),
        "trade_name": plain(record.trade_name),
        "risk_class": Value(record.risk_class, RISKS.get(record.risk_class) or _readable(record.risk_class)),
        "reference": plain(record.reference),
        "manufacturer_status": Value(record.manufacturer.status, _readable(record.manufacturer.status)),
        "version": plain(record.version_number),
    }


def all_fields(record: Registration) -> dict[str, Value]:
    """What the register says of a device but for its certificates."""
    return {**row_fields(record), "status_date": plain(record.status_date)}


def actor_fields(world: World, srn: str) -> dict[str, Value]:
    """What the register says of an actor."""
    total, _ = world.search(DeviceFilter(srn=srn), 0, 1)
    return _actor_fields(world.actor(srn), total)


def certificates_of(world: World, record: Registration) -> dict[CertificateKey, WatchedCertificate]:
    """Every certificate of a record, from both places that list them."""
    return together(_listed(record), _searched(world, record.basic_udi) if record.basic_udi else {})


def _searched(world: World, basic_udi: str) -> dict[CertificateKey, WatchedCertificate]:
    found = world.search_certificates(CertificateFilter(basic_udi=basic_udi), 0, 100)[1]
    latest = [each.certificate for each in found if each.latest_version]
    return keyed((_name(each), _certificate(each)) for each in latest)


def _actor_seen(read: Read) -> Seen | None:
    named, devices = read.of("actor-search").get(read.subject), read.of("search").get(read.subject)
    if named is None or devices is None or named.fault or devices.fault or named.truth is None:
        return None
    total, _ = devices.truth
    return Seen(_actor_fields(named.truth, total))


def _actor_fields(actor: Actor | None, total: int) -> dict[str, Value]:
    """Name and status of an actor, as its own row has them, and the number of its devices.

    The rows of its devices are asked for after its own, and may have another status by then.
    """
    name, status = (actor.name, actor.status) if actor else ("", "")
    return {
        "name": plain(name),
        "device_total": plain(total),
        "manufacturer_status": Value(status, _readable(status)),
    }


def _device_seen(read: Read, memory: Memory) -> Seen | None:
    search = read.of("search").get(read.subject)
    needed = [each for (kind, _), each in read.questions.items() if kind != "certificates"]
    if search is None or any(each.fault for each in needed) or not search.truth:
        return None
    row = answering(search.truth)
    basic, detail = read.of("basic").get(row.uuid), read.of("detail").get(row.uuid)
    records = [*read.of("detail").values(), *read.of("basic").values()]
    if any(each.truth is None for each in records):
        return None  # it was deleted while it was read
    if basic is None:
        return None
    told = detail.truth if detail else None
    fields = row_fields(row)
    unsettled: frozenset[str] = frozenset()
    if told is not None:
        if told.version_number < row.version_number:
            unsettled = frozenset(name for name in ("reference", "trade_name") if not fields[name].words)
        fields["reference"] = plain(row.reference or told.reference)
        fields["trade_name"] = plain(row.trade_name or told.trade_name)
        memory.details[row.uuid] = plain(told.status_date), told.version_number
    fields["status_date"], version = memory.details[row.uuid]
    assert told is not None or version == row.version_number, f"the detail of {row.uuid} is behind, and not read again"
    certificates, searched = _certificates_read(read, basic.truth, memory)
    listed = _listed(basic.truth)
    of = read.subject, basic.truth.basic_udi or ""
    if certificates is not None:
        names = {key[:2] for key in listed}
        memory.searched[of] = {key: each for key, each in certificates.items() if key[:2] not in names}
    return Seen(fields, certificates, searched, frozenset(listed), {**listed, **(certificates or {})}, unsettled)


def _certificates_read(read: Read, record: Registration, memory: Memory) -> tuple[Certificates | None, bool]:
    """The certificates that this read brought, None where they could not be read; whether the search had its say."""
    listed = _listed(record)
    if not record.basic_udi:
        return listed, True
    search, probe = read.of("certificates").get(record.basic_udi), read.probe("certificates")
    if search is not None:
        return (None, False) if search.fault else (together(listed, search.truth), True)
    if read.is_short or (probe is not None and probe.fault and probe.fault not in _UNFILTERED):
        return None, False
    return together(memory.searched.get((read.subject, record.basic_udi), {}), listed), False


def _listed(record: Registration) -> dict[CertificateKey, WatchedCertificate]:
    return keyed((_name(each), _certificate(each)) for each in record.certificates if each.listed_in == IN_RECORD)


def _certificate(certificate: Certificate) -> WatchedCertificate:
    return WatchedCertificate(
        certificate.number,
        certificate.expiry or "",
        Value(certificate.status, _readable(certificate.status)),
        (certificate.notified_body, certificate_type(certificate.type)["code"]),
    )


def _name(certificate: Certificate) -> CertificateName:
    return certificate.number, certificate.revision or ""


def _readable(code: str) -> str:
    return code.replace("-", " ").capitalize()


def _key(kind: Kind, target: str) -> str:
    """What a request asks for: an identifier, a uuid, the control probe's value."""
    path = target.partition("?")[0]
    if kind in ("detail", "basic", "certificate"):
        return path.rpartition("/")[2]
    if kind == "actor":
        return path.split("/")[-2]
    asked = _asked(target)
    return next((asked[name] for name in ("primaryDi", "srn", "basicUdi") if name in asked), "")


def _asked(target: str) -> dict[str, str]:
    """The query of a request."""
    return dict(each.partition("=")[::2] for each in target.partition("?")[2].split("&"))


def _wanted(key: str) -> DeviceFilter:
    return DeviceFilter(srn=key) if is_srn(key) else DeviceFilter(primary_di=key)


def is_srn(subject: str) -> bool:
    """Whether a subject is an actor."""
    return len(subject) > 6 and subject[2] == subject[5] == "-" and subject[6:].isdigit()
