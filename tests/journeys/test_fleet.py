"""A fleet on PostgreSQL and Redis: nodes are killed and replaced, what they share goes away and comes back.

Whatever happens: every change is told once and arrives, and no request fails that should not.
"""

import json
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle, product
from urllib.parse import quote

import pytest

from tests.journeys.fleet import Answered, Fleet, Node, fleet, steady_requests
from tests.journeys.held_servers import Rule
from tests.support.processes import until

ACCOUNTS = 2
SUBJECTS = 6
SEARCHES = 40
"""How many searches of one address are allowed in a minute."""

SOON = 8.0
"""Seconds within which a request is refused when the database is gone, on a busy machine: it takes milliseconds, but
twice five seconds for a device where its statements wait for a connection.
"""

APART = 21
"""Searches of one address by each of two nodes that are too many for both together."""

Span = tuple[float, float]


@dataclass
class Journey:
    """A fleet under way, what is asked of it all the time, and when the database was gone."""

    fleet: Fleet
    paths: list[str]
    outages: list[Span] = field(default_factory=list)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One fleet for all tests here: each leaves it whole."""
    with fleet(tmp_path_factory.mktemp("fleet"), subjects=SUBJECTS, accounts=ACCOUNTS) as made:
        yield made


@pytest.fixture
def journey(running: Fleet) -> Iterator[Journey]:
    """In the end everything is looked at that was asked, changed and told meanwhile."""
    assert all(node.is_running() for node in running.nodes)
    paths = [f"/v1/devices/{running.subjects[0]}", "/v1/search?q=set", "/v1/watches", "/health", "/v1/events"]
    journey = Journey(running, paths)
    with steady_requests([running.first, running.second], paths, running.keys[0]) as answers:
        yield journey
    _assert_requests_were_answered(answers, journey.outages)
    _assert_every_change_is_told_once_and_arrived(running)
    assert all(node.is_running() for node in running.nodes)
    for node in running.nodes:
        assert "Traceback" not in node.log, node.log[node.log.index("Traceback") - 500 :][:5_000]


@pytest.mark.nightly
def test_nodes_are_killed_and_replaced_by_later_versions(journey: Journey) -> None:
    fleet = journey.fleet
    fleet.change(*fleet.subjects[:2])
    until(fleet.is_told, "changes to be told in peace")

    _kill_in_a_recheck(fleet, fleet.worker)
    delivery_id = _kill_in_a_delivery(fleet, fleet.first)
    fleet.worker.start()
    _let_time_pass(fleet)
    until(lambda: fleet.receiver.senders[delivery_id][-1] == "worker", "the delivery to be made again")
    fleet.first.start()
    fleet.first.wait_until_ready()

    fleet.second.end()
    fleet.second.start(later_migrations=fleet.later_migrations)
    fleet.second.wait_until_ready()
    assert fleet.rows("SELECT version_num, to_regclass('laters')::text FROM alembic_version") == [("9999", "laters")]
    _assert_older_nodes_go_on_beside_the_later_one(fleet)
    _assert_older_programs_do_not_start(fleet)


@pytest.mark.nightly
def test_redis_and_postgresql_go_away_and_come_back(journey: Journey) -> None:
    fleet = journey.fleet
    addresses = (f"192.0.2.{number}" for number in range(256))
    until(lambda: _are_counted_together(fleet, next(addresses)), "searches to be counted over all nodes")
    fleet.redis.kill()
    for left in range(SEARCHES - 1, SEARCHES - 1 - APART, -1):
        assert [_left(node, "198.51.100.1") for node in (fleet.first, fleet.second)] == [left, left]
    fleet.redis.start()
    until(lambda: _are_counted_together(fleet, next(addresses)), "searches to be counted over all nodes again")

    for mode, subjects in (("fast", fleet.subjects[:3]), ("immediate", fleet.subjects[3:])):
        before, meanwhile = subjects[:2], subjects[2:3]
        fleet.change(*before)
        with _database_gone(journey, mode):
            _assert_every_node_says_so(journey)
            fleet.change(*meanwhile)
        _assert_every_node_serves(journey)
    until(lambda: not _held_deliveries(fleet), "what rechecks held when the database went away to be let go")
    _let_time_pass(fleet)  # an answer that could not be stored is waited for until the lease is over
    until(fleet.is_told, "what changed before and meanwhile to be told")


@pytest.mark.nightly
def test_indexes_that_are_deleted_are_told_and_built_anew_while_people_search(journey: Journey) -> None:
    for node in (journey.fleet.first, journey.fleet.second):
        began = time.monotonic()
        _delete_its_index(node, journey.fleet.subjects[0])
        journey.outages.append((began, time.monotonic()))


def _delete_its_index(node: Node, subject: str) -> None:
    """Until it finds everything again, the node says that it does not."""
    name = node.ask(f"/v1/devices/{subject}").json()["trade_name"]
    search = f"/v1/search?q={quote(name)}"

    def rebuilds() -> int:
        return int(node.ask("/health").json()["index"]["rebuilds"])

    def finds_everything() -> bool:
        found = node.ask(search).json()
        assert found == whole or found["error"], "nothing is left out without a word"
        return bool(found == whole)

    whole, rebuilt = node.ask(search).json(), rebuilds()
    assert (bool(whole["results"]), whole["error"]) == (True, None)
    shutil.rmtree(node.index, ignore_errors=True)  # the writer may add a file meanwhile
    until(lambda: rebuilds() > rebuilt, "the loss to be noticed")
    until(finds_everything, "the index to be built anew")
    until(lambda: node.ask("/ready").status_code == 200, "the node to be ready again")


def _kill_in_a_recheck(fleet: Fleet, victim: Node) -> None:
    """It has seen a change, whose delivery is held until its recheck is through, and waits with other subjects."""
    while not _held_deliveries(fleet):  # the first time it may be with the last subject of a recheck
        _hold_a_recheck(fleet, victim)
        subject = min(_held_subjects(fleet, victim))
        fleet.change(subject)
        fleet.proxy.hold(_all_but(fleet, victim, subject))
        until(lambda: _held_deliveries(fleet) or fleet.is_told(), "the change to be seen")
        _hold_a_recheck(fleet, victim)  # with another subject, or the next one
    victim.kill()
    fleet.proxy.release()
    assert not fleet.is_told()
    _let_time_pass(fleet)
    until(fleet.is_told, "what the dead one had seen to be told")


def _hold_a_recheck(fleet: Fleet, victim: Node) -> None:
    """A recheck of this node waits with subjects. What other nodes wait with is let go: it may be the recheck."""

    def waits() -> bool:
        return any(_held_subjects(fleet, node) for node in fleet.nodes)

    while True:
        fleet.proxy.hold(_all_but(fleet, None, None))
        until(waits, "a recheck to read subjects")
        if _held_subjects(fleet, victim):
            return
        fleet.proxy.release()
        until(lambda: not waits(), "what waits to be let go")


def _kill_in_a_delivery(fleet: Fleet, victim: Node) -> str:
    """The receiver has the delivery and has not answered yet. Gives its id."""
    fleet.receiver.hold(lambda node, _: node == victim.name)
    fleet.change(fleet.subjects[2])
    until(lambda: bool(fleet.receiver.waiting(victim.name)), "a delivery")
    delivery_id = fleet.receiver.waiting(victim.name)[0]
    victim.kill()
    fleet.receiver.release()
    return delivery_id


def _all_but(fleet: Fleet, node: Node | None, subject: str | None) -> Rule:
    """No read of a subject begins but for that of one by one node."""

    def waits(who: str, path: str) -> bool:
        asked = fleet.subject_of(path)
        return asked is not None and not (node is not None and who == node.name and asked == subject)

    return waits


def _others(node: Node) -> Rule:
    """Every node but one."""
    return lambda who, _: who != node.name


def _held_subjects(fleet: Fleet, node: Node) -> set[str]:
    """The subjects whose reads a node waits with."""
    return {subject for path in fleet.proxy.waiting(node.name) if (subject := fleet.subject_of(path)) is not None}


def _held_deliveries(fleet: Fleet) -> bool:
    return bool(fleet.rows("SELECT 1 FROM deliveries WHERE due_at > extract(epoch FROM now()) + 60"))


def _let_time_pass(fleet: Fleet) -> None:
    """What dead nodes hold, or have leased, is free again."""
    now = "extract(epoch FROM now())::bigint"
    fleet.rows(f"UPDATE deliveries SET due_at = least(due_at, {now}), leased_until = 0 WHERE due_at > 0")


def _assert_older_nodes_go_on_beside_the_later_one(fleet: Fleet) -> None:
    """They read, store, tell and deliver in a schema with more in it than they know, each while the others wait."""
    for node, subject in zip(fleet.nodes, fleet.subjects[3:], strict=True):
        fleet.proxy.hold(_others(node))
        fleet.change(subject)
        if node is not fleet.worker:
            assert node.ask("/v1/sync", {}, key=fleet.keys[0]).json()["synced"] == SUBJECTS
        until(fleet.is_told, f"a change to be told by {node.name}")
    fleet.proxy.release()


def _assert_older_programs_do_not_start(fleet: Fleet) -> None:
    for node in (fleet.worker, fleet.second):
        ended = node.fail_to_start()
        assert ended.returncode != 0
        assert "made by a newer version" in ended.stderr
        assert "Traceback" not in ended.stderr


def _left(node: Node, address: str) -> int | None:
    """How many searches an address may still make after one more; None when that is refused."""
    answer = node.ask("/v1/search?q=set", address=address)
    assert answer.status_code in (200, 429), answer.text
    return int(answer.headers["ratelimit-remaining"]) if answer.status_code == 200 else None


def _are_counted_together(fleet: Fleet, address: str) -> bool:
    """Whether both nodes count for each other, and refuse an address that has searched as often as it may.

    On a busy machine Redis can be late, for which nobody is refused.
    """
    nodes = cycle((fleet.first, fleet.second))
    expected = [*range(SEARCHES - 1, -1, -1), None, None]
    return all(_left(next(nodes), address) == left for left in expected)


@contextmanager
def _database_gone(journey: Journey, mode: str) -> Iterator[None]:
    began = time.monotonic()
    journey.fleet.postgres.stop(mode)
    try:
        yield
    finally:
        journey.fleet.postgres.start()
    journey.outages.append((began, time.monotonic()))


def _assert_every_node_says_so(journey: Journey) -> None:
    for node, path in product((journey.fleet.first, journey.fleet.second), journey.paths):
        began = time.monotonic()
        answer = node.ask(path, key=journey.fleet.keys[0])
        assert answer.status_code == 503, f"{node.name} {path}: {answer.text}"
        body = answer.json()
        if path == "/health":
            assert (body["status"], body["parts"]["database"]["status"]) == ("failing", "failing")
        else:
            assert body["code"] == "database-unavailable"
        assert time.monotonic() - began < SOON, f"{node.name} {path}"


def _assert_every_node_serves(journey: Journey) -> None:
    """Their very first requests."""
    for node, path in product((journey.fleet.first, journey.fleet.second), journey.paths):
        answer = node.ask(path, key=journey.fleet.keys[0])
        assert answer.status_code == 200, f"{node.name} {path}: {answer.text}"


def _assert_requests_were_answered(answers: list[Answered], outages: list[Span]) -> None:
    """All of them, but for those to a node that was killed, and those while the database was gone."""
    assert Counter(each.node.name for each in answers if each.status == 200).keys() == {"first", "second"}
    for each in answers:
        if each.status == 200 or (each.status == 0 and each.overlaps(each.node.absent)):
            continue
        assert each.overlaps(outages), each
        assert each.status == 503, each
        assert json.loads(each.body)["error"], each
        assert each.ended - each.began < SOON, each


def _assert_every_change_is_told_once_and_arrived(fleet: Fleet) -> None:
    """What the stand-in knows, what accounts are told and what the receiver has are the same."""
    events = {event["id"]: event for key in fleet.keys for event in fleet.events(key)}
    for key in fleet.keys:
        references = defaultdict(list)
        for event in fleet.events(key):
            changes = {change["field"]: change["new"] for change in event["changes"]}
            assert set(changes) <= {"reference", "version"}, event
            references[event["subject"]].append(changes["reference"])
        assert references == {subject: told for subject, told in fleet.register.references.items() if told}
    assert {event_id: len(ids) for event_id, ids in fleet.receiver.events().items()} == dict.fromkeys(events, 1)
