"""Resolves names with asynchronous queries, so that a name server that hangs blocks nothing but its own queries.

The system's `getaddrinfo` holds a thread for as long as a name server is silent, and cannot be stopped.
"""

import asyncio
import socket
from collections.abc import Sequence
from typing import Protocol

import aiodns

LOOKUP_SECONDS = 3.0
"""Time limit for resolving a name; an attempt at a webhook has five seconds in all."""
TRY_SECONDS, TRIES = 1.0, 2


class Resolver(Protocol):
    """Resolves names."""

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """IP addresses. Raises `OSError`."""


class DnsResolver:
    """Asks the name servers of `/etc/resolv.conf`, after `/etc/hosts`. `name_servers` replaces them."""

    def __init__(self, name_servers: Sequence[str] | None = None) -> None:
        self._name_servers = name_servers
        self._inner: aiodns.DNSResolver | None = None

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """IP addresses. Raises `OSError`."""
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                found = await self._resolver().getaddrinfo(
                    host, family=socket.AF_UNSPEC, port=port, type=socket.SOCK_STREAM
                )
        except TimeoutError:
            raise OSError(0, "its name servers do not answer") from None
        except (aiodns.error.DNSError, UnicodeError) as error:
            raise OSError(0, _reason(error)) from error
        return list(dict.fromkeys(_address(node.addr[0]) for node in found.nodes))

    async def aclose(self) -> None:
        """Cancel all queries."""
        if self._inner is not None:
            await self._inner.close()
            self._inner = None

    def _resolver(self) -> aiodns.DNSResolver:
        """Built at the first query: it belongs to the event loop."""
        if self._inner is None:
            self._inner = aiodns.DNSResolver(self._name_servers, timeout=TRY_SECONDS, tries=TRIES)
        return self._inner


def _reason(error: aiodns.error.DNSError | UnicodeError) -> str:
    if isinstance(error, UnicodeError) or error.args[0] == aiodns.error.ARES_EBADNAME:
        return "the name is not valid"
    if error.args[0] == aiodns.error.ARES_ETIMEOUT:
        return "its name servers do not answer"
    return str(error.args[1])


def _address(text: bytes | str) -> str:
    return text.decode() if isinstance(text, bytes) else text
