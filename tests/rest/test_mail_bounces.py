"""What a mail provider posts: who may, what is understood, what it does."""

import json
from base64 import b64encode
from typing import Any

import httpx2
import pytest
from sqlalchemy import insert, select

from registerwatch.accounts.tables import users
from registerwatch.notifications.bounces.bounce_address import bounce_token
from registerwatch.notifications.bounces.undeliverable_repository import by_address
from registerwatch.notifications.models import EMAIL as EMAIL_CHANNEL
from registerwatch.notifications.tables import webhooks
from tests.support.harness import EMAIL, ServiceHarness, ServiceStarter

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

SECRET = "a-secret-of-the-provider"
PERMANENT = {"recipient": EMAIL, "type": "permanent", "status": "5.1.1"}


async def post(harness: ServiceHarness, body: object, authorization: str = f"Bearer {SECRET}") -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {b"Authorization": authorization.encode(), b"Content-Type": b"application/json"}
    return await harness.client.post("/v1/mail/bounces", content=content, headers=headers)


async def add_mails(harness: ServiceHarness) -> None:
    """The user gets mails about changes."""
    await harness.sign_up()
    secrets = harness.service.notifications.secrets
    async with harness.database.transaction() as connection:
        user_id, account_id = (await connection.execute(select(users.c.id, users.c.account_id))).one()
        secret = secrets.sealed(account_id, "a secret")
        values = {"account_id": account_id, "user_id": user_id, "channel": EMAIL_CHANNEL, "url": "", "secret": secret}
        await connection.execute(insert(webhooks).values(values | {"is_first": False, "created_at": harness.now}))


async def reason(harness: ServiceHarness) -> str:
    async with harness.database.reading() as connection:
        target = await by_address(connection, EMAIL)
    assert target is not None
    return target.paused_reason


async def token(harness: ServiceHarness) -> str:
    async with harness.database.reading() as connection:
        target = await by_address(connection, EMAIL)
    assert target is not None
    return bounce_token(harness.service.notifications.secrets.opened(target))


async def test_without_a_secret_there_is_no_such_address(harness: ServiceHarness) -> None:
    assert (await post(harness, PERMANENT)).status_code == 404


async def test_only_who_shows_the_secret_turns_an_address_off(start_service: ServiceStarter) -> None:
    async with start_service(bounce_webhook_secret=SECRET) as harness:
        await add_mails(harness)
        basic = b64encode(f"anybody:{SECRET}".encode()).decode()
        for shown in (
            "",
            f"Bearer {SECRET}x",
            "Bearer ü",
            f"Token {SECRET}",
            "Basic =",
            f"Basic {basic[:-8]}",
            "Bearer",
        ):
            assert (await post(harness, PERMANENT, shown)).status_code == 401
        assert await reason(harness) == ""

        answer = await post(harness, PERMANENT, f"Basic {basic}")
        assert (answer.status_code, answer.json()) == (200, {"received": True})
        assert await reason(harness) != ""


UNDERSTOOD: tuple[tuple[dict[str, Any], bool], ...] = (
    ({"recipient": EMAIL.upper(), "type": "permanent"}, True),
    ({"recipient": EMAIL, "type": "temporary"}, False),
    ({"recipient": EMAIL, "type": "permanent", "status": "5.7.26"}, False),
    ({"token": "TOKEN", "type": "permanent", "status": "5.1.8"}, False),
    ({"recipient": "stranger@acme.example", "type": "permanent"}, False),
    ({"token": "TOKEN", "type": "permanent"}, True),
    ({"token": "bounces+TOKEN@example.org", "type": "permanent"}, True),
    ({"token": "a" * 32, "type": "permanent"}, False),
    ({"RecordType": "Bounce", "Type": "HardBounce", "Email": EMAIL, "MessageID": "1"}, True),
    ({"RecordType": "Bounce", "Type": "SoftBounce", "Email": EMAIL}, False),
)


@pytest.mark.parametrize("number", range(len(UNDERSTOOD)))
async def test_reports_of_each_form_are_understood(number: int, start_service: ServiceStarter) -> None:
    body, turns_off = UNDERSTOOD[number]
    async with start_service(bounce_webhook_secret=SECRET) as harness:
        await add_mails(harness)
        named = json.dumps(body).replace("TOKEN", await token(harness)).encode()
        assert (await post(harness, named)).status_code == 200
        assert (await reason(harness) != "") is turns_off


async def test_what_is_no_report_is_refused_and_metrics_count_the_others(start_service: ServiceStarter) -> None:
    async with start_service(bounce_webhook_secret=SECRET) as harness:
        await add_mails(harness)
        for body in (
            b"[]",
            b"\xff",
            b"[" * 10_000,
            {},
            {"recipient": EMAIL},
            {"recipient": EMAIL, "type": "Permanent"},
            {"recipient": EMAIL, "type": "refused"},
            {"recipient": EMAIL, "token": "a" * 32, "type": "permanent"},
            {"recipient": 5, "type": "permanent"},
            {"recipient": "nobody", "type": "permanent"},
            {"token": "short", "type": "permanent"},
            {"recipient": EMAIL, "type": ["permanent"]},
            {"RecordType": "Bounce", "Type": ["HardBounce"], "Email": 3},
            b'{"recipient": "' + b"x" * 100_000 + b'"}',
        ):
            assert (await post(harness, body)).status_code == 400, body
        assert await reason(harness) == ""

        await post(harness, PERMANENT)
        await post(harness, PERMANENT | {"recipient": "stranger@acme.example"})
        told = (await harness.get("/metrics")).text
        assert 'registerwatch_bounces_total{kind="permanent"} 1.0' in told
        assert 'registerwatch_bounces_total{kind="unknown"} 1.0' in told
        assert "registerwatch_addresses_undeliverable 1.0" in told
        assert 'registerwatch_mails_total{result="accepted"} 0.0' in told
