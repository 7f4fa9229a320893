"""Bodies of requests: how much of them is received, and what is looked at before."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import pytest
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.types import Message

from registerwatch.files.tables.table import MAX_FILE_BYTES
from registerwatch.platform.account_slots import AccountSlots
from registerwatch.rest.routing.checked_route import CheckedRoute
from registerwatch.web.limits import large_bodies, least_rate
from registerwatch.web.limits.body_limits import MAX_BODY_BYTES, max_body_bytes
from registerwatch.web.limits.large_bodies import BUSY, MAX_RECEIVED_OF_ACCOUNT
from tests.pages.account.pages_client import PagesClient
from tests.support.harness import PASSWORD, NewAccount, ServiceHarness, ServiceStarter, auth_headers

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

PIECE = b" " * 16_384
IMPORT = "\n".join(f"A{number},{'x' * 190}" for number in range(400))
LIST = "GTIN;Article\n" + "04012345678901;pump\n" * 20_000
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
EVERY_ROUTE_WITH_A_CREDENTIAL = [
    ("POST", "/v1/watches"),
    ("POST", "/v1/sync"),
    ("POST", "/v1/import"),
    ("POST", "/v1/lists"),
    ("POST", "/v1/lists/1/watch"),
    ("POST", "/v1/lists/1/uploads/1/keep"),
    ("PATCH", "/v1/lists/1/uploads/1"),
    ("POST", "/v1/keys"),
    ("POST", "/v1/users"),
    ("POST", "/v1/password"),
    ("POST", "/v1/webhook"),
    ("POST", "/v1/webhooks"),
    ("POST", "/v1/feeds"),
    ("POST", "/v1/account/delete"),
    ("PATCH", "/v1/watches/1"),
    ("DELETE", "/v1/watches/1"),
    ("DELETE", "/v1/keys/1"),
    ("GET", "/v1/me"),
    ("GET", "/v1/events"),
]
ROUTES_FOR_ANYBODY = [
    ("POST", "/v1/trial", JSON),
    ("POST", "/v1/login", JSON),
    ("POST", "/v1/password/forgot", JSON),
    ("POST", "/v1/password/reset", JSON),
    ("POST", "/mcp", JSON),
    ("PUT", "/mcp", JSON),
    ("POST", "/password/forgot", FORM),
    ("POST", "/password/reset", FORM),
    ("GET", "/v1/search", JSON),
    ("GET", "/", JSON),
    ("PUT", "/v1/watches", JSON),
    ("BREW", "/v1/watches", JSON),
    ("POST", "/nowhere", JSON),
    ("PATCH", "/v1/nothing", JSON),
]


@dataclass
class Upload:
    """A request with an endless body: how much of it was received, and how it was answered."""

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    piece: bytes = PIECE
    query: str = ""
    received: int = 0
    answers: list[Message] = field(default_factory=list)

    async def send_to(self, harness: ServiceHarness) -> int:
        """The status of the answer."""
        headers = [(name.lower().encode(), value.encode()) for name, value in self.headers.items()]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": self.path,
            "raw_path": self.path.encode(),
            "query_string": self.query.encode(),
            "root_path": "",
            "headers": [(b"host", b"test"), *headers],
            "server": ("test", 80),
            "client": ("192.0.2.7", 1),
        }
        await harness.app(scope, self._receive, self._send)
        return int(self.answers[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(each.get("body", b"") for each in self.answers)

    async def _receive(self) -> Message:
        self.received += len(self.piece)
        return {"type": "http.request", "body": self.piece, "more_body": True}

    async def _send(self, message: Message) -> None:
        self.answers.append(message)


@pytest.mark.parametrize(("method", "path"), EVERY_ROUTE_WITH_A_CREDENTIAL)
async def test_a_body_without_an_end_is_received_up_to_the_limit_and_refused(
    harness: ServiceHarness, owner: NewAccount, method: str, path: str
) -> None:
    for kind in (JSON, "text/csv"):
        upload = Upload(method, path, {**auth_headers(owner.api_key), "Content-Type": kind})
        status = await upload.send_to(harness)

        assert upload.received <= max_body_bytes(path) + len(PIECE)
        assert status == 400 or upload.received <= len(PIECE), "what is not read need not be refused"


@pytest.mark.parametrize(("method", "path", "kind"), ROUTES_FOR_ANYBODY)
async def test_nobody_can_make_the_service_receive_more_than_the_limit(
    harness: ServiceHarness, method: str, path: str, kind: str
) -> None:
    upload = Upload(method, path, {"Content-Type": kind, "Origin": "http://test", "Sec-Fetch-Site": "same-origin"})
    status = await upload.send_to(harness)

    assert upload.received <= MAX_BODY_BYTES + len(PIECE)
    assert status < 500


async def test_no_route_receives_more_than_its_limit_whoever_asks(harness: ServiceHarness, owner: NewAccount) -> None:
    same_site = {"Origin": "http://test", "Sec-Fetch-Site": "same-origin"}
    routes = [(method, route) for route in iter_route_contexts(harness.app.routes) for method in route.methods or ()]
    assert len(routes) > 50
    for method, route in routes:
        path = re.sub(r"\{.*?\}", "1", str(route.path_format))
        for kind in (JSON, FORM, "multipart/form-data; boundary=x"):
            for credential in ({}, auth_headers(owner.api_key)):
                upload = Upload(method, path, {"Content-Type": kind, **same_site, **credential})
                status = await upload.send_to(harness)
                assert upload.received <= max_body_bytes(path) + len(PIECE), (method, path, kind)
                assert status != 500, (method, path, kind)


async def test_every_route_that_parses_a_body_checks_the_request_before(harness: ServiceHarness) -> None:
    routes = [each.original_route for each in iter_route_contexts(harness.app.routes)]
    taking = [each for each in routes if isinstance(each, APIRoute) and each.body_field is not None]
    assert len(taking) > 10
    assert [each.path for each in taking if not isinstance(each, CheckedRoute)] == []


@pytest.mark.parametrize(("method", "path"), EVERY_ROUTE_WITH_A_CREDENTIAL)
async def test_a_body_that_says_it_is_too_large_is_not_received_and_refused(
    harness: ServiceHarness, owner: NewAccount, method: str, path: str
) -> None:
    upload = Upload(method, path, {**auth_headers(owner.api_key), "Content-Type": JSON, "Content-Length": "41943040"})

    assert (await upload.send_to(harness), upload.received) == (400, 0)
    assert "KiB" in json.loads(upload.body)["error"]


@pytest.mark.parametrize("credential", [{}, {"X-API-Key": "rw_nobody"}])
@pytest.mark.parametrize(("method", "path"), EVERY_ROUTE_WITH_A_CREDENTIAL)
async def test_who_has_no_credential_is_refused_before_the_body_is_received(
    harness: ServiceHarness, method: str, path: str, credential: dict[str, str]
) -> None:
    for more in ({}, {"Idempotency-Key": "once"}, {"Content-Type": "text/csv; charset=utf-7"}):
        for length in ("60000", "41943040"):
            headers = {"Content-Type": JSON, **credential, **more, "Content-Length": length}
            upload = Upload(method, path, headers)

            assert (await upload.send_to(harness), upload.received) == (401, 0)


async def test_a_body_that_is_no_json_does_not_come_before_the_credential(harness: ServiceHarness) -> None:
    answer = await harness.client.post("/v1/watches", content=b"{", headers={"Content-Type": JSON})

    assert answer.status_code == 401


@pytest.mark.parametrize("path", ["/v1/login", "/v1/trial", "/v1/password/forgot", "/mcp", "/v1/watches"])
async def test_who_has_used_up_a_rate_limit_is_refused_before_the_body_is_received(
    start_service: ServiceStarter, path: str
) -> None:
    async with start_service(rate_limits=True) as harness:
        statuses: list[tuple[int, int]] = []
        for _ in range(250):
            upload = Upload("POST", path, {"Content-Type": JSON, "Content-Length": "10"}, piece=b"[" * 10)
            status = await upload.send_to(harness)
            statuses.append((status, upload.received))
            if status == 429:
                break
        assert statuses[-1] == (429, 0)


async def test_requests_with_a_body_that_is_no_json_are_counted(start_service: ServiceStarter) -> None:
    async with start_service(rate_limits=True) as harness:
        answer = await harness.client.post("/v1/login", content=b"{", headers={"Content-Type": JSON})

        assert answer.status_code == 400
        assert answer.headers["ratelimit-remaining"] == "19"


async def test_a_request_counts_once_however_often_its_limit_is_named(start_service: ServiceStarter) -> None:
    async with start_service(rate_limits=True) as harness:
        owner = await harness.sign_up()
        for expected in ("239", "238"):
            headers = {**auth_headers(owner.api_key), "Idempotency-Key": f"key-{expected}"}
            answer = await harness.client.post("/v1/keys", json={}, headers=headers)
            assert (answer.status_code, answer.headers["ratelimit-remaining"]) == (200, expected)


async def test_an_import_may_have_two_megabytes_and_nothing_else_may(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    long = "A1," + "x" * 1_500
    text = "\n".join([long] * 400)
    taken = await harness.client.post("/v1/import", json={"csv": text}, headers=auth_headers(owner.api_key))
    padded = {"csv": text, "more": [{}] * 300_000, "dry_run": True}
    more = await harness.client.post("/v1/import", json=padded, headers=auth_headers(owner.api_key))
    key = await harness.client.post("/v1/keys", json={"label": text}, headers=auth_headers(owner.api_key))

    assert (taken.status_code, len(taken.json()["lines"])) == (200, 400)
    assert (more.status_code, "`more`" in more.json()["error"]) == (400, True)
    assert key.status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        b'{"csv": [' + b"{}," * 600_000 + b"{}]}",
        b'{"csv": "A1", "dry_run": [' + b"{}," * 600_000 + b"{}]}",
        b"[" + b"{}," * 600_000 + b"{}]",
        b"[" * 2_000_000,
        b'{"csv":' * 200_000,
        b'{"csv": "' + b"a" * 2_000_000,
        b'"' + b"a" * 2_000_000 + b'"',
    ],
    ids=["objects for a text", "objects for a truth value", "a list", "deep list", "deep object", "no end", "a text"],
)
async def test_a_large_import_that_is_no_object_with_a_text_is_refused_in_a_sentence(
    harness: ServiceHarness, owner: NewAccount, body: bytes
) -> None:
    headers = {**auth_headers(owner.api_key), "Content-Type": JSON}
    answer = await harness.client.post("/v1/import", content=body, headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid-input")
    assert len(answer.text) < 500


async def test_of_an_account_few_lists_are_received_at_a_time(harness: ServiceHarness, owner: NewAccount) -> None:
    other = await harness.sign_up("someone@other.example")
    may_end = asyncio.Event()
    under_way: Counter[str] = Counter()
    most: Counter[str] = Counter()

    class Slow(Upload):
        """Keeps silent after its first piece until the test lets it end."""

        async def _receive(self) -> Message:
            key = self.headers["X-API-Key"]
            if not self.received:
                under_way[key] += 1
                most[key] = max(most[key], under_way[key])
                return await super()._receive()
            await may_end.wait()
            under_way[key] -= 1
            return {"type": "http.request", "body": b"", "more_body": False}

    def slow(key: str) -> Slow:
        headers = {"X-API-Key": key, "Content-Type": "text/csv", "Content-Length": "8"}
        return Slow("POST", "/v1/import", headers, b"A1,name\n")

    uploads = [*(slow(owner.api_key) for _ in range(10)), slow(other.api_key)]
    sent = [asyncio.create_task(each.send_to(harness)) for each in uploads]
    while not (under_way[owner.api_key] == MAX_RECEIVED_OF_ACCOUNT and under_way[other.api_key]):
        await asyncio.sleep(0)
    may_end.set()

    assert await asyncio.gather(*sent) == [200] * 11
    assert most == {owner.api_key: MAX_RECEIVED_OF_ACCOUNT, other.api_key: 1}


@pytest.mark.parametrize(("pieces", "grace", "status"), [(1, 10.0, 0), (5, 0.2, 400)])
@pytest.mark.parametrize(
    ("address", "file", "taken"),
    [
        ("/v1/import", "\n".join(f"A{number},{'x' * 190}" for number in range(400)), 200),
        ("/v1/lists?name=Stock", LIST, 202),
    ],
    ids=["import", "list"],
)
async def test_files_that_do_not_come_keep_nobody_from_sending_one(
    harness: ServiceHarness,
    owner: NewAccount,
    monkeypatch: pytest.MonkeyPatch,
    pieces: int,
    grace: float,
    status: int,
    address: str,
    file: str,
    taken: int,
) -> None:
    monkeypatch.setattr(least_rate, "GRACE_SECONDS", grace)
    harness.app.state.large_bodies = AccountSlots(most=1, most_per_account=1)
    harness.app.state.large_files = AccountSlots(most=1, most_per_account=1)
    other = await harness.sign_up("someone@other.example")
    is_silent, never = asyncio.Event(), asyncio.Event()

    class Silent(Upload):
        """Keeps silent after its first pieces."""

        async def _receive(self) -> Message:
            if self.received >= pieces * len(PIECE):
                is_silent.set()
                await never.wait()
            return await super()._receive()

    headers = {"X-API-Key": owner.api_key, "Content-Type": "text/csv"}
    path, _, query = address.partition("?")
    silent = Silent("POST", path, headers, query=query)
    sending = asyncio.create_task(silent.send_to(harness))
    await is_silent.wait()

    headers = {**auth_headers(other.api_key), "Content-Type": "text/csv"}
    answer = await asyncio.wait_for(harness.client.post(address, content=file, headers=headers), 5)

    assert answer.status_code == taken, answer.text
    if status:
        assert await sending == status
    else:
        sending.cancel()
        await asyncio.wait([sending])


async def test_what_follows_the_beginning_of_a_large_body_is_received_at_a_bounded_rate(
    harness: ServiceHarness, owner: NewAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_bodies, "FREE_BYTES", 1024 * 1024)
    monkeypatch.setattr(large_bodies, "MAX_BYTES_A_SECOND", 4 * 1024 * 1024)
    headers = {**auth_headers(owner.api_key), "Content-Type": "text/csv"}
    content = b"GTIN\n" + b" " * (2 * 1024 * 1024)

    began = asyncio.get_running_loop().time()
    answer = await harness.client.post("/v1/lists?name=Stock", content=content, headers=headers)

    assert (answer.status_code, asyncio.get_running_loop().time() - began > 0.2) == (202, True)


KINDS_OF_FILES = (JSON, FORM, "text/csv", "application/octet-stream", "multipart/form-data; boundary=x", "")


@pytest.mark.parametrize("kind", KINDS_OF_FILES)
async def test_a_file_of_a_list_is_received_up_to_ten_megabytes_whatever_it_is_called(
    harness: ServiceHarness, owner: NewAccount, kind: str
) -> None:
    headers = {**auth_headers(owner.api_key), "Content-Type": kind}
    upload = Upload("POST", "/v1/lists", headers, PIECE * 16, query="name=Stock")

    assert (await upload.send_to(harness), json.loads(upload.body)["code"]) == (400, "invalid-input")
    assert MAX_FILE_BYTES < upload.received <= MAX_FILE_BYTES + 16 * len(PIECE)
    assert harness.all_rows()["item_lists"] == []


async def test_a_list_is_not_received_for_who_may_not_send_one_or_names_none(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    reading = (await harness.post("/v1/keys", owner.session, scope="read")).json()["api_key"]

    async def refused(key: str, query: str) -> tuple[int, int]:
        upload = Upload("POST", "/v1/lists", {**auth_headers(key), "Content-Length": "60000"}, query=query)
        return await upload.send_to(harness), upload.received

    assert await refused("", "name=Stock") == (401, 0)
    assert await refused(reading, "name=Stock") == (403, 0)
    assert await refused(owner.api_key, "") == (400, 0)
    assert await refused(owner.api_key, f"name={'x' * 201}") == (400, 0)
    assert await refused(owner.api_key, "name=Stock&code_colum=1") == (400, 0)
    harness.clock.move(8 * 24 * 3600)
    assert await refused(owner.api_key, "name=Stock") == (402, 0)


@pytest.mark.parametrize("path", ["/v1/lists", "/app/lists", "/app/scan"])
async def test_a_file_that_finds_no_place_in_time_is_told_when_to_come_again(
    harness: ServiceHarness, owner: NewAccount, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(large_bodies, "WAIT_SECONDS", 0.05)
    harness.app.state.large_files = harness.app.state.photos = AccountSlots(most=0, most_per_account=1)
    pages = PagesClient(harness)
    await pages.sign_in()
    own = {"Cookie": f"session={pages.session}", "Sec-Fetch-Site": "same-origin"}
    headers = own if path.startswith("/app") else auth_headers(owner.api_key)

    answer = await harness.client.post(
        path, params={} if path.startswith("/app") else {"name": "Stock"}, files={"file": PIECE * 5}, headers=headers
    )

    assert (answer.status_code, BUSY in answer.text) == (503, True)
    assert int(answer.headers["retry-after"]) > 0


@pytest.mark.parametrize("path", ["/v1/lists", "/app/lists"])
async def test_a_file_that_is_refused_by_its_beginning_leaves_its_place(
    harness: ServiceHarness, owner: NewAccount, path: str
) -> None:
    harness.app.state.large_files = AccountSlots(most=1, most_per_account=1)
    pages = PagesClient(harness)
    await pages.sign_in()

    async def sent(content: bytes) -> int:
        if path.startswith("/app"):
            return (await pages.upload(path, "stock.csv", content, name="Stock", list="")).status_code
        headers = auth_headers(owner.api_key)
        return (await harness.client.post(path, params={"name": "Stock"}, content=content, headers=headers)).status_code

    answers = [await sent(each) for each in (b"%PDF" + PIECE * 5, b"\x00" + PIECE * 5, LIST.encode())]

    assert answers == [400, 400, 303 if path.startswith("/app") else 202]
    assert len(harness.all_rows()["list_uploads"]) == 1


async def test_a_file_that_is_sent_again_with_its_key_is_one_upload(harness: ServiceHarness, owner: NewAccount) -> None:
    headers = {**auth_headers(owner.api_key), "Idempotency-Key": "once", "Content-Type": "text/csv"}
    first, again = [
        await harness.client.post("/v1/lists", params={"name": "Stock"}, content="GTIN\n1\n", headers=headers)
        for _ in range(2)
    ]

    assert (first.status_code, again.status_code, again.json()) == (202, 202, first.json())
    assert again.headers["idempotent-replayed"] == "true"
    assert len(harness.all_rows()["list_uploads"]) == 1


async def test_twenty_tool_calls_fit_into_one_body(harness: ServiceHarness) -> None:
    arguments = {"q": "x" * 2_000}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    batch = [{**call, "params": {"name": "search_devices", "arguments": arguments}}] * 20

    assert len((await harness.client.post("/mcp", json=batch)).json()) == 20


async def test_a_body_that_breaks_off_is_no_defect(harness: ServiceHarness) -> None:
    class Broken(Upload):
        async def _receive(self) -> Message:
            return {"type": "http.disconnect"}

    assert await Broken("POST", "/v1/login", {"Content-Type": JSON, "Content-Length": "100"}).send_to(harness) == 400


async def test_a_body_in_pieces_is_put_together(harness: ServiceHarness, owner: NewAccount) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in _cut(json.dumps({"email": owner.email, "password": PASSWORD}).encode()):
            yield piece

    answer = await harness.client.post("/v1/login", content=pieces(), headers={"Content-Type": JSON})

    assert answer.status_code == 200


def _cut(body: bytes) -> Sequence[bytes]:
    return [body[start : start + 7] for start in range(0, len(body), 7)]
