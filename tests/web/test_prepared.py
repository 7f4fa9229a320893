"""Answers that are rendered and packed once."""

import gzip
from collections import Counter

import httpx2
import pytest
from starlette.types import ASGIApp

from registerwatch.rest.routing.every_answer import EveryAnswer
from registerwatch.web.prepared import PreparedAnswer

TEXT = b'{"text": "%s"}' % (b"long " * 1_000)
PLAIN = {"Accept-Encoding": "identity"}


async def ask(answer: ASGIApp, **headers: str) -> httpx2.Response:
    async with (
        httpx2.AsyncClient(transport=httpx2.ASGITransport(answer), base_url="http://here") as client,
        client.stream("GET", "/", headers=headers) as response,
    ):
        response.extensions["sent"] = b"".join([each async for each in response.aiter_raw()])
        return response


async def test_the_text_is_rendered_for_the_first_request_and_never_again() -> None:
    rendered = []

    def render() -> bytes:
        rendered.append(1)
        return TEXT

    answer = PreparedAnswer(render, "application/json")
    assert not rendered
    first, second = await ask(answer, **PLAIN), await ask(answer, **PLAIN)

    assert first.extensions["sent"] == second.extensions["sent"] == TEXT
    assert first.headers["content-length"] == str(len(TEXT))
    assert first.headers["content-type"] == "application/json"
    assert len(rendered) == 1


async def test_who_takes_gzip_gets_the_packed_form_with_its_length_unless_there_is_a_cookie() -> None:
    answer = PreparedAnswer(lambda: TEXT, "application/json")

    packed = await ask(answer, **{"Accept-Encoding": "br, gzip"})
    with_cookie = await ask(answer, **{"Accept-Encoding": "gzip", "Cookie": "session=us_secret"})

    assert gzip.decompress(packed.extensions["sent"]) == TEXT
    assert packed.headers["content-length"] == str(len(packed.extensions["sent"]))
    assert (packed.headers["content-encoding"], packed.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert with_cookie.extensions["sent"] == TEXT


@pytest.mark.parametrize("coding", ["gzip", "identity"])
async def test_who_has_the_text_is_told_that_it_is_the_same(coding: str) -> None:
    answer = PreparedAnswer(lambda: TEXT, "application/json")
    tag = (await ask(answer, **PLAIN)).headers["etag"]

    same = await ask(answer, **{"Accept-Encoding": coding, "If-None-Match": tag})
    other = await ask(PreparedAnswer(lambda: TEXT + b" ", "application/json"), **{"If-None-Match": tag})

    assert (same.status_code, same.extensions["sent"], same.headers["etag"]) == (304, b"", tag)
    assert same.headers["vary"] == "Accept-Encoding"
    assert "content-encoding" not in same.headers
    assert other.status_code == 200
    assert other.headers["etag"] != tag


async def test_what_is_around_it_adds_its_headers_to_each_answer_once() -> None:
    around = EveryAnswer(PreparedAnswer(lambda: TEXT, "application/json"), always={"X-Added": "yes"}, counts=Counter())

    first, second = await ask(around, **PLAIN), await ask(around, **PLAIN)

    assert first.headers.get_list("x-added") == second.headers.get_list("x-added") == ["yes"]
    assert len(first.headers.raw) == len(second.headers.raw)
