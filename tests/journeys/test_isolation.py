"""Two companies in one service: one tries every id of the other on every route that takes an id, and gets nothing."""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from registerwatch.accounts.sessions.open_sessions import public_id
from tests.support.harness import NewAccount, ServiceHarness, ServiceStarter, auth_headers
from tests.support.list_files import work_on_lists
from tests.support.receiver import Receiver, receiver

Rows = Mapping[str, list[dict[str, Any]]]

OK: object = {"ok": True}
"""What is answered for whatever number: there is nothing of the caller's to remove."""
TRIES: Mapping[str, tuple[int, Mapping[str, object] | None]] = {
    "DELETE /v1/users/{id}": (400, None),
    "DELETE /v1/keys/{id}": (400, None),
    "PATCH /v1/watches/{id}": (400, {"label": "Mine now"}),
    "DELETE /v1/watches/{id}": (200, None),
    "DELETE /v1/webhooks/{id}": (200, None),
    "POST /v1/webhooks/{id}/test": (400, {}),
    "POST /v1/webhooks/{id}/rotate": (400, {}),
    "GET /v1/webhooks/{id}/deliveries": (400, None),
    "POST /v1/webhooks/{id}/deliveries/{delivery}/resend": (400, {}),
    "GET /v1/channels/{id}": (400, None),
    "PATCH /v1/channels/{id}": (400, {"paused": True}),
    "DELETE /v1/channels/{id}": (200, None),
    "POST /v1/channels/{id}/test": (400, {}),
    "GET /v1/channels/{id}/deliveries": (400, None),
    "DELETE /v1/feeds/{id}": (200, None),
    "GET /v1/lists/{id}": (400, None),
    "PATCH /v1/lists/{id}": (400, {"name": "Mine now"}),
    "DELETE /v1/lists/{id}": (200, None),
    "GET /v1/lists/{id}/lines": (400, None),
    "GET /v1/lists/{id}/lines.csv": (400, None),
    "GET /v1/lists/{id}/lines.xlsx": (400, None),
    "POST /v1/lists/{id}/watch": (400, {}),
    "GET /v1/lists/{id}/uploads/{upload_id}": (400, None),
    "PATCH /v1/lists/{id}/uploads/{upload_id}": (400, {"code_column": 0}),
    "DELETE /v1/lists/{id}/uploads/{upload_id}": (200, None),
    "POST /v1/lists/{id}/uploads/{upload_id}/keep": (400, {}),
    "DELETE /v1/sessions/{id}": (200, None),
}
"""The status of a stranger's request, and what is sent with it."""
LISTS = ("me", "audit", "sessions", "watches", "events", "expiring", "webhooks", "channels", "feeds", "lists")
PUBLIC = {"status", "error", "type", "channel", "body", "kind", "role", "plan", "snapshot", "changes"}
PUBLIC |= {"choices", "standing", "reason"}
"""Columns whose texts are the register's or the same for everybody."""
OF_LISTS = ("item_lists", "list_uploads", "list_lines")


@dataclass(frozen=True, slots=True)
class Company:
    """An account that has something of everything."""

    owner: NewAccount
    account_id: int
    told: str
    """All that the service told it, in one text."""


async def company(harness: ServiceHarness, box: Receiver, name: str, watched: int) -> Company:
    """An account with a member, a key, a watch with an event, a webhook with a delivery, a feed, all of this name."""
    owner = await harness.sign_up(f"owner@{name}.example", f"a password at {name}")
    device, told = harness.unique_devices(8)[watched], list[str]()

    async def post(path: str, **fields: object) -> None:
        response = await harness.post(path, owner.api_key, **fields)
        assert response.status_code == 200, response.text
        told.append(response.text)

    await post("/v1/users", email=f"member@{name}.example", password="a member's own")
    await post("/v1/keys", label=f"key of {name}")
    await post("/v1/webhook", url=f"{box.url}/{name}")
    await post("/v1/webhook/test")
    await post("/v1/feeds")
    await post("/v1/watches", subject=device.primary_di)
    harness.world.change(device.uuid, reference=f"REF-{name}")
    await post("/v1/sync")
    for keep in (True, False):
        response = await harness.client.post(
            "/v1/lists",
            params={"name": f"stock of {name}", "filename": f"{name}.csv", "keep": keep},
            content=f"Article of {name};GTIN\narticle {name};{device.primary_di}\n",
            headers=auth_headers(owner.api_key),
        )
        assert response.status_code == 202, response.text
        await work_on_lists(harness)
    return Company(owner, await account_of(harness, owner), "".join(told))


async def account_of(harness: ServiceHarness, owner: NewAccount) -> int:
    [account_id] = [row["id"] for row in harness.all_rows()["accounts"] if row["email"] == owner.email]
    return int(account_id)


def texts_of(company: Company, rows: Rows) -> set[str]:
    """What only this account knows: texts of its rows, and whatever was told to it once."""
    stored = {
        str(value)
        for each in rows.values()
        for row in each
        for name, value in row.items()
        if isinstance(value, str) and len(value) > 5 and name not in PUBLIC
    }
    once = set(re.findall(r"(?:rw|us|ft|whd)_[\w-]{20,}|whsec_[\w+/-]{20,}", company.told))
    return stored | once | {company.owner.session, company.owner.api_key}


@dataclass(frozen=True, slots=True)
class Two:
    """Company A, and company B which tries."""

    harness: ServiceHarness
    box: Receiver
    a: Company
    b: Company


@pytest.fixture
async def two(start_service: ServiceStarter) -> AsyncIterator[Two]:
    async with receiver() as box, start_service(webhooks_allow_private=True) as harness:
        a = await company(harness, box, "alpha", 0)
        b = await company(harness, box, "bravo", 1)
        yield Two(harness, box, a, b)


def addresses(label: str, of: Rows, own: Rows) -> list[str]:
    """A route's paths with every id of an account; where a path takes two ids, also with the caller's own first one."""
    path = label.partition(" ")[2]
    table = {"keys": "api_keys", "channels": "webhooks", "lists": "item_lists"}.get(
        path.split("/")[2], path.split("/")[2]
    )
    if table == "sessions":
        return [path.replace("{id}", public_id(row["digest"])) for row in of[table]]
    if "{upload_id}" in path:
        return [
            path.replace("{id}", str(row["id"])).replace("{upload_id}", str(upload["id"]))
            for row in (*of[table], *own[table])
            for upload in of["list_uploads"]
        ]
    if "{delivery}" not in path:
        return [path.replace("{id}", str(row["id"])) for row in of[table]]
    return [
        path.replace("{id}", str(row["id"])).replace("{delivery}", delivery["id"])
        for row in (*of[table], *own[table])
        for delivery in of["deliveries"]
    ]


async def test_the_table_here_has_every_operation_that_takes_an_id_of_an_account(two: Two) -> None:
    described = {
        f"{method.upper()} {path}"
        for path, methods in two.harness.app.openapi()["paths"].items()
        for method, operation in methods.items()
        if "{" in path and operation.get("security")
    }

    assert described == set(TRIES)


async def test_no_id_of_another_account_reads_changes_sends_or_removes_anything(two: Two) -> None:
    harness, box = two.harness, two.box
    before, own = harness.rows_of_account(two.a.account_id), harness.rows_of_account(two.b.account_id)
    for table in (
        "users",
        "api_keys",
        "sessions",
        "audit",
        "watches",
        "events",
        "webhooks",
        "deliveries",
        "feeds",
        *OF_LISTS,
    ):
        assert before[table], f"something of A in {table} is there to be reached"
        assert own[table]
    texts, sent, tried = texts_of(two.a, before), len(box.requests), 0

    for label, (status, body) in TRIES.items():
        for path in addresses(label, before, own):
            for credential in (two.b.owner.api_key, two.b.owner.session):
                headers = auth_headers(credential)
                response = await harness.client.request(label.partition(" ")[0], path, headers=headers, json=body)
                assert response.status_code == status, (label, path, response.text)
                assert status != 200 or response.json() == OK
                assert not {text for text in texts if text in response.text}, path
                assert harness.rows_of_account(two.a.account_id) == before, (label, path)
                assert harness.rows_of_account(two.b.account_id) == own, (label, path)
                tried += 1
    assert tried > 2 * len(TRIES)
    assert len(box.requests) == sent, "nothing went out"


async def test_what_an_account_lists_has_nothing_of_another(two: Two) -> None:
    harness = two.harness
    texts = texts_of(two.a, harness.rows_of_account(two.a.account_id))
    own = texts_of(two.b, harness.rows_of_account(two.b.account_id))
    shown = ""
    for what in LISTS:
        for credential in (two.b.owner.api_key, two.b.owner.session):
            response = await harness.client.get(f"/v1/{what}", headers=auth_headers(credential))
            assert response.status_code == 200
            shown += response.text
    [token] = re.findall(r"ft_[\w-]{20,}", two.b.told)[:1]
    for path in ("/v1/events.atom", "/v1/expiring.ics"):
        shown += (await harness.get(path, token=token)).text

    for mine in ("REF-bravo", "owner@bravo.example", "key of bravo"):
        assert mine in shown, "what is listed is what was looked at"
    assert not {text for text in texts - own if text in shown}
    assert "alpha" not in shown


async def test_whoever_ends_their_account_ends_no_other(two: Two) -> None:
    before = two.harness.rows_of_account(two.a.account_id)

    ended = await two.harness.post("/v1/account/delete", two.b.owner.session, password=two.b.owner.password)

    assert ended.status_code == 200
    assert two.harness.rows_of_account(two.a.account_id) == before
    assert not any((two.harness.rows_of_account(two.b.account_id)).values())
