"""Webhooks over REST: fields and statuses, who may, nobody else's, and deliveries over real sockets."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.conftest import StageMaker
from tests.notifications.post_room import signatures
from tests.support.receiver import Receiver, answer, receiver
from tests.support.stage import PASSWORD, SignedUp, Stage, carrying

pytestmark = pytest.mark.anyio

URL = "https://hooks.acme.example/registerwatch"


@pytest.fixture
async def stage(staged: StageMaker) -> AsyncIterator[Stage]:
    async with staged(webhooks_allow_private=True) as stage:
        yield stage


@pytest.fixture
async def box() -> AsyncIterator[Receiver]:
    async with receiver() as box:
        yield box


@pytest.fixture
async def owner(stage: Stage) -> SignedUp:
    return await stage.sign_up()


async def _added(stage: Stage, credential: str, url: str = URL) -> dict[str, Any]:
    """A webhook that was just added."""
    answered = await stage.post("/v1/webhooks", credential, url=url)
    assert answered.status_code == 200, answered.text
    return dict(answered.json()["webhook"])


async def _seen(stage: Stage, path: str, credential: str) -> Any:
    answered = await stage.client.get(path, headers=carrying(credential))
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


async def _asked(stage: Stage, credential: str, route: tuple[str, str, dict[str, str]]) -> httpx2.Response:
    method, path, body = route
    sent = {"json": body} if method == "POST" else {}
    return await stage.client.request(method, path, headers=carrying(credential), **sent)  # type: ignore[arg-type]


async def test_the_first_address_is_set_kept_and_cleared(stage: Stage, owner: SignedUp) -> None:
    saved = (await stage.post("/v1/webhook", owner.api_key, url=URL)).json()
    assert saved["webhook_url"] == URL
    assert saved["webhook_secret"].startswith("whsec_")
    assert saved["email"] == owner.email
    assert not {"webhook_last_at", "webhook_last_ok", "webhook_last_error"} & set(saved)

    changed = (await stage.post("/v1/webhook", owner.session, url=f"{URL}/2")).json()
    assert (changed["webhook_url"], changed["webhook_secret"]) == (f"{URL}/2", saved["webhook_secret"])
    assert await _seen(stage, "/v1/me", owner.session) == changed

    cleared = (await stage.post("/v1/webhook", owner.session, url="")).json()
    assert (cleared["webhook_url"], cleared["webhook_secret"], cleared["webhooks"]) == ("", "", [])


async def test_a_webhook_has_the_fields_of_the_contract(stage: Stage, owner: SignedUp) -> None:
    added = await _added(stage, owner.session)
    assert set(added) == {"id", "url", "secret", "created_at", "last_at", "last_ok", "last_error"}
    assert added["url"] == URL
    assert (added["last_at"], added["last_ok"], added["last_error"]) == (None, None, None)
    assert (await _seen(stage, "/v1/webhooks", owner.session)) == {"webhooks": [added]}
    assert (await _seen(stage, "/v1/me", owner.session))["webhooks"] == [added]
    assert (await _seen(stage, "/v1/me", owner.session))["webhook_url"] == ""


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


async def test_an_address_that_is_none_is_answered_400_and_not_saved(staged: StageMaker) -> None:
    async with staged(background=False) as stage:
        owner = await stage.sign_up()
        headers = {**carrying(owner.session), "Content-Type": "application/json"}
        for body in [*(json.dumps({"url": url}) for url in NO_URLS), "{}", "[]", "5", "{"]:
            for path in ("/v1/webhook", "/v1/webhooks"):
                answered = await stage.client.post(path, content=body, headers=headers)
                assert answered.status_code == 400, body
                assert set(answered.json()) == {"error"}
        assert await _seen(stage, "/v1/webhooks", owner.session) == {"webhooks": []}


async def test_the_eleventh_address_is_answered_409(stage: Stage, owner: SignedUp) -> None:
    for number in range(10):
        await _added(stage, owner.session, f"{URL}/{number}")
    for path in ("/v1/webhook", "/v1/webhooks"):
        assert (await stage.post(path, owner.session, url=URL)).status_code == 409
    assert len((await _seen(stage, "/v1/webhooks", owner.session))["webhooks"]) == 10


async def test_members_and_strangers_to_the_service_reach_no_route(stage: Stage, owner: SignedUp) -> None:
    added = await _added(stage, owner.session)
    await stage.post("/v1/users", owner.session, email="member@acme.example", password=PASSWORD)
    member = await stage.sign_in("member@acme.example")
    before = stage.tables()
    for route in _routes(added["id"]):
        assert (await _asked(stage, member, route)).status_code == 403, route
        assert (await _asked(stage, "", route)).status_code == 401, route
        assert (await _asked(stage, "us_unknown", route)).status_code == 401, route
    assert stage.tables() == before


async def test_no_id_of_another_account_does_anything(stage: Stage, owner: SignedUp, box: Receiver) -> None:
    mine = await _added(stage, owner.session, box.url)
    test = (await stage.post(f"/v1/webhooks/{mine['id']}/test", owner.session)).json()
    stranger = await stage.sign_up("stranger@other.example")
    own = await _added(stage, stranger.session)
    before = stage.tables()
    for route in [*_routes_of_one(mine["id"], test["delivery"]), *_routes_of_one(own["id"], test["delivery"])[-1:]]:
        answered = await _asked(stage, stranger.session, route)
        assert answered.status_code == (200 if route[0] == "DELETE" else 400), route
        assert mine["secret"] not in answered.text
        assert test["delivery"] not in answered.text
    assert stage.tables() == before
    assert len(box.requests) == 1


async def test_an_id_that_is_no_number_is_answered_400(stage: Stage, owner: SignedUp) -> None:
    for webhook_id in ("abc", "1.5", "%00", "1%20", "\u0661", "-", "0x1"):
        for route in _routes_of_one(webhook_id):
            assert (await _asked(stage, owner.session, route)).status_code == 400, route


async def test_a_number_that_no_webhook_has_is_answered_400_and_deleting_it_200(stage: Stage, owner: SignedUp) -> None:
    for webhook_id in (4711, 0, -1, 2**63, 10**39):
        delete, *others = _routes_of_one(webhook_id)
        assert (await _asked(stage, owner.session, delete)).json() == {"ok": True}
        for route in others:
            assert (await _asked(stage, owner.session, route)).status_code == 400, route


async def test_an_unknown_delivery_is_not_sent_again(stage: Stage, owner: SignedUp) -> None:
    added = await _added(stage, owner.session)
    for delivery in ("whd_unknown", "%00", "%F0%9F%98%80", "%FF", "a" * 3000):
        path = f"/v1/webhooks/{added['id']}/deliveries/{delivery}/resend"
        assert (await stage.post(path, owner.session)).status_code == 400, delivery


async def test_a_test_arrives_signed_and_is_told_and_listed(stage: Stage, owner: SignedUp, box: Receiver) -> None:
    me = (await stage.post("/v1/webhook", owner.session, url=box.url)).json()
    told = (await stage.post("/v1/webhook/test", owner.session)).json()
    (request,) = box.requests
    sent = httpx2.Request("POST", box.url, headers=request.headers, content=request.body)

    assert told == {"ok": True, "status": 200, "error": "", "delivery": request.json["id"]}
    assert sent.headers["X-Service-Signature"] == signatures(sent, me["webhook_secret"])
    assert request.json == {
        "id": told["delivery"],
        "type": "watch.test",
        "created_at": request.json["created_at"],
        "email": owner.email,
        "events": [],
    }
    webhook_id = me["webhooks"][0]["id"]
    (listed,) = (await _seen(stage, f"/v1/webhooks/{webhook_id}/deliveries", owner.session))["deliveries"]
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
    after = await _seen(stage, "/v1/me", owner.session)
    last = after["webhook_last_at"], after["webhook_last_ok"], after["webhook_last_error"]
    assert last == (listed["finished_at"], True, "")


async def test_a_test_that_fails_is_answered_200_with_the_reason(stage: Stage, owner: SignedUp, box: Receiver) -> None:
    box.manner = answer(302, headers={"Location": "http://127.0.0.1:1/"})
    added = await _added(stage, owner.session, box.url)
    answered = await stage.post(f"/v1/webhooks/{added['id']}/test", owner.session)

    assert answered.status_code == 200
    assert answered.json()["ok"] is False
    assert (answered.json()["status"], answered.json()["error"]) == (302, "the receiver answered 302")
    assert len(box.requests) == 3
    me = await _seen(stage, "/v1/me", owner.session)
    assert (me["webhook_last_ok"], me["webhook_last_error"]) == (False, "the receiver answered 302")


async def test_a_test_of_the_first_address_without_one_is_answered_400(stage: Stage, owner: SignedUp) -> None:
    await _added(stage, owner.session)
    assert (await stage.post("/v1/webhook/test", owner.session)).status_code == 400


async def test_a_rotated_secret_is_told_and_both_sign(stage: Stage, owner: SignedUp, box: Receiver) -> None:
    added = await _added(stage, owner.session, box.url)
    rotated = (await stage.post(f"/v1/webhooks/{added['id']}/rotate", owner.session)).json()["webhook"]
    await stage.post(f"/v1/webhooks/{added['id']}/test", owner.session)
    (request,) = box.requests
    sent = httpx2.Request("POST", box.url, headers=request.headers, content=request.body)

    assert {**rotated, "secret": added["secret"]} == added
    assert sent.headers["X-Service-Signature"] == signatures(sent, rotated["secret"], added["secret"])


async def test_a_delivery_goes_out_once_more_in_the_background(stage: Stage, owner: SignedUp, box: Receiver) -> None:
    added = await _added(stage, owner.session, box.url)
    told = (await stage.post(f"/v1/webhooks/{added['id']}/test", owner.session)).json()
    resend = f"/v1/webhooks/{added['id']}/deliveries/{told['delivery']}/resend"
    assert (await stage.post(resend, owner.api_key)).json() == {"ok": True}
    first, again = await box.wait_for(2)
    assert again.body == first.body
    assert again.headers["x-service-delivery"] == told["delivery"]


async def test_removing_a_webhook_removes_it_alone(stage: Stage, owner: SignedUp) -> None:
    kept, removed = await _added(stage, owner.session), await _added(stage, owner.session)
    answered = await stage.client.delete(f"/v1/webhooks/{removed['id']}", headers=carrying(owner.api_key))
    assert answered.json() == {"ok": True}
    assert (await _seen(stage, "/v1/webhooks", owner.session))["webhooks"] == [kept]


async def test_an_account_whose_period_is_over_keeps_its_webhooks(stage: Stage, owner: SignedUp, box: Receiver) -> None:
    added = await _added(stage, owner.session, box.url)
    stage.clock.move(8 * 24 * 3600)
    session = await stage.sign_in(owner.email)
    assert (await _seen(stage, "/v1/webhooks", session))["webhooks"] == [added]
    assert (await stage.post(f"/v1/webhooks/{added['id']}/test", session)).json()["ok"] is True


async def test_no_answer_with_a_secret_is_kept_by_anybody_in_between(stage: Stage, owner: SignedUp) -> None:
    await _added(stage, owner.session)
    answered = await stage.client.get("/v1/webhooks", headers=carrying(owner.session))
    assert "no-store" in answered.headers["Cache-Control"]


async def test_tests_and_resends_are_limited_by_the_minute(staged: StageMaker) -> None:
    async with staged(rate_limits=True, background=False) as stage:
        owner = await stage.sign_up()
        answers = [await stage.post("/v1/webhook/test", owner.session) for _ in range(21)]
    assert [each.status_code for each in answers] == [400] * 20 + [429]
    assert "Retry-After" in answers[-1].headers


async def test_proxies_of_the_environment_are_not_used(
    staged: StageMaker, box: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiver() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        async with staged(webhooks_allow_private=True, background=False) as stage:
            owner = await stage.sign_up()
            added = await _added(stage, owner.session, box.url)
            assert (await stage.post(f"/v1/webhooks/{added['id']}/test", owner.session)).json()["ok"] is True
    assert (len(box.requests), proxy.connections) == (1, 0)


async def test_private_networks_are_closed_unless_a_setting_opens_them(staged: StageMaker, box: Receiver) -> None:
    async with staged(background=False, webhooks_allow_private=True) as stage:
        owner = await stage.sign_up()
        await _added(stage, owner.session, box.url)
    async with staged(background=False) as stage:
        (kept,) = (await _seen(stage, "/v1/webhooks", owner.session))["webhooks"]
        told = (await stage.post(f"/v1/webhooks/{kept['id']}/test", owner.session)).json()
    assert (told["ok"], told["status"]) == (False, None)
    assert box.connections == 0
