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
from tests.journeys.crash_loop import ACCOUNTS, SUBJECTS, Nodes, open_accounts, read_and_deliver_all, settings_of
from tests.journeys.held_servers import DeliveryReceiver, Register, register

CRASHES = int(os.environ.get("CRASHES", "4"))
MAX_LIFE_SECONDS = 0.6


@pytest.mark.parametrize("nodes", [1, 3])
def test_nodes_that_are_killed_lose_no_change_and_tell_none_twice(
    nodes: int, database_url: str, tmp_path: Path
) -> None:
    rng = random.Random(f"{nodes} {CRASHES}")
    with register(seed=5) as world, DeliveryReceiver(refused_share=0.2).listening() as receiver:
        settings = settings_of(database_url, tmp_path, world.url)
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
