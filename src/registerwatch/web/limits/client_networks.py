"""The networks around a client address: a client with many addresses is counted by its network as well."""

import ipaddress
from collections.abc import Iterator

from registerwatch.accounts.sessions.clients import Client
from registerwatch.web.limits.rate_limit_memory import RateLimitRule

WIDER_NETWORKS = ((56, 3), (48, 10))
"""Lengths of IPv6 prefixes that providers give to one customer beside /64, and how many times as much as one /64 such
a network may do as a whole."""


def client_at(address: str) -> Client:
    """The client at an address; for IPv6 the address is its /64."""
    *_, widest = (address, *(network for _, network in _wider(address)))
    return Client(address, widest)


def rules_of_networks(rule: RateLimitRule, address: str) -> Iterator[tuple[RateLimitRule, str]]:
    """The rule with the address, then the rules of the networks around it, the narrowest first.

    In this order a request that exceeds its own address's limit uses up nothing of its neighbours.
    """
    yield rule, address
    for (length, times), network in _wider(address):
        yield RateLimitRule(f"{rule.name}-{length}", rule.amount * times, rule.seconds), network


def _wider(address: str) -> Iterator[tuple[tuple[int, int], str]]:
    if ":" not in address:
        return
    own = ipaddress.IPv6Network(address)
    for length, times in WIDER_NETWORKS:
        yield (length, times), str(own.supernet(new_prefix=length))
