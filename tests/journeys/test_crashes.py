"""Kill -9 at any moment, in syncs, rechecks, deliveries and mails: no change is lost or told twice, no delivery is
lost, no mail comes twice, and the log has those of which nobody knows.

`CRASHES` in the environment says how many kills there are for each database and fleet; `make crash` has hundreds.
"""

import asyncio
import json
import os
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import text

from registerwatch.notifications.delivery.delivery import CUT_OFF
from registerwatch.platform.db.engine import Database
from tests.journeys.crash_loop import (
    ACCOUNTS,
    SUBJECTS,
    Nodes,
    open_accounts,
    read_and_deliver_all,
    settings_of,
    sweep_all,
    sweeping_node,
)
from tests.journeys.held_servers import DeliveryReceiver, Manufacturer, Register, register
from tests.support.long_forms import some_by_day
from tests.support.mailbox import Received, mailbox

CRASHES = int(os.environ.get("CRASHES", "2"))
MAX_LIFE_SECONDS = 0.6
OF_MARKETS = ("device_off_market", "device_on_market")
MAILED = re.compile(r"after: +(REF-\d+-\d+)")
COUNTED = re.compile(r"and (\d+) more")
"""The changes of a record beyond the newest five, which a mail counts."""
OF_RECORD = ("name", "device_total", "manufacturer_status")
"""Fields of a manufacturer's own record."""


@dataclass(frozen=True, slots=True)
class Mailed:
    """A mail that may have arrived."""

    to: str
    text: str


@pytest.mark.parametrize("nodes", some_by_day((1, 3), (3,)))
def test_nodes_that_are_killed_lose_no_change_and_tell_none_twice(
    nodes: int, database_url: str, tmp_path: Path
) -> None:
    rng = random.Random(f"{nodes} {CRASHES}")
    with register(seed=5) as world, DeliveryReceiver(refused_share=0.2).listening() as receiver, mailbox() as mails:
        settings = settings_of(database_url, tmp_path, world.url, smtp_url=mails.address, mail_from="rw@acme.example")
        keys = asyncio.run(open_accounts(settings, world.choose(SUBJECTS), f"{receiver.url}/hook"))
        running = Nodes(settings, keys, nodes)
        try:
            for number in range(CRASHES):
                running.start_missing()
                _change_some(world, rng, number)
                time.sleep(rng.uniform(0.02, MAX_LIFE_SECONDS))  # any moment is right
                running.kill_one(rng)
        finally:
            running.kill_all()
        asyncio.run(read_and_deliver_all(settings, keys))

        assert running.killed == CRASHES
        told = asyncio.run(_events(database_url))
        _assert_every_change_is_told_once(world, told)
        event_ids = [event_id for chain in told.values() for event_id, _, _ in chain]
        assert {event_id: len(ids) for event_id, ids in receiver.events().items()} == dict.fromkeys(event_ids, 1)
        _assert_every_change_is_mailed_once(told, mails.mails, asyncio.run(_doubtful(database_url)))


@pytest.mark.nightly
def test_sweeps_that_are_killed_lose_no_news_and_tell_none_twice(database_url: str, tmp_path: Path) -> None:
    rng = random.Random(f"sweeps {CRASHES}")
    with register(seed=6) as world, DeliveryReceiver().listening() as receiver:
        settings = settings_of(database_url, tmp_path, world.url)
        manufacturers = world.manufacturers(2)
        for each in manufacturers:
            each.begin()
        keys = asyncio.run(open_accounts(settings, [each.srn for each in manufacturers], f"{receiver.url}/hook"))
        asyncio.run(sweep_all(settings, 0))
        running = Nodes(settings, keys, 2, sweeping_node)
        try:
            for number in range(CRASHES):
                running.start_missing()
                for place, each in enumerate(manufacturers):
                    each.add(f"Z-{number}-{place}")
                    each.turn(is_on=(CRASHES - number) % 2 == 0)
                time.sleep(rng.uniform(0.2, 2 * MAX_LIFE_SECONDS))  # any moment is right
                running.kill_one(rng)
        finally:
            running.kill_all()
        asyncio.run(sweep_all(settings, CRASHES))

    told = asyncio.run(_news(database_url))
    assert set(told) == {(number + 1, each.srn) for number in range(ACCOUNTS) for each in manufacturers}
    for (_, srn), changes in told.items():
        _assert_news_is_told_once(next(each for each in manufacturers if each.srn == srn), changes)


def _assert_news_is_told_once(made: Manufacturer, changes: list[dict[str, str]]) -> None:
    """Each device and certificate that came is told once; what turned back and forth is told as a chain to the end."""
    by_field = defaultdict(list)
    for change in changes:
        by_field[change["field"]].append(change)
    assert sorted(each["device"] for each in by_field["device_registered"]) == sorted(made.registered)
    assert sum(int(each["new"]) for each in by_field["devices_registered"]) == len(made.registered)
    assert sorted(each["new"] for each in by_field["certificate"]) == sorted(made.certificates)
    markets = [each["field"] == "device_on_market" for each in changes if each["field"] in OF_MARKETS]
    assert all(before is not after for before, after in pairwise([True, *markets])), f"told twice: {changes}"
    assert markets[-1] is False
    statuses = [(each["old"], each["new"]) for each in by_field["cert_status"]]
    assert all(before[1] == after[0] for before, after in pairwise([("", "Issued"), *statuses])), f"{statuses}"
    assert statuses[-1][1] == "Suspended"


async def _news(database_url: str) -> dict[tuple[int, str], list[dict[str, str]]]:
    """The changes that watches of manufacturers were told of lists, in order, by account and manufacturer."""
    told: dict[tuple[int, str], list[dict[str, str]]] = defaultdict(list)
    database = Database(database_url)
    async with database.reading() as connection:
        for row in await connection.execute(text("SELECT account_id, subject, changes FROM events ORDER BY id")):
            changes = json.loads(row.changes)
            told[row.account_id, row.subject] += [each for each in changes if each["field"] not in OF_RECORD]
    await database.close()
    return told


def _change_some(world: Register, rng: random.Random, number: int) -> None:
    for place, udi in enumerate(rng.sample(list(world.uuids), 4)):
        world.change(udi, f"REF-{number}-{place}")


async def _events(database_url: str) -> dict[tuple[int, str], list[tuple[int, str, str]]]:
    """Events by account and subject, in order: id, old and new reference."""
    database, told = Database(database_url), defaultdict(list)
    async with database.reading() as connection:
        for row in await connection.execute(text("SELECT id, account_id, subject, changes FROM events ORDER BY id")):
            changes = {change["field"]: change for change in json.loads(row.changes)}
            assert set(changes) <= {"reference", "version"}, changes
            told[row.account_id, row.subject].append((row.id, changes["reference"]["old"], changes["reference"]["new"]))
    await database.close()
    return told


def _assert_every_change_is_mailed_once(
    told: dict[tuple[int, str], list[tuple[int, str, str]]], mails: Sequence[Received], doubtful: Sequence[Mailed]
) -> None:
    """Each owner has each change in one mail, and in none only where the log says that nobody knows."""
    changes = {(_owner(account_id), new) for (account_id, _), chain in told.items() for _, _, new in chain}
    mailed = Counter((mail.to, new) for mail in mails for new in MAILED.findall(mail.text))
    assert {each: number for each, number in mailed.items() if number > 1} == {}
    assert set(mailed) <= changes
    of_doubtful = {(each.to, new) for each in doubtful for new in MAILED.findall(each.text)}
    counted: Counter[str] = Counter()
    for to, body in [(each.to, each.text) for each in mails] + [(each.to, each.text) for each in doubtful]:
        counted[to] += sum(int(number) for number in COUNTED.findall(body))
    assert Counter(to for to, _ in changes - set(mailed) - of_doubtful) <= counted


async def _doubtful(database_url: str) -> list[Mailed]:
    """The mails that may have arrived when their process was killed."""
    database = Database(database_url)
    cut_off = text("SELECT account_id, body FROM deliveries WHERE channel = 'email' AND error = :error")
    async with database.reading() as connection:
        rows = await connection.execute(cut_off, {"error": CUT_OFF})
        found = [Mailed(_owner(row.account_id), json.loads(row.body)["text"]) for row in rows]
    await database.close()
    return found


def _owner(account_id: int) -> str:
    return f"owner{account_id - 1}@acme.example"


def _assert_every_change_is_told_once(world: Register, told: dict[tuple[int, str], list[tuple[int, str, str]]]) -> None:
    """Each account's events of a subject are a chain from the baseline to the last reference, through true ones."""
    changed = [udi for udi, references in world.references.items() if references]
    assert changed
    assert {subject for _, subject in told} == set(changed)
    for udi in changed:
        for account_id in range(1, ACCOUNTS + 1):
            chain = told[account_id, udi]
            references = [new for _, _, new in chain]
            places = [world.references[udi].index(reference) for reference in references]
            assert places == sorted(set(places)), f"{udi}: told twice or out of order: {references}"
            assert references[-1] == world.references[udi][-1], f"{udi}: the last change was not told"
            assert [old for _, old, _ in chain[1:]] == references[:-1], f"{udi}: {chain} is no chain"
