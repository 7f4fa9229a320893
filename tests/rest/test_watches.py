"""Watches, sync, events, expiring and import, as clients meet them."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from registerwatch.accounts.credentials import credential_of
from registerwatch.accounts.plans import PlanName
from registerwatch.watches import repository
from registerwatch_standins.register.records import Certificate, Registration
from tests.conftest import StageMaker
from tests.support.stage import PASSWORD, SignedUp, Stage, carrying
from tests.watches.room import listed, lone_devices, synced, watched_at

pytestmark = pytest.mark.anyio

WATCH_FIELDS = {
    "id",
    "kind",
    "subject",
    "label",
    "status",
    "status_code",
    "manufacturer_name",
    "manufacturer_srn",
    "risk_class",
    "certificate",
    "cert_expiry",
    "last_sync",
    "last_error",
    "health",
    "created_at",
}
INSTANT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
UNWATCHED = "04099999999992"


@pytest.fixture
async def stage(staged: StageMaker) -> AsyncIterator[Stage]:
    async with staged(background=False) as stage:
        yield stage


@pytest.fixture
async def owner(stage: Stage) -> SignedUp:
    return await stage.sign_up()


async def send(stage: Stage, method: str, path: str, credential: str, **fields: object) -> httpx2.Response:
    """An answer to any method; GET and DELETE carry no body."""
    body: dict[str, Any] = {"json": fields} if method in {"POST", "PATCH"} else {}
    return await stage.client.request(method, path, headers=carrying(credential), **body)


def certified(stage: Stage, expiry: str) -> Registration:
    """A device with one certificate that its record lists."""
    device = next(each for each in lone_devices(stage, 120) if each.legislation == "mdr" and not each.certificates)
    certificate = Certificate(
        number="Z-25-052",
        revision=None,
        expiry=expiry,
        starting_validity=None,
        issue_date=None,
        notified_body="0123",
        notified_body_name="Body",
        type="MDR_QUALITY_MANAGEMENT_SYSTEM",
        status="issued",
        listed_in="basic-udi-record",
    )
    return stage.world.change(device.uuid, certificates=(certificate,))


# Watches


async def test_a_new_watch_shows_what_the_register_says_now(stage: Stage, owner: SignedUp) -> None:
    device = certified(stage, "2031-02-03")
    spaced = f" {device.primary_di[:4]} {device.primary_di[4:]}\n"

    response = await stage.post("/v1/watches", owner.api_key, subject=spaced)

    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    assert set(response.json()) == {"watch"}
    watch = response.json()["watch"]
    served = (await stage.get(f"/v1/devices/{device.primary_di}")).json()
    assert set(watch) == WATCH_FIELDS
    assert isinstance(watch["id"], int)
    assert (watch["kind"], watch["subject"]) == ("udi", device.primary_di)
    assert watch["label"] == (served["trade_name"] or device.primary_di)
    for field in ("status", "status_code", "manufacturer_name", "manufacturer_srn", "risk_class"):
        assert watch[field] == served[field]
    assert watch["status_code"].startswith("refdata.")
    assert (watch["certificate"], watch["cert_expiry"]) == ("Z-25-052", "2031-02-03")
    assert watch["last_sync"] == watch["created_at"] == served["read_at"]
    assert (watch["last_error"], watch["health"]) == ("", {"state": "ok", "since": None})
    assert await listed(stage, owner.api_key, "watches") == [watch]
    assert await listed(stage, owner.api_key, "events") == []


async def test_a_watch_on_an_actor_shows_the_actor(stage: Stage, owner: SignedUp) -> None:
    srn = lone_devices(stage, 1)[0].manufacturer.srn

    [watch] = await watched_at(stage, owner.api_key, srn.lower())

    actor = (await stage.get(f"/v1/actors/{srn}")).json()
    assert set(watch) == WATCH_FIELDS
    assert (watch["kind"], watch["subject"], watch["label"]) == ("srn", srn, actor["name"])
    assert (watch["status"], watch["status_code"]) == (actor["manufacturer_status"], actor["manufacturer_status_code"])
    assert (watch["manufacturer_name"], watch["manufacturer_srn"]) == (actor["name"], srn)
    assert (watch["risk_class"], watch["certificate"], watch["cert_expiry"]) == ("", "", "")


async def test_watching_a_subject_again_gives_the_watch_that_is_there_and_keeps_its_baseline(
    stage: Stage, owner: SignedUp
) -> None:
    device = lone_devices(stage, 1)[0]
    [first] = await watched_at(stage, owner.api_key, device.primary_di)
    stage.world.change(device.uuid, reference="NEW-1")
    asked = stage.log.total

    [second] = await watched_at(stage, owner.session, device.primary_di)

    assert second == first
    assert stage.log.total == asked
    [event] = (await synced(stage, owner.api_key))["events"]
    assert "NEW-1" in event["summary"]


async def test_two_requests_for_one_subject_at_once_make_one_watch(stage: Stage, owner: SignedUp) -> None:
    device = lone_devices(stage, 1)[0]

    answers = await asyncio.gather(*(watched_at(stage, owner.api_key, device.primary_di) for _ in range(4)))

    assert len({watch["id"] for [watch] in answers}) == 1
    assert len(await listed(stage, owner.api_key, "watches")) == 1


async def test_a_watch_is_read_past_the_cache(stage: Stage, owner: SignedUp) -> None:
    device = lone_devices(stage, 1)[0]
    await stage.get(f"/v1/devices/{device.primary_di}")
    stage.world.change(device.uuid, status="no-longer-on-the-market")

    [watch] = await watched_at(stage, owner.api_key, device.primary_di)

    assert watch["status"] == "No longer placed on the EU market"


async def test_a_watch_is_added_while_the_register_cannot_be_read(stage: Stage, owner: SignedUp) -> None:
    stage.faults.fail("any", "http-400")

    [watch] = await watched_at(stage, owner.api_key, lone_devices(stage, 1)[0].primary_di)

    assert (watch["last_sync"], watch["label"]) == (None, watch["subject"])
    assert watch["last_error"]
    assert watch["health"]["state"] == "ok"
    assert watch["health"]["since"] == watch["created_at"]


async def test_a_name_is_kept_by_syncs_and_goes_with_events(stage: Stage, owner: SignedUp) -> None:
    device = lone_devices(stage, 1)[0]
    [watch] = await watched_at(stage, owner.api_key, device.primary_di)

    response = await send(stage, "PATCH", f"/v1/watches/{watch['id']}", owner.session, label="  Ward\n3  ")
    stage.world.change(device.uuid, trade_names={"en": "Brand New"})
    [event] = (await synced(stage, owner.api_key))["events"]

    assert response.status_code == 200
    assert response.json() == {"watch": {**watch, "label": "Ward 3"}}
    assert event["label"] == "Ward 3"
    assert (await listed(stage, owner.api_key, "watches"))[0]["label"] == "Ward 3"


async def test_a_long_name_is_cut_at_80_characters(stage: Stage, owner: SignedUp) -> None:
    [watch] = await watched_at(stage, owner.api_key, UNWATCHED)

    response = await send(stage, "PATCH", f"/v1/watches/{watch['id']}", owner.api_key, label="ä" * 200)

    assert response.json()["watch"]["label"] == "ä" * 80


async def test_a_removed_watch_is_gone_and_its_events_stay(stage: Stage, owner: SignedUp) -> None:
    device = lone_devices(stage, 1)[0]
    [watch] = await watched_at(stage, owner.api_key, device.primary_di)
    stage.world.change(device.uuid, reference="NEW-1")
    await synced(stage, owner.api_key)

    response = await send(stage, "DELETE", f"/v1/watches/{watch['id']}", owner.api_key)

    assert (response.status_code, response.json()) == (200, {"ok": True})
    assert await listed(stage, owner.api_key, "watches") == []
    assert [event["watch_id"] for event in await listed(stage, owner.api_key, "events")] == [watch["id"]]


async def test_watches_are_counted_in_the_account_object(stage: Stage, owner: SignedUp) -> None:
    await watched_at(stage, owner.api_key, UNWATCHED)

    me = (await send(stage, "GET", "/v1/me", owner.api_key)).json()

    assert (me["watch_count"], me["watch_cap"]) == (1, 25)


async def test_the_watch_cap_is_a_409_and_a_watched_subject_is_no_new_one(stage: Stage, owner: SignedUp) -> None:
    csv = "\n".join(f"A{number}" for number in range(25))
    await stage.post("/v1/import", owner.api_key, csv=csv)

    full = await stage.post("/v1/watches", owner.api_key, subject=UNWATCHED)
    there = await stage.post("/v1/watches", owner.api_key, subject="A7")

    assert full.status_code == 409
    assert set(full.json()) == {"error"}
    assert there.status_code == 200
    assert len(await listed(stage, owner.api_key, "watches")) == 25
    await stage.service.accounts.admin.set_period(owner.email, PlanName.STANDARD, None)
    assert (await stage.post("/v1/watches", owner.api_key, subject=UNWATCHED)).status_code == 200


# Events


async def test_an_event_has_every_field_of_the_contract(stage: Stage, owner: SignedUp) -> None:
    device = lone_devices(stage, 1)[0]
    [watch] = await watched_at(stage, owner.api_key, device.primary_di)
    stage.world.change(device.uuid, new_version=False, status="not-intended-for-eu-market")
    stage.clock.move(60)

    answer = await synced(stage, owner.api_key)

    [event] = await listed(stage, owner.api_key, "events")
    change = {"field": "status", "old": watch["status"], "new": "Not intended for the EU market"}
    assert set(event) == {"id", "watch_id", "subject", "label", "created_at", "summary", "changes"}
    assert event["watch_id"] == watch["id"]
    assert change in event["changes"]
    assert f"status: {change['old']} → {change['new']}" in event["summary"]
    assert event["created_at"] > watch["created_at"]
    assert answer["events"] == [{name: event[name] for name in ("subject", "label", "summary", "changes")}]


async def test_the_newest_hundred_events_are_listed_newest_first(stage: Stage, owner: SignedUp) -> None:
    caller = await stage.service.accounts.sessions.caller(credential_of(owner.api_key, None))
    made = [
        repository.NewEvent(caller.account.id, 1, UNWATCHED, "Label", f"reference: → R-{number}", [], "b", True)
        for number in range(102)
    ]
    async with stage.service.database.transaction() as connection:
        await repository.add_events(connection, made, int(stage.clock.now()))

    events = await listed(stage, owner.api_key, "events")

    assert [event["summary"] for event in events] == [f"reference: → R-{number}" for number in range(101, 1, -1)]


# Expiring


async def test_certificates_that_end_soon_are_listed_without_asking_the_register(stage: Stage, owner: SignedUp) -> None:
    expiry = str(datetime.fromtimestamp(stage.clock.now(), UTC).date() + timedelta(days=33))
    device = certified(stage, expiry)
    [watch] = await watched_at(stage, owner.api_key, device.primary_di)
    asked = stage.log.total

    items = await listed(stage, owner.api_key, "items")

    assert items == [
        {
            "subject": device.primary_di,
            "label": watch["label"],
            "certificate": "Z-25-052",
            "expiry": expiry,
            "days": 33,
        }
    ]
    assert stage.log.total == asked


# Who may


PROTECTED = [
    ("GET", "/v1/watches"),
    ("POST", "/v1/watches"),
    ("PATCH", "/v1/watches/1"),
    ("DELETE", "/v1/watches/1"),
    ("POST", "/v1/sync"),
    ("GET", "/v1/events"),
    ("GET", "/v1/expiring"),
    ("POST", "/v1/import"),
]
FIELDS = {"subject": UNWATCHED, "label": "Name", "csv": "A1\nB2"}


async def test_nobody_gets_a_401_and_changes_nothing(stage: Stage, owner: SignedUp) -> None:
    await watched_at(stage, owner.api_key, "A1")
    before = stage.tables()

    for credential in ("", "us_nobodys", "rw_nobodys"):
        for method, path in PROTECTED:
            response = await send(stage, method, path, credential, **FIELDS)
            assert response.status_code == 401, (method, path)
            assert set(response.json()) == {"error"}

    assert stage.tables() == before


async def test_an_account_whose_period_has_ended_reads_and_removes_and_nothing_else(
    stage: Stage, owner: SignedUp
) -> None:
    [watch] = await watched_at(stage, owner.api_key, "A1")
    await stage.service.accounts.admin.set_period(owner.email, None, int(stage.clock.now()))
    before, asked = stage.tables(), stage.log.total

    for method, path in PROTECTED:
        if method == "GET":
            assert (await send(stage, method, path, owner.api_key)).status_code == 200
        elif method != "DELETE":
            response = await send(stage, method, path, owner.api_key, **FIELDS)
            assert response.status_code == 402, (method, path)
            assert response.json()["error"]

    body = (await stage.post("/v1/sync", owner.api_key)).json()
    assert {**body, "error": ""} == {"synced": 0, "events": [], "error": ""}
    assert stage.tables() == before
    assert stage.log.total == asked
    assert (await send(stage, "DELETE", f"/v1/watches/{watch['id']}", owner.api_key)).json() == {"ok": True}
    assert await listed(stage, owner.api_key, "watches") == []


async def test_a_member_watches_as_an_owner_does(stage: Stage, owner: SignedUp) -> None:
    await stage.post("/v1/users", owner.api_key, email="member@acme.example", password=PASSWORD)
    member = await stage.sign_in("member@acme.example")

    added = await stage.post("/v1/watches", member, subject="A1")
    named = await send(stage, "PATCH", f"/v1/watches/{added.json()['watch']['id']}", member, label="Name")
    others = [await send(stage, "POST", path, member, csv="B2") for path in ("/v1/sync", "/v1/import")]
    removed = await send(stage, "DELETE", f"/v1/watches/{added.json()['watch']['id']}", member)

    assert {each.status_code for each in (added, named, removed, *others)} == {200}


async def test_a_stranger_neither_sees_nor_changes_what_an_account_watches(stage: Stage, owner: SignedUp) -> None:
    device = lone_devices(stage, 1)[0]
    stranger = await stage.sign_up("stranger@other.example")
    [watch] = await watched_at(stage, owner.api_key, device.primary_di)
    stage.world.change(device.uuid, reference="NEW-1")
    await stage.service.refresher.refresh(device.primary_di)
    before = stage.tables()

    named = await send(stage, "PATCH", f"/v1/watches/{watch['id']}", stranger.api_key, label="Mine now")
    removed = await send(stage, "DELETE", f"/v1/watches/{watch['id']}", stranger.api_key)
    seen = [await listed(stage, stranger.api_key, what) for what in ("watches", "events", "items")]
    answer = await synced(stage, stranger.api_key)

    assert named.status_code == 400
    assert set(named.json()) == {"error"}
    assert (removed.status_code, removed.json()) == (200, {"ok": True})
    assert seen == [[], [], []]
    assert answer == {"synced": 0, "events": [], "error": None}
    assert stage.tables() == before


@pytest.mark.parametrize(("path", "most"), [("/v1/watches", 60), ("/v1/sync", 10)])
async def test_adding_watches_and_syncing_are_limited_by_the_minute(staged: StageMaker, path: str, most: int) -> None:
    async with staged(background=False, rate_limits=True) as stage:
        owner = await stage.sign_up()
        answers = [await stage.post(path, owner.api_key, subject=UNWATCHED) for _ in range(most + 1)]
        unlimited = await send(stage, "GET", "/v1/watches", owner.api_key)

    assert [each.status_code for each in answers] == [200] * most + [429]
    assert [int(each.headers["ratelimit-remaining"]) for each in answers] == [*range(most - 1, -1, -1), 0]
    assert {each.headers["ratelimit-policy"] for each in answers} == {f"{most};w=60"}
    assert 0 < int(answers[-1].headers["retry-after"]) <= 60
    assert set(answers[-1].json()) == {"error"}
    assert unlimited.status_code == 200
