"""Compares news that watches of manufacturers were told in a simulated year with what the register listed.

The rules are written a second time, without the product's code. A watch is told news from its baseline on: the moment
at which its cursor first points into the log. What the register had when the list of that baseline began to be read
is known; what came after the baseline has to be told; what came between, or at that moment, may be either. Of a device
with several records the one that answers for the device itself decides. Where the pages of a list show them one after
the other, or nobody knows which one that is, what an earlier list found stays known until a list proves something else.
Every piece that is told was true at some moment since what was told before, none is told twice, and in the calm end
nothing is left to be told.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sqlalchemy import select

from registerwatch.copy.tables import device_sweeps, devices, walks
from registerwatch.platform.db.engine import Database
from registerwatch.watches.tables import watches
from tests.journeys.event_checks import ENDS, EventChecks, Stored, Watcher, WrongYear
from tests.journeys.expected_events import FieldChange
from tests.journeys.manufacturers_past import ListedCertificate, ManufacturersPast
from tests.journeys.register_reads import is_srn

REGISTERED, OFF_MARKET, ON_MARKET = "device_registered", "device_off_market", "device_on_market"
OF_ONE = {REGISTERED: "devices_registered", OFF_MARKET: "devices_off_market", ON_MARKET: "devices_on_market"}
NUMBER, REVISION, STATUS, EXPIRY, REFUSED = "certificate", "cert_revision", "cert_status", "cert_expiry", "cert_refused"
VALUES: dict[str, Callable[[ListedCertificate], str]] = {
    NUMBER: lambda each: each.number,
    REVISION: lambda each: each.revision,
    STATUS: lambda each: each.status,
    EXPIRY: lambda each: each.expiry,
}
PORTFOLIO, CERTIFICATES = "portfolio", "certificates"
MAX_NAMED = 50


@dataclass
class Reader:
    """A watch with a baseline over one log, and what it was told since."""

    since: int
    """When the list of its baseline began to be read."""
    set_at: int
    refusals_since: int = 0
    changes: list[FieldChange] = field(default_factory=list)
    true_since: dict[str, int] = field(default_factory=dict)
    """From when on what was told last of a device has been true."""
    unnamed: Counter[str] = field(default_factory=Counter)
    """How many devices were told without a name, by kind."""

    def told_of(self, field_name: str, about: str) -> list[FieldChange]:
        """What was told of a field of a device or a certificate, in order."""
        return [each for each in self.changes if each[0] == field_name and each[3] == about]


class NewsChecks:
    """What every watch of a manufacturer was told of its devices and certificates."""

    def __init__(self, checks: EventChecks, past: ManufacturersPast, database: Database, page_size: int) -> None:
        self._checks, self._past, self._database, self._page_size = checks, past, database, page_size
        self._readers: dict[tuple[Watcher, str], Reader] = {}
        self._silent: set[tuple[Watcher, str]] = set()
        """Watches whose option is off."""
        self._walk_began: dict[tuple[str, int], int] = {}
        """When walks began, in steps, by manufacturer and the instant that the service noted."""
        self._complete: dict[str, tuple[int, int]] = {}
        """The last complete walk of each list: the service's instant, and when it began in steps."""
        self._walks: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        """All complete walks of each list: when they began, and when they had ended at the latest, in steps."""
        self._refusals_known: int | None = None
        """When refused applications were first known."""
        self._waits_since: dict[tuple[Watcher, str], int] = {}
        """From when on watches are known to have no baseline."""
        self._began = 0

    async def begin(self) -> None:
        """A step begins in which lists may be walked through; watches that were added since the last one have got
        their baseline, where there was a list for it.
        """
        await self._note_baselines()
        self._began = self._checks.requests.steps

    def forget(self, watcher: Watcher) -> None:
        """Nobody watches that any more."""
        for log in (PORTFOLIO, CERTIFICATES):
            self._readers.pop((watcher, log), None)
            self._waits_since.pop((watcher, log), None)
            self._silent.discard((watcher, log))

    def switch(self, watcher: Watcher, log: str, *, is_on: bool) -> None:
        """An option was set. Switched on, the watch has a new baseline."""
        if not is_on:
            self._silent.add((watcher, log))
        elif (watcher, log) in self._silent:
            self._silent.discard((watcher, log))
            self._readers.pop((watcher, log), None)

    def told_portfolios(self) -> set[str]:
        """The manufacturers of which somebody is told devices."""
        return {
            watcher[1]
            for watcher, log in self._readers.keys() - self._silent
            if log == PORTFOLIO and watcher[0] in self._checks.active
        }

    def list_began(self) -> int:
        """When the last complete list of certificates began to be read, in steps; now where there was none."""
        return self._complete.get(CERTIFICATES, (0, self._checks.requests.steps))[1]

    async def judge(self, events: Sequence[Stored]) -> None:
        """Judge what was told in a step, then note who has a baseline."""
        for event in events:
            self._judge(event)
        await self._note_legislations()
        await self._note_walks()
        await self._note_baselines()

    # What the service knows

    async def _note_legislations(self) -> None:
        async with self._database.reading() as connection:
            known = select(devices.c.uuid).where(devices.c.legislation_code != "")
            self._past.note_legislations((await connection.execute(known)).scalars(), self._checks.requests.steps)

    async def _note_walks(self) -> None:
        async with self._database.reading() as connection:
            table = device_sweeps.c
            swept = (await connection.execute(select(table.srn, table.complete_at, table.walk_began_at))).all()
            lists = (await connection.execute(select(walks.c.name, walks.c.complete_at))).all()
        for srn in [each for each in self._complete if is_srn(each) and each not in {row.srn for row in swept}]:
            del self._complete[srn], self._walks[srn]
        for row in swept:
            if row.walk_began_at is not None:
                self._walk_began.setdefault((row.srn, row.walk_began_at), self._began)
            self._note_complete(row.srn, row.complete_at)
        for name, complete_at in lists:
            self._note_complete(name, complete_at)
        if self._refusals_known is None and "refusals" in self._complete:
            self._refusals_known = self._checks.requests.steps

    def _note_complete(self, name: str, complete_at: int | None) -> None:
        if complete_at is not None and self._complete.get(name, (None, 0))[0] != complete_at:
            began = self._walk_began.get((name, complete_at), self._began)
            self._complete[name] = complete_at, began
            self._walks[name].append((began, self._checks.requests.steps))

    async def _note_baselines(self) -> None:
        table = watches.c
        columns = table.account_id, table.subject, table.portfolio_seen, table.certificates_seen
        async with self._database.reading() as connection:
            rows = (await connection.execute(select(*columns).where(table.kind == "srn"))).all()
        for row in rows:
            watcher = row.account_id, row.subject
            self._note_cursor(watcher, PORTFOLIO, row.portfolio_seen, row.subject)
            self._note_cursor(watcher, CERTIFICATES, row.certificates_seen, CERTIFICATES)

    def _note_cursor(self, watcher: Watcher, log: str, cursor: int | None, walked: str) -> None:
        if cursor is None:
            self._readers.pop((watcher, log), None)
            self._waits_since.setdefault((watcher, log), self._checks.requests.steps)
        elif (watcher, log) not in self._readers:
            if walked not in self._complete:
                raise WrongYear(f"{watcher} has a baseline of {log}, but no list was read to its end")
            self._readers[watcher, log] = self._reader(walked, self._checks.requests.steps)
        if cursor is not None:
            self._waits_since.pop((watcher, log), None)

    def _reader(self, walked: str, set_at: int) -> Reader:
        """A watch whose baseline is the last complete list."""
        refusals = self._complete.get("refusals", (0, 0))[1]
        return Reader(self._complete[walked][1], set_at, refusals_since=refusals)

    def _reader_of(self, watcher: Watcher, log: str) -> Reader | None:
        """A watch that is told news; one that waited while a list was read to its end may have its baseline since the
        step began, as one of an account that is back.
        """
        walked = watcher[1] if log == PORTFOLIO else CERTIFICATES
        waits_since, complete = self._waits_since.get((watcher, log)), self._complete.get(walked)
        if waits_since is not None and complete is not None and complete[1] >= waits_since:
            self._readers.setdefault((watcher, log), self._reader(walked, self._began))
        return self._readers.get((watcher, log))

    # What was told

    def _judge(self, event: Stored) -> None:
        fields = {change[0] for change in event.changes}
        self._checks.outcome.news.update(change[0] for change in event.changes)
        if event.watcher[0] not in self._checks.active or event.watcher not in self._checks.told:
            raise WrongYear(f"told to nobody: {event}")
        if ENDS in fields:
            if fields != {ENDS}:
                raise WrongYear(f"ends of certificates were told with other news: {event}")
            return  # `expiry_checks` has judged it
        log = CERTIFICATES if fields <= {*VALUES, REFUSED} else PORTFOLIO
        reader = self._reader_of(event.watcher, log)
        if reader is None or (event.watcher, log) in self._silent:
            raise WrongYear(f"{log} was told to a watch without a baseline, or whose option is off: {event}")
        if log == PORTFOLIO:
            reader.unnamed += self._judge_counts(event)
        for change in event.changes:
            if change[0] in OF_ONE:
                self._judge_device(event.watcher, reader, change)
            elif log == CERTIFICATES:
                self._judge_certificate(event.watcher, reader, change)
            elif change[0] not in OF_ONE.values():
                raise WrongYear(f"nobody knows this field: {event}")
            reader.changes.append(change)
        for change in event.changes:
            if change[0] == REVISION:
                self._judge_end_of_revision(event, change)

    def _judge_end_of_revision(self, event: Stored, change: FieldChange) -> None:
        """A next revision that is a record of its own comes with its end, where both only ever had one."""
        _, old, new, number = change
        rows = [(ulid, row) for _, ulid, row in self._past.versions(event.watcher[1]) if row.number == number]
        now = [(ulid, row) for ulid, row in rows if row.revision == new]
        bodies = {row.body for _, row in now}
        before = [(ulid, row) for ulid, row in rows if row.revision == old and row.body in bodies]
        is_of_its_own = not {ulid for ulid, _ in before} & {ulid for ulid, _ in now}
        ends_before, ends_now = ({row.expiry for _, row in each} for each in (before, now))
        if not is_of_its_own or len(bodies) != 1 or len(ends_before) != 1 or len(ends_now) != 1:
            return
        end = EXPIRY, ends_before.pop(), ends_now.pop(), number
        if end[2] and end[1] != end[2] and end not in event.changes:
            raise WrongYear(f"{change} came without its end {end}: {event}")

    def _judge_counts(self, event: Stored) -> Counter[str]:
        """How many devices of each kind the event counts and does not name."""
        named = Counter(OF_ONE[change[0]] for change in event.changes if change[0] in OF_ONE)
        told = {change[0]: int(change[2]) for change in event.changes if change[0] not in OF_ONE}
        unnamed = Counter({kind: told.get(of, 0) - named[of] for kind, of in OF_ONE.items()})
        if (
            named.keys() - told.keys()
            or named.total() != min(sum(told.values()), MAX_NAMED)
            or min(unnamed.values()) < 0
        ):
            raise WrongYear(f"{told} were told, and {named} were named: {event}")
        return unnamed

    def _judge_device(self, watcher: Watcher, reader: Reader, change: FieldChange) -> None:
        kind, _, _, udi = change
        srn, listed_since = watcher[1], self._past.listed_since(watcher[1], udi)
        if listed_since is None:
            raise WrongYear(f"{watcher} was told of {udi}, which was never listed")
        if kind == REGISTERED:
            if listed_since < reader.since or reader.told_of(kind, udi):
                raise WrongYear(f"{watcher} was told that {udi} was registered, which it knew, since {reader.since}")
            return
        is_on = kind == ON_MARKET
        before = _market_told(reader, udi)
        if before is is_on and not reader.unnamed[OFF_MARKET if is_on else ON_MARKET]:
            raise WrongYear(f"{watcher}: {change} was told twice")
        known = self._known(reader, srn, udi)
        if before is None and listed_since <= reader.since and not known & {not is_on, None}:
            raise WrongYear(f"{watcher}: {change}, but it was so at the baseline")
        since = reader.true_since.get(udi, reader.since)
        began = [step for step, state in self._past.market_states(srn, udi, since) if state is is_on]
        if not began:
            raise WrongYear(f"{watcher}: {change} was not true since {since}")
        reader.true_since[udi] = max(since, began[0])

    def _known(self, reader: Reader, srn: str, udi: str) -> set[bool | None]:
        """What may be known of a device that was listed at a baseline; None where that may be nothing."""
        known = {state for _, state in self._past.market_states(srn, udi, reader.since, reader.set_at)}
        walks = [walk for walk in self._walks[srn] if walk[0] <= reader.since]
        return known | self._past.standings_found(srn, udi, walks, self._page_size)

    def _found_otherwise(self, reader: Reader, srn: str, udi: str, is_on: bool) -> set[bool | None]:
        """What a list after the baseline must have found of a device where that is not what it is now."""
        walks = self._walks[srn]
        for place, (began, _) in enumerate(walks, 1):
            found = self._past.standings_found(srn, udi, walks[:place], self._page_size)
            if began > reader.since and found and not found & {is_on, None}:
                return found
        return set()

    def _judge_certificate(self, watcher: Watcher, reader: Reader, change: FieldChange) -> None:
        kind, old, new, number = change
        if kind == REFUSED:
            srn, step = self._past.refused.get(new, ("", 0))
            is_known = step <= reader.refusals_since
            if srn != watcher[1] or is_known or any(each[0] == REFUSED and each[2] == new for each in reader.changes):
                raise WrongYear(f"{watcher}: {change} is no news")
            return
        value = VALUES[kind]
        alike = [each for each in reader.changes if each[0] == kind and each[2:] == change[2:]]
        is_new = kind == NUMBER and not old
        entries = self._past.entries(watcher[1], number, value, new, reader.since, is_new=is_new)
        if len(alike) >= entries:
            raise WrongYear(f"{watcher}: {change} was told {len(alike)} times before, and was so {entries} times")
        ulids = {ulid for _, ulid, row in self._past.versions(watcher[1]) if row.number == number}
        had = [value(row) for _, ulid, row in self._past.versions(watcher[1]) if ulid in ulids]
        if old and old not in had:
            raise WrongYear(f"{watcher}: {change}, but it never was {old}")

    # Nothing is left to be told

    def agree_with_world(self) -> None:
        """Whoever is told news knows what the register lists now."""
        for (watcher, log), reader in self._readers.items():
            if (watcher, log) in self._silent:
                continue
            if log == PORTFOLIO:
                self._check_devices(watcher, reader)
            else:
                self._check_certificates(watcher, reader)
        self._check_baselines()

    def _check_baselines(self) -> None:
        for watcher in self._checks.told:
            if not is_srn(watcher[1]) or watcher[1][3:5] not in ("MF", "PR"):
                continue
            wanted = [CERTIFICATES, *([PORTFOLIO] if self._past.devices(watcher[1]) else [])]
            if missing := [log for log in wanted if (watcher, log) not in self._readers]:
                raise WrongYear(f"{watcher} never got a baseline of {missing}")

    def _check_devices(self, watcher: Watcher, reader: Reader) -> None:
        srn = watcher[1]
        unnamed = Counter(reader.unnamed)
        for udi, is_on in self._past.devices(srn).items():
            listed_since = self._past.listed_since(srn, udi) or 0
            if listed_since > reader.set_at and not reader.told_of(REGISTERED, udi):
                unnamed[REGISTERED] -= 1
                if unnamed[REGISTERED] < 0:
                    raise WrongYear(f"{watcher} was not told that {udi} was registered at {listed_since}: {reader}")
            told = _market_told(reader, udi)
            known = self._known(reader, srn, udi)
            is_known = listed_since > reader.since or bool(known & {is_on, None}) if told is None else told is is_on
            if told is None and (found := self._found_otherwise(reader, srn, udi, is_on)):
                known, is_known = found, False
            if self._past.is_decided(srn, udi) and not is_known:
                kind = ON_MARKET if is_on else OFF_MARKET
                unnamed[kind] -= 1
                if unnamed[kind] >= 0:
                    continue
                raise WrongYear(f"{watcher} was told that {udi} is {told}, but it is {is_on}: {known}")

    def _check_certificates(self, watcher: Watcher, reader: Reader) -> None:
        srn = watcher[1]
        listed = self._past.certificates(srn)
        for ulid, row in listed.items():
            versions = [(step, other, each) for step, other, each in self._past.versions(srn)]
            numbers = {each.number for _, other, each in versions if other == ulid}
            is_alone = all(other == ulid or each.number not in numbers for _, other, each in versions)
            if is_alone and len(numbers) == 1:
                self._check_single(watcher, reader, ulid, row)
        for reference, (owner, step) in self._past.refused.items():
            known_at = max(reader.set_at, self._refusals_known or 0)
            if owner == srn and step > known_at and not any(each[2] == reference for each in reader.changes):
                raise WrongYear(f"{watcher} was not told that {reference} was refused")

    def _check_single(self, watcher: Watcher, reader: Reader, ulid: str, row: ListedCertificate) -> None:
        """A certificate whose number no other one has: what was told of it is a chain up to what it is."""
        past = [(step, each) for step, other, each in self._past.versions(watcher[1]) if other == ulid]
        came = past[0][0]
        if came > reader.set_at and len(reader.told_of(NUMBER, row.number)) != 1:
            raise WrongYear(f"{watcher} was not told of the new certificate {row}: {reader}")
        known = {
            each for _, other, each in self._past.versions(watcher[1], reader.since, reader.set_at) if other == ulid
        }
        for kind in (REVISION, STATUS, EXPIRY):
            value, chain = VALUES[kind], reader.told_of(kind, row.number)
            starts = {value(each) for each in known} or {value(each) for _, each in past}
            if came > reader.since:
                starts |= {value(each) for _, each in past}
            if kind == EXPIRY and "" in starts:
                starts |= {value(each) for _, each in past}  # the last one that it had
            now = value(row)
            if chain and (chain[0][1] not in starts or chain[-1][2] != (now or chain[-1][2])):
                raise WrongYear(f"{watcher}: {chain} does not lead from {starts} to {now}: {ulid} {row}")
            if any(before[2] != after[1] for before, after in pairwise(chain)):
                raise WrongYear(f"{watcher}: {chain} is no chain")
            if not chain and now and now not in starts:
                raise WrongYear(f"{watcher} was not told that {kind} of {row} is no longer one of {starts}: {reader}")


def _market_told(reader: Reader, udi: str) -> bool | None:
    """What was told last of a device."""
    kinds = [each[0] for each in reader.changes if each[3] == udi and each[0] != REGISTERED]
    return kinds[-1] == ON_MARKET if kinds else None
