"""Targets of the new channel are added where those of all are, and get changes."""

import pytest

from registerwatch.accounts.sessions.credentials import credential_of
from tests.notifications.steps import queue_change
from tests.support.harness import ServiceHarness


@pytest.mark.anyio
async def test_a_change_is_sent_by_the_channel(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    refused = await harness.post("/v1/channels", owner.session, channel="plain", url="news")
    added = await harness.post("/v1/channels", owner.session, channel="plain", url="#news")
    assert (refused.status_code, added.status_code) == (400, 200), added.text
    caller = await harness.service.accounts.sessions.caller(credential_of(None, owner.session))

    await queue_change(harness, caller)
    assert await harness.deliver_due() == 1

    [delivery] = await harness.service.notifications.targets["plain"].log(caller, added.json()["channel"]["id"])
    assert delivery.is_accepted
