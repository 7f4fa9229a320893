"""The new column is set by PATCH, shown wherever a watch is, and left alone by reads."""

import pytest

from tests.mcp.messages import used
from tests.support.harness import ServiceHarness, auth_headers

pytestmark = pytest.mark.anyio

SET = {"importance": "life-supporting"}


async def test_the_column_is_set_by_patch_shown_and_kept(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    [device] = harness.unique_devices(1)
    [watch] = await harness.post_watches(owner.api_key, device.primary_di)

    path, headers = f"/v1/watches/{watch['id']}", auth_headers(owner.api_key)
    changed = (await harness.client.patch(path, headers=headers, json=SET)).json()["watch"]
    await harness.post_sync(owner.api_key)
    await harness.client.patch(path, headers=headers, json={"label": "Ward 3"})
    [listed] = await harness.get_list(owner.api_key, "watches")
    [told] = (await used(harness, "list_watches", owner.api_key)).payload["watches"]

    assert watch["importance"] == ""
    assert changed == {**watch, **SET}
    assert (listed["label"], listed["importance"]) == ("Ward 3", SET["importance"])
    assert told == listed


async def test_the_column_is_described_in_requests_and_answers(harness: ServiceHarness) -> None:
    schemas = (await harness.get("/openapi.json")).json()["components"]["schemas"]

    assert all("importance" in schemas[name]["properties"] for name in ("WatchChange", "WatchObject"))
