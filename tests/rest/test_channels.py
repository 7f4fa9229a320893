"""Channels over REST: one of the account from its making to its end, and what is left out of it for whom."""

from typing import Any

from tests.rest.answers import granted, refused
from tests.support.harness import WEBHOOK_URL, ServiceHarness, auth_headers

EVERYTHING = {
    "frequency": "at-once",
    "severity": "low",
    "high_at_once": False,
    "hour": 8,
    "weekday": 0,
    "tags": [],
    "watches": [],
}


async def patch(harness: ServiceHarness, credential: str, channel: int, **fields: object) -> Any:
    return await harness.client.patch(f"/v1/channels/{channel}", headers=auth_headers(credential), json=fields)


async def get(harness: ServiceHarness, credential: str, path: str) -> Any:
    return await harness.client.get(path, headers=auth_headers(credential))


async def test_a_channel_is_added_changed_tested_and_removed(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    choice = {"frequency": "daily", "severity": "high"}
    fields = {"channel": "webhook", "url": WEBHOOK_URL, "name": "Ward 3", "choice": choice}
    added = granted(await harness.post("/v1/channels", owner.api_key, time_zone="berlin", **fields))["channel"]
    assert added["choice"] == EVERYTHING | choice
    assert (added["time_zone"], added["repeats"], added["state"], added["user"]) == (
        "Europe/Berlin",
        True,
        "unused",
        None,
    )
    assert added["secret"].startswith("whsec_")
    path = f"/v1/channels/{added['id']}"
    assert granted(await get(harness, owner.session, path))["channel"] == added

    changed = granted(await patch(harness, owner.api_key, added["id"], choice={"hour": 7}, repeats=False))["channel"]
    assert changed["choice"] == EVERYTHING | choice | {"hour": 7}
    assert (changed["name"], changed["repeats"]) == ("Ward 3", False)
    paused = granted(await patch(harness, owner.api_key, added["id"], paused=True))["channel"]
    assert (paused["state"], paused["paused_reason"]) == ("paused", "")
    assert granted(await harness.post(f"{path}/test", owner.api_key))["ok"]
    tested = granted(await get(harness, owner.api_key, f"{path}/deliveries"))
    assert [each["type"] for each in tested["deliveries"]] == ["watch.test"]
    assert granted(await patch(harness, owner.api_key, added["id"], paused=False))["channel"]["state"] == "working"

    for wrong in ({}, {"choice": {"hour": 24}}, {"choice": {"tags": ["unknown"]}}, {"time_zone": "Mars"}):
        refused(await patch(harness, owner.api_key, added["id"], **wrong), 400)
    refused(await harness.post("/v1/channels", owner.api_key, channel="pigeon", url=WEBHOOK_URL), 400)
    granted(await harness.client.delete(path, headers=auth_headers(owner.api_key)))
    refused(await get(harness, owner.api_key, path), 400)


async def test_webhooks_of_the_contract_are_channels_and_their_routes_say_what_they_said(
    harness: ServiceHarness,
) -> None:
    owner = await harness.sign_up()
    saved = granted(await harness.post("/v1/webhook", owner.api_key, url=WEBHOOK_URL))["webhooks"]
    listed = granted(await get(harness, owner.api_key, "/v1/channels"))
    [channel] = listed["channels"]

    assert listed["paused_until"] is None
    assert (channel["id"], channel["url"], channel["choice"]) == (saved[0]["id"], WEBHOOK_URL, EVERYTHING)
    assert channel["repeats"] is False
    granted(await patch(harness, owner.api_key, channel["id"], choice={"frequency": "weekly"}))
    assert granted(await get(harness, owner.api_key, "/v1/webhooks"))["webhooks"] == saved


async def test_a_member_sees_and_changes_no_channel_of_the_account(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    granted(await harness.post("/v1/users", owner.session, email="member@acme.example", password="a member's own"))
    member = await harness.sign_in("member@acme.example", "a member's own")
    saved = granted(await harness.post("/v1/webhook", owner.api_key, url=WEBHOOK_URL))["webhooks"][0]["id"]

    assert granted(await get(harness, member, "/v1/channels"))["channels"] == []
    refused(await get(harness, member, f"/v1/channels/{saved}"), 403)
    refused(await harness.post("/v1/channels", member, channel="webhook", url=WEBHOOK_URL), 403)
