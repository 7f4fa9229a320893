"""Watches, sync, events, expiring and import, as clients meet them."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.watches.events import event_repository
from registerwatch_standins.register.records import Registration
from tests.register.builders import a_full_reading, a_registered_certificate, a_udi
from tests.support.harness import ERROR_FIELDS, PASSWORD, NewAccount, ServiceHarness, ServiceStarter, auth_headers

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
    "complete",
    "last_sync",
    "last_error",
    "health",
    "options",
    "created_at",
}
INSTANT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
UNWATCHED = "04099999999992"


async def send(harness: ServiceHarness, method: str, path: str, credential: str, **fields: object) -> httpx2.Response:
    """An answer to any method; GET and DELETE carry no body."""
    body: dict[str, Any] = {"json": fields} if method in {"POST", "PATCH"} else {}
    return await harness.client.request(method, path, headers=auth_headers(credential), **body)


def certified(harness: ServiceHarness, expiry: str) -> Registration:
    """A device with one certificate that its record lists."""
    device = next(each for each in harness.unique_devices(120) if each.legislation == "mdr" and not each.certificates)
    certificate = a_registered_certificate("Z-25-052", expiry=expiry, type="MDR_QUALITY_MANAGEMENT_SYSTEM")
    return harness.world.change(device.uuid, certificates=(certificate,))


# Watches


async def test_a_new_watch_shows_what_the_register_says_now(harness: ServiceHarness, owner: NewAccount) -> None:
    device = certified(harness, "2031-02-03")
    spaced = f" {device.primary_di[:4]} {device.primary_di[4:]}\n"

    response = await harness.post("/v1/watches", owner.api_key, subject=spaced)

    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    assert set(response.json()) == {"watch"}
    watch = response.json()["watch"]
    served = (await harness.get(f"/v1/devices/{device.primary_di}")).json()
    assert set(watch) == {*WATCH_FIELDS, "certificate_standing"}
    assert isinstance(watch["id"], int)
    assert (watch["kind"], watch["subject"]) == ("udi", device.primary_di)
    assert watch["label"] == (served["trade_name"] or served["device_name"] or device.primary_di)
    for field in ("status", "status_code", "manufacturer_name", "manufacturer_srn", "risk_class"):
        assert watch[field] == served[field]
    assert watch["status_code"].startswith("refdata.")
    assert (watch["certificate"], watch["cert_expiry"]) == ("Z-25-052", "2031-02-03")
    assert watch["last_sync"] == watch["created_at"] == served["read_at"]
    assert (watch["last_error"], watch["health"]) == ("", {"state": "ok", "since": None})
    assert await harness.get_list(owner.api_key, "watches") == [watch]
    assert await harness.get_list(owner.api_key, "events") == []


async def test_a_watch_on_an_actor_shows_the_actor(harness: ServiceHarness, owner: NewAccount) -> None:
    srn = harness.unique_devices(1)[0].manufacturer.srn

    [watch] = await harness.post_watches(owner.api_key, srn.lower())

    actor = (await harness.get(f"/v1/actors/{srn}")).json()
    assert set(watch) == WATCH_FIELDS
    assert (watch["kind"], watch["subject"], watch["label"]) == ("srn", srn, actor["name"])
    assert (watch["status"], watch["status_code"]) == (actor["manufacturer_status"], actor["manufacturer_status_code"])
    assert (watch["manufacturer_name"], watch["manufacturer_srn"]) == (actor["name"], srn)
    assert (watch["risk_class"], watch["certificate"], watch["cert_expiry"]) == ("", "", "")


async def test_a_word_takes_no_place_among_the_watches_unless_that_is_asked_for(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    before, asked = harness.all_rows(), harness.register_log.total

    response = await harness.post("/v1/watches", owner.api_key, subject="titan")

    assert (response.status_code, response.json()["code"]) == (400, "invalid-input")
    assert "no digit" in response.json()["error"]
    assert (harness.all_rows(), harness.register_log.total) == (before, asked)
    wanted = await harness.post("/v1/watches", owner.api_key, subject="titan", must_exist=False)
    again = await harness.post("/v1/watches", owner.api_key, subject="titan")
    assert (wanted.status_code, wanted.json()["watch"]["last_error"] != "") == (200, True)
    assert again.json()["watch"]["id"] == wanted.json()["watch"]["id"]


async def test_a_code_that_the_register_does_not_know_is_watched_and_so_is_a_word_that_it_has_as_a_code(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    await harness.store(a_full_reading(udi="UNDIGITAL"))

    for subject in (UNWATCHED, "A1", "DE-MF-999999999", "UNDIGITAL"):
        response = await harness.post("/v1/watches", owner.api_key, subject=subject)
        assert (response.status_code, response.json()["watch"]["subject"]) == (200, subject)


async def test_watching_a_subject_again_gives_the_watch_that_is_there_and_keeps_its_baseline(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    device = harness.unique_devices(1)[0]
    [first] = await harness.post_watches(owner.api_key, device.primary_di)
    harness.world.change(device.uuid, reference="NEW-1")
    asked = harness.register_log.total

    [second] = await harness.post_watches(owner.session, device.primary_di)

    assert second == first
    assert harness.register_log.total == asked
    [event] = (await harness.post_sync(owner.api_key))["events"]
    assert "NEW-1" in event["summary"]


async def test_two_requests_for_one_subject_at_once_make_one_watch(harness: ServiceHarness, owner: NewAccount) -> None:
    device = harness.unique_devices(1)[0]

    answers = await asyncio.gather(*(harness.post_watches(owner.api_key, device.primary_di) for _ in range(4)))

    assert len({watch["id"] for [watch] in answers}) == 1
    assert len(await harness.get_list(owner.api_key, "watches")) == 1


async def test_a_watch_is_read_past_the_cache(harness: ServiceHarness, owner: NewAccount) -> None:
    device = harness.unique_devices(1)[0]
    await harness.get(f"/v1/devices/{device.primary_di}")
    harness.world.change(device.uuid, status="no-longer-on-the-market")

    [watch] = await harness.post_watches(owner.api_key, device.primary_di)

    assert watch["status"] == "No longer placed on the EU market"


async def test_a_watch_is_added_while_the_register_cannot_be_read(harness: ServiceHarness, owner: NewAccount) -> None:
    harness.faults.fail("any", "http-400")

    [watch] = await harness.post_watches(owner.api_key, harness.unique_devices(1)[0].primary_di)

    assert (watch["last_sync"], watch["label"]) == (None, watch["subject"])
    assert watch["last_error"]
    assert watch["health"]["state"] == "unread"
    assert watch["health"]["since"] == watch["created_at"]


async def test_a_name_is_kept_by_syncs_and_goes_with_events(harness: ServiceHarness, owner: NewAccount) -> None:
    device = harness.unique_devices(1)[0]
    [watch] = await harness.post_watches(owner.api_key, device.primary_di)

    response = await send(harness, "PATCH", f"/v1/watches/{watch['id']}", owner.session, label="  Ward\n3  ")
    harness.world.change(device.uuid, trade_names={"en": "Brand New"})
    [event] = (await harness.post_sync(owner.api_key))["events"]

    assert response.status_code == 200
    assert response.json() == {"watch": {**watch, "label": "Ward 3"}}
    assert event["label"] == "Ward 3"
    assert (await harness.get_list(owner.api_key, "watches"))[0]["label"] == "Ward 3"


async def test_options_are_set_one_by_one_and_leave_the_name(harness: ServiceHarness, owner: NewAccount) -> None:
    [watch] = await harness.post_watches(owner.api_key, UNWATCHED)
    address = f"/v1/watches/{watch['id']}"
    assert watch["options"] == {"portfolio": True, "certificates": True, "notifies": True}

    off = await send(harness, "PATCH", address, owner.api_key, options={"portfolio": False})
    both = await send(harness, "PATCH", address, owner.api_key, label="Ward 3", options={"notifies": False})
    neither = await send(harness, "PATCH", address, owner.api_key, options={})

    assert off.json() == {"watch": {**watch, "options": {**watch["options"], "portfolio": False}}}
    changed = {"portfolio": False, "certificates": True, "notifies": False}
    assert both.json() == neither.json() == {"watch": {**watch, "label": "Ward 3", "options": changed}}
    unusable: list[dict[str, Any]] = [{}, {"options": None}, {"options": {"portfolio": "no"}}, {"options": []}]
    for wrong in [*unusable, {"label": "", "options": {}}]:
        response = await send(harness, "PATCH", address, owner.api_key, **wrong)
        assert response.status_code == 400, wrong
    assert (await harness.get_list(owner.api_key, "watches"))[0]["options"] == changed


async def test_a_long_name_is_cut_at_80_characters(harness: ServiceHarness, owner: NewAccount) -> None:
    [watch] = await harness.post_watches(owner.api_key, UNWATCHED)

    response = await send(harness, "PATCH", f"/v1/watches/{watch['id']}", owner.api_key, label="ä" * 200)

    assert response.json()["watch"]["label"] == "ä" * 80


async def test_a_removed_watch_is_gone_and_its_events_stay(harness: ServiceHarness, owner: NewAccount) -> None:
    device = harness.unique_devices(1)[0]
    [watch] = await harness.post_watches(owner.api_key, device.primary_di)
    harness.world.change(device.uuid, reference="NEW-1")
    await harness.post_sync(owner.api_key)

    response = await send(harness, "DELETE", f"/v1/watches/{watch['id']}", owner.api_key)

    assert (response.status_code, response.json()) == (200, {"ok": True})
    assert await harness.get_list(owner.api_key, "watches") == []
    assert [event["watch_id"] for event in await harness.get_list(owner.api_key, "events")] == [watch["id"]]


async def test_watches_are_counted_in_the_account_object(harness: ServiceHarness, owner: NewAccount) -> None:
    await harness.post_watches(owner.api_key, UNWATCHED)

    me = (await send(harness, "GET", "/v1/me", owner.api_key)).json()

    assert (me["watch_count"], me["watch_cap"]) == (1, 25)


async def test_the_watch_cap_is_a_409_and_a_watched_subject_is_no_new_one(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    csv = "\n".join(a_udi(number) for number in range(25))
    await harness.post("/v1/import", owner.api_key, csv=csv)

    full = await harness.post("/v1/watches", owner.api_key, subject=UNWATCHED)
    there = await harness.post("/v1/watches", owner.api_key, subject=a_udi(7))

    assert full.status_code == 409
    assert set(full.json()) == ERROR_FIELDS
    assert there.status_code == 200
    assert len(await harness.get_list(owner.api_key, "watches")) == 25
    await harness.service.accounts.admin.set_period(owner.email, PlanName.STANDARD, None)
    assert (await harness.post("/v1/watches", owner.api_key, subject=UNWATCHED)).status_code == 200


# Events


async def test_an_event_has_every_field_of_the_contract(harness: ServiceHarness, owner: NewAccount) -> None:
    device = harness.unique_devices(1)[0]
    [watch] = await harness.post_watches(owner.api_key, device.primary_di)
    harness.world.change(device.uuid, new_version=False, status="not-intended-for-eu-market")
    harness.clock.move(60)

    answer = await harness.post_sync(owner.api_key)

    [event] = await harness.get_list(owner.api_key, "events")
    change = {"field": "status", "old": watch["status"], "new": "Not intended for the EU market"}
    assert set(event) == {"id", "watch_id", "subject", "label", "created_at", "summary", "changes"} | {
        "kind",
        "severity",
        "visible_at",
    }
    assert event["kind"] == "record"
    assert event["watch_id"] == watch["id"]
    assert change in event["changes"]
    assert f"status: {change['old']} → {change['new']}" in event["summary"]
    assert event["created_at"] > watch["created_at"]
    assert watch["created_at"] < event["visible_at"] <= event["created_at"]
    assert answer["events"] == [{name: event[name] for name in ("subject", "label", "summary", "changes")}]


async def test_the_newest_hundred_events_are_listed_newest_first(harness: ServiceHarness, owner: NewAccount) -> None:
    caller = await harness.service.accounts.sessions.caller(credential_of(owner.api_key, None))
    made = [
        event_repository.NewEvent(caller.account.id, 1, UNWATCHED, "Label", f"reference: → R-{number}", [], True)
        for number in range(102)
    ]
    async with harness.database.transaction() as connection:
        await event_repository.add_events(connection, made, harness.now)

    events = await harness.get_list(owner.api_key, "events")

    assert [event["summary"] for event in events] == [f"reference: → R-{number}" for number in range(101, 1, -1)]


# Expiring


async def test_certificates_that_end_soon_are_listed_without_asking_the_register(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    expiry = str(datetime.fromtimestamp(harness.clock.now(), UTC).date() + timedelta(days=33))
    device = certified(harness, expiry)
    [watch] = await harness.post_watches(owner.api_key, device.primary_di)
    asked = harness.register_log.total

    items = await harness.get_list(owner.api_key, "items")

    assert items == [
        {
            "subject": device.primary_di,
            "label": watch["label"],
            "certificate": "Z-25-052",
            "expiry": expiry,
            "days": 33,
        }
    ]
    assert harness.register_log.total == asked


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
FIELDS: dict[str, dict[str, object]] = {
    "/v1/watches": {"subject": UNWATCHED},
    "/v1/watches/1": {"label": "Name"},
    "/v1/import": {"csv": "A1\nB2"},
}


async def test_nobody_gets_a_401_and_changes_nothing(harness: ServiceHarness, owner: NewAccount) -> None:
    await harness.post_watches(owner.api_key, "A1")
    before = harness.all_rows()

    for credential in ("", "us_nobodys", "rw_nobodys"):
        for method, path in PROTECTED:
            response = await send(harness, method, path, credential, **FIELDS.get(path, {}))
            assert response.status_code == 401, (method, path)
            assert set(response.json()) == ERROR_FIELDS

    assert harness.all_rows() == before


async def test_an_account_whose_period_has_ended_reads_and_removes_and_nothing_else(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    [watch] = await harness.post_watches(owner.api_key, "A1")
    await harness.service.accounts.admin.set_period(owner.email, None, harness.now)
    before, asked = harness.all_rows(), harness.register_log.total

    for method, path in PROTECTED:
        if method == "GET":
            assert (await send(harness, method, path, owner.api_key)).status_code == 200
        elif method != "DELETE":
            response = await send(harness, method, path, owner.api_key, **FIELDS.get(path, {}))
            assert response.status_code == 402, (method, path)
            assert response.json()["error"]

    body = (await harness.post("/v1/sync", owner.api_key)).json()
    assert body == {**body, "synced": 0, "events": [], "code": "period-ended"}
    assert harness.all_rows() == before
    assert harness.register_log.total == asked
    assert (await send(harness, "DELETE", f"/v1/watches/{watch['id']}", owner.api_key)).json() == {"ok": True}
    assert await harness.get_list(owner.api_key, "watches") == []


async def test_a_member_watches_as_an_owner_does(harness: ServiceHarness, owner: NewAccount) -> None:
    await harness.post("/v1/users", owner.api_key, email="member@acme.example", password=PASSWORD)
    member = await harness.sign_in("member@acme.example")

    added = await harness.post("/v1/watches", member, subject="A1")
    named = await send(harness, "PATCH", f"/v1/watches/{added.json()['watch']['id']}", member, label="Name")
    others = [await harness.post("/v1/sync", member), await harness.post("/v1/import", member, csv="B2")]
    removed = await send(harness, "DELETE", f"/v1/watches/{added.json()['watch']['id']}", member)

    assert {each.status_code for each in (added, named, removed, *others)} == {200}


async def test_a_stranger_neither_sees_nor_changes_what_an_account_watches(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    device = harness.unique_devices(1)[0]
    stranger = await harness.sign_up("stranger@other.example")
    [watch] = await harness.post_watches(owner.api_key, device.primary_di)
    harness.world.change(device.uuid, reference="NEW-1")
    await harness.service.refresher.refresh(device.primary_di)
    before = harness.all_rows()

    named = await send(harness, "PATCH", f"/v1/watches/{watch['id']}", stranger.api_key, label="Mine now")
    removed = await send(harness, "DELETE", f"/v1/watches/{watch['id']}", stranger.api_key)
    seen = [await harness.get_list(stranger.api_key, what) for what in ("watches", "events", "items")]
    answer = await harness.post_sync(stranger.api_key)

    assert named.status_code == 400
    assert set(named.json()) == ERROR_FIELDS
    assert (removed.status_code, removed.json()) == (200, {"ok": True})
    assert seen == [[], [], []]
    assert answer == {"synced": 0, "events": [], "error": None}
    assert harness.all_rows() == before


@pytest.mark.parametrize(("path", "most"), [("/v1/watches", 60), ("/v1/sync", 10)])
async def test_adding_watches_and_syncing_are_limited_by_the_minute(
    start_service: ServiceStarter, path: str, most: int
) -> None:
    async with start_service(rate_limits=True) as harness:
        owner = await harness.sign_up()
        fields = {"subject": UNWATCHED} if path == "/v1/watches" else {}
        answers = [await harness.post(path, owner.api_key, **fields) for _ in range(most + 1)]
        unlimited = await send(harness, "GET", "/v1/watches", owner.api_key)

    assert [each.status_code for each in answers] == [200] * most + [429]
    assert [int(each.headers["ratelimit-remaining"]) for each in answers] == [*range(most - 1, -1, -1), 0]
    assert {each.headers["ratelimit-policy"] for each in answers} == {f"{most};w=60"}
    assert 0 < int(answers[-1].headers["retry-after"]) <= 60
    assert set(answers[-1].json()) == ERROR_FIELDS
    assert unlimited.status_code == 200
