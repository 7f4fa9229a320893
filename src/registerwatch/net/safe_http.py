"""Posting to addresses that strangers gave us: to checked IP addresses alone, briefly, without following redirects.

It uses httpx2's engine without httpx2: nothing follows redirects, keeps cookies, unpacks answers or reads proxies from
the environment there, and its connections can be made by a network of our own, which checks addresses.
"""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Protocol

import httpcore2
import httpx2

from registerwatch.errors import InvalidInput
from registerwatch.net.addresses import ip_of, is_public, target

READ_BYTES = 1_024
"""What is read of an answer; only its status counts. A longer one costs its connection."""
IDLE_CONNECTIONS = 4
"""The pool looks at every idle connection with every request, which takes longer than making a few anew."""
IDLE_SECONDS = 5.0

_NO_ANSWER = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
)


@dataclass(frozen=True, slots=True)
class PostResult:
    """How one attempt ended: an HTTP status, or a reason why there is none."""

    status: int | None
    error: str

    @property
    def is_accepted(self) -> bool:
        """Whether the receiver has it: any 2xx."""
        return self.status is not None and 200 <= self.status < 300


class Resolver(Protocol):
    """Whoever knows the addresses of names."""

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """IP addresses. Raises `OSError`."""


class SystemResolver:
    """The system's resolver, in threads of its own: names that never resolve hold up no other work.

    `lookup` is `socket.getaddrinfo` or of its shape.
    """

    def __init__(self, lookup: Callable[..., Sequence[Any]] = socket.getaddrinfo, *, most_at_once: int = 100) -> None:
        self._lookup = lookup
        self._threads = ThreadPoolExecutor(most_at_once, thread_name_prefix="resolve")

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """IP addresses. Raises `OSError`."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._threads, self._looked_up, host, port)
        except UnicodeError as error:  # Python's own check of names
            raise OSError("no name that there can be") from error
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))

    def _looked_up(self, host: str, port: int) -> Sequence[Any]:
        return self._lookup(host, port, type=socket.SOCK_STREAM)


class Connections(Protocol):
    """Whoever carries requests; a pool of connections does."""

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        """The answer, of which nothing but the head was read."""


class CheckedNetwork(httpcore2.AsyncNetworkBackend):
    """Connects to hosts by addresses that were looked up and checked just before.

    A pool keeps connections by the host's name, so that one which was opened in the name of one host, and proved by its
    certificate, never serves another host at the same address.
    """

    def __init__(
        self, resolver: Resolver, *, allow_private: bool, inner: httpcore2.AsyncNetworkBackend | None = None
    ) -> None:
        self._resolver = resolver
        self._allow_private = allow_private
        self._inner = inner or httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the library's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connects to the first address that can be. Raises `OSError`, or `InvalidInput` for a private one."""
        *others, last = await self._addresses(host, port)
        for ip in others:
            with suppress(httpcore2.ConnectError):
                return await self._inner.connect_tcp(ip, port, timeout, local_address, socket_options)
        return await self._inner.connect_tcp(last, port, timeout, local_address, socket_options)

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        """The IP addresses that the name leads to, when all of them are public."""
        own = ip_of(host)
        found = [str(own)] if own is not None else await self._resolver.addresses(host, port)
        if not found:
            raise OSError("no address")
        if not self._allow_private and not all(
            is_public(ipaddress.ip_address(each.partition("%")[0])) for each in found
        ):
            raise InvalidInput("the host's name leads into a private network")
        return found


def checked_connections(
    network: CheckedNetwork, *, most: int, trusted: ssl.SSLContext | None = None
) -> httpcore2.AsyncConnectionPool:
    """Connections over a network that checks. `trusted` certificates are the usual authorities by default."""
    return httpcore2.AsyncConnectionPool(
        ssl_context=trusted or _usual_authorities(),
        max_connections=most,
        max_keepalive_connections=IDLE_CONNECTIONS,
        keepalive_expiry=IDLE_SECONDS,
        network_backend=network,
    )


@cache
def _usual_authorities() -> ssl.SSLContext:
    """Read once in a process: it takes 40 ms."""
    return httpx2.create_ssl_context()


class SafeHttpClient:
    """Posts bodies over connections that check. `allow_private` is for those who host their receivers beside it."""

    def __init__(self, connections: Connections, *, allow_private: bool, seconds: float) -> None:
        self._connections = connections
        self._allow_private = allow_private
        self._seconds = seconds

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> PostResult:
        """One attempt, never longer than the time limit. Nothing is raised: whatever goes wrong is the answer."""
        deadline = asyncio.get_running_loop().time() + self._seconds
        try:
            async with asyncio.timeout_at(deadline):
                request = _request(_addressed(url, self._allow_private), body, headers)
                response = await self._connections.handle_async_request(request)
        except TimeoutError:
            return PostResult(None, f"no answer within {self._seconds:g} s")
        except InvalidInput as refused:
            return PostResult(None, str(refused))
        except (*_NO_ANSWER, httpx2.InvalidURL) as error:
            return PostResult(None, f"the connection failed: {type(error).__name__}")
        except OSError as error:
            return PostResult(None, f"the host cannot be found: {error.strerror or type(error).__name__}")
        await _leave(response, deadline)
        answer = PostResult(response.status, "")
        return answer if answer.is_accepted else PostResult(response.status, f"the receiver answered {response.status}")


@dataclass(frozen=True, slots=True)
class _Addressed:
    """Where a request goes: the address, the `Host` it names, the name that a certificate is checked against."""

    url: httpcore2.URL
    host: str
    certified: str


@lru_cache(1_000)
def _addressed(url: str, allow_private: bool) -> _Addressed:
    """What is written in an address, checked. Raises `InvalidInput` and `httpx2.InvalidURL`, which is not remembered.

    Certificates have the host's name without a dot behind.
    """
    to = target(url, allow_private=allow_private)
    named = httpx2.URL(to.url)
    return _Addressed(
        httpcore2.URL(scheme=named.raw_scheme, host=named.raw_host, port=named.port, target=named.raw_path),
        named.netloc.decode("ascii"),
        to.host.rstrip("."),
    )


def _request(to: _Addressed, body: bytes, headers: Mapping[str, str]) -> httpcore2.Request:
    fields = {**headers, "Host": to.host, "Content-Length": str(len(body))}
    return httpcore2.Request(
        "POST", to.url, headers=list(fields.items()), content=body, extensions={"sni_hostname": to.certified}
    )


async def _leave(response: httpcore2.Response, deadline: float) -> None:
    """Listen for a moment, as some receivers stop working when nobody does. Nothing that is said there counts."""
    heard = 0
    try:
        with suppress(TimeoutError, *_NO_ANSWER):
            async with asyncio.timeout_at(deadline):
                async for chunk in response.aiter_stream():
                    heard += len(chunk)
                    if heard > READ_BYTES:
                        break
    finally:
        await response.aclose()
