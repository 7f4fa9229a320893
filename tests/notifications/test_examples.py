"""The page about webhooks: its examples take true deliveries and nothing else."""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from registerwatch.notifications.channels.webhook import ATTEMPT_SECONDS, PAUSES, body_of, event_json
from registerwatch.notifications.channels.webhook_signature import headers, new_secret, signature
from registerwatch.notifications.models import EventType, Notification
from registerwatch.settings import Settings
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.models import Event

PAGE = (Path(__file__).parents[2] / "docs" / "webhooks.md").read_text(encoding="utf-8")
VERIFYING, _, WITH_A_LIBRARY = PAGE.partition("## With a library")
SECRET, OLD_SECRET = new_secret(), new_secret()

Given = Mapping[str, str]
"""What an example is called with: secret, timestamp, signatures, and the body in hex."""

IN_PYTHON = """
import json, sys
for each in json.load(sys.stdin):
    print(json.dumps(verify(each["secret"], each["timestamp"], each["signatures"], bytes.fromhex(each["body"]))))
"""
IN_JAVASCRIPT = """
for (const each of JSON.parse(require("node:fs").readFileSync(0, "utf-8")))
  console.log(verify(each.secret, each.timestamp, each.signatures, Buffer.from(each.body, "hex")));
"""


def _example(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", VERIFYING, flags=re.DOTALL)
    return str(found)


def _verdicts(language: str, given: Sequence[Given]) -> list[bool]:
    """What an example says, run as it stands on the page."""
    if language == "python":
        command = [sys.executable, "-c", _example("python") + IN_PYTHON]
    else:
        node = shutil.which("node")
        if node is None:
            pytest.skip("node is not installed")
        command = [node, "-e", _example("javascript") + IN_JAVASCRIPT]
    ran = subprocess.run(command, input=msgspec.json.encode(given), capture_output=True, timeout=60, check=True)
    return [line == "true" for line in ran.stdout.decode().split()]


def _body() -> bytes:
    change = FieldChange(field="trade name", old="Trocar", new="Trocär 5 mm")
    event = Event(17, 3, "04012345678901", "Trocär", 1_800_000_000, "trade name: Trocar → Trocär 5 mm", [change])
    notification = Notification("whd_1", EventType.CHANGED, 1_800_000_000, "owner@acme.example")
    return body_of(notification, [event_json(event)]).encode()


def _given(secrets: Sequence[str] = (SECRET,), *, age: int = 0, **other: str) -> Given:
    """A delivery as the service sends it, but for what is given in another way."""
    timestamp = int(time.time()) - age
    sent = headers("Service", "whd_1", EventType.CHANGED, _body(), secrets, timestamp)
    true = {
        "secret": SECRET,
        "timestamp": sent["X-Service-Timestamp"],
        "signatures": sent["X-Service-Signature"],
        "body": _body().hex(),
    }
    return {**true, **other}


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_example_takes_true_deliveries(language: str) -> None:
    given = [_given(), _given(age=200), _given([SECRET, OLD_SECRET]), _given([SECRET, OLD_SECRET], secret=OLD_SECRET)]
    assert _verdicts(language, given) == [True] * len(given)


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_example_refuses_forged_old_and_rewritten_deliveries(language: str) -> None:
    now = int(time.time())
    rewritten = msgspec.json.format(_body(), indent=2)
    given = [
        _given([OLD_SECRET]),
        _given(body=_body().replace(b"17", b"18").hex()),
        _given(body=rewritten.hex()),
        _given(body=(_body() + b"\n").hex()),
        _given(body=""),
        _given(age=400),
        _given(age=-400),
        _given(age=400, timestamp=str(now)),
        _given(timestamp=str(now - 7)),
        _given(timestamp=""),
        _given(timestamp="now"),
        _given(timestamp="1e9"),
        _given(signatures=""),
        _given(signatures="sha256="),
        _given(signatures=signature(SECRET, now - 1, _body())),
        _given(signatures="sha256=" + "ü" * 64),
        _given(signatures=signature(SECRET, now, _body()).removeprefix("sha256=")),
        _given(secret=""),
    ]
    assert _verdicts(language, given) == [False] * len(given)


def test_the_page_shows_a_body_as_it_is_sent() -> None:
    (shown,) = re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)
    example, sent = msgspec.json.decode(shown), msgspec.json.decode(_body())
    assert list(example) == list(sent)
    assert list(example["events"][0]) == list(sent["events"][0])
    assert set(example["events"][0]["changes"][0]) == {"field", "old", "new"}


def test_the_page_names_every_header_and_type_and_the_attempts() -> None:
    for name in headers(Settings().service_name, "", "", b"", [new_secret()], 0):
        assert f"`{name}`" in PAGE
    assert all(f"`{event_type}`" in PAGE for event_type in EventType)
    assert f"within {ATTEMPT_SECONDS:g} seconds" in PAGE
    assert f"pauses of {PAUSES[0]} and {PAUSES[1]} seconds" in PAGE
