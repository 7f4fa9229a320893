"""Events of the new kind are found by REST, by the tool and by the filter of the page of events."""

import pytest

from tests.mcp.messages import used
from tests.pages.account.pages_client import PagesClient
from tests.support.harness import EMAIL, PASSWORD, ServiceHarness, auth_headers
from tests.watches.test_event_kinds import an_account_with_three_events

pytestmark = pytest.mark.anyio

KIND, WORDS = "catalogue", "Catalogue references"


async def test_events_of_the_kind_are_found_wherever_events_are(harness: ServiceHarness) -> None:
    key = await an_account_with_three_events(harness)
    browser = PagesClient(harness)
    await browser.sign_in(EMAIL, PASSWORD)

    listed = await harness.client.get("/v1/events", params={"kind": KIND}, headers=auth_headers(key))
    told = (await used(harness, "list_changes", key, kind=[KIND])).payload
    filtered = await browser.page("/app/events", kind=KIND)
    others = await browser.page("/app/events", kind="portfolio")

    [event] = listed.json()["events"]
    assert (event["kind"], [each["field"] for each in event["changes"]]) == (KIND, ["reference"])
    assert [each["id"] for each in told["events"]] == [event["id"]]
    assert WORDS in filtered.main
    assert "R-2" in filtered.main
    assert "R-2" not in others.main


async def test_the_kind_is_described(harness: ServiceHarness) -> None:
    assert f"`{KIND}`" in (await harness.get("/openapi.json")).text
