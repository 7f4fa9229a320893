"""Whose connection ends when there is one too many."""

from dataclasses import dataclass

import pytest

from registerwatch.web.limits.connections import ConnectionTable, address_group


@dataclass(eq=False)
class AConnection:
    """A connection that notes that it was ended."""

    is_answering: bool = False
    has_ended: bool = False

    def end_now(self) -> None:
        self.has_ended = True


def test_whoever_has_most_connections_loses_the_oldest() -> None:
    table = ConnectionTable(10)
    victims = [AConnection() for _ in range(3)]
    for number, each in enumerate(victims):
        table.add(each, f"192.0.2.{number}")
    crowd = [AConnection() for _ in range(1_000)]
    for each in crowd:
        table.add(each, "198.51.100.1")

    assert not any(each.has_ended for each in victims)
    assert [each.has_ended for each in crowd] == [True] * 993 + [False] * 7
    assert len(table) == 10


def test_a_connection_that_is_being_answered_is_ended_last() -> None:
    table = ConnectionTable(2)
    busy, idle, new = AConnection(is_answering=True), AConnection(), AConnection(is_answering=True)
    for each in (busy, idle, new):
        table.add(each, "192.0.2.1")

    assert [each.has_ended for each in (busy, idle, new)] == [False, True, False]


def test_no_connection_that_is_being_answered_ends_while_another_client_has_an_idle_one() -> None:
    table = ConnectionTable(1_000)
    victims = [AConnection(is_answering=True) for _ in range(6)]
    for each in victims:
        table.add(each, "192.0.2.1")
    crowd = [AConnection() for _ in range(2_000)]
    for number, each in enumerate(crowd):
        table.add(each, f"198.51.{number // 250}.{number % 250}")

    assert not any(each.has_ended for each in victims)
    assert [each.has_ended for each in crowd] == [True] * 1_006 + [False] * 994


def test_a_new_connection_is_not_the_idle_one_that_ends() -> None:
    table = ConnectionTable(3)
    busy, new = [AConnection(is_answering=True) for _ in range(3)], AConnection()
    for number, each in enumerate([*busy, new]):
        table.add(each, f"192.0.2.{number}")

    assert [each.has_ended for each in (*busy, new)] == [True, False, False, False]


def test_whoever_keeps_crowds_of_connections_busy_loses_their_own() -> None:
    table = ConnectionTable(100)
    victims = [AConnection() for _ in range(3)]
    for number, each in enumerate(victims):
        table.add(each, f"192.0.2.{number}")
    crowd = [AConnection(is_answering=True) for _ in range(200)]
    for each in crowd:
        table.add(each, "198.51.100.1")

    assert not any(each.has_ended for each in victims)
    assert sum(each.has_ended for each in crowd) == 103


def test_a_crowd_from_all_of_an_ipv6_network_loses_its_own() -> None:
    table = ConnectionTable(1_000)
    victims = [AConnection() for _ in range(6)]
    for each in victims:
        table.add(each, "2001:db8:1::1")
    crowd = [AConnection(is_answering=True) for _ in range(2_000)]
    for number, each in enumerate(crowd):
        table.add(each, f"2001:db8:2:{number:x}::1")
    assert not any(each.has_ended for each in victims)
    assert len(table) == 1_000

    for number, each in enumerate(crowd):
        table.discard(each, f"2001:db8:2:{number:x}::1")
    assert len(table) == len(victims)


def test_connections_that_ended_by_themselves_make_room() -> None:
    table = ConnectionTable(1)
    for _ in range(100):
        each = AConnection()
        table.add(each, "192.0.2.1")
        table.discard(each, "192.0.2.1")
        table.discard(each, "192.0.2.1")
        assert not each.has_ended
    assert len(table) == 0


@pytest.mark.parametrize(
    ("host", "group"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::"),
        ("2001:db8::ffff:1", "2001:db8::"),
        ("fe80::1%eth0", "fe80::"),
        ("", ""),
    ],
)
def test_addresses_of_one_network_are_one_client(host: str, group: str) -> None:
    assert address_group(host) == group
