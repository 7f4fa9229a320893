"""The new chat is offered on the page, described, and gets changes; its address is a secret."""

import json

import pytest

from registerwatch.accounts.sessions.credentials import credential_of
from tests.notifications.test_chats import _changed
from tests.pages.account.pages_client import PagesClient
from tests.support.harness import EMAIL, PASSWORD, ServiceHarness

pytestmark = pytest.mark.anyio

ADDRESS = "https://zulip.acme.example/api/v1/external/slack_incoming?api_key=unheardWXYZ"


async def test_a_change_is_posted_to_the_chat(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    caller = await harness.service.accounts.sessions.caller(credential_of(None, owner.session))
    elsewhere = await harness.post("/v1/channels", owner.session, channel="zulip", url="https://zulip.acme.example/")
    added = await harness.post("/v1/channels", owner.session, channel="zulip", url=ADDRESS)
    await _changed(harness, caller, "a")

    assert elsewhere.status_code == 400
    assert "no address of an incoming webhook of Zulip" in elsewhere.json()["error"]
    assert "unheard" not in added.text
    [request] = harness.receivers.requests
    assert request.url == ADDRESS
    assert "Trocar" in json.loads(request.content)["text"]


async def test_the_chat_is_offered_and_described(harness: ServiceHarness) -> None:
    await harness.sign_up()
    browser = PagesClient(harness)
    await browser.sign_in(EMAIL, PASSWORD)

    assert "Zulip" in (await browser.page("/app/notifications")).main
    assert "`zulip`" in (await harness.get("/openapi.json")).text
