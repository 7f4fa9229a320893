"""Steering the stand-in from another process."""

from .conftest import Register


async def test_a_change_is_made_and_logged(register: Register) -> None:
    record = register.world.newest(0, 1)[0]
    order = {"uuid": record.uuid, "fields": {"reference": "R-2"}}
    assert (await register.client.post("/_control/change", json=order)).json()["reference"] == "R-2"
    log = (await register.client.get("/_control/changes")).json()
    assert {change["field"] for change in log["changes"]} == {"reference", "version_number"}


async def test_a_certificate_is_listed_and_changed(register: Register) -> None:
    srn = register.world.newest(0, 1)[0].manufacturer.srn
    listing = {"srn": srn, "fields": {"number": "Z-1", "basic_udis": ["B-1"]}}
    listed = (await register.client.post("/_control/certificate", json=listing)).json()
    change = {"uuid": listed["uuid"], "fields": {"status": "suspended"}}
    row = (await register.client.post("/_control/certificate", json=change)).json()
    assert (row["certificate"]["number"], row["certificate"]["status"]) == ("Z-1", "suspended")
    found = (await register.get(f"/certificates/{row['uuid']}")).json()
    assert found["scopes"][0]["basicUdiData"]["code"] == "B-1"


async def test_a_device_is_registered_beside_another(register: Register) -> None:
    record = register.world.newest(10, 1)[0]
    new = (await register.client.post("/_control/registration", json={"uuid": record.uuid})).json()
    assert register.world.newest(0, 1)[0].uuid == new["uuid"]
    assert new["manufacturer"]["srn"] == record.manufacturer.srn
    assert new["primary_di"] != record.primary_di


async def test_random_changes_are_made_among_those_that_are_named(register: Register) -> None:
    chosen = register.world.newest(10, 1)[0]
    order = {"n": 3, "among": [chosen.primary_di]}
    changes = (await register.client.post("/_control/random-changes", json=order)).json()["changes"]
    assert {change["srn"] for change in changes} == {chosen.manufacturer.srn}


async def test_a_sample_is_spread_over_the_register(register: Register) -> None:
    sample = (await register.client.get("/_control/sample", params={"n": 70})).json()
    assert sample["count"] == 700
    assert len({record["uuid"] for record in sample["records"]}) == 70
    assert len({record["version_date"][:4] for record in sample["records"]}) > 3


async def test_faults_and_what_is_tolerated_are_set_and_dropped(register: Register) -> None:
    async def status() -> int:
        return (await register.get("/applicationInfo")).status_code

    await register.client.post("/_control/faults", json={"kind": "build", "mode": "web-filter-403", "times": 1})
    assert [await status() for _ in range(2)] == [403, 200]
    await register.client.put("/_control/tolerance", json={"per_minute": 2, "mode": "throttled-429", "retry_after": 60})
    assert [await status() for _ in range(3)] == [200, 200, 429]
    await register.client.delete("/_control/faults")
    assert await status() == 200
