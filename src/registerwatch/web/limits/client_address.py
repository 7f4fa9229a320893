"""The client address of a request, for rate limits."""

import ipaddress
import re
from collections.abc import Sequence

from starlette.requests import Request

from registerwatch.settings import Network

_PORT = re.compile(r":[0-9]{1,5}$")
"""Some proxies add the client's port: `198.51.100.1:4711`, `[2001:db8::1]:4711`."""

MAX_HOPS = 20
"""Proxies that are looked at: real chains are shorter, and a header can name thousands."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def client_address(request: Request, trusted: Sequence[Network]) -> str:
    """The client's address; for an IPv6 address its /64 network, which is what one customer of a provider has.

    `X-Forwarded-For` counts only where the connection comes from a trusted proxy, and then from the right up to the
    first address that is not a trusted proxy: everything left of it can be forged.
    """
    peer = parsed_address(request.client.host if request.client else "")
    if peer is None:
        return "unknown"
    if _is_trusted(peer, trusted):
        hops = ",".join(request.headers.getlist("x-forwarded-for")).rsplit(",", MAX_HOPS)
        for hop in reversed(hops[-MAX_HOPS:]):
            address = parsed_address(hop.strip())
            if address is None:
                break
            peer = address
            if not _is_trusted(address, trusted):
                break
    return str(network_of(peer)) if isinstance(peer, ipaddress.IPv6Address) else str(peer)


def parsed_address(text: str) -> Address | None:
    """An address as connections and proxies write it; IPv4 in IPv6 as IPv4. None for any other text."""
    bare = _PORT.sub("", text) if text.count(":") == 1 or text.startswith("[") else text
    try:
        address = ipaddress.ip_address(bare.strip("[]"))
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def network_of(address: ipaddress.IPv6Address) -> ipaddress.IPv6Network:
    """The /64 network around an address, without the name of an interface."""
    return ipaddress.IPv6Network((int(address), 64), strict=False)


def _is_trusted(address: Address, trusted: Sequence[Network]) -> bool:
    return any(address in network for network in trusted)
