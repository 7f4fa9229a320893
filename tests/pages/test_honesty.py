"""What pages say of the service itself: where its records come from, whether it sends mail, that one has paid."""

from pathlib import Path

import pytest

from registerwatch.mail.mailer import NoMailer
from registerwatch.settings import EUDAMED_URL, NOT_EUDAMED
from tests.support.harness import ServiceHarness, built_harness

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

SOURCE = "European Commission, EUDAMED"
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}


async def test_made_up_records_are_never_called_eudameds(harness: ServiceHarness) -> None:
    await harness.fill_copy()
    device = harness.unique_devices(1)[0]
    for path in ("/", f"/d/{device.primary_di}", f"/a/{device.manufacturer.srn}", "/nothing", "/password/forgot"):
        page = (await harness.client.get(path)).text
        assert NOT_EUDAMED in page.replace("&#39;", "'"), path
        assert SOURCE not in page, path
    described = (await harness.client.get("/openapi.json")).json()["info"]["description"]
    told = (await harness.client.post("/mcp", json=INITIALIZE)).json()["result"]["instructions"]
    assert described.startswith(NOT_EUDAMED)
    assert told.startswith(NOT_EUDAMED)


async def test_eudameds_records_have_no_such_banner(database_url: str, tmp_path: Path) -> None:
    async with built_harness(database_url, tmp_path, register_url=EUDAMED_URL) as harness:
        page = (await harness.client.get("/")).text
        described = (await harness.client.get("/openapi.json")).json()["info"]["description"]

    assert SOURCE in page
    assert "demonstration" not in page + described


async def test_no_mail_is_promised_where_none_can_be_sent(harness: ServiceHarness) -> None:
    assert "You will get a mail" in (await harness.client.get("/password/forgot")).text

    harness.service.accounts.password_reset._mailer = NoMailer()
    asked = await harness.client.get("/password/forgot")
    sent = await harness.client.post("/password/forgot", data={"email": "owner@acme.example"})

    for page in (asked, sent):
        assert "sends no mail" in page.text
        assert "accounts reset-link" in page.text
        assert "on its way" not in page.text


async def test_who_comes_back_from_paying_reads_no_names_of_routes(harness: ServiceHarness) -> None:
    page = (await harness.client.get("/billing/done")).text

    assert "subscription" in page
    assert "/v1/" not in page
