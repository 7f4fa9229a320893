"""Kill -9 at any moment, in syncs, rechecks and deliveries: no change is lost or told twice, no delivery is lost.

`CRASHES` in the environment says how many kills there are for each database and fleet; `make crash` has hundreds.
"""

import asyncio
import json
import os
import random
import time
from collections import defaultdict
from pathlib import Path

import pytest
from sqlalchemy import text

from registerwatch.db.engine import Database
from tests.support.crashing import ACCOUNTS, SUBJECTS, Fleet, Receiver, Register, let_settle, open_accounts, register
from tests.support.crashing import settings_of as settings_of_nodes

CRASHES = int(os.environ.get("CRASHES", "4"))
LONGEST_LIFE = 0.6
"""Seconds that a node lives at most before another one is killed."""


@pytest.mark.parametrize("nodes", [1, 3])
def test_nodes_that_are_killed_lose_no_change_and_tell_none_twice(
    nodes: int, database_url: str, tmp_path: Path
) -> None:
    rng = random.Random(f"{nodes} {CRASHES}")
    with register(seed=5) as world, Receiver(seed=5).listening() as receiver:
        settings = settings_of_nodes(database_url, tmp_path, world.base)
        keys = open_accounts(settings, world.choose(SUBJECTS), receiver.url)
        fleet = Fleet(settings, keys, nodes)
        try:
            for number in range(CRASHES):
                fleet.fill()
                _change_some(world, rng, number)
                time.sleep(rng.uniform(0.02, LONGEST_LIFE))  # any moment is right
                fleet.kill_one(rng)
        finally:
            fleet.end()
        let_settle(settings, keys)

        assert fleet.killed == CRASHES
        told = asyncio.run(_events(database_url))
        _assert_every_change_is_told_once(world, told)
        _assert_every_event_arrived(told, receiver)


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


def _assert_every_change_is_told_once(world: Register, told: dict[tuple[int, str], list[tuple[int, str, str]]]) -> None:
    """Each account's events of a subject are a chain from the baseline to the last reference, through true ones."""
    changed = [udi for udi, references in world.told.items() if references]
    assert changed
    assert {subject for _, subject in told} == set(changed)
    for udi in changed:
        for account_id in range(1, ACCOUNTS + 1):
            chain = told[account_id, udi]
            references = [new for _, _, new in chain]
            places = [world.told[udi].index(reference) for reference in references]
            assert places == sorted(set(places)), f"{udi}: told twice or out of order: {references}"
            assert references[-1] == world.told[udi][-1], f"{udi}: the last change was not told"
            assert [old for _, old, _ in chain[1:]] == references[:-1], f"{udi}: {chain} is no chain"


def _assert_every_event_arrived(told: dict[tuple[int, str], list[tuple[int, str, str]]], receiver: Receiver) -> None:
    """Every event came in exactly one delivery, which may have come more than once, always the same."""
    delivered: defaultdict[int, set[str]] = defaultdict(set)
    for delivery_id, bodies in receiver.accepted.items():
        assert len(set(bodies)) == 1, f"{delivery_id} came with different bodies"
        for event in json.loads(bodies[0])["events"]:
            delivered[event["id"]].add(delivery_id)
    assert {event_id: len(ids) for event_id, ids in delivered.items()} == {
        event_id: 1 for chain in told.values() for event_id, _, _ in chain
    }
