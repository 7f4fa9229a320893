"""How an account's watches are on the whole, on both databases."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import update

from registerwatch.register.models import Certificate
from registerwatch.watches.models import FAILING_AFTER
from registerwatch.watches.questions.certificates import CertificateFilter
from registerwatch.watches.tables import watches
from tests.register.builders import a_full_reading
from tests.support.harness import ServiceHarness
from tests.support.statements import counted_statements
from tests.watches.builders import OFF

SUBJECTS = [f"0409999999{number:04}" for number in range(6)]


async def test_it_counts_states_and_lists_what_fails_and_what_ends_of_that_account_alone(
    harness: ServiceHarness,
) -> None:
    caller = await harness.owner_watching("first@acme.example", *SUBJECTS)
    other = await harness.owner_watching("other@acme.example", *SUBJECTS[:4])
    today = datetime.fromtimestamp(harness.now, UTC).date()
    for number, days in enumerate((-31, -30, 0, 90)):
        expiry = str(today + timedelta(days=days))
        await harness.store(
            a_full_reading(f"u-{number}", SUBJECTS[number], certs=(Certificate(f"Z-{number}", expiry=expiry),))
        )
    await harness.store(a_full_reading("u-4", SUBJECTS[4], status_date=str(today), status_code=OFF))
    async with harness.database.transaction() as connection:
        failed = watches.c.account_id == caller.account.id, watches.c.subject == SUBJECTS[3]
        since = harness.now - FAILING_AFTER
        values = {"last_error": "It is tired.", "failing_since": since, "last_sync": since}
        await connection.execute(update(watches).where(*failed).values(values))
    await harness.service.schedule.claim("recheck", harness.service.settings.recheck_interval)

    with counted_statements() as statements:
        found = await harness.service.watches.overview.read(caller)

    assert len(statements) <= 3
    assert {state: found.count(state) for state in ("ok", "failing", "unread", "unknown")} == {
        "ok": 4,
        "failing": 1,
        "unread": 1,
        "unknown": 0,
    }
    assert (found.total, found.never_read, found.failed, found.longest_unread) == (6, 1, 1, since)
    assert [(each.subject, each.last_error, each.failing_since) for each in found.failing] == [
        (SUBJECTS[3], "It is tired.", since)
    ]
    assert [(each.seen.number, each.days) for each in found.expiring] == [("Z-1", -30), ("Z-2", 0), ("Z-3", 90)]
    assert found.off_market == 1
    assert found.in_doubt == len(
        (await harness.service.watches.certificates.overview(caller, CertificateFilter())).gaps
    )
    assert found.rechecked_at is not None
    assert 0 <= harness.now - found.rechecked_at < harness.service.settings.recheck_interval
    assert (await harness.service.watches.overview.read(other)).failing == []


async def test_an_account_without_watches_has_an_overview_too(harness: ServiceHarness) -> None:
    found = await harness.service.watches.overview.read(await harness.owner())

    assert (found.total, found.never_read, found.failed, found.longest_unread) == (0, 0, 0, None)
    assert (list(found.failing), list(found.expiring), found.rechecked_at) == ([], [], None)
