"""Whom a request comes from: what a client writes itself is never believed."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from registerwatch.settings import Network
from registerwatch.web.limits.client_address import client_address
from tests.register.builders import PROPERTY

PROXIES: tuple[Network, ...] = (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd00::/8"))


def a_request(peer: str | None, *forwarded: str) -> Request:
    """A request over a connection from this peer, with these `X-Forwarded-For` headers."""
    headers = [(b"x-forwarded-for", value.encode("latin-1", "replace")) for value in forwarded]
    return Request({"type": "http", "headers": headers, "client": (peer, 1234) if peer is not None else None})


def address(peer: str | None, *forwarded: str, trusted: tuple[Network, ...] = PROXIES) -> str:
    return client_address(a_request(peer, *forwarded), trusted)


def test_a_direct_client_is_its_address() -> None:
    assert address("192.0.2.7") == "192.0.2.7"


@pytest.mark.parametrize("forwarded", ["198.51.100.1", "10.0.0.1", "198.51.100.1, 10.0.0.1", "", "nonsense"])
def test_what_a_direct_client_says_of_itself_is_not_believed(forwarded: str) -> None:
    assert address("192.0.2.7", forwarded) == "192.0.2.7"
    assert address("192.0.2.7", forwarded, trusted=()) == "192.0.2.7"


def test_nobody_is_believed_where_no_proxy_is_trusted() -> None:
    assert address("10.0.0.1", "198.51.100.1", trusted=()) == "10.0.0.1"


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        (("198.51.100.1",), "198.51.100.1"),
        (("198.51.100.1, 10.0.0.2",), "198.51.100.1"),
        (("203.0.113.9, 198.51.100.1, 10.0.0.2",), "198.51.100.1"),
        (("203.0.113.9", "198.51.100.1"), "198.51.100.1"),
        (("  198.51.100.1  ,10.0.0.2",), "198.51.100.1"),
        (("10.0.0.3, 10.0.0.2",), "10.0.0.3"),
        ((), "10.0.0.1"),
        (("",), "10.0.0.1"),
        (("unknown",), "10.0.0.1"),
        (("198.51.100.1, nonsense",), "10.0.0.1"),
        (("203.0.113.9, nonsense, 10.0.0.2",), "10.0.0.2"),
        (("2001:db8:1:2:3::4",), "2001:db8:1:2::/64"),
        (("::ffff:198.51.100.1",), "198.51.100.1"),
    ],
)
def test_behind_trusted_proxies_the_last_address_that_is_none_of_them_is_the_client(
    forwarded: tuple[str, ...], client: str
) -> None:
    assert address("10.0.0.1", *forwarded) == client


def test_an_ipv4_peer_in_ipv6_clothes_is_the_same_client_and_the_same_proxy() -> None:
    assert address("::ffff:192.0.2.7") == address("192.0.2.7") == "192.0.2.7"
    assert address("::ffff:10.0.0.1", "198.51.100.1") == "198.51.100.1"


def test_an_ipv6_client_is_its_network_of_64_bits() -> None:
    assert address("2001:db8:1:2:aaaa::1") == address("2001:db8:1:2:bbbb::9") == "2001:db8:1:2::/64"
    assert address("2001:db8:1:3::1") != address("2001:db8:1:2::1")
    assert address("fd00::1", "2001:db8::1") == "2001:db8::/64"


@pytest.mark.parametrize("peer", [None, "", "testclient", "/run/socket", "1.2.3", "1.2.3.4.5"])
def test_a_connection_without_an_address_is_unknown_and_believed_nothing(peer: str | None) -> None:
    assert address(peer, "198.51.100.1") == "unknown"


@pytest.mark.parametrize("hop", ["198.51.100.1:4711", "[2001:db8::1]:4711"])
def test_a_proxy_that_adds_the_clients_port_does_not_make_all_its_clients_one(hop: str) -> None:
    assert address("10.0.0.1", hop) not in {"10.0.0.1", "unknown"}


addresses = st.ip_addresses(v=4).map(str)


@PROPERTY
@given(st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=60), addresses)
def test_nothing_that_a_client_writes_changes_whom_a_trusted_proxy_saw(written: str, seen: str) -> None:
    if ipaddress.ip_address(seen) in PROXIES[0]:
        return
    assert address("10.0.0.1", f"{written}, {seen}") == seen
    assert address("10.0.0.1", written, seen) == seen


def test_of_a_header_with_thousands_of_proxies_only_the_last_are_looked_at() -> None:
    assert address("10.0.0.2", ", ".join(["198.51.100.7", *["10.0.0.1"] * 5_000])) == "10.0.0.1"
