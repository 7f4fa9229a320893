"""Compressed answers: public ones that are long enough, for who takes gzip, and never one that holds a secret."""

import gzip
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi.routing import iter_route_contexts
from starlette.types import Message, Receive, Scope, Send

from registerwatch.pages.site_files import asset_address
from registerwatch.web.compression import MIN_BYTES, Compression, accepts_gzip, is_public
from tests.support.harness import ServiceHarness, auth_headers

PUBLIC = (
    *("/", "/d/", "/a/", "/c/", "/docs", "/docs/", "/docs/api", "/docs/api/"),
    *("/v1/search", "/v1/devices/", "/v1/actors/", "/v1/certificates", "/v1/certificates/"),
    *("/static/", "/robots.txt"),
)


@pytest.fixture(params=["sqlite"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """One kind is enough: nothing here depends on the database."""
    return str(request.param)


@pytest.fixture
async def filled(harness: ServiceHarness) -> AsyncIterator[ServiceHarness]:
    """A service with devices, which is read without being told of a coding."""
    await harness.fill_copy()
    harness.client.headers["Accept-Encoding"] = "identity"
    yield harness
    await harness.finish_background_work()


def _paths(harness: ServiceHarness) -> list[str]:
    device = max(harness.unique_devices(100), key=lambda each: len(str(each)))
    udi, srn = device.primary_di, device.manufacturer.srn
    pages = ["/", "/?q=a", f"/d/{udi}", f"/a/{srn}", asset_address("style.css")]
    return [*pages, "/v1/search?status=on", f"/v1/actors/{srn}", "/openapi.json"]


async def _packed(harness: ServiceHarness, path: str, **headers: str) -> httpx2.Response:
    return await harness.client.get(path, headers={"Accept-Encoding": "gzip", **headers})


async def test_pages_reads_and_files_are_compressed_for_who_takes_it(filled: ServiceHarness) -> None:
    for path in _paths(filled):
        plain, packed = await filled.client.get(path), await _packed(filled, path)

        assert len(plain.content) >= MIN_BYTES, path
        assert packed.headers["content-encoding"] == "gzip", path
        assert int(packed.headers["content-length"]) < 0.6 * int(plain.headers["content-length"]), path
        assert packed.content == plain.content, path
        assert "content-encoding" not in plain.headers, path
        assert "Accept-Encoding" in packed.headers["vary"], path
        assert packed.headers["vary"] == plain.headers["vary"], path
        assert packed.headers.get("etag", 'W/"') == plain.headers.get("etag", 'W/"')
        assert packed.headers.get("etag", 'W/"').startswith('W/"'), path


async def test_what_is_not_modified_says_so_in_both_forms(filled: ServiceHarness) -> None:
    for path in (path for path in _paths(filled) if "static" not in path):
        tag = (await filled.client.get(path)).headers["etag"]
        answer = await _packed(filled, path, **{"If-None-Match": tag})

        assert (answer.status_code, answer.content) == (304, b""), path
        assert "Accept-Encoding" in answer.headers["vary"], path
        assert "content-encoding" not in answer.headers, path


async def test_a_short_answer_is_sent_as_it_is(filled: ServiceHarness) -> None:
    for path in ("/robots.txt", "/v1/devices/04012345000016", "/v1/search?q=", asset_address("icon.svg")):
        answer = await _packed(filled, path)

        assert len(answer.content) < MIN_BYTES, path
        assert "content-encoding" not in answer.headers, path
        assert "Accept-Encoding" in answer.headers["vary"], path


async def test_no_answer_that_needs_a_credential_is_public(harness: ServiceHarness) -> None:
    paths: dict[str, dict[str, Any]] = (await harness.get("/openapi.json")).json()["paths"]
    with_credential = {
        path for path, methods in paths.items() for about in methods.values() if {} not in about.get("security", [{}])
    }

    assert {"/v1/me", "/v1/keys", "/v1/watches", "/v1/events"} <= with_credential
    assert not {path for path in with_credential if is_public(path)}


async def test_every_path_that_is_public_is_in_this_list(harness: ServiceHarness) -> None:
    paths = {str(each.path) for each in iter_route_contexts(harness.app.routes)}

    assert {path.partition("{")[0] for path in paths if is_public(path)} == set(PUBLIC)


async def test_what_an_account_reads_is_never_compressed(filled: ServiceHarness) -> None:
    owner = await filled.sign_up()
    for number in range(9):
        await filled.post("/v1/keys", owner.api_key, label=f"{number}" * 80)
    feed = (await filled.post("/v1/feeds", owner.api_key)).json()["feed"]
    public_url = filled.service.settings.public_url
    feeds = [feed[name].removeprefix(public_url) for name in ("events", "expiring")]

    for path in ("/v1/me", "/v1/keys", "/v1/watches", "/v1/audit", *feeds, "/password/reset?token=" + "t" * 2000):
        answer = await _packed(filled, path, **auth_headers(owner.api_key))
        assert "content-encoding" not in answer.headers, path
    assert len((await _packed(filled, "/v1/me", **auth_headers(owner.api_key))).content) > MIN_BYTES


async def test_a_request_with_a_cookie_is_answered_uncompressed(filled: ServiceHarness) -> None:
    assert "content-encoding" not in (await _packed(filled, "/", Cookie="session=us_secret")).headers


@pytest.mark.parametrize(
    ("headers", "is_packed"),
    [
        ({"content-type": "text/html"}, True),
        ({"content-type": "text/html", "set-cookie": "session=us_secret"}, False),
        ({"content-type": "text/html", "content-encoding": "br"}, False),
        ({"content-type": "image/png"}, False),
        ({}, False),
    ],
)
async def test_an_answer_with_a_cookie_or_a_coding_of_its_own_is_left_alone(
    headers: dict[str, str], is_packed: bool
) -> None:
    body = b"text " * MIN_BYTES

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        raw.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        await send({"type": "http.response.body", "body": body})

    sent = await _sent(app)
    assert (gzip.decompress(sent[1]["body"]) == body) if is_packed else (sent[1]["body"] == body)
    assert int(dict(sent[0]["headers"])[b"content-length"]) == len(sent[1]["body"])


async def test_a_streamed_answer_is_not_held_back() -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        length = (b"content-length", b"8000")
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html"), length]})
        await send({"type": "http.response.body", "body": b"a" * 4000, "more_body": True})
        await send({"type": "http.response.body", "body": b"b" * 4000})

    assert [each["type"] for each in await _sent(app)] == ["http.response.start", *["http.response.body"] * 2]


@pytest.mark.parametrize(
    ("path", "status", "is_kept"),
    [
        ("/static/a.css", 200, True),
        ("/docs/api/watches", 200, True),
        ("/static/none", 404, False),
        ("/", 200, False),
    ],
)
async def test_what_is_the_same_until_the_next_start_is_packed_once(path: str, status: int, *, is_kept: bool) -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        body = path.encode() * MIN_BYTES
        headers = [(b"content-type", b"text/css"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    (_, first), (_, second) = await _sent(app, path), await _sent(app, path)
    assert gzip.decompress(first["body"]) == path.encode() * MIN_BYTES == gzip.decompress(second["body"])
    assert (first["body"] is second["body"]) is is_kept


async def _sent(app: Any, path: str = "/") -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    scope = {"type": "http", "path": path, "headers": [(b"accept-encoding", b"gzip")]}
    await Compression(app)(scope, receive, send)
    return sent


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        ("gzip", True),
        ("GZIP", True),
        ("br, gzip;q=0.5", True),
        ("deflate, gzip;q=1.0, *;q=0.5", True),
        ("*", True),
        ("*;q=0", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("*, gzip;q=0", False),
        ("gzip;q=none", False),
        ("x-gzip-like", False),
        ("br", False),
        ("identity", False),
        ("", False),
    ],
)
def test_a_header_takes_gzip_or_not(accepted: str, takes: bool) -> None:
    assert accepts_gzip(accepted) is takes
