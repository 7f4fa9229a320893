"""The networks around a client address: whoever has many addresses is counted by their network as well."""

import ipaddress
from collections.abc import Iterator

from registerwatch.accounts.sessions.clients import Client
from registerwatch.web.limits.rate_limit_memory import RateLimitRule

WIDER_NETWORKS = ((56, 3), (48, 10))
"""Lengths of IPv6 prefixes that providers give to one customer beside /64, and how many times as much as one /64 all of
such a network may do together."""


def client_at(address: str) -> Client:
    """The client at an address, which of an IPv6 client is its /64."""
    *_, widest = (address, *(network for _, network in _wider(address)))
    return Client(address, widest)


def rules_of_networks(rule: RateLimitRule, address: str) -> Iterator[tuple[RateLimitRule, str]]:
    """The rule with the address, then what holds for the networks around it, the narrowest first.

    In this order a request that its own address may not make uses up nothing of its neighbours.
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
