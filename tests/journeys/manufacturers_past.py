"""What the register listed of each manufacturer in a simulated year: devices, certificates, refused applications.

Moments are steps of the year (`RegisterReads.steps`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from typing import TypeVar

from registerwatch_standins.register.filters import CertificateFilter, DeviceFilter
from registerwatch_standins.register.world import World
from tests.journeys.register_reads import answering

ON = "on-the-market"
EVERYTHING = 10_000
FOR_EVER = 10**12

MarketStates = Mapping[str, bool]
"""Whether a UDI-DI is on the market: whether the record is that answers for it."""


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """What tells whether a device is on the market, of one of its records. No list tells the legislation."""

    uuid: str
    status: str
    latest_version: bool
    legislation: str
    version_number: int


RecordsOfOne = frozenset[ListedRecord]
"""The records of a UDI-DI; none where it is not listed."""
Records = Mapping[str, RecordsOfOne]


@dataclass(frozen=True, slots=True)
class ListedCertificate:
    """What the certificate search says of a certificate. The status is in words."""

    body: str
    number: str
    revision: str
    status: str
    expiry: str


Value = Callable[[ListedCertificate], object]
State = TypeVar("State")


@dataclass
class _Past:
    markets: list[tuple[int, MarketStates]] = field(default_factory=list)
    records: list[tuple[int, Records]] = field(default_factory=list)
    certificates: list[tuple[int, Mapping[str, ListedCertificate]]] = field(default_factory=list)
    """By ulid."""


class ManufacturersPast:
    """The past of every manufacturer that was noted."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._past: defaultdict[str, _Past] = defaultdict(_Past)
        self.refused: dict[str, tuple[str, int]] = {}
        """Manufacturer and moment of refused applications, by reference."""
        self._legislations: dict[str, int] = {}
        """Since when the legislation of records has been known to the service, by uuid."""

    def note_legislations(self, uuids: Iterable[str], step: int) -> None:
        """Note the records of which the service knows the legislation."""
        for uuid in uuids:
            self._legislations.setdefault(uuid, step)

    def note(self, srns: Iterable[str], step: int) -> None:
        """Note what is listed of these manufacturers now."""
        for srn in srns:
            past, records = self._past[srn], _records(self._world, srn)
            _append(past.records, step, records)
            _append(past.markets, step, {udi: answering(of_udi).status == ON for udi, of_udi in records.items()})
            _append(past.certificates, step, _certificates(self._world, srn))
        for each in self._world.refusals(0, EVERYTHING)[1]:
            self.refused.setdefault(each.reference, (each.manufacturer.srn, step))

    # Devices

    def devices(self, srn: str) -> MarketStates:
        """The devices that are listed now."""
        markets = self._past[srn].markets
        return markets[-1][1] if markets else {}

    def listed_since(self, srn: str, udi: str) -> int | None:
        """When a device was listed first."""
        return next((step for step, states in self._past[srn].markets if udi in states), None)

    def market_states(self, srn: str, udi: str, since: int, until: int = FOR_EVER) -> Iterator[tuple[int, bool]]:
        """Each state that a device had between two moments, with the moment at which it began."""
        for step, states in _during(self._past[srn].markets, since, until):
            if udi in states:
                yield step, states[udi]

    def standings_found(self, srn: str, udi: str, walks: Sequence[tuple[int, int]], page_size: int) -> set[bool | None]:
        """What complete lists may have found of a device, each read between two moments, oldest first.

        A list of several pages shows several records of a device one after the other. So what it shows of them
        proves nothing where they changed since the list before began; in the first list of all it does where they all
        say the same. It proves nothing either where nobody knows the legislation that decides which record answers.
        Then what was found before is still what is known. None where that may be nothing.
        """
        found: set[bool | None] = set()
        for place in range(len(walks) - 1, -1, -1):
            (began, ended), before = walks[place], walks[place - 1] if place else None
            found |= {state for _, state in self.market_states(srn, udi, began, ended)}
            shown = self._records(srn, udi, began, ended)
            if frozenset() in shown:
                break
            statuses = {each.status for records in shown for each in records}
            is_of_one_moment = (
                len({each.uuid for records in shown for each in records}) == 1
                or self._fits(srn, page_size, began, ended)
                or (before is not None and len(self._records(srn, udi, before[0], ended)) == 1)
                or (before is None and len(statuses) == 1)
            )
            if is_of_one_moment and all(self._is_decided(records, began) for records in shown):
                return found
            if before is not None:
                found |= {state for _, state in self.market_states(srn, udi, before[0], began)}
        return found | {None}

    def is_decided(self, srn: str, udi: str) -> bool:
        """Whether the service can know which record of a listed device answers, or whichever does says the same."""
        return self._is_decided(self._past[srn].records[-1][1][udi], FOR_EVER)

    def _is_decided(self, records: RecordsOfOne, step: int) -> bool:
        """The same of some records at a moment: whatever the legislations may be that were not known by then."""
        known = [each for each in records if self._legislations.get(each.uuid, FOR_EVER + 1) <= step]
        others = [each for each in records if each not in known]
        possible = product(*([replace(each, legislation=name) for name in ("mdr", "mdd")] for each in others))
        return len({answering([*known, *each]).status == ON for each in possible}) == 1

    def _records(self, srn: str, udi: str, since: int, until: int) -> list[RecordsOfOne]:
        """The records that a device had between two moments, each time that they changed."""
        states = [records.get(udi, frozenset()) for _, records in _during(self._past[srn].records, since, until)]
        return [state for place, state in enumerate(states) if not place or state != states[place - 1]]

    def _fits(self, srn: str, page_size: int, since: int, until: int) -> bool:
        """Whether one page had all records of a manufacturer between two moments."""
        states = (records for _, records in _during(self._past[srn].records, since, until))
        return all(sum(map(len, records.values())) <= page_size for records in states)

    # Certificates

    def certificates(self, srn: str) -> Mapping[str, ListedCertificate]:
        """The certificates that are listed now, by ulid."""
        past = self._past[srn].certificates
        return past[-1][1] if past else {}

    def versions(self, srn: str, since: int = 0, until: int = FOR_EVER) -> Iterator[tuple[int, str, ListedCertificate]]:
        """What certificates were between two moments: since when, the ulid, and what it was."""
        for step, rows in _during(self._past[srn].certificates, since, until):
            for ulid, row in rows.items():
                yield step, ulid, row

    def is_mere_twin(self, srn: str, ulid: str) -> bool:
        """Whether a certificate was at no moment anything but what another one is that came before it.

        Of those that came at the same moment, one counts as the first.
        """
        came: dict[str, tuple[int, str]] = {}
        for step, rows in self._past[srn].certificates:
            came |= {other: (step, other) for other in rows.keys() - came.keys()}
        states = [rows for _, rows in self._past[srn].certificates if ulid in rows]
        return all(any(row == rows[ulid] for other, row in rows.items() if came[other] < came[ulid]) for rows in states)

    def entries(self, srn: str, number: str, value: Value, wanted: object, since: int, *, is_new: bool = False) -> int:
        """How often a certificate of this number came to a value after a moment; twins are not counted as `is_new`."""
        past, times = self._past[srn].certificates, 0
        none: Mapping[str, ListedCertificate] = {}
        for (_, before), (step, after) in pairwise([(0, none), *past]):
            for ulid, row in after.items() if step > since else ():
                old = before.get(ulid)
                if row.number == number and value(row) == wanted and not (is_new and self.is_mere_twin(srn, ulid)):
                    times += old is None or old.number != number or value(old) != wanted
        return times


def _append(past: list[tuple[int, State]], step: int, now: State) -> None:
    if not past or past[-1][1] != now:
        past.append((step, now))


def _during(past: Sequence[tuple[int, State]], since: int, until: int) -> Iterator[tuple[int, State]]:
    """What was so between two moments, with its beginning."""
    for place, (began, state) in enumerate(past):
        ended = past[place + 1][0] if place + 1 < len(past) else FOR_EVER
        if ended > since and began <= until:
            yield began, state


def _records(world: World, srn: str) -> Records:
    found: defaultdict[str, set[ListedRecord]] = defaultdict(set)
    for each in world.search(DeviceFilter(srn=srn), 0, EVERYTHING)[1]:
        record = ListedRecord(each.uuid, each.status, each.latest_version, each.legislation, each.version_number)
        found[each.primary_di].add(record)
    return {udi: frozenset(records) for udi, records in found.items()}


def _certificates(world: World, srn: str) -> Mapping[str, ListedCertificate]:
    rows = world.search_certificates(CertificateFilter(actor_srn=srn), 0, EVERYTHING)[1]
    return {
        row.ulid: ListedCertificate(
            row.certificate.notified_body,
            row.certificate.number,
            row.certificate.revision or "",
            row.certificate.status.replace("-", " ").capitalize(),
            row.certificate.expiry or "",
        )
        for row in rows
        if row.latest_version
    }
