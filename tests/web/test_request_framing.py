"""Where a request ends is never in doubt: what a proxy could read in another way is refused and ends the connection."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from registerwatch.web.limits.http_server import server_config
from tests.support.servers import serving


@pytest.fixture
def anyio_backend() -> str:
    """Clients that break off in the midst of a request do so as asyncio's streams do."""
    return "asyncio"


HEAD = b"POST / HTTP/1.1\r\nHost: a\r\n"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"
"""What a smuggled request would be."""


async def answer_path(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers the path of every request that is taken for one."""
    await Request(scope, receive).body()
    await PlainTextResponse(f"took {scope['path']}")(scope, receive, send)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    config = server_config(answer_path, "127.0.0.1", 0)
    config.lifespan = "off"
    async with serving(config) as port:
        yield port


async def sent(port: int, request: bytes) -> bytes:
    """Everything that is answered until the server ends the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    writer.write_eof()
    answered = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return answered


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
        b"Content-Length: 5, 6\r\n\r\n12345",
        b"Content-Length: +5\r\n\r\n12345",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length : 5\r\n\r\n12345",
        b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n0x5\r\n12345\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n5;a=\nb\r\n12345\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\n12345678\r\n0\r\n\r\n",
        b"X-Folded: a\r\n b\r\nContent-Length: 5\r\n\r\n12345",
        b"X-Nul: a\0b\r\nContent-Length: 5\r\n\r\n12345",
        b"X-Bare: a\nContent-Length: 5\r\n\r\n12345",
    ],
)
async def test_a_request_whose_end_is_in_doubt_is_refused_with_all_that_follows(port: int, rest: bytes) -> None:
    answered = await sent(port, HEAD + rest + HIDDEN)

    assert answered.startswith(b"HTTP/1.1 400 ")
    assert answered.count(b"HTTP/1.1 ") == 1
    assert b"/hidden" not in answered


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 5\r\n\r\n12345",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n",
    ],
)
async def test_what_follows_a_whole_request_is_the_next_one(port: int, rest: bytes) -> None:
    answered = await sent(port, HEAD + rest + HIDDEN)

    assert answered.count(b"HTTP/1.1 200 ") == 2
    assert answered.endswith(b"took /hidden")


async def test_what_looks_like_a_request_inside_a_body_is_a_part_of_it(port: int) -> None:
    answered = await sent(port, HEAD + b"Content-Length: %d\r\n\r\n" % len(HIDDEN) + HIDDEN)

    assert answered.count(b"HTTP/1.1 ") == 1
    assert answered.endswith(b"took /")
