"""Posts to URLs that users entered: only to checked IP addresses, in bounded time, without following redirects.

It uses httpcore2, the layer below httpx2: that follows no redirects, keeps no cookies, decompresses nothing, reads no
proxies from the environment, and takes a network backend, which checks addresses here.
"""

import asyncio
import ipaddress
import re
import ssl
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Protocol

import httpcore2
import httpx2
import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.platform.net.addresses import ip_of, is_public, target
from registerwatch.platform.net.answer_bounds import AnswerTooLong, BoundedAnswers, BoundedBackend, one_attempt
from registerwatch.platform.net.resolver import Resolver

READ_BYTES, READ_PIECES = 1_024, 16
"""Limits for reading an answer's body. After a longer one the connection is closed."""
MAX_ADDRESSES = 8
"""The number of addresses of one name that are tried."""
IDLE_CONNECTIONS = 4
"""The pool checks every idle connection at every request, which costs more than opening a few new ones."""
IDLE_SECONDS = 5.0

MAX_RETRY_AFTER = 86_400
_SECONDS = re.compile(rb"(\d{1,9})(\.\d{1,9})?")

TOO_LONG = "the receiver sent more than an answer needs"
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
    retry_after: int | None = None
    """Seconds that the receiver asks us to wait; None where it does not."""
    content: bytes = field(default=b"", compare=False, repr=False)
    """The beginning of its answer."""

    @property
    def is_accepted(self) -> bool:
        """Whether the receiver accepted it: any 2xx."""
        return self.status is not None and 200 <= self.status < 300


class Connections(Protocol):
    """Sends requests; implemented by a pool of connections."""

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        """The answer, with only its head read."""


class CheckedNetwork(httpcore2.AsyncNetworkBackend):
    """Connects to hosts by addresses that were looked up and checked just before.

    A pool keeps connections by host name: a connection whose certificate is of one host never serves another host at
    the same address.
    """

    def __init__(
        self, resolver: Resolver, *, allow_private: bool, inner: httpcore2.AsyncNetworkBackend | None = None
    ) -> None:
        self._resolver = resolver
        self._allow_private = allow_private
        self._inner = inner or BoundedBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the library's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address that accepts. Raises `OSError`, or `InvalidInput` for a private one."""
        *others, last = (await self._addresses(host, port))[:MAX_ADDRESSES]
        for ip in others:
            with suppress(httpcore2.ConnectError):
                return BoundedAnswers(await self._inner.connect_tcp(ip, port, timeout, local_address, socket_options))
        return BoundedAnswers(await self._inner.connect_tcp(last, port, timeout, local_address, socket_options))

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        """The IP addresses that the name resolves to, if all of them are public."""
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
    """A pool of connections over a checked network. `trusted` defaults to the usual certificate authorities."""
    return httpcore2.AsyncConnectionPool(
        ssl_context=trusted or _usual_authorities(),
        max_connections=most,
        max_keepalive_connections=IDLE_CONNECTIONS,
        keepalive_expiry=IDLE_SECONDS,
        network_backend=network,
    )


@cache
def _usual_authorities() -> ssl.SSLContext:
    """Loaded once per process: it takes 40 ms."""
    return httpx2.create_ssl_context()


class SafeHttpClient:
    """Posts bodies over checked connections. `allow_private` is for services that run beside their receivers."""

    def __init__(self, connections: Connections, *, allow_private: bool, seconds: float) -> None:
        self._connections = connections
        self._allow_private = allow_private
        self._seconds = seconds

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> PostResult:
        """One attempt, never longer than the time limit. Raises nothing: an error is the result."""
        with one_attempt():
            return await self._post(url, body, headers)

    async def _post(self, url: str, body: bytes, headers: Mapping[str, str]) -> PostResult:
        deadline = asyncio.get_running_loop().time() + self._seconds
        try:
            async with asyncio.timeout_at(deadline):
                request = _request(_addressed(url, self._allow_private), body, headers)
                response = await self._connections.handle_async_request(request)
        except TimeoutError:
            return PostResult(None, f"no answer within {self._seconds:g} s")
        except InvalidInput as refused:
            return PostResult(None, str(refused))
        except AnswerTooLong:
            return PostResult(None, TOO_LONG)
        except (*_NO_ANSWER, httpx2.InvalidURL) as error:
            return PostResult(None, f"the connection failed: {type(error).__name__}")
        except OSError as error:
            return PostResult(None, f"the host cannot be found: {error.strerror or type(error).__name__}")
        content = await _read_briefly(response, deadline)
        is_accepted = PostResult(response.status, "").is_accepted
        problem = "" if is_accepted else f"the receiver answered {response.status}"
        return PostResult(response.status, problem, _retry_after(response), content)


class _Addressed(msgspec.Struct, frozen=True):
    """The URL of a request, its `Host` header, and the name that the certificate must have."""

    url: httpcore2.URL
    host: str
    certified: str


@lru_cache(1_000)
def _addressed(url: str, allow_private: bool) -> _Addressed:
    """A checked URL. Raises `InvalidInput` and `httpx2.InvalidURL`; errors are not cached.

    Certificates have the host's name without a trailing dot.
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


def _retry_after(response: httpcore2.Response) -> int | None:
    """Whole seconds. A date counts as no value."""
    for name, value in response.headers:
        if name.lower() == b"retry-after" and (found := _SECONDS.fullmatch(value.strip())):
            return min(int(found[1]) + 1 if found[2] else int(found[1]), MAX_RETRY_AFTER)
    return None


async def _read_briefly(response: httpcore2.Response, deadline: float) -> bytes:
    """Read the beginning of the body: some receivers fail when it is not read."""
    content, pieces = bytearray(), 0
    try:
        with suppress(TimeoutError, *_NO_ANSWER):
            async with asyncio.timeout_at(deadline):
                async for chunk in response.aiter_stream():
                    content += chunk[: READ_BYTES + 1]
                    pieces += 1
                    if len(content) > READ_BYTES or pieces > READ_PIECES:
                        break
    finally:
        await response.aclose()
    return bytes(content[:READ_BYTES])
