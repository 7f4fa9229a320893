"""Whose connection ends when there is one too many."""

from dataclasses import dataclass

import pytest

from registerwatch.web.connections import ConnectionTable, address_group


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
