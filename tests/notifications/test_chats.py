"""Chats behind the use cases: their addresses stay secret, and one that asks for time gets it before its next round."""

import json

import pytest
from sqlalchemy import select

from registerwatch.accounts.models import Caller
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.errors import InvalidInput
from registerwatch.notifications.gathered_batches import GATHER_SECONDS, GATHER_STEP_SECONDS
from registerwatch.notifications.models import REPEAT_PAUSES
from registerwatch.notifications.tables import deliveries, webhooks
from tests.notifications.steps import queue_change
from tests.support.harness import ServiceHarness

ADDRESS = "https://hooks.slack.com/services/T0001/B0002/unheardunheardunheardWXYZ"
SHOWN = "https://hooks.slack.com/…WXYZ"
HOST = "hooks.slack.com"


async def _changed(harness: ServiceHarness, caller: Caller, batch: str) -> None:
    """A change, and the end of the time in which others may join it."""
    await queue_change(harness, caller, batch=batch)
    harness.clock.move(GATHER_SECONDS + GATHER_STEP_SECONDS)
    await harness.deliver_due()


async def test_a_change_is_posted_to_slack_and_only_the_ends_of_the_address_are_told(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    caller = await harness.service.accounts.sessions.caller(credential_of(None, owner.session))
    slack = harness.service.notifications.targets["slack"]
    other = "https://hooks.acme.example/services/x"
    refused = await harness.post("/v1/channels", owner.session, channel="slack", url=other)
    assert refused.status_code == 400
    assert "no address of an incoming webhook of Slack" in refused.json()["error"]
    answer = await harness.post("/v1/channels", owner.session, channel="slack", url=ADDRESS)
    told = answer.json()["channel"]
    assert (told["url"], told["secret"], told["repeats"]) == (SHOWN, "", True)
    [added] = await slack.all(caller.account.id)

    assert (await harness.post(f"/v1/channels/{told['id']}/test", owner.session)).json()["ok"]
    await _changed(harness, caller, "a")
    test, change = harness.receivers.requests
    assert test.url == change.url == ADDRESS
    assert "A test of Registerwatch" in json.loads(test.content)["text"]
    assert "Trocar ü" in json.loads(change.content)["text"]
    with pytest.raises(InvalidInput, match="make a new one in Slack"):
        await slack.rotate(caller, added.id)
    await slack.remove(caller, added.id)

    trail = await harness.service.accounts.members.trail(caller)
    texts = [
        answer.text,
        repr(added),
        *(entry.subject for entry in trail),
        *(f"{mail.subject} {mail.text}" for mail in harness.mail.mails),
    ]
    assert any(SHOWN in each for each in texts)
    assert not any("unheard" in each for each in texts)


async def test_a_chat_that_asks_for_time_gets_it_and_one_that_is_gone_is_left_alone(harness: ServiceHarness) -> None:
    caller = await harness.owner()
    slack = harness.service.notifications.targets["slack"]
    added = await slack.add(caller, ADDRESS, repeats=True)
    harness.receivers.answers[HOST] = [429, 429, 410]
    harness.receivers.headers[HOST] = {"Retry-After": "900"}

    await _changed(harness, caller, "busy")
    assert len(harness.receivers.requests) == 1, "no second attempt within seconds"
    [waits] = await slack.log(caller, added.id)
    assert waits.again_at == harness.now + 900
    harness.clock.move(900)
    await harness.deliver_due()
    [waits] = await slack.log(caller, added.id)
    assert waits.again_at == harness.now + REPEAT_PAUSES[1], "longer than it asks for"
    harness.clock.move(REPEAT_PAUSES[1])
    await harness.deliver_due()
    [gone] = await slack.log(caller, added.id)
    assert (gone.is_accepted, gone.attempts, gone.status, gone.again_at) == (False, 3, 410, None)
    assert len({each.content for each in harness.receivers.requests}) == 1

    async with harness.database.reading() as connection:
        rows = [*await connection.execute(select(webhooks.c.url)), *await connection.execute(select(deliveries.c.body))]
    assert not any("unheard" in str(row) for row in rows)
