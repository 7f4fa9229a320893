"""Open connections, by client address: no address can take all of them."""

import ipaddress
import resource
from typing import Protocol

MAX_CONNECTIONS = 4_096
"""Of one process. One that waits for its next request takes some 15 KiB."""
SHARE_OF_FILES = 0.75
"""Of the files that the process may open; the rest is for databases, the search index, deliveries."""
MAX_FILES = 65_536


class Connection(Protocol):
    """A connection of a client."""

    @property
    def is_answering(self) -> bool:
        """Whether a request of it is being answered."""

    def end_now(self) -> None:
        """End it without another word."""


class ConnectionTable:
    """The open connections. Where there is one too many, the address that has most of them loses its oldest idle one.

    So whoever opens thousands of connections only ends their own, and nobody else notices.
    """

    def __init__(self, max_connections: int) -> None:
        self._max_connections = max_connections
        self._by_address: dict[str, dict[Connection, None]] = {}
        self._count = 0

    def add(self, connection: Connection, host: str) -> None:
        """Note a new connection; it may end another one."""
        self._by_address.setdefault(address_group(host), {})[connection] = None
        self._count += 1
        if self._count > self._max_connections:
            self._end_one()

    def discard(self, connection: Connection, host: str) -> None:
        """Forget a connection that has ended; one that was ended here is forgotten already."""
        address = address_group(host)
        of_address = self._by_address.get(address, {})
        if connection in of_address:
            del of_address[connection]
            self._count -= 1
            if not of_address:
                del self._by_address[address]

    def __len__(self) -> int:
        return self._count

    def _end_one(self) -> None:
        address, largest = max(self._by_address.items(), key=lambda item: len(item[1]))
        ended = next((each for each in largest if not each.is_answering), next(iter(largest)))
        self.discard(ended, address)
        ended.end_now()


def address_group(host: str) -> str:
    """What counts as one client: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return str(address)
    mapped = address.ipv4_mapped
    return str(mapped or ipaddress.ip_network((address, 64), strict=False).network_address)


def max_connections() -> int:
    """How many connections this process takes, by how many files it may open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if files == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, int(files * SHARE_OF_FILES))


def raise_file_limit() -> None:
    """Let this process open as many files as its hard limit allows, up to a bound. A shell's soft limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
