"""Limits open connections by client address: none can take all of them."""

import ipaddress
import resource
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

from registerwatch.web.limits.client_address import network_of, parsed_address

MAX_CONNECTIONS = 4_096
"""Connections of one process. An idle one takes some 15 KiB."""
SHARE_OF_FILES = 0.75
"""Share of the files that the process may open; the rest is for databases, the index, deliveries."""
MAX_FILES = 65_536
MAX_OF_NO_CROWD = 32
"""An address that has more connections loses its own, in any state."""
TIMES_OF_NETWORK = 10
"""All of an IPv6 /48, which one customer may have, count as one address with a tenth of its connections."""


class Connection(Protocol):
    """A connection of a client."""

    @property
    def is_answering(self) -> bool:
        """Whether a request on it is being answered."""

    def end_now(self) -> None:
        """End it without sending more."""


class ConnectionTable:
    """The open connections. Where there is one too many, the address that has most of them loses its oldest idle one.

    So a client that opens thousands of connections only ends its own. Where they come from thousands of addresses, no
    connection that is being answered ends while another one is idle.
    """

    def __init__(self, max_connections: int) -> None:
        self._max_connections = max_connections
        self._by_address: dict[str, dict[Connection, None]] = {}
        self._of_network: Counter[str] = Counter()
        self._count = 0

    def add(self, connection: Connection, host: str) -> None:
        """Note a new connection; it may end another one."""
        address = address_group(host)
        self._by_address.setdefault(address, {})[connection] = None
        if ":" in address:
            self._of_network[_network_of(address)] += 1
        self._count += 1
        if self._count > self._max_connections:
            self._end_one(connection)

    def discard(self, connection: Connection, host: str) -> None:
        """Forget a connection that has ended; one that was ended here is forgotten already."""
        self._discard(connection, address_group(host))

    def __len__(self) -> int:
        return self._count

    def _discard(self, connection: Connection, address: str) -> None:
        of_address = self._by_address.get(address, {})
        if connection not in of_address:
            return
        del of_address[connection]
        self._count -= 1
        if not of_address:
            del self._by_address[address]
        if ":" in address:
            network = _network_of(address)
            self._of_network[network] -= 1
            if not self._of_network[network]:
                del self._of_network[network]

    def _end_one(self, new: Connection) -> None:
        largest = max(self._by_address, key=self._weight_of)
        addresses = [largest]
        if self._weight_of(largest) <= MAX_OF_NO_CROWD:
            addresses = sorted(self._by_address, key=self._weight_of, reverse=True)
        ended, address = self._oldest_idle(addresses, new) or (next(iter(self._by_address[largest])), largest)
        self._discard(ended, address)
        ended.end_now()

    def _oldest_idle(self, addresses: Iterable[str], new: Connection) -> tuple[Connection, str] | None:
        """The oldest idle connection but the new one, which had no time yet for a request."""
        for address in addresses:
            for each in self._by_address[address]:
                if not each.is_answering and each is not new:
                    return each, address
        return None

    def _weight_of(self, address: str) -> int:
        own = len(self._by_address[address])
        return max(own, self._of_network[_network_of(address)] // TIMES_OF_NETWORK) if ":" in address else own


@lru_cache(maxsize=2 * MAX_CONNECTIONS)  # all open ones are weighed together
def _network_of(address: str) -> str:
    """The /48 of an IPv6 address."""
    return str(ipaddress.ip_network((address, 48), strict=False))


def address_group(host: str) -> str:
    """The key of one client: an IPv4 address, or the /64 network of an IPv6 address."""
    address = parsed_address(host.partition("%")[0])
    if address is None:
        return host
    return str(network_of(address).network_address if isinstance(address, ipaddress.IPv6Address) else address)


def max_connections() -> int:
    """How many connections this process accepts, by how many files it may open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if files == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, int(files * SHARE_OF_FILES))


def raise_file_limit() -> None:
    """Let this process open as many files as its hard limit allows, up to a bound. A shell's soft limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
