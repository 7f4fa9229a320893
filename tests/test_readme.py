"""The examples of `tests/README.md`, which stand there word for word."""

import re
from pathlib import Path

from registerwatch.watches.diff import compare
from tests.support.harness import WEBHOOK_URL, ServiceHarness
from tests.watches.builders import OFF, ON, a_snapshot


def test_a_device_that_leaves_the_market_is_one_change() -> None:
    changes, _ = compare(a_snapshot(status_code=ON), a_snapshot(status_code=OFF))

    assert [(each.field, each.new) for each in changes] == [("status", "No longer placed on the EU market")]


async def test_a_change_in_the_register_is_posted_to_the_webhook(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/webhook", owner.api_key, url=WEBHOOK_URL)
    [device] = harness.unique_devices(1)
    await harness.post_watches(owner.api_key, device.primary_di)

    harness.world.change(device.uuid, reference="NEW-1")
    harness.clock.move(60)
    await harness.post_sync(owner.api_key)
    await harness.deliver_due()

    [event] = await harness.get_list(owner.api_key, "events")
    [request] = harness.receivers.requests
    assert (event["subject"], request.url) == (device.primary_di, WEBHOOK_URL)
    assert "NEW-1" in event["summary"]
    assert event["summary"].encode() in request.content


def test_the_readmes_examples_are_those_of_this_module() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    page = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        imports, _, test = example.partition("\n\n\n")
        assert test in source
        assert set(imports.splitlines()) - {""} <= set(source.splitlines())
