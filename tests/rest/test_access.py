"""Who may do what: every operation of the description, asked by every kind of caller.

An operation that is in the description and not in a table here fails a test, and so does one that is only here.
"""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from unittest.mock import Mock

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from registerwatch.accounts.sessions.credentials import digest_of, new_key, new_session
from registerwatch.accounts.sessions.open_sessions import public_id
from registerwatch.accounts.sessions.sign_in import SESSION_SECONDS
from registerwatch.register.certificates import CertificateDocument, CertificateFacts, encoded_facts
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.wire.documents import document_uuid
from tests.billing.plain_provider import event, signed
from tests.register.certificate_rows import a_certificate, certificate_id, store_certificates
from tests.support.harness import (
    EMAIL,
    ERROR_FIELDS,
    PASSWORD,
    NewAccount,
    ServiceHarness,
    ServiceStarter,
    auth_headers,
)
from tests.support.list_files import work_on_lists
from tests.support.receiver import Receiver

DAY = 24 * 3600
METHODS = {"get", "post", "put", "patch", "delete"}
UNKNOWN_KEY, UNKNOWN_SESSION = new_key(), new_session()
"""Well formed, and nobody's."""
URL = "https://hooks.new.example/"
SUBJECT = "04099999999992"


@pytest.fixture
def harness(whole_service: ServiceHarness) -> ServiceHarness:
    """Nothing is read or sent but what a test asks for."""
    return whole_service


@dataclass(frozen=True, slots=True)
class Company:
    """An account with an owner, a member and a key beside the first one."""

    owner: NewAccount
    member: str
    account: dict[str, Any]

    @property
    def member_id(self) -> int:
        return int(self.account["users"][1]["id"])

    @property
    def first_key_id(self) -> int:
        return int(self.account["keys"][0]["id"])

    @property
    def other_key_id(self) -> int:
        return int(self.account["keys"][1]["id"])


async def a_company(harness: ServiceHarness, domain: str = "acme.example") -> Company:
    owner = await harness.sign_up(f"owner@{domain}", f"the owner's at {domain}")
    await harness.post("/v1/keys", owner.session, label="other")
    added = await harness.post("/v1/users", owner.session, email=f"member@{domain}", password="a member's own")
    return Company(owner, await harness.sign_in(f"member@{domain}", "a member's own"), added.json())


Headers = Mapping[str, str]


async def nobody(_harness: ServiceHarness, _company: Company) -> Headers:
    return {}


async def an_unknown_key(_harness: ServiceHarness, _company: Company) -> Headers:
    return {"X-API-Key": UNKNOWN_KEY}


async def an_unknown_session(_harness: ServiceHarness, _company: Company) -> Headers:
    return {"Authorization": f"Bearer {UNKNOWN_SESSION}"}


async def a_revoked_key(harness: ServiceHarness, company: Company) -> Headers:
    path = f"/v1/keys/{company.first_key_id}"
    assert (await harness.client.delete(path, headers=auth_headers(company.owner.session))).status_code == 200
    return {"X-API-Key": company.owner.api_key}


async def an_old_session(harness: ServiceHarness, company: Company) -> Headers:
    expires_at = harness.now + SESSION_SECONDS + DAY
    await harness.service.accounts.admin.set_period(company.owner.email, None, expires_at)
    harness.clock.move(SESSION_SECONDS)
    return {"Authorization": f"Bearer {company.owner.session}"}


async def a_left_session(harness: ServiceHarness, company: Company) -> Headers:
    await harness.post("/v1/logout", company.owner.session)
    return {"Authorization": f"Bearer {company.owner.session}"}


async def a_removed_member(harness: ServiceHarness, company: Company) -> Headers:
    path = f"/v1/users/{company.member_id}"
    assert (await harness.client.delete(path, headers=auth_headers(company.owner.session))).status_code == 200
    return {"Authorization": f"Bearer {company.member}"}


async def a_session_as_key(_harness: ServiceHarness, company: Company) -> Headers:
    return {"X-API-Key": company.owner.session}


async def a_member(_harness: ServiceHarness, company: Company) -> Headers:
    return {"Authorization": f"Bearer {company.member}"}


async def an_owner(_harness: ServiceHarness, company: Company) -> Headers:
    return {"Authorization": f"Bearer {company.owner.session}"}


async def a_key(_harness: ServiceHarness, company: Company) -> Headers:
    return {"X-API-Key": company.owner.api_key}


async def a_key_as_bearer(_harness: ServiceHarness, company: Company) -> Headers:
    return {"Authorization": f"Bearer {company.owner.api_key}"}


async def an_owner_too_late(harness: ServiceHarness, company: Company) -> Headers:
    harness.clock.move(7 * DAY)
    return {"Authorization": f"Bearer {company.owner.session}"}


async def a_member_too_late(harness: ServiceHarness, company: Company) -> Headers:
    harness.clock.move(7 * DAY)
    return {"Authorization": f"Bearer {company.member}"}


async def a_key_too_late(harness: ServiceHarness, company: Company) -> Headers:
    harness.clock.move(7 * DAY)
    return {"X-API-Key": company.owner.api_key}


Kind = Callable[[ServiceHarness, Company], Awaitable[Headers]]

AS_IT_IS: Mapping[Kind, int] = {
    nobody: 401,
    an_unknown_key: 401,
    an_unknown_session: 401,
    a_session_as_key: 401,
    a_member: 200,
    an_owner: 200,
    a_key: 200,
    a_key_as_bearer: 200,
}
"""Kinds that leave their company as it is: it serves the next one too, unless the request changed it."""
KEY_OR_SESSION: Mapping[Kind, int] = {
    **AS_IT_IS,
    a_revoked_key: 401,
    an_old_session: 401,
    a_left_session: 401,
    a_removed_member: 401,
    an_owner_too_late: 200,
    a_member_too_late: 200,
    a_key_too_late: 200,
}
OWNER_OR_KEY = {**KEY_OR_SESSION, a_member: 403, a_member_too_late: 403}
NO_CHECKOUT = {kind: 400 if status == 200 else status for kind, status in KEY_OR_SESSION.items()}
"""Whoever is let in has no checkout with the id that is sent."""
OPEN_PERIOD = {**KEY_OR_SESSION, an_owner_too_late: 400, a_member_too_late: 400, a_key_too_late: 400}
ACTIVE_ACCOUNT = {**KEY_OR_SESSION, an_owner_too_late: 402, a_member_too_late: 402, a_key_too_late: 402}
TAKEN = {kind: 202 if status == 200 else status for kind, status in ACTIVE_ACCOUNT.items()}
"""What is sent is worked on in the background."""


Body = Mapping[str, object]


def no_body(_company: Company, _number: int) -> Body | None:
    return None


def empty(_company: Company, _number: int) -> Body | None:
    return {}


@dataclass(frozen=True, slots=True)
class Protected:
    """An operation with its level, what a caller of another account gets for a company's ids, and what is sent.

    Bodies differ by number where nothing can be asked for twice.
    """

    level: Mapping[Kind, int]
    stranger: int
    body: Callable[[Company, int], Body | None] = no_body


PROTECTED = {
    "GET /v1/me": Protected(KEY_OR_SESSION, stranger=200),
    "POST /v1/password": Protected(KEY_OR_SESSION, 200, lambda _, number: {"password": f"password {number}"}),
    "POST /v1/account/delete": Protected(KEY_OR_SESSION, 401, lambda company, _: {"password": company.owner.password}),
    "POST /v1/users": Protected(
        OWNER_OR_KEY, 200, lambda _, number: {"email": f"new{number}@new.example", "password": "a new one's"}
    ),
    "DELETE /v1/users/{id}": Protected(OWNER_OR_KEY, stranger=400),
    "POST /v1/keys": Protected(OWNER_OR_KEY, 200, lambda _, number: {"label": f"new {number}"}),
    "DELETE /v1/keys/{id}": Protected(OWNER_OR_KEY, stranger=400),
    "GET /v1/audit": Protected(OWNER_OR_KEY, stranger=200),
    "GET /v1/sessions": Protected(KEY_OR_SESSION, stranger=200),
    "DELETE /v1/sessions": Protected(KEY_OR_SESSION, stranger=200),
    "DELETE /v1/sessions/{id}": Protected(KEY_OR_SESSION, stranger=200),
    "GET /v1/watches": Protected(KEY_OR_SESSION, stranger=200),
    "POST /v1/watches": Protected(ACTIVE_ACCOUNT, 200, lambda *_: {"subject": SUBJECT}),
    "PATCH /v1/watches/{id}": Protected(ACTIVE_ACCOUNT, 400, lambda *_: {"label": "Ward 3"}),
    "DELETE /v1/watches/{id}": Protected(KEY_OR_SESSION, stranger=200),
    "POST /v1/sync": Protected(ACTIVE_ACCOUNT, 200, empty),
    "GET /v1/events": Protected(KEY_OR_SESSION, stranger=200),
    "GET /v1/expiring": Protected(KEY_OR_SESSION, stranger=200),
    "POST /v1/import": Protected(ACTIVE_ACCOUNT, 200, lambda *_: {"csv": SUBJECT}),
    "GET /v1/lists": Protected(KEY_OR_SESSION, stranger=200),
    "POST /v1/lists": Protected(TAKEN, 202, lambda *_: {"a file": "of any kind"}),
    "GET /v1/lists/{id}": Protected(KEY_OR_SESSION, stranger=400),
    "PATCH /v1/lists/{id}": Protected(ACTIVE_ACCOUNT, 400, lambda *_: {"name": "Ward 3"}),
    "DELETE /v1/lists/{id}": Protected(KEY_OR_SESSION, stranger=200),
    "GET /v1/lists/{id}/lines": Protected(KEY_OR_SESSION, stranger=400),
    "GET /v1/lists/{id}/lines.csv": Protected(KEY_OR_SESSION, stranger=400),
    "GET /v1/lists/{id}/lines.xlsx": Protected(KEY_OR_SESSION, stranger=400),
    "POST /v1/lists/{id}/watch": Protected(ACTIVE_ACCOUNT, 400, empty),
    "GET /v1/lists/{id}/uploads/{upload_id}": Protected(KEY_OR_SESSION, stranger=400),
    "PATCH /v1/lists/{id}/uploads/{upload_id}": Protected(ACTIVE_ACCOUNT, 400, lambda *_: {"code_column": 0}),
    "DELETE /v1/lists/{id}/uploads/{upload_id}": Protected(KEY_OR_SESSION, stranger=200),
    "POST /v1/lists/{id}/uploads/{upload_id}/keep": Protected(ACTIVE_ACCOUNT, 400, empty),
    "POST /v1/webhook": Protected(OWNER_OR_KEY, 200, lambda *_: {"url": URL}),
    "POST /v1/webhook/test": Protected(OWNER_OR_KEY, 400, empty),
    "GET /v1/webhooks": Protected(OWNER_OR_KEY, stranger=200),
    "POST /v1/webhooks": Protected(OWNER_OR_KEY, 200, lambda *_: {"url": URL}),
    "DELETE /v1/webhooks/{id}": Protected(OWNER_OR_KEY, stranger=200),
    "POST /v1/webhooks/{id}/test": Protected(OWNER_OR_KEY, 400, empty),
    "POST /v1/webhooks/{id}/rotate": Protected(OWNER_OR_KEY, 400, empty),
    "GET /v1/webhooks/{id}/deliveries": Protected(OWNER_OR_KEY, stranger=400),
    "POST /v1/webhooks/{id}/deliveries/{delivery}/resend": Protected(OWNER_OR_KEY, 400, empty),
    "GET /v1/channels": Protected(KEY_OR_SESSION, stranger=200),
    "POST /v1/channels": Protected(OWNER_OR_KEY, 200, lambda *_: {"channel": "webhook", "url": URL}),
    "GET /v1/channels/{id}": Protected(OWNER_OR_KEY, stranger=400),
    "PATCH /v1/channels/{id}": Protected(OWNER_OR_KEY, 400, lambda *_: {"name": "Ward 3"}),
    "DELETE /v1/channels/{id}": Protected(OWNER_OR_KEY, stranger=200),
    "POST /v1/channels/{id}/test": Protected(OWNER_OR_KEY, 400, empty),
    "GET /v1/channels/{id}/deliveries": Protected(OWNER_OR_KEY, stranger=400),
    "GET /v1/feeds": Protected(KEY_OR_SESSION, stranger=200),
    "POST /v1/feeds": Protected(OWNER_OR_KEY, 200, empty),
    "DELETE /v1/feeds/{id}": Protected(OWNER_OR_KEY, stranger=200),
    "POST /v1/billing/checkout": Protected(KEY_OR_SESSION, 200, empty),
    "POST /v1/billing/confirm": Protected(NO_CHECKOUT, 400, lambda *_: {"session_id": "cs_1_1"}),
    "POST /v1/billing/cancel": Protected(KEY_OR_SESSION, 400, empty),
    "POST /v1/billing/resume": Protected(OPEN_PERIOD, 400, empty),
    "POST /v1/billing/portal": Protected(KEY_OR_SESSION, 400, empty),
}
OF_USERS_TOO = frozenset(label for label in PROTECTED if "/v1/channels" in label)
"""Operations that members are refused for what is the account's, as in the table; for what is their own they are not.
"""
PUBLIC: Mapping[str, Body | None] = {
    "GET /health": None,
    "GET /live": None,
    "GET /ready": None,
    "GET /openapi.json": None,
    "GET /v1/search": None,
    "GET /v1/parse": None,
    "GET /v1/refresh": None,
    "GET /v1/devices/{udi}": None,
    "GET /v1/devices/{udi}/history": None,
    "GET /v1/actors/{srn}/history": None,
    "GET /v1/actors/{srn}": None,
    "GET /v1/actors/{srn}/certificates": None,
    "GET /v1/certificates": None,
    "GET /v1/certificates/{id}": None,
    "GET /v1/certificates/{id}/documents/{uuid}": None,
    "POST /v1/trial": {"email": EMAIL, "password": PASSWORD},
    "POST /v1/login": {"email": EMAIL, "password": PASSWORD},
    "POST /v1/logout": {},
    "POST /v1/password/forgot": {"email": EMAIL},
    "POST /v1/password/reset": {"token": "", "password": PASSWORD},
}
BY_SIGNATURE = ("POST /v1/billing/webhook",)
"""The signature of the body lets in."""
BY_SECRET = ("POST /v1/mail/bounces",)
"""A secret of the operator lets in, where there is one (test_mail_bounces.py)."""
BY_TOKEN = ("GET /v1/events.atom", "GET /v1/expiring.ics")
"""A feed's token in the address lets in; a credential neither helps nor hurts."""
CREDENTIAL_OPTIONAL = {"POST /v1/logout", "POST /mcp"}
"""Of the tools, which have a table of their own, some need one."""
UNDESCRIBED = {"GET /openapi.json"}
"""The description does not describe itself."""


def operations(app: FastAPI) -> dict[str, list[dict[str, object]]]:
    """The operations of the description with what they say about credentials."""
    return {
        f"{method.upper()} {path}": operation.get("security", [])
        for path, methods in app.openapi()["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    }


async def the_member(_harness: ServiceHarness, company: Company) -> str:
    return str(company.member_id)


async def the_other_key(_harness: ServiceHarness, company: Company) -> str:
    return str(company.other_key_id)


async def a_watch(harness: ServiceHarness, company: Company) -> str:
    added = await harness.post("/v1/watches", company.owner.session, subject=SUBJECT)
    return str(added.json()["watch"]["id"])


async def a_feed(harness: ServiceHarness, company: Company) -> str:
    return str((await harness.post("/v1/feeds", company.owner.session)).json()["feed"]["id"])


async def subscribe(harness: ServiceHarness, company: Company) -> None:
    """Let the company pay."""
    session_id = (await harness.post("/v1/billing/checkout", company.owner.session)).json()["session_id"]
    harness.provider.pay(session_id)
    await harness.post("/v1/billing/confirm", company.owner.session, session_id=session_id)


async def a_session_of_the_member(_harness: ServiceHarness, company: Company) -> str:
    return public_id(digest_of(company.member))


ID_OF = {
    "sessions": a_session_of_the_member,
    "users": the_member,
    "keys": the_other_key,
    "watches": a_watch,
    "feeds": a_feed,
}


async def address_of(harness: ServiceHarness, label: str, company: Company, box: Receiver) -> str:
    """The path of an operation, with the ids of things that the company has."""
    path = label.partition(" ")[2]
    if path in ("/v1/billing/cancel", "/v1/billing/resume", "/v1/billing/portal"):
        await subscribe(harness, company)
    if path.startswith("/v1/webhook/") or "webhooks/{id}" in path or "channels/{id}" in path:
        saved = (await harness.post("/v1/webhook", company.owner.session, url=box.url)).json()["webhooks"]
        path = path.replace("{id}", str(saved[0]["id"]))
    if "{delivery}" in path:
        test = (await harness.post("/v1/webhook/test", company.owner.session)).json()
        path = path.replace("{delivery}", test["delivery"])
    if label == "POST /v1/lists":
        path = f"{path}?name=Stock"
    elif "lists/{id}" in path:
        path = await address_of_list(harness, path, company)
    if "{id}" in path:
        path = path.replace("{id}", await ID_OF[path.split("/")[2]](harness, company))
    return path


async def address_of_list(harness: ServiceHarness, path: str, company: Company) -> str:
    """The path with the ids of a list that has lines, and of an upload for it that is ready to be kept."""
    headers = auth_headers(company.owner.api_key)
    for keeps_itself in (True, False) if "{upload_id}" in path else (True,):
        parameters = {"name": "acme", "keep": keeps_itself}
        sent = await harness.client.post("/v1/lists", params=parameters, content=f"GTIN\n{SUBJECT}\n", headers=headers)
        await work_on_lists(harness)
    answer = sent.json()
    return path.replace("{id}", str(answer["list_id"])).replace("{upload_id}", str(answer["upload_id"]))


async def asked(harness: ServiceHarness, label: str, path: str, headers: Headers, body: Body | None) -> httpx2.Response:
    """The answer to one request."""
    return await harness.client.request(label.partition(" ")[0], path, headers=dict(headers), json=body)


async def test_the_tables_here_have_every_operation_and_no_other(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        described = operations(harness.app)

        assert set(described) - {*PUBLIC, *BY_TOKEN, *BY_SIGNATURE, *BY_SECRET, "POST /mcp"} == set(PROTECTED)
        assert {*BY_TOKEN, *BY_SIGNATURE, *BY_SECRET} <= set(described)
        assert set(PUBLIC) - set(described) == UNDESCRIBED
        for label, security in described.items():
            assert bool(security) is (label in PROTECTED or label in CREDENTIAL_OPTIONAL), label
            assert ({} in security) is (label in CREDENTIAL_OPTIONAL), f"{label}: an empty one says that it is optional"


async def test_every_route_of_the_interface_is_in_the_description(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        routes = {
            f"{method} {context.path_format}"
            for context in iter_route_contexts(harness.app.routes)
            for method in context.methods or ()
            if str(context.path_format).startswith("/v1")
        }

        assert routes
        assert routes <= set(operations(harness.app))


@pytest.mark.parametrize("label", PROTECTED)
async def test_each_caller_gets_what_the_level_gives_and_who_is_refused_changes_nothing(
    harness: ServiceHarness, box: Receiver, label: str
) -> None:
    about = PROTECTED[label]
    statuses: dict[Kind, int] = {}
    used_up = True
    for number, kind in enumerate(about.level):
        if used_up or kind not in AS_IT_IS:
            company = await a_company(harness, f"company{number}.example")
            path = await address_of(harness, label, company, box)
        headers = await kind(harness, company)
        before, sent, read = harness.all_rows(), len(box.requests), harness.register_log.total
        response = await asked(harness, label, path, headers, about.body(company, number))
        statuses[kind] = response.status_code
        used_up = response.is_success and not label.startswith("GET")
        if not response.is_success:
            assert set(response.json()) == fields_of_an_error(label, response.status_code)
            assert (harness.all_rows(), len(box.requests), harness.register_log.total) == (before, sent, read), kind
        assert response.headers["cache-control"] == "no-store"
        assert response.headers.get("www-authenticate") == ("Bearer" if response.status_code == 401 else None)
        assert response.headers["access-control-allow-origin"] == "*"
    assert named(statuses) == named(about.level)


def fields_of_an_error(label: str, status: int) -> set[str]:
    """A sync after the period has ended says so in the shape of a sync."""
    return ERROR_FIELDS | ({"synced", "events"} if (label, status) == ("POST /v1/sync", 402) else set())


def named(statuses: Mapping[Kind, int]) -> dict[str, int]:
    """The same by names, which a failure shows better."""
    return {kind.__name__: status for kind, status in statuses.items()}


JSON = {"Content-Type": "application/json"}
TAKES_A_BODY = [label for label in PROTECTED if label.startswith(("POST", "PATCH"))]


@pytest.mark.parametrize("label", TAKES_A_BODY)
async def test_a_key_or_session_that_ends_while_the_body_comes_does_nothing_more(
    harness: ServiceHarness, box: Receiver, label: str
) -> None:
    company = await a_company(harness)
    path, method = await address_of(harness, label, company, box), label.partition(" ")[0]
    session = await harness.sign_in(company.owner.email, company.owner.password)
    body = json.dumps(PROTECTED[label].body(company, 1)).encode()
    left: dict[str, object] = {}

    async def slow_body(credential: str) -> AsyncIterator[bytes]:
        if credential == session:
            ended = await harness.post("/v1/logout", session)
        else:
            key = f"/v1/keys/{company.first_key_id}"
            ended = await harness.client.delete(key, headers=auth_headers(company.owner.session))
        assert ended.status_code == 200
        left.update(rows=harness.all_rows(), sent=len(box.requests), read=harness.register_log.total)
        yield body

    for credential in (company.owner.api_key, session):
        headers = {**auth_headers(credential), **JSON, "Content-Length": str(len(body))}
        response = await harness.client.request(method, path, content=slow_body(credential), headers=headers)

        assert (response.status_code, set(response.json())) == (401, ERROR_FIELDS)
        assert {
            **left,
            "rows": harness.all_rows(),
            "sent": len(box.requests),
            "read": harness.register_log.total,
        } == left


async def test_an_answer_that_is_kept_is_not_given_to_a_key_that_ends_while_the_body_comes(
    harness: ServiceHarness,
) -> None:
    company = await a_company(harness)
    body = json.dumps({"subject": SUBJECT}).encode()
    headers = {
        **auth_headers(company.owner.api_key),
        **JSON,
        "Content-Length": str(len(body)),
        "Idempotency-Key": "one",
    }
    assert (await harness.client.post("/v1/watches", content=body, headers=headers)).status_code == 200

    async def slow_body() -> AsyncIterator[bytes]:
        await harness.client.delete(f"/v1/keys/{company.first_key_id}", headers=auth_headers(company.owner.session))
        yield body

    response = await harness.client.post("/v1/watches", content=slow_body(), headers=headers)
    assert (response.status_code, set(response.json())) == (401, ERROR_FIELDS)


async def test_who_belongs_to_another_account_reaches_nothing_of_this_one(
    harness: ServiceHarness, box: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness.service.accounts.uses, "note", Mock())  # stored once a minute, in the midst of this
    used_up = True
    for number, label in enumerate(PROTECTED):
        company = await a_company(harness, f"acme{number}.example")
        if used_up:
            stranger = await a_company(harness, f"other{number}.example")
        used_up = await strangers_reach_nothing(harness, box, label, company, stranger)


async def strangers_reach_nothing(
    harness: ServiceHarness, box: Receiver, label: str, company: Company, stranger: Company
) -> bool:
    """Ask for an operation on what a company has, as each caller of another account; whether that changed the other."""
    used_up = False
    about = PROTECTED[label]
    path = await address_of(harness, label, company, box)
    everything, sent = harness.all_rows(), len(box.requests)
    [account_id] = [each["id"] for each in everything["accounts"] if each["email"] == company.owner.email]
    before = harness.rows_of_account(account_id, everything)
    for number, credential in enumerate((stranger.member, stranger.owner.session, stranger.owner.api_key)):
        response = await asked(harness, label, path, auth_headers(credential), about.body(company, number))
        used_up |= response.is_success and not label.startswith("GET")

        refused = credential == stranger.member and about.level[a_member] == 403
        assert response.status_code == (403 if refused else about.stranger), (label, response.text)
        assert "acme" not in response.text, label
        assert len(box.requests) == sent, label
        if not response.is_success:
            assert harness.all_rows() == everything, label
        else:
            everything = harness.all_rows()
            assert harness.rows_of_account(account_id, everything) == before, label
    return used_up


SECRET_EXAMPLE = re.compile(r"^(rw|us|ft|whsec)_…$|[?&]token=")
"""How the description shows a field that holds a secret."""
SECRET_FIELDS = {
    ("AccountObject", "webhook_secret"): "owners and keys",
    ("SignedInAccount", "webhook_secret"): "owners and keys",
    ("TrialAccount", "webhook_secret"): "owners and keys",
    ("AccountWithUser", "webhook_secret"): "owners and keys",
    ("WebhookObject", "secret"): "owners and keys",
    ("ChannelObject", "secret"): "owners and keys",
    ("SignedInAccount", "session"): "who opened it, once",
    ("TrialAccount", "session"): "who opened it, once",
    ("TrialAccount", "api_key"): "who opened the account, once",
    ("CreatedKey", "api_key"): "who made it, once",
    ("NewFeedObject", "events"): "who made it, once",
    ("NewFeedObject", "expiring"): "who made it, once",
}
"""Who may see each field that is secret."""
SECRET = re.compile(r"(?:rw|us|ft|whsec)_[\w+/=-]{20,}")


async def test_every_field_that_is_secret_is_in_the_table_here(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        schemas = harness.app.openapi()["components"]["schemas"]
    found = {
        (schema, field)
        for schema, about in schemas.items()
        for field, described in about.get("properties", {}).items()
        if any(isinstance(each, str) and SECRET_EXAMPLE.search(each) for each in described.get("examples", ()))
    }

    assert found == set(SECRET_FIELDS)


async def test_no_route_shows_a_member_any_secret(harness: ServiceHarness, box: Receiver) -> None:
    used_up = True
    for number, label in enumerate(PROTECTED):
        if used_up:
            company = await a_company(harness, f"company{number}.example")
            secrets = await secrets_of(harness, company, box)
        path = await address_of(harness, label, company, box)

        answered = await asked(
            harness, label, path, auth_headers(company.member), PROTECTED[label].body(company, number)
        )

        used_up = "/lists" in label or (answered.is_success and not label.startswith("GET"))  # few lists are allowed
        assert len(secrets) >= 6, label
        assert not {secret for secret in secrets if secret in answered.text}, label
        assert not SECRET.search(answered.text), label


async def secrets_of(harness: ServiceHarness, company: Company, box: Receiver) -> set[str]:
    """What the company was told that its member may not see."""
    told = [
        await harness.post("/v1/webhook", company.owner.session, url=box.url),
        await harness.post("/v1/webhooks", company.owner.session, url=f"{box.url}/second"),
        await harness.post("/v1/webhook/test", company.owner.session),
        await harness.post("/v1/feeds", company.owner.session),
        await harness.post("/v1/keys", company.owner.session),
    ]
    return {company.owner.api_key, company.owner.session}.union(*(SECRET.findall(each.text) for each in told))


async def test_signing_in_shows_a_member_no_secret_but_their_session(harness: ServiceHarness, box: Receiver) -> None:
    company = await a_company(harness)
    await harness.post("/v1/webhook", company.owner.session, url=box.url)
    for path in ("/v1/login", "/v1/trial"):
        answer = await harness.post(path, email="member@acme.example", password="a member's own")

        assert (answer.status_code, answer.json()["webhook_secret"]) == (200, "")
        assert SECRET.findall(answer.text) == [answer.json()["session"]]


@pytest.mark.parametrize("label", BY_SIGNATURE)
async def test_the_providers_signature_lets_in_and_no_credential_does(harness: ServiceHarness, label: str) -> None:
    company, path, body = await a_company(harness), label.partition(" ")[2], event("customer.created", {"id": "cus_1"})
    before = harness.all_rows()
    for credential in ("", UNKNOWN_KEY, company.member, company.owner.session, company.owner.api_key):
        unsigned = await harness.client.post(path, content=body, headers=auth_headers(credential))
        right = {**auth_headers(credential), "Payment-Signature": signed(body, harness.clock.now())}

        assert (unsigned.status_code, set(unsigned.json())) == (400, ERROR_FIELDS)
        assert (await harness.client.post(path, content=body, headers=right)).status_code == 200
    assert harness.all_rows() == before


@pytest.mark.parametrize("label", BY_TOKEN)
async def test_a_feeds_token_lets_in_whoever_has_it_and_nothing_else_does(harness: ServiceHarness, label: str) -> None:
    company = await a_company(harness)
    feed = (await harness.post("/v1/feeds", company.owner.session)).json()["feed"]
    token = feed["events"].partition("token=")[2]
    path, statuses = label.partition(" ")[2], {}
    credentials = ("", UNKNOWN_KEY, UNKNOWN_SESSION, company.member, company.owner.session, company.owner.api_key)
    for given in (token, "", token[:-1], f"{token}x", token.upper(), feed["prefix"], *credentials[1:], "%"):
        answers = [
            await harness.client.get(path, params={"token": given}, headers=auth_headers(each)) for each in credentials
        ]
        assert len({answer.status_code for answer in answers}) == 1, "a credential neither helps nor hurts"
        statuses[given] = answers[0].status_code

    assert {given for given, status in statuses.items() if status == 200} == {token}
    assert set(statuses.values()) == {200, 401}
    assert (await harness.client.get("/v1/feeds", headers={"Authorization": f"Bearer {token}"})).status_code == 401
    assert (await harness.client.get("/v1/feeds", headers={"X-API-Key": token})).status_code == 401


@pytest.mark.parametrize("label", BY_TOKEN)
async def test_a_feeds_token_works_after_the_period_and_not_after_the_account(
    harness: ServiceHarness, label: str
) -> None:
    company = await a_company(harness)
    feed = (await harness.post("/v1/feeds", company.owner.api_key)).json()["feed"]
    path, token = label.partition(" ")[2], feed["events"].partition("token=")[2]
    harness.clock.move(7 * DAY)
    assert (await harness.get(path, token=token)).status_code == 200
    await harness.post("/v1/account/delete", company.owner.api_key, password=company.owner.password)

    refused = await harness.get(path, token=token)

    assert (refused.status_code, set(refused.json())) == (401, ERROR_FIELDS)


@pytest.mark.parametrize("label", PUBLIC)
async def test_what_is_public_needs_no_credential_and_minds_no_wrong_one(
    start_service: ServiceStarter, label: str
) -> None:
    async with start_service() as harness:
        await harness.update_index()
        owner = await harness.sign_up()
        await harness.prove_address(owner)
        record = harness.world.newest(0, 1)[0]
        body = PUBLIC[label]
        document = document_uuid(harness.world.search_certificates(CertificateFilter(), 0, 1)[1][0])
        facts = encoded_facts(CertificateFacts(documents=(CertificateDocument(document),)))
        await store_certificates(harness.database, a_certificate(1, facts=facts))
        ids = {"udi": record.primary_di, "srn": record.manufacturer.srn, "id": certificate_id(1), "uuid": document}
        path = label.partition(" ")[2].format(**ids)
        queries = {
            "GET /v1/search": {"q": "set"},
            "GET /v1/parse": {"code": "(01)04012345678901"},
            "GET /v1/refresh": {"q": record.primary_di},
            "GET /v1/certificates": {"number": "Z-1"},
        }
        for headers in (
            {},
            {"X-API-Key": UNKNOWN_KEY},
            {"Authorization": f"Bearer {UNKNOWN_SESSION}"},
            {"Authorization": "Bearer"},
            {"Authorization": "Basic b3duZXI6cGFzcw=="},
            {"X-API-Key": "x" * 10_000},
        ):
            if body is not None and "token" in body:
                body = {
                    **body,
                    "token": (await harness.service.accounts.password_reset.link(EMAIL)).partition("token=")[2],
                }
            response = await harness.client.request(
                label.partition(" ")[0], path, params=queries.get(label), json=body, headers=headers
            )
            assert response.status_code == 200, (headers, response.text)
            await harness.finish_background_work()
        assert (await harness.client.get("/v1/me", headers=auth_headers(owner.api_key))).status_code == 200


async def test_a_credential_counts_by_its_header_and_its_beginning(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        owner = await harness.sign_up()
        expected: dict[tuple[tuple[str, str], ...], int] = {
            (("Authorization", f"bearer {owner.session}"),): 200,
            (("Authorization", f"BEARER {owner.api_key}"),): 200,
            (("x-api-key", f" {owner.api_key} "),): 200,
            (("X-API-Key", ""), ("Authorization", f"Bearer {owner.session}")): 200,
            (("X-API-Key", owner.api_key), ("Authorization", f"Bearer {UNKNOWN_SESSION}")): 200,
            (("X-API-Key", UNKNOWN_KEY), ("Authorization", f"Bearer {owner.session}")): 401,
            (("Authorization", owner.session),): 401,
            (("Authorization", f"Basic {owner.session}"),): 401,
            (("Authorization", f"Bearer {owner.session}x"),): 401,
            (("Authorization", f"Bearer {owner.session[:-1]}"),): 401,
            (("Authorization", f"Bearer {owner.session.upper()}"),): 401,
            (("Authorization", f"Bearer us_{owner.api_key}"),): 401,
            (("Authorization", "Bearer us_"),): 401,
            (("Authorization", "Bearer "),): 401,
            (("Cookie", f"session={owner.session}"),): 401,
            (("X-API-Key", owner.answer["keys"][0]["prefix"].replace("…", "")),): 401,
            (("X-API-Key", f"{owner.api_key}' OR '1'='1"),): 401,
            (("X-API-Key", "%"),): 401,
        }
        for headers, status in expected.items():
            assert (await harness.client.get("/v1/me", headers=list(headers))).status_code == status, headers
        for query in ({"api_key": owner.api_key}, {"X-API-Key": owner.api_key}, {"session": owner.session}):
            assert (await harness.client.get("/v1/me", params=query)).status_code == 401


async def test_a_credential_with_bytes_beyond_ascii_is_nobodys(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        for value in (b"rw_\xff\xfe", "rw_…".encode(), b"us_\x80", b"\xc3\x28"):
            for headers in ([(b"X-API-Key", value)], [(b"Authorization", b"Bearer " + value)]):
                assert (await harness.client.get("/v1/me", headers=headers)).status_code == 401
