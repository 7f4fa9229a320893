"""The certificate sweep over the stand-in register: what it stores, tells, and leaves alone."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, get_args

import msgspec
import pytest
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.tables import (
    certificate_news,
    certificate_scopes,
    certificates,
    notified_bodies,
    record_history,
    refusals,
    walks,
)
from registerwatch.copy.walks import RETRY_SECONDS
from registerwatch.ingest.list_walk import CHANGED, SHRUNK
from registerwatch.ingest.scoped_devices import ScopedDevices
from registerwatch.ingest.sweeps.certificate_sweep import (
    MAX_SCOPES_OF_MINUTE,
    MAX_SCOPES_OF_WALK,
    SCOPES_RETRY_SECONDS,
    SCOPES_SECONDS,
    CertificateSweep,
    SweepResult,
)
from registerwatch.platform.db.engine import Database
from registerwatch.platform.leases import LEASE_SECONDS
from registerwatch.register.certificates import (
    EXPIRY,
    NUMBER,
    REFUSED,
    STATUS,
    ReadCertificate,
    decoded_scopes,
)
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.budget_row import Host
from registerwatch.sources.eudamed.certificate_lists import PAGE_SIZE, EudamedCertificateLists
from registerwatch.sources.requests import RegisterHttpClient
from registerwatch.watches.reading.watched_devices import DevicesOfAccounts
from registerwatch_standins.register.faults import Mode
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import CertificateListing
from tests.support.harness import FAST_RETRIES, NOW, REGISTER, ServiceHarness, ServiceStarter

HOUR = 3600
DEVICES, CERTIFICATES = 120, 60
Told = tuple[str, str, str]


class Killed(BaseException):
    """The end of a process."""


@dataclass
class ToldWatches:
    """Stands for the watches: notes when they were told, and fails when it is to, after `works` more times."""

    at: list[int] = field(default_factory=list)
    failure: Exception | None = None
    works: int = 0

    async def notify_portfolio(self, connection: AsyncConnection, srn: str, *, now: int) -> None:
        raise AssertionError("a certificate sweep lists no devices")

    async def notify_certificates(self, connection: AsyncConnection, *, now: int) -> None:
        if self.failure is not None and not self.works:
            raise self.failure
        self.works = max(0, self.works - 1)
        self.at.append(now)


@dataclass
class ToldOfCommitted(ToldWatches):
    """Notes how many news others see whenever watches are told."""

    database: Database | None = None
    committed: list[int] = field(default_factory=list)

    async def notify_certificates(self, connection: AsyncConnection, *, now: int) -> None:
        assert self.database is not None
        async with self.database.reading() as other:
            self.committed.append((await other.execute(select(func.count(certificate_news.c.id)))).scalar_one())
        await super().notify_certificates(connection, now=now)


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    """A service over a register of one page of certificates."""
    async with start_service(world=GeneratedWorld(DEVICES, seed=7, certificates=CERTIFICATES)) as harness:
        yield harness


@pytest.fixture
def told_watches() -> ToldWatches:
    return ToldWatches()


@pytest.fixture
def sweep(harness: ServiceHarness, told_watches: ToldWatches) -> CertificateSweep:
    return a_sweep(harness, told_watches)


def a_sweep(harness: ServiceHarness, told_watches: ToldWatches) -> CertificateSweep:
    """The sweep of one node over the harness's register and database."""
    service = harness.service
    requests = RegisterHttpClient(
        service.http, service.budgets[Host.REGISTER], user_agent="a test", timeout=5.0, retry_policies=FAST_RETRIES
    )
    source = EudamedCertificateLists(requests, f"{REGISTER}/eudamed")
    devices = ScopedDevices(service.records, DevicesOfAccounts(), service.refresher.propagate_rest)
    return CertificateSweep(
        harness.database, source, harness.clock, told_watches, service.register_checks, devices, every=HOUR
    )


async def swept(harness: ServiceHarness, sweep: CertificateSweep, *, after: int = HOUR) -> SweepResult:
    """A sweep that is due."""
    harness.clock.move(after)
    result = await sweep.run_where_due()
    assert result is not None
    return result


def listed(harness: ServiceHarness) -> list[CertificateListing]:
    return harness.world.search_certificates(CertificateFilter(), 0, 10_000)[1]


async def news_of(harness: ServiceHarness) -> list[Told]:
    """All news so far, oldest first."""
    rows = await harness.rows(certificate_news)
    return [(each["field"], each["old"], each["new"]) for row in rows for each in msgspec.json.decode(row["changes"])]


async def stored(harness: ServiceHarness) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in await harness.rows(certificates)}


async def last_walk(harness: ServiceHarness, name: str = "certificates") -> dict[str, Any]:
    return next(row for row in await harness.rows(walks) if row["name"] == name)


async def test_the_first_sweep_stores_everything_and_tells_nothing(
    harness: ServiceHarness, sweep: CertificateSweep, told_watches: ToldWatches
) -> None:
    result = await swept(harness, sweep)

    rows = await stored(harness)
    by_ulid = {each.ulid: each for each in listed(harness)}
    assert (result.listed, result.total, result.news, result.problem) == (CERTIFICATES, CERTIFICATES, 0, "")
    assert rows.keys() == by_ulid.keys()
    assert {(row["number"], row["srn"], row["expiry"]) for row in rows.values()} == {
        (each.certificate.number, each.manufacturer.srn, each.certificate.expiry) for each in by_ulid.values()
    }
    assert {row["first_seen_at"] for row in rows.values()} == {NOW + HOUR}
    assert all(row["scopes"] is None for row in rows.values()), "thousands are read behind everything else"
    assert len(await harness.rows(refusals)) == harness.world.refusals(0, 1)[0]
    assert {
        row["number"]: row["name"] for row in await harness.rows(notified_bodies)
    } == harness.world.notified_bodies()
    assert await news_of(harness) == []
    assert told_watches.at == [NOW + HOUR] * 2, "a watch may get its baseline"
    assert (await last_walk(harness))["complete_at"] == NOW + HOUR
    assert await sweep.run_where_due() is None, "the next one is due in an hour"


def only(page: Any, ulids: set[str]) -> Any:
    """A page of a list that has nothing but these records."""
    rows = [row for row in page["content"] if row["ulid"] in ulids]
    return page | {"content": rows, "totalElements": len(rows)}


async def test_rows_that_could_not_be_read_are_no_news_when_they_can_be(
    harness: ServiceHarness, sweep: CertificateSweep
) -> None:
    unread, refused = listed(harness)[3], harness.world.refuse_application(listed(harness)[0].manufacturer.srn)
    fields = {unread.ulid: {"certificateNumber": None}, refused.ulid: {"applicationReferenceNumber": " "}}

    def spoiled(page: Any) -> Any:
        return page | {"content": [row | fields.get(row["ulid"], {}) for row in page["content"]]}

    for path in ("/certificates/search/", "/applications/search/"):
        harness.to_register.rewrites[path] = spoiled
    first = await swept(harness, sweep)
    again = await swept(harness, sweep)
    assert [each.problem for each in (first, again)] == ["", ""], "all rows were listed"
    assert unread.ulid not in await stored(harness)

    harness.to_register.rewrites.clear()
    harness.to_register.rewrites["/search/"] = lambda page: only(page, {unread.ulid, refused.ulid})
    assert (await swept(harness, sweep)).problem == SHRUNK, "nothing is stored of what is not believed"
    assert unread.ulid not in await stored(harness)

    harness.to_register.rewrites.clear()
    await swept(harness, sweep)

    assert unread.ulid in await stored(harness)
    assert refused.ulid in {row["id"] for row in await harness.rows(refusals)}
    assert await news_of(harness) == []
    harness.world.change_certificate(unread.uuid, status="withdrawn")
    await swept(harness, sweep)
    assert [(field, new) for field, _, new in await news_of(harness)] == [(STATUS, "Withdrawn")], "from now on it is"


async def test_what_changes_between_two_sweeps_is_stored_told_once_and_kept_as_history(
    harness: ServiceHarness, sweep: CertificateSweep, told_watches: ToldWatches
) -> None:
    await swept(harness, sweep)
    first, second, third = (each for each in listed(harness)[:3])
    before = await stored(harness)
    harness.world.change_certificate(first.uuid, status="withdrawn")
    harness.world.change_certificate(second.uuid, expiry="2039-01-01")
    harness.world.unlist_certificate(third.uuid)
    new = harness.world.list_certificate(first.manufacturer.srn, basic_udis=("B-1", "B-2"), names_devices=True)
    harness.world.refuse_application(first.manufacturer.srn, reference="APP-1")

    result = await swept(harness, sweep)

    old_status = before[first.ulid]["status_code"].rpartition(".")[2].capitalize()
    assert sorted(await news_of(harness)) == sorted(
        [
            (STATUS, old_status, "Withdrawn"),
            (EXPIRY, before[second.ulid]["expiry"] or "", "2039-01-01"),
            (NUMBER, "", new.certificate.number),
            (REFUSED, "", "APP-1"),
        ]
    )
    assert result.news == 4
    news = await harness.rows(certificate_news)
    assert {(row["found_at"], row["visible_at"]) for row in news} == {(NOW + 2 * HOUR, NOW + 2 * HOUR)}
    assert {row["srn"] for row in news} <= {first.manufacturer.srn, second.manufacturer.srn}
    rows = await stored(harness)
    assert rows[third.ulid]["unlisted_at"] == NOW + 2 * HOUR
    assert decoded_scopes(rows[new.ulid]["scopes"])[0].basic_udi == "B-1", "read before anybody is told"
    named = {(row["certificate_id"], row["basic_udi"]) for row in await harness.rows(certificate_scopes)}
    assert {(new.ulid, "B-1"), (new.ulid, "B-2")} <= named
    history = {row["subject"]: msgspec.json.decode(row["old"]) for row in await harness.rows(record_history)}
    assert history[first.ulid]["status_code"] == before[first.ulid]["status_code"]
    assert history[second.ulid]["expiry"] == before[second.ulid]["expiry"]
    assert history[third.ulid] == {"unlisted_at": None}
    assert new.ulid not in history

    again = await swept(harness, sweep)

    assert (again.news, again.written) == (0, 0)
    assert len(told_watches.at) == 6


async def test_a_list_that_changes_between_two_pages_ends_nothing_and_is_read_again_soon(
    start_service: ServiceStarter, told_watches: ToldWatches
) -> None:
    async with start_service(world=GeneratedWorld(DEVICES, seed=7, certificates=2 * PAGE_SIZE + 5)) as harness:
        sweep = a_sweep(harness, told_watches)
        await swept(harness, sweep)
        gone, changed = listed(harness)[0], listed(harness)[-1]
        harness.world.unlist_certificate(gone.uuid)
        harness.world.change_certificate(changed.uuid, status="suspended")
        srn = gone.manufacturer.srn
        harness.faults.before("certificates", lambda: harness.world.list_certificate(srn, number="N-1"), skip=1)

        part = await swept(harness, sweep)

        assert part.problem == CHANGED
        assert (await stored(harness))[gone.ulid]["unlisted_at"] is None
        assert [each[0] for each in await news_of(harness)] == [STATUS], "which it saw"
        assert (await last_walk(harness))["complete_at"] == NOW + HOUR

        whole = await swept(harness, sweep, after=RETRY_SECONDS)

        assert (whole.problem, whole.listed) == ("", 2 * PAGE_SIZE + 5)
        assert (await stored(harness))[gone.ulid]["unlisted_at"] is not None
        assert (await news_of(harness))[1:] == [(NUMBER, "", "N-1")]


async def test_no_fault_of_the_register_makes_news_or_loses_any(
    harness: ServiceHarness, sweep: CertificateSweep
) -> None:
    await swept(harness, sweep)
    before = await stored(harness)
    changed = listed(harness)[0]
    harness.world.change_certificate(changed.uuid, number="N-1", status="withdrawn", expiry="2039-01-01")
    for mode in get_args(Mode):
        if mode in ("timeout", "stalled-body", "huge-body", "wrong-record"):
            continue
        for kind in ("certificates", "refusals"):
            harness.faults.fail(kind, mode)
        result = await swept(harness, sweep)
        harness.faults.clear()
        assert result.problem, mode
        assert await stored(harness) == before, mode
        assert await news_of(harness) == [], mode
        assert (await last_walk(harness))["complete_at"] == NOW + HOUR
    for drift in ("json-of-renamed-fields", "unknown-codes"):
        harness.faults.fail("certificates", drift, names=("certificateStatus",))
        await swept(harness, sweep)
        harness.faults.clear()
    await swept(harness, sweep)

    told = await news_of(harness)
    assert [each for each in told if each[0] in (NUMBER, EXPIRY)] == [
        (NUMBER, changed.certificate.number, "N-1"),
        (EXPIRY, changed.certificate.expiry or "", "2039-01-01"),
    ]


async def test_nothing_is_read_from_a_list_of_which_a_check_has_failed(
    harness: ServiceHarness, sweep: CertificateSweep
) -> None:
    harness.faults.fail("certificates", "json-of-renamed-fields", names=("certificateNumber",))
    await harness.service.register_checks.run()
    harness.faults.clear()
    harness.register_log.clear()

    result = await swept(harness, sweep)

    assert (await stored(harness), result.total) == ({}, None)
    assert "certificateNumber" in result.problem
    assert {each.kind for each in harness.register_log.requests} == {"refusals", "bodies"}
    assert (await last_walk(harness, "refusals"))["complete_at"] == NOW + HOUR


async def test_a_list_that_is_far_too_short_changes_nothing(harness: ServiceHarness, sweep: CertificateSweep) -> None:
    await swept(harness, sweep)
    before = await stored(harness)
    for each in listed(harness)[:-10]:
        harness.world.unlist_certificate(each.uuid)

    result = await swept(harness, sweep)

    assert (result.problem, await stored(harness)) == (SHRUNK, before)


async def test_a_node_that_dies_before_the_end_has_stored_nothing_and_another_begins_again(
    harness: ServiceHarness, sweep: CertificateSweep
) -> None:
    await swept(harness, sweep)
    harness.world.change_certificate(listed(harness)[0].uuid, status="withdrawn")
    other = a_sweep(harness, ToldWatches())
    devices = sweep._devices

    async def killed(*_: object, **__: object) -> None:
        raise Killed

    sweep._devices.renew = killed  # type: ignore[method-assign]
    harness.clock.move(HOUR)
    with pytest.raises(Killed):
        await sweep.run_where_due()
    assert await news_of(harness) == []

    assert await other.run_where_due() is None, "it may be alive yet"
    harness.clock.move(LEASE_SECONDS)
    first, second = await asyncio.gather(other.run_where_due(), sweep.run_where_due(), return_exceptions=True)

    assert [each is None for each in (first, second)].count(True) == 1, "one of them at a time"
    del devices.renew
    await swept(harness, sweep)
    assert [each[0] for each in await news_of(harness)] == [STATUS]


async def test_a_sweep_that_met_a_fault_of_the_service_says_so_and_comes_again_ten_minutes_later(
    harness: ServiceHarness, sweep: CertificateSweep
) -> None:
    await swept(harness, sweep)
    devices = sweep._devices

    async def fails(*_: object, **__: object) -> None:
        raise RuntimeError

    sweep._devices.renew = fails  # type: ignore[method-assign]
    harness.clock.move(HOUR)
    with pytest.raises(RuntimeError):
        await sweep.run_where_due()
    del devices.renew

    assert "a fault of this service" in (await harness.get("/status")).text
    harness.clock.move(RETRY_SECONDS - 1)
    assert await sweep.run_where_due() is None
    harness.clock.move(1)
    assert await sweep.run_where_due() is not None


async def test_watches_are_told_what_was_committed_before_and_after_a_kill_when_the_next_sweep_begins(
    harness: ServiceHarness,
) -> None:
    told = ToldOfCommitted(database=harness.database)
    sweep = a_sweep(harness, told)
    await swept(harness, sweep)
    harness.world.change_certificate(listed(harness)[0].uuid, status="withdrawn")
    told.failure, told.works = RuntimeError("killed"), 1
    with pytest.raises(RuntimeError):
        await swept(harness, sweep)
    assert told.committed == [0, 0, 0, 1], "storing has locked watches of devices, and let them go"
    assert [each[0] for each in await news_of(harness)] == [STATUS]

    told.failure = None
    harness.faults.fail("certificates", "http-500")
    await swept(harness, sweep)

    assert told.committed[4:] == [1, 1]
    assert told.at[3:] == [harness.now] * 2


async def test_a_node_that_was_silent_for_too_long_stores_nothing(
    harness: ServiceHarness, sweep: CertificateSweep
) -> None:
    await swept(harness, sweep)
    other = a_sweep(harness, ToldWatches())
    harness.world.change_certificate(listed(harness)[0].uuid, status="withdrawn")
    done: list[SweepResult | None] = []

    async def overtake() -> None:
        harness.clock.move(LEASE_SECONDS + 1)
        done.append(await other.run_where_due())

    harness.clock.move(HOUR)
    source = sweep._source
    real, asked = source.certificates, 0

    async def slow(page: int, *, until: float | None = None) -> Any:
        nonlocal asked
        asked += 1
        if asked == 1:
            await overtake()
        return await real(page, until=until)

    source.certificates = slow  # type: ignore[method-assign]
    assert await sweep.run_where_due() is None

    assert done[0] is not None
    assert done[0].news == 1
    assert [each[0] for each in await news_of(harness)] == [STATUS]


async def test_scopes_are_read_some_at_a_time_until_all_are_known_and_again_after_a_month(
    harness: ServiceHarness, sweep: CertificateSweep
) -> None:
    broken = listed(harness)[0]
    harness.world.list_certificate(broken.manufacturer.srn, basic_udis=("B-1", "B-2"))
    await swept(harness, sweep)
    harness.faults.fail("certificate", "http-500", contains=broken.uuid)

    reads = [await sweep.read_due_scopes() for _ in range(CERTIFICATES // MAX_SCOPES_OF_MINUTE + 1)]

    rows = await stored(harness)
    assert sum(reads) == CERTIFICATES
    assert [uid for uid, row in rows.items() if row["scopes"] is None] == [broken.ulid]
    named = {(row["certificate_id"], row["basic_udi"]) for row in await harness.rows(certificate_scopes)}
    assert named == {(each.ulid, code) for each in listed(harness) for code in harness.world.scope(each)}
    assert named
    harness.faults.clear()
    assert await sweep.read_due_scopes() == 0, "the one that failed waits"
    harness.clock.move(SCOPES_RETRY_SECONDS)
    assert await sweep.read_due_scopes() == 1
    harness.clock.move(SCOPES_SECONDS)
    assert await sweep.read_due_scopes() == MAX_SCOPES_OF_MINUTE


async def test_a_certificate_that_changes_has_its_scopes_read_at_once(
    harness: ServiceHarness, sweep: CertificateSweep
) -> None:
    scoped = harness.world.list_certificate(listed(harness)[0].manufacturer.srn, basic_udis=("B-1",))
    await swept(harness, sweep)
    for _ in range(CERTIFICATES // MAX_SCOPES_OF_MINUTE + 1):
        await sweep.read_due_scopes()
    changed = harness.world.change_certificate(scoped.uuid, basic_udis=("B-2",), expiry="2039-01-01")

    await swept(harness, sweep)

    row = (await stored(harness))[changed.ulid]
    assert [each.basic_udi for each in decoded_scopes(row["scopes"])] == ["B-2"]
    assert [
        row["basic_udi"] for row in await harness.rows(certificate_scopes) if row["certificate_id"] == scoped.ulid
    ] == ["B-2"]
    history = [msgspec.json.decode(row["old"]) for row in await harness.rows(record_history)]
    assert [old["scopes"][0]["basic_udi"] for old in history if "scopes" in old] == ["B-1"]


async def test_a_slow_read_of_scopes_takes_nothing_back_that_a_sweep_has_stored_meanwhile(
    harness: ServiceHarness, sweep: CertificateSweep
) -> None:
    slow = harness.world.list_certificate(listed(harness)[0].manufacturer.srn, basic_udis=("B-0",), names_devices=True)
    await swept(harness, sweep)
    while await sweep.read_due_scopes():
        pass
    for reads_too in (True, False):
        harness.clock.move(SCOPES_SECONDS)
        code = f"B-{reads_too}"
        real, overtaken = sweep._source.record, asyncio.Event()

        async def record(uuid: str, **how: Any) -> ReadCertificate:
            answer = await real(uuid, **how)
            if uuid == slow.uuid and not overtaken.is_set():
                overtaken.set()
                harness.world.change_certificate(uuid, expiry=f"20{40 + reads_too}-01-01", basic_udis=(code,))
                if not reads_too:
                    harness.faults.fail("certificate", "http-500", contains=uuid)
                await swept(harness, sweep)
                harness.faults.clear()
            return answer

        sweep._source.record = record  # type: ignore[method-assign]
        while not overtaken.is_set():
            await sweep.read_due_scopes()
        sweep._source.record = real  # type: ignore[method-assign]

        row = (await stored(harness))[slow.ulid]
        assert [each.basic_udi for each in decoded_scopes(row["scopes"])] == [code if reads_too else "B-True"]
        assert row["scopes_due_at"] == (harness.now + SCOPES_SECONDS if reads_too else 0), "read soon where not yet"


async def test_scopes_that_the_register_was_never_asked_for_do_not_wait(
    harness: ServiceHarness, sweep: CertificateSweep
) -> None:
    await swept(harness, sweep)
    real = sweep._source.record
    asked: list[str] = []

    async def record(uuid: str, **_: Any) -> ReadCertificate:
        asked.append(uuid)
        raise RegisterFailure("a fault" if len(asked) == 1 else "no place", is_asked=len(asked) == 1)

    sweep._source.record = record  # type: ignore[method-assign]
    assert await sweep.read_due_scopes() == 0
    sweep._source.record = real  # type: ignore[method-assign]

    assert len(asked) == 2
    waiting = [row["uuid"] for row in (await stored(harness)).values() if row["scopes_due_at"]]
    assert waiting == asked[:1]


async def test_many_new_certificates_are_told_at_once_and_their_scopes_follow(
    harness: ServiceHarness, sweep: CertificateSweep
) -> None:
    await swept(harness, sweep)
    srn = listed(harness)[0].manufacturer.srn
    for number in range(MAX_SCOPES_OF_WALK + 5):
        harness.world.list_certificate(srn, number=f"N-{number}", basic_udis=("B-1",))

    result = await swept(harness, sweep)

    rows = (await stored(harness)).values()
    assert result.news == MAX_SCOPES_OF_WALK + 5
    assert sum(row["scopes"] is not None for row in rows) == MAX_SCOPES_OF_WALK
