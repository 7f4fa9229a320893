"""The certificate sweep: the whole list of certificates once an hour, compared with the stored one.

What is read is held in memory; then one transaction writes the changes and their news. A node that is killed before has
written nothing, and a walk takes a minute, so the next one begins again. A second transaction notifies watches; it also
handles news that a killed node left in the log, when a sweep begins.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import TypeVar

import msgspec
import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.certificates import certificates as store
from registerwatch.copy.certificates.certificates import AskedScopes, DueScopes, ReadScopes
from registerwatch.copy.certificates.scoped_certificates import named_by
from registerwatch.copy.walks import (
    CERTIFICATES,
    NOTIFIED_BODIES,
    REFUSALS,
    ClaimedWalk,
    WalkEnd,
    claim,
    lock,
    note_end,
    walks,
)
from registerwatch.ingest.checks.check_rules import CheckedList
from registerwatch.ingest.checks.register_checks import ListingChecks
from registerwatch.ingest.list_walk import EMPTY, SHRUNK, Keyed, WalkedList, implausible, walk
from registerwatch.ingest.scoped_devices import ScopedDevices
from registerwatch.ingest.sweeps.certificate_changes import (
    CertificateChanges,
    RefusalChanges,
    compare_certificates,
    compare_refusals,
)
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.leases import Lease, LeaseLost
from registerwatch.register.certificates import NotifiedBody, Refusal, RegisteredCertificate, WrittenCertificate
from registerwatch.register.observation import NewsObserver
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.source import CertificateSource, ListPage

log = structlog.get_logger(__name__)

Row = TypeVar("Row", bound=Keyed)

SWEEP_SECONDS = 1_800
"""A walk that has taken this long ends where it is."""
MAX_SCOPES_OF_WALK = 40
"""Records of new and changed certificates that a walk reads; the others are read later, like unread ones."""
MAX_SCOPES_OF_MINUTE = 6
SCOPES_SECONDS = 30 * 24 * 3600
"""Scopes are read again after this long: they may change without a new version."""
SCOPES_RETRY_SECONDS = 3600
DEFECT = "Reading the lists met a fault of this service, which is in the log."
MAX_FAILURES = 3
"""After this many failures in a row no more scopes are read for now."""


class SweepResult(msgspec.Struct, frozen=True):
    """The result of a sweep: certificates listed, changed ones, news of certificates and refusals.

    `problem` says why the list of certificates was not read completely, and is empty where it was.
    """

    listed: int
    total: int | None
    written: int
    news: int
    problem: str


class _Walked(msgspec.Struct, frozen=True):
    """The lists that a sweep read."""

    certificates: WalkedList[RegisteredCertificate]
    refusals: WalkedList[Refusal]
    bodies: Sequence[NotifiedBody]
    bodies_problem: str
    """Why the notified bodies could not be read, or empty."""
    since: int
    """The revision of the copy before it."""


class _Compared(msgspec.Struct, frozen=True):
    """The changes of a sweep. A list that is not to be believed changes nothing, and `…_problem` says why."""

    certificates: CertificateChanges
    refusals: RefusalChanges
    bodies: Sequence[NotifiedBody]
    ends: Sequence[WalkEnd]
    has_baseline: bool
    since: int


class CertificateSweep:
    """Keeps the stored certificates as the register lists them."""

    def __init__(
        self,
        database: Database,
        source: CertificateSource,
        clock: Clock,
        news: NewsObserver,
        checks: ListingChecks,
        devices: ScopedDevices,
        *,
        every: int,
    ) -> None:
        self._database, self._source, self._clock = database, source, clock
        self._news, self._checks, self._devices = news, checks, devices
        self._every = every

    async def run_where_due(self, every: int | None = None) -> SweepResult | None:
        """Sweep where that is due and no other node sweeps; None where not. `every` replaces the usual interval."""
        claimed = await claim(self._database, self._clock, CERTIFICATES, every=self._every if every is None else every)
        if claimed is None:
            return None
        try:
            async with claimed.lease.renewed():
                result = await self._run(claimed)
        except LeaseLost:
            log.warning("another node has taken the certificate sweep over")
            return None
        except Exception:
            await self._note_defect(claimed)
            raise
        write = log.info if not result.problem else log.warning
        write("swept certificates", listed=result.listed, written=result.written, news=result.news, why=result.problem)
        return result

    async def read_due_scopes(self) -> int:
        """Read some due scopes, after all other requests; how many were read."""
        async with self._database.reading() as connection:
            due = await store.due_scopes(connection, now=self._now(), most=MAX_SCOPES_OF_MINUTE)
        asked = await self._read_scopes(due, RequestPriority.BULK_LOAD)
        if not asked:
            return 0
        async with self._database.transaction() as connection:
            await lock(connection, CERTIFICATES)
            asked = await store.not_overtaken(connection, asked)
            read, failed = _read_of(asked), [each.due.certificate.id for each in asked if each.record is None]
            named = await named_by(connection, list(read))
            await store.write_scopes(connection, read)
            await store.postpone_scopes(connection, failed, self._now() + SCOPES_RETRY_SECONDS)
            read_at = min((each.read_at for each in read.values()), default=self._now())
            named_now = await named_by(connection, list(read))
            await self._devices.renew(
                connection,
                named | named_now,
                named ^ named_now,
                read_at=read_at,
                now=self._now(),
                source=store.SOURCE,
            )
        await self._devices.renew_rest()
        return len(read)

    async def _run(self, claimed: ClaimedWalk) -> SweepResult:
        await self._notify()
        lease = claimed.lease
        walked = await self._walk(lease)
        compared = await self._compare(walked, claimed.began_at)
        changed = [each for each in compared.certificates.written if each.is_changed] if compared.has_baseline else []
        asked = await self._read_scopes(_first_read(changed, compared), RequestPriority.SWEEP, lease)
        async with self._database.transaction() as connection:
            await lease.hold(connection)
            await self._store(connection, compared, asked, claimed.began_at)
        await self._devices.renew_rest()
        await self._notify()
        end = next(each for each in compared.ends if each.name == CERTIFICATES)
        news = len(compared.certificates.news) + len(compared.refusals.news)
        return SweepResult(end.listed, end.total, len(compared.certificates.written), news, end.problem)

    async def _note_defect(self, claimed: ClaimedWalk) -> None:
        """End a walk that failed unexpectedly, so that the next one comes some time later."""
        async with self._database.transaction() as connection:
            with suppress(LeaseLost):
                await claimed.lease.hold(connection)
                end = WalkEnd(CERTIFICATES, claimed.began_at, 0, None, DEFECT, is_complete=False)
                await note_end(connection, end, now=self._now())

    async def _walk(self, lease: Lease) -> _Walked:
        until = self._clock.monotonic() + SWEEP_SECONDS
        since = await self._devices.revision()
        bodies: Sequence[NotifiedBody] = ()
        problem = await self._checks.problem(CheckedList.NOTIFIED_BODIES) or ""
        try:
            bodies = () if problem else await self._source.notified_bodies(until=until)
        except RegisterFailure as failure:
            problem = failure.reason
        refusals = await self._walk_list(CheckedList.REFUSALS, self._source.refusals, lease, until)
        certificates = await self._walk_list(CheckedList.CERTIFICATES, self._source.certificates, lease, until)
        return _Walked(certificates, refusals, bodies, problem, since)

    async def _walk_list(
        self, listing: CheckedList, read: "Callable[..., Awaitable[ListPage[Row]]]", lease: Lease, until: float
    ) -> WalkedList[Row]:
        """Walk through a list, unless a check of it has failed: then nothing of it would be stored."""

        async def read_page(page: int) -> ListPage[Row]:
            lease.check()
            return await read(page, until=until)

        problem = await self._checks.problem(listing)
        return WalkedList((), problem=problem) if problem else await walk(read_page, self._clock)

    async def _compare(self, walked: _Walked, began_at: int) -> _Compared:
        async with self._database.reading() as connection:
            stored = await store.stored_certificates(connection)
            refused = await store.stored_refusals(connection)
            bodies = await store.stored_bodies(connection)
            last = await walks(connection)
        had = {name for name, row in last.items() if row.complete_at is not None}
        unread = {name: row.unread for name, row in last.items()}
        unread_certificates, unread_refusals = unread.get(CERTIFICATES, frozenset()), unread.get(REFUSALS, frozenset())
        listed = sum(each.is_listed for each in stored.values())
        problem = implausible(walked.certificates, stored=listed, may_be_empty=False)
        certificates = CertificateChanges()
        if not problem:
            certificates = compare_certificates(
                stored, walked.certificates, has_baseline=CERTIFICATES in had, unread=unread_certificates
            )
        listed = sum(is_listed for _, is_listed in refused.values())
        refusals_problem = implausible(walked.refusals, stored=listed, may_be_empty=True)
        refusals = RefusalChanges()
        if not refusals_problem:
            refusals = compare_refusals(refused, walked.refusals, has_baseline=REFUSALS in had, unread=unread_refusals)
        bodies_problem = walked.bodies_problem or _implausible_bodies(walked.bodies, len(bodies))
        unread_certificates |= set(walked.certificates.unread.values()) - stored.keys()
        unread_certificates -= {each.certificate.id for each in certificates.written}
        unread_refusals |= set(walked.refusals.unread.values()) - refused.keys()
        unread_refusals -= {each.row.id for each in refusals.written}
        ends = (
            _end(CERTIFICATES, began_at, walked.certificates, problem, unread_certificates),
            _end(REFUSALS, began_at, walked.refusals, refusals_problem, unread_refusals),
            _end_of_bodies(began_at, walked.bodies, bodies_problem),
        )
        seen_bodies = () if bodies_problem else walked.bodies
        return _Compared(certificates, refusals, seen_bodies, ends, CERTIFICATES in had, walked.since)

    async def _read_scopes(
        self, due: Sequence[DueScopes], priority: RequestPriority, lease: Lease | None = None
    ) -> list[AskedScopes]:
        """The scopes of those certificates that the register was asked for."""
        asked: list[AskedScopes] = []
        failures = 0
        for each in due:
            if lease is not None:
                lease.check()
            began_at = self._now()
            try:
                record = await self._source.record(each.certificate.uuid, priority=priority)
            except RegisterFailure as failure:
                uuid, reason = each.certificate.uuid, failure.reason
                log.info("scopes of a certificate could not be read", uuid=uuid, reason=reason)
                if not failure.is_asked:
                    break
                asked.append(AskedScopes(each, began_at, None))
                failures += 1
                if failures == MAX_FAILURES:
                    break
                continue
            failures = 0
            asked.append(AskedScopes(each, began_at, record))
        return asked

    async def _store(
        self, connection: AsyncConnection, compared: _Compared, asked: Sequence[AskedScopes], walk_at: int
    ) -> None:
        now, certificates, refusals = self._now(), compared.certificates, compared.refusals
        touched = [*(each.certificate.id for each in certificates.written), *certificates.unlisted]
        named = await named_by(connection, touched)
        altered = {_number(each.certificate) for each in certificates.written if each.before is not None}
        unlisted = await store.numbers_of(connection, certificates.unlisted) | _former_numbers(certificates.written)
        await store.write_bodies(connection, compared.bodies, walk_at)
        await store.note_seen(connection, CERTIFICATES, certificates.seen, walk_at)
        await store.note_shown(connection, certificates.shown, walk_at, since=compared.since)
        await store.write_certificates(connection, certificates.written, walk_at, since=compared.since)
        await store.unlist(connection, CERTIFICATES, certificates.unlisted, walk_at)
        await store.note_seen(connection, REFUSALS, refusals.seen, walk_at)
        await store.write_refusals(connection, [each.row for each in refusals.written], walk_at)
        await store.unlist(connection, REFUSALS, refusals.unlisted, walk_at)
        await store.write_scopes(connection, _read_of(await store.not_overtaken(connection, asked)))
        await store.add_news(connection, [*certificates.news, *refusals.news], now)
        for end in compared.ends:
            await note_end(connection, end, now=now)
        named |= await named_by(connection, touched)
        await self._devices.renew(
            connection,
            named,
            named,
            altered=altered,
            unlisted=unlisted,
            read_at=walk_at,
            now=now,
            source=store.SOURCE,
        )

    async def _notify(self) -> None:
        """Notify watches of manufacturers of the log's news, separately: storing locks watches of devices."""
        async with self._database.transaction() as connection:
            await lock(connection, CERTIFICATES)
            await self._news.notify_certificates(connection, now=self._now())

    def _now(self) -> int:
        return int(self._clock.now())


def _first_read(changed: Sequence[WrittenCertificate], compared: _Compared) -> list[DueScopes]:
    """New and changed certificates whose scopes are read at once: those with news first."""
    with_news = {each.certificate_id for each in compared.certificates.news}
    in_order = sorted(changed, key=lambda each: each.certificate.id not in with_news)
    return [DueScopes(each.certificate) for each in in_order[:MAX_SCOPES_OF_WALK]]


def _number(certificate: RegisteredCertificate) -> tuple[str, str]:
    """Manufacturer and number."""
    return certificate.srn, certificate.number


def _former_numbers(written: Sequence[WrittenCertificate]) -> set[tuple[str, str]]:
    """Manufacturers and numbers that records had before and have no more."""
    return {
        _number(each.before.certificate)
        for each in written
        if each.before is not None and _number(each.before.certificate) != _number(each.certificate)
    }


def _read_of(asked: Sequence[AskedScopes]) -> dict[str, ReadScopes]:
    """The scopes that could be read, by the id of their certificate."""
    return {
        each.due.certificate.id: ReadScopes(record.scopes, each.began_at, each.began_at + SCOPES_SECONDS, record.facts)
        for each in asked
        if (record := each.record) is not None
    }


def _end(name: str, began_at: int, walked: WalkedList[Row], problem: str, unread: Collection[str]) -> WalkEnd:
    """The end of a walk. `unread` are the listed ids of which nothing is stored yet."""
    why = problem or walked.problem
    return WalkEnd(name, began_at, walked.listed, walked.total, why, is_complete=not why, unread=unread)


def _end_of_bodies(began_at: int, bodies: Sequence[NotifiedBody], problem: str) -> WalkEnd:
    return WalkEnd(NOTIFIED_BODIES, began_at, len(bodies), None if problem else len(bodies), problem, not problem)


def _implausible_bodies(bodies: Sequence[NotifiedBody], stored: int) -> str:
    if not bodies:
        return EMPTY
    return SHRUNK if len(bodies) * 2 < stored else ""
