"""Webhooks over REST: fields and statuses, who may, nobody else's, and deliveries over real sockets."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import jsonschema_rs
import pytest
from sqlalchemy import insert

from registerwatch.notifications.repository import MAX_TESTS
from registerwatch.notifications.tables import deliveries
from tests.notifications.steps import expected_signatures
from tests.support.harness import ERROR_FIELDS, PASSWORD, NewAccount, ServiceHarness, ServiceStarter, auth_headers
from tests.support.receiver import Receiver, answer, receiver

URL = "https://hooks.acme.example/registerwatch"


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    async with start_service(background=True, webhooks_allow_private=True) as harness:
        yield harness


async def _added(harness: ServiceHarness, credential: str, url: str = URL) -> dict[str, Any]:
    """A webhook that was just added."""
    answered = await harness.post("/v1/webhooks", credential, url=url)
    assert answered.status_code == 200, answered.text
    return dict(answered.json()["webhook"])


async def _seen(harness: ServiceHarness, path: str, credential: str) -> Any:
    answered = await harness.client.get(path, headers=auth_headers(credential))
    assert answered.status_code == 200, answered.text
    return answered.json()


def _routes(webhook_id: object = 1, delivery: str = "whd_1") -> list[tuple[str, str, dict[str, str]]]:
    """Every route of webhooks, with a body that it takes."""
    return [
        ("POST", "/v1/webhook", {"url": URL}),
        ("POST", "/v1/webhook/test", {}),
        ("GET", "/v1/webhooks", {}),
        ("POST", "/v1/webhooks", {"url": URL}),
        *_routes_of_one(webhook_id, delivery),
    ]


def _routes_of_one(webhook_id: object, delivery: str = "whd_1") -> list[tuple[str, str, dict[str, str]]]:
    path = f"/v1/webhooks/{webhook_id}"
    return [
        ("DELETE", path, {}),
        ("POST", f"{path}/test", {}),
        ("POST", f"{path}/rotate", {}),
        ("GET", f"{path}/deliveries", {}),
        ("POST", f"{path}/deliveries/{delivery}/resend", {}),
    ]


async def _asked(harness: ServiceHarness, credential: str, route: tuple[str, str, dict[str, str]]) -> httpx2.Response:
    method, path, body = route
    sent = {"json": body} if method == "POST" else {}
    return await harness.client.request(method, path, headers=auth_headers(credential), **sent)  # type: ignore[arg-type]


async def test_the_first_address_is_set_kept_and_cleared(harness: ServiceHarness, owner: NewAccount) -> None:
    saved = (await harness.post("/v1/webhook", owner.api_key, url=URL)).json()
    assert saved["webhook_url"] == URL
    assert saved["webhook_secret"].startswith("whsec_")
    assert saved["email"] == owner.email
    assert not {"webhook_last_at", "webhook_last_ok", "webhook_last_error"} & set(saved)

    changed = (await harness.post("/v1/webhook", owner.session, url=f"{URL}/2")).json()
    assert (changed["webhook_url"], changed["webhook_secret"]) == (f"{URL}/2", saved["webhook_secret"])
    assert await _seen(harness, "/v1/me", owner.session) == changed

    cleared = (await harness.post("/v1/webhook", owner.session, url="")).json()
    assert (cleared["webhook_url"], cleared["webhook_secret"], cleared["webhooks"]) == ("", "", [])


async def test_a_webhook_has_the_fields_of_the_contract(harness: ServiceHarness, owner: NewAccount) -> None:
    added = await _added(harness, owner.session)
    assert set(added) == {"id", "url", "secret", "created_at", "last_at", "last_ok", "last_error"}
    assert added["url"] == URL
    assert (added["last_at"], added["last_ok"], added["last_error"]) == (None, None, None)
    assert (await _seen(harness, "/v1/webhooks", owner.session)) == {"webhooks": [added]}
    assert (await _seen(harness, "/v1/me", owner.session))["webhooks"] == [added]
    assert (await _seen(harness, "/v1/me", owner.session))["webhook_url"] == ""


NO_URLS: list[object] = [
    "http://hooks.acme.example/",
    "https://localhost/",
    "https://a.local/",
    "https://a.internal/",
    "https://10.0.0.1/",
    "https://[::1]/",
    "https://169.254.169.254/latest",
    "nonsense",
    "https://hooks.acme.example/\x00",
    "https://hooks.acme.example/\ud800",
    "https://hooks.acme.example/" + "a" * 100_000,
    None,
    5,
    ["https://hooks.acme.example/"],
]


async def test_an_address_that_is_none_is_answered_400_and_not_saved(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        owner = await harness.sign_up()
        headers = {**auth_headers(owner.session), "Content-Type": "application/json"}
        for body in [*(json.dumps({"url": url}) for url in NO_URLS), "{}", "[]", "5", "{"]:
            for path in ("/v1/webhook", "/v1/webhooks"):
                answered = await harness.client.post(path, content=body, headers=headers)
                assert answered.status_code == 400, body
                assert set(answered.json()) == ERROR_FIELDS
        assert await _seen(harness, "/v1/webhooks", owner.session) == {"webhooks": []}


async def test_an_address_gets_nothing_twice_however_often_it_is_added(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    first = (await harness.post("/v1/webhook", owner.api_key, url=f"{URL}/first")).json()
    added, again = await _added(harness, owner.session), await _added(harness, owner.api_key)
    of_first = await _added(harness, owner.session, f"{URL}/first")

    assert (again, of_first["secret"]) == (added, first["webhook_secret"])
    assert [each["url"] for each in (await _seen(harness, "/v1/webhooks", owner.session))["webhooks"]] == [
        f"{URL}/first",
        URL,
    ]

    account = (await harness.post("/v1/webhook", owner.session, url=URL)).json()
    assert (account["webhook_url"], account["webhook_secret"], account["webhooks"]) == (URL, added["secret"], [added])


async def test_an_address_of_other_choices_is_added_beside_them(harness: ServiceHarness, owner: NewAccount) -> None:
    body = {"channel": "webhook", "url": URL, "choice": {"frequency": "daily"}}
    channel = (await harness.post("/v1/channels", owner.api_key, **body)).json()["channel"]

    assert (await _added(harness, owner.api_key))["id"] != channel["id"]


async def test_the_eleventh_address_is_answered_409(harness: ServiceHarness, owner: NewAccount) -> None:
    for number in range(10):
        await _added(harness, owner.session, f"{URL}/{number}")
    for path in ("/v1/webhook", "/v1/webhooks"):
        assert (await harness.post(path, owner.session, url=URL)).status_code == 409
    assert len((await _seen(harness, "/v1/webhooks", owner.session))["webhooks"]) == 10


async def test_members_and_strangers_to_the_service_reach_no_route(harness: ServiceHarness, owner: NewAccount) -> None:
    added = await _added(harness, owner.session)
    await harness.post("/v1/users", owner.session, email="member@acme.example", password=PASSWORD)
    member = await harness.sign_in("member@acme.example")
    before = harness.all_rows()
    for route in _routes(added["id"]):
        assert (await _asked(harness, member, route)).status_code == 403, route
        assert (await _asked(harness, "", route)).status_code == 401, route
        assert (await _asked(harness, "us_unknown", route)).status_code == 401, route
    assert harness.all_rows() == before


async def test_an_id_that_is_no_number_is_answered_400(harness: ServiceHarness, owner: NewAccount) -> None:
    for webhook_id in ("abc", "1.5", "%00", "1%20", "\u0661", "-", "0x1"):
        for route in _routes_of_one(webhook_id):
            assert (await _asked(harness, owner.session, route)).status_code == 400, route


async def test_a_number_that_no_webhook_has_is_answered_400_and_deleting_it_200(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    for webhook_id in (4711, 0, -1, 2**63, 10**39):
        delete, *others = _routes_of_one(webhook_id)
        assert (await _asked(harness, owner.session, delete)).json() == {"ok": True}
        for route in others:
            assert (await _asked(harness, owner.session, route)).status_code == 400, route


async def test_an_unknown_delivery_is_not_sent_again(harness: ServiceHarness, owner: NewAccount) -> None:
    added = await _added(harness, owner.session)
    for delivery in ("whd_unknown", "%00", "%F0%9F%98%80", "%FF", "a" * 3000):
        path = f"/v1/webhooks/{added['id']}/deliveries/{delivery}/resend"
        assert (await harness.post(path, owner.session)).status_code == 400, delivery


async def test_a_test_arrives_signed_and_is_told_and_listed(
    harness: ServiceHarness, owner: NewAccount, box: Receiver
) -> None:
    me = (await harness.post("/v1/webhook", owner.session, url=box.url)).json()
    told = (await harness.post("/v1/webhook/test", owner.session)).json()
    (request,) = box.requests
    sent = httpx2.Request("POST", box.url, headers=request.headers, content=request.body)

    assert told == {"ok": True, "status": 200, "error": "", "delivery": request.json["id"]}
    assert sent.headers["X-Service-Signature"] == expected_signatures(sent, me["webhook_secret"])
    assert request.json == {
        "id": told["delivery"],
        "type": "watch.test",
        "created_at": request.json["created_at"],
        "email": owner.email,
        "events": [],
    }
    webhook_id = me["webhooks"][0]["id"]
    (listed,) = (await _seen(harness, f"/v1/webhooks/{webhook_id}/deliveries", owner.session))["deliveries"]
    assert listed == {
        "id": told["delivery"],
        "type": "watch.test",
        "created_at": request.json["created_at"],
        "finished_at": request.json["created_at"],
        "ok": True,
        "attempts": 1,
        "status": 200,
        "error": "",
        "body": request.body.decode(),
    }
    after = await _seen(harness, "/v1/me", owner.session)
    last = after["webhook_last_at"], after["webhook_last_ok"], after["webhook_last_error"]
    assert last == (listed["finished_at"], True, "")


async def test_the_tests_of_a_webhook_that_are_kept_are_bounded_and_deliveries_stay(
    harness: ServiceHarness, box: Receiver, owner: NewAccount
) -> None:
    webhook = (await harness.post("/v1/webhooks", owner.session, url=box.url)).json()["webhook"]
    await harness.post(f"/v1/webhooks/{webhook['id']}/test", owner.session)
    [sent] = await harness.rows(deliveries)
    earlier = [
        {**sent, "id": f"whd_{number}", "batch": f"whd_{number}", "created_at": number, "type": kind}
        for number, kind in enumerate(["watch.changed"] * 5 + ["watch.test"] * MAX_TESTS)
    ]
    async with harness.database.transaction() as connection:
        await connection.execute(insert(deliveries), earlier)
    last = (await harness.post(f"/v1/webhooks/{webhook['id']}/test", owner.session)).json()["delivery"]

    kept = await harness.rows(deliveries)
    assert Counter(row["type"] for row in kept) == {"watch.test": MAX_TESTS, "watch.changed": 5}
    assert {sent["id"], last} <= {row["id"] for row in kept}


async def test_a_test_that_fails_is_answered_200_with_the_reason(
    harness: ServiceHarness, owner: NewAccount, box: Receiver
) -> None:
    box.manner = answer(302, headers={"Location": "http://127.0.0.1:1/"})
    added = await _added(harness, owner.session, box.url)
    answered = await harness.post(f"/v1/webhooks/{added['id']}/test", owner.session)

    assert answered.status_code == 200
    assert answered.json()["ok"] is False
    assert (answered.json()["status"], answered.json()["error"]) == (302, "the receiver answered 302")
    assert len(box.requests) == 3
    me = await _seen(harness, "/v1/me", owner.session)
    assert (me["webhook_last_ok"], me["webhook_last_error"]) == (False, "the receiver answered 302")


async def test_a_test_of_the_first_address_without_one_is_answered_400(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    await _added(harness, owner.session)
    assert (await harness.post("/v1/webhook/test", owner.session)).status_code == 400


async def test_a_rotated_secret_is_told_and_both_sign(
    harness: ServiceHarness, owner: NewAccount, box: Receiver
) -> None:
    added = await _added(harness, owner.session, box.url)
    rotated = (await harness.post(f"/v1/webhooks/{added['id']}/rotate", owner.session)).json()["webhook"]
    await harness.post(f"/v1/webhooks/{added['id']}/test", owner.session)
    (request,) = box.requests
    sent = httpx2.Request("POST", box.url, headers=request.headers, content=request.body)

    assert {**rotated, "secret": added["secret"]} == added
    assert sent.headers["X-Service-Signature"] == expected_signatures(sent, rotated["secret"], added["secret"])


async def test_a_delivery_goes_out_once_more_in_the_background(
    harness: ServiceHarness, owner: NewAccount, box: Receiver
) -> None:
    added = await _added(harness, owner.session, box.url)
    told = (await harness.post(f"/v1/webhooks/{added['id']}/test", owner.session)).json()
    resend = f"/v1/webhooks/{added['id']}/deliveries/{told['delivery']}/resend"
    assert (await harness.post(resend, owner.api_key)).json() == {"ok": True}
    first, again = await box.wait_for(2)
    assert again.body == first.body
    assert again.headers["x-service-delivery"] == told["delivery"]


async def test_removing_a_webhook_removes_it_alone(harness: ServiceHarness, owner: NewAccount) -> None:
    kept, removed = await _added(harness, owner.session), await _added(harness, owner.session, f"{URL}/2")
    answered = await harness.client.delete(f"/v1/webhooks/{removed['id']}", headers=auth_headers(owner.api_key))
    assert answered.json() == {"ok": True}
    assert (await _seen(harness, "/v1/webhooks", owner.session))["webhooks"] == [kept]


async def test_an_account_whose_period_is_over_keeps_its_webhooks(
    harness: ServiceHarness, owner: NewAccount, box: Receiver
) -> None:
    added = await _added(harness, owner.session, box.url)
    harness.clock.move(8 * 24 * 3600)
    session = await harness.sign_in(owner.email)
    assert (await _seen(harness, "/v1/webhooks", session))["webhooks"] == [added]
    assert (await harness.post(f"/v1/webhooks/{added['id']}/test", session)).json()["ok"] is True


async def test_no_answer_with_a_secret_is_kept_by_anybody_in_between(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    await _added(harness, owner.session)
    answered = await harness.client.get("/v1/webhooks", headers=auth_headers(owner.session))
    assert "no-store" in answered.headers["Cache-Control"]


async def test_tests_and_resends_are_limited_by_the_minute(start_service: ServiceStarter) -> None:
    async with start_service(rate_limits=True) as harness:
        owner = await harness.sign_up()
        answers = [await harness.post("/v1/webhook/test", owner.session) for _ in range(21)]
    assert [each.status_code for each in answers] == [400] * 20 + [429]
    assert "Retry-After" in answers[-1].headers


async def test_proxies_of_the_environment_are_not_used(
    start_service: ServiceStarter, box: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiver() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        async with start_service(webhooks_allow_private=True) as harness:
            owner = await harness.sign_up()
            added = await _added(harness, owner.session, box.url)
            assert (await harness.post(f"/v1/webhooks/{added['id']}/test", owner.session)).json()["ok"] is True
    assert (len(box.requests), proxy.connections) == (1, 0)


async def test_private_networks_are_closed_unless_a_setting_opens_them(
    start_service: ServiceStarter, box: Receiver
) -> None:
    async with start_service(webhooks_allow_private=True) as harness:
        owner = await harness.sign_up()
        await _added(harness, owner.session, box.url)
    async with start_service() as harness:
        (kept,) = (await _seen(harness, "/v1/webhooks", owner.session))["webhooks"]
        told = (await harness.post(f"/v1/webhooks/{kept['id']}/test", owner.session)).json()
    assert (told["ok"], told["status"]) == (False, None)
    assert box.connections == 0


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_deliveries_are_described_as_they_are_sent(harness: ServiceHarness, box: Receiver) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/webhook", owner.api_key, url=box.url)
    await harness.post("/v1/webhook/test", owner.api_key)
    [sent] = box.requests
    description = harness.app.openapi()
    schemas = description["components"]["schemas"]

    assert set(description["webhooks"]) == {"watch.changed", "watch.test"}
    operation = description["webhooks"]["watch.test"]["post"]
    names = {each["name"].lower() for each in operation["parameters"]}
    assert names == {name for name in sent.headers if name.startswith(("x-", "webhook-"))}
    assert operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/DeliveryBody")
    body = schemas["DeliveryBody"]
    jsonschema_rs.validate({**body, "components": description["components"]}, json.loads(sent.body))
    assert set(body["properties"]) == set(json.loads(sent.body))
    assert set(schemas["DeliveredEvent"]["properties"]) == {"id", "subject", "label", "summary", "changes"}
    assert body["properties"]["events"]["items"] == {"$ref": "#/components/schemas/DeliveredEvent"}
