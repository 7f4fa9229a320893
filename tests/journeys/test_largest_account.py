"""The largest account: none of its pages, files and answers holds the event loop, so nobody else waits for it.

`tests/support/loop_watch.py` fails the test where one does.
"""

import pytest
from sqlalchemy import update

from registerwatch.accounts.models import Caller
from registerwatch.accounts.plans import PlanName, plans
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.accounts.tables import accounts
from registerwatch.register.models import Certificate
from registerwatch.watches import repository
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events import event_repository
from registerwatch.watches.events.event_repository import NewEvent
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.snapshot import encoded, snapshot_of_device
from tests.pages.account.pages_client import PagesClient
from tests.register.builders import a_device, a_udi
from tests.support.harness import NewAccount, ServiceHarness, auth_headers

WATCHES, EVENTS = plans(25)[PlanName.OPERATOR].watches, 500
PAGES = (
    *("/app", "/app/watches", "/app/events?view=all", "/app/certificates", "/app/certificates?view=devices"),
    *("/app/certificates.csv", "/app/watches.csv", "/app/watches.xlsx", "/app/events.csv", "/app/audit"),
)
ANSWERS = ("/v1/watches", "/v1/events", "/v1/expiring", "/v1/me", "/openapi.json", "/docs/watching")
SLOW_CODE = "+A99" + "+$9" * 160
"""At every third character of it another code may begin."""


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_nothing_that_the_largest_account_asks_for_keeps_others_waiting(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    caller = await harness.service.accounts.sessions.caller(credential_of(None, owner.session))
    await _fill(harness, caller)
    pages = PagesClient(harness)
    await pages.sign_in()
    feed = (await harness.post("/v1/feeds", owner.api_key)).json()["feed"]

    for path in PAGES:
        assert (await pages.get(path)).status_code == 200, path
    for path in (*ANSWERS, feed["events"], f"{feed['expiring']}&alarms=30,7,1"):
        answer = await harness.client.get(path, headers=auth_headers(owner.api_key))
        assert answer.status_code == 200, path
    assert len(await harness.get_list(owner.api_key, "watches")) == WATCHES
    await _import(harness, owner, [a_udi(WATCHES + number) for number in range(499)])
    slow = [f"{SLOW_CODE}{number}" for number in range(499)]
    await _import(harness, owner, slow)
    damaged = await pages.upload("/app/scan", "x", b"\xff\xd8\xff", field="photo", codes="\n".join(slow))
    assert damaged.status_code == 400, "no photo, and the codes are looked up"


async def _import(harness: ServiceHarness, owner: NewAccount, codes: list[str]) -> None:
    headers = {**auth_headers(owner.api_key), "Content-Type": "text/csv"}
    answer = await harness.client.post("/v1/import?dry_run=true", content="\n".join(codes), headers=headers)
    assert len(answer.json()["lines"]) == len(codes)


async def _fill(harness: ServiceHarness, caller: Caller) -> None:
    """As many watches as the largest plan allows, each with three certificates, and their events."""
    account_id, new, events = caller.account.id, [], []
    for number in range(WATCHES):
        numbers = [f"{number}-{each}" for each in range(3)]
        certs = tuple(Certificate(each, expiry=f"20{27 + number % 5}-01-31", status="Issued") for each in numbers)
        device = a_device(udi=a_udi(number), trade_name=f"Device {number}", certs=certs)
        seen = snapshot_of_device(device, certificates_read=True, searched=True)
        new.append(NewWatch(a_udi(number), f"Device {number}", encoded(seen), harness.now))
    for number in range(EVENTS):
        changes = [FieldChange("trade_name", "before " * 40, "after " * 40), FieldChange("version", "1", "2")]
        subject, label = a_udi(number), f"Device {number}"
        events.append(NewEvent(account_id, 1 + number, subject, label, "summary", changes, True))
    async with harness.database.transaction() as connection:
        await connection.execute(update(accounts).values(plan=PlanName.OPERATOR.value))
        await repository.add(connection, account_id, new, harness.now)
        await event_repository.add_events(connection, events, harness.now)
