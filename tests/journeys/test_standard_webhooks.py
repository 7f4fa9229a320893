"""The libraries of Standard Webhooks, in Python and JavaScript, verify deliveries as the page about webhooks shows."""

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from registerwatch.notifications.models import OVERLAP_SECONDS
from tests.notifications.steps import expected_signatures
from tests.support import node
from tests.support.fakes import ReceivedRequest
from tests.support.harness import WEBHOOK_URL, ServiceHarness

SECTION = (node.TESTS.parent / "docs" / "webhooks.md").read_text(encoding="utf-8").partition("## With a library")[2]
IN_PYTHON = """
import json, sys
given = json.load(sys.stdin)
for secret in given["secrets"]:
    try:
        print(json.dumps(read_delivery(secret, given["headers"], given["body"].encode())))
    except Exception as error:
        print(json.dumps(type(error).__name__))
"""
IN_JAVASCRIPT = """
const given = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
for (const secret of given.secrets) {
  let read;
  try { read = readDelivery(secret, given.headers, Buffer.from(given.body)); } catch (error) { read = error.name; }
  console.log(JSON.stringify(read));
}
"""
REFUSED = "WebhookVerificationError"


def _example(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", SECTION, flags=re.DOTALL)
    return str(found)


class Library:
    """One of the two, called as the page shows."""

    def __init__(self, language: str, home: Path) -> None:
        self._language = language
        self._home = home

    def read(self, request: ReceivedRequest, *secrets: str, body: bytes | None = None) -> list[Any]:
        """What it makes of a delivery with each secret: the body, parsed, or the name of its error."""
        content = request.content if body is None else body
        given = {"secrets": secrets, "headers": dict(request.headers), "body": content.decode()}
        printed = self._run(msgspec.json.encode(given).decode())
        return [msgspec.json.decode(line) for line in printed.splitlines()]

    def _run(self, given: str) -> str:
        if self._language == "javascript":
            code = _example("javascript") + IN_JAVASCRIPT
            return node.run(node.installed(node.RECEIVER), "-e", code, given=given, home=self._home)
        command = [sys.executable, "-c", _example("python") + IN_PYTHON]
        return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.fixture(params=["python", "javascript"])
def library(request: pytest.FixtureRequest, tmp_path: Path) -> Library:
    return Library(request.param, tmp_path)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_library_takes_true_deliveries_through_a_change_of_the_secret_and_refuses_others(
    harness: ServiceHarness, library: Library
) -> None:
    harness.clock.move(time.time() - harness.clock.now() - OVERLAP_SECONDS)  # libraries go by the true time
    owner = await harness.sign_up()
    first = (await harness.post("/v1/webhooks", owner.api_key, url=WEBHOOK_URL)).json()["webhook"]
    [device] = harness.unique_devices(1)
    await harness.post_watches(owner.api_key, device.primary_di)

    async def sent_test() -> ReceivedRequest:
        await harness.post(f"/v1/webhooks/{first['id']}/test", owner.api_key)
        return harness.receivers.requests[-1]

    async def rotated() -> str:
        answer = await harness.post(f"/v1/webhooks/{first['id']}/rotate", owner.api_key)
        return str(answer.json()["webhook"]["secret"])

    assert library.read(await sent_test(), first["secret"]) == [REFUSED], "it is a day old"
    second = await rotated()
    harness.clock.move(OVERLAP_SECONDS)
    assert library.read(await sent_test(), first["secret"])[0] == REFUSED, "the overlap is over"
    third = await rotated()

    harness.world.change(device.uuid, reference="Ü-1 →")
    harness.clock.move(60)
    await harness.post_sync(owner.api_key)
    await harness.deliver_due()
    change = harness.receivers.requests[-1]
    told = msgspec.json.decode(change.content)
    assert "Ü-1 →" in told["events"][0]["summary"]
    assert library.read(change, second, third, first["secret"]) == [told, told, REFUSED]
    assert change.headers["webhook-id"] == change.headers["X-Service-Delivery"] == told["id"]
    assert change.headers["X-Service-Signature"] == expected_signatures(change, third, second)
    assert library.read(change, third, body=change.content.replace(b"whd_", b"whd-")) == [REFUSED]
