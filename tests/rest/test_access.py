"""Who may do what: every operation of the description, asked by every kind of caller.

An operation that is in the description and not in a table here fails a test, and so does one that is only here.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import httpx2
import pytest
from fastapi import Depends, FastAPI
from fastapi.routing import iter_route_contexts

from registerwatch.accounts.credentials import new_key, new_session
from registerwatch.accounts.model import Caller
from registerwatch.accounts.signing_in import SESSION_SECONDS
from registerwatch.rest.security import auth_levels
from tests.conftest import StageMaker
from tests.parts.stage import EMAIL, PASSWORD, SignedUp, Stage, carrying

pytestmark = pytest.mark.anyio

DAY = 24 * 3600
METHODS = {"get", "post", "put", "patch", "delete"}
UNKNOWN_KEY, UNKNOWN_SESSION = new_key(), new_session()
"""Well formed, and nobody's."""


@dataclass(frozen=True, slots=True)
class Company:
    """An account with an owner, a member and a key beside the first one."""

    owner: SignedUp
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


async def a_company(stage: Stage, domain: str = "acme.example") -> Company:
    owner = await stage.sign_up(f"owner@{domain}", f"the owner's at {domain}")
    await stage.post("/v1/users", owner.session, email=f"member@{domain}", password="a member's own")
    await stage.post("/v1/keys", owner.session, label="other")
    account = (await stage.client.get("/v1/me", headers=carrying(owner.session))).json()
    return Company(owner, await stage.sign_in(f"member@{domain}", "a member's own"), account)


Headers = Mapping[str, str]


async def nobody(_stage: Stage, _company: Company) -> Headers:
    return {}


async def an_unknown_key(_stage: Stage, _company: Company) -> Headers:
    return {"X-API-Key": UNKNOWN_KEY}


async def an_unknown_session(_stage: Stage, _company: Company) -> Headers:
    return {"Authorization": f"Bearer {UNKNOWN_SESSION}"}


async def a_revoked_key(stage: Stage, company: Company) -> Headers:
    path = f"/v1/keys/{company.first_key_id}"
    assert (await stage.client.delete(path, headers=carrying(company.owner.session))).status_code == 200
    return {"X-API-Key": company.owner.api_key}


async def an_old_session(stage: Stage, company: Company) -> Headers:
    expires_at = int(stage.clock.now()) + SESSION_SECONDS + DAY
    await stage.service.accounts.operating.set_period(company.owner.email, None, expires_at)
    stage.clock.move(SESSION_SECONDS)
    return {"Authorization": f"Bearer {company.owner.session}"}


async def a_left_session(stage: Stage, company: Company) -> Headers:
    await stage.post("/v1/logout", company.owner.session)
    return {"Authorization": f"Bearer {company.owner.session}"}


async def a_removed_member(stage: Stage, company: Company) -> Headers:
    path = f"/v1/users/{company.member_id}"
    assert (await stage.client.delete(path, headers=carrying(company.owner.session))).status_code == 200
    return {"Authorization": f"Bearer {company.member}"}


async def a_session_as_key(_stage: Stage, company: Company) -> Headers:
    return {"X-API-Key": company.owner.session}


async def a_member(_stage: Stage, company: Company) -> Headers:
    return {"Authorization": f"Bearer {company.member}"}


async def an_owner(_stage: Stage, company: Company) -> Headers:
    return {"Authorization": f"Bearer {company.owner.session}"}


async def a_key(_stage: Stage, company: Company) -> Headers:
    return {"X-API-Key": company.owner.api_key}


async def a_key_as_bearer(_stage: Stage, company: Company) -> Headers:
    return {"Authorization": f"Bearer {company.owner.api_key}"}


async def an_ownertoo_late(stage: Stage, company: Company) -> Headers:
    stage.clock.move(7 * DAY)
    return {"Authorization": f"Bearer {company.owner.session}"}


async def a_member_too_late(stage: Stage, company: Company) -> Headers:
    stage.clock.move(7 * DAY)
    return {"Authorization": f"Bearer {company.member}"}


async def a_key_too_late(stage: Stage, company: Company) -> Headers:
    stage.clock.move(7 * DAY)
    return {"X-API-Key": company.owner.api_key}


Kind = Callable[[Stage, Company], Awaitable[Headers]]

KEY_OR_SESSION: Mapping[Kind, int] = {
    nobody: 401,
    an_unknown_key: 401,
    an_unknown_session: 401,
    a_revoked_key: 401,
    an_old_session: 401,
    a_left_session: 401,
    a_removed_member: 401,
    a_session_as_key: 401,
    a_member: 200,
    an_owner: 200,
    a_key: 200,
    a_key_as_bearer: 200,
    an_ownertoo_late: 200,
    a_member_too_late: 200,
    a_key_too_late: 200,
}
OWNER_OR_KEY = {**KEY_OR_SESSION, a_member: 403, a_member_too_late: 403}
ACTIVE_ACCOUNT = {
    **KEY_OR_SESSION,
    an_ownertoo_late: 402,
    a_member_too_late: 402,
    a_key_too_late: 402,
}


Body = Mapping[str, object]


def no_body(_company: Company, _number: int) -> Body | None:
    return None


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
}
PUBLIC: Mapping[str, Body | None] = {
    "GET /health": None,
    "GET /openapi.json": None,
    "GET /v1/search": None,
    "GET /v1/refresh": None,
    "GET /v1/devices/{udi}": None,
    "GET /v1/actors/{srn}": None,
    "POST /v1/trial": {"email": EMAIL, "password": PASSWORD},
    "POST /v1/login": {"email": EMAIL, "password": PASSWORD},
    "POST /v1/logout": {},
    "POST /v1/password/forgot": {"email": EMAIL},
    "POST /v1/password/reset": {"token": "", "password": PASSWORD},
}
CREDENTIAL_OPTIONAL = {"POST /v1/logout"}
UNDESCRIBED = {"GET /openapi.json"}
"""The description does not describe itself."""


def probe(stage: Stage) -> None:
    """Add an operation of the level that no other has yet."""
    levels = auth_levels(stage.service.accounts.signing_in, stage.service.clock)

    @stage.app.post("/v1/probe")
    async def answer(caller: Annotated[Caller, Depends(levels.active_account)]) -> dict[str, str]:
        return {"account": caller.account.email}


def operations(app: FastAPI) -> dict[str, list[dict[str, object]]]:
    """The operations of the description with what they say about credentials."""
    return {
        f"{method.upper()} {path}": operation.get("security", [])
        for path, methods in app.openapi()["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    }


async def asked(stage: Stage, label: str, company: Company, headers: Headers, body: Body | None) -> httpx2.Response:
    """The answer to one request; `{id}` is the member's or the other key's."""
    method, _, path = label.partition(" ")
    path = path.replace("{id}", str(company.member_id if "users" in path else company.other_key_id))
    return await stage.client.request(method, path, headers=dict(headers), json=body)


async def belongings(stage: Stage, account_id: int) -> dict[str, list[dict[str, Any]]]:
    """Every row of an account, its people, their sessions."""
    tables = await stage.tables()
    people = {row["id"] for row in tables["users"] if row["account_id"] == account_id}
    own = {
        name: [row for row in rows if row.get("account_id") == account_id or row.get("user_id") in people]
        for name, rows in tables.items()
    }
    return {**own, "accounts": [row for row in tables["accounts"] if row["id"] == account_id]}


async def test_the_tables_here_have_every_operation_and_no_other(staged: StageMaker) -> None:
    async with staged() as stage:
        described = operations(stage.app)

        assert set(described) - set(PUBLIC) == set(PROTECTED)
        assert set(PUBLIC) - set(described) == UNDESCRIBED
        for label, security in described.items():
            assert bool(security) is (label in PROTECTED or label in CREDENTIAL_OPTIONAL), label
            assert ({} in security) is (label in CREDENTIAL_OPTIONAL), f"{label}: an empty one says that it is optional"


async def test_every_route_of_the_interface_is_in_the_description(staged: StageMaker) -> None:
    async with staged() as stage:
        routes = {
            f"{method} {context.path_format}"
            for context in iter_route_contexts(stage.app.routes)
            for method in context.methods or ()
            if str(context.path_format).startswith("/v1")
        }

        assert routes
        assert routes <= set(operations(stage.app))


@pytest.mark.parametrize("label", PROTECTED)
async def test_each_caller_gets_what_the_level_gives_and_who_is_refused_changes_nothing(
    staged: StageMaker, label: str
) -> None:
    about = PROTECTED[label]
    async with staged() as stage:
        assert await answers(stage, label, about) == named(about.level)


async def test_an_active_account_is_needed_where_the_level_says_so(staged: StageMaker) -> None:
    about = Protected(ACTIVE_ACCOUNT, 200, lambda _, number: {"number": number})
    async with staged() as stage:
        probe(stage)
        assert await answers(stage, "POST /v1/probe", about) == named(about.level)


async def answers(stage: Stage, label: str, about: Protected) -> dict[str, int]:
    """The status that each kind of caller gets, each in a company of its own."""
    statuses: dict[Kind, int] = {}
    for number, kind in enumerate(about.level):
        company = await a_company(stage, f"company{number}.example")
        headers = await kind(stage, company)
        before = await stage.tables()
        response = await asked(stage, label, company, headers, about.body(company, number))
        statuses[kind] = response.status_code
        if response.status_code != 200:
            assert set(response.json()) == {"error"}
            assert await stage.tables() == before, kind
        assert response.headers.get("www-authenticate") == ("Bearer" if response.status_code == 401 else None)
        assert response.headers["access-control-allow-origin"] == "*"
    return named(statuses)


def named(statuses: Mapping[Kind, int]) -> dict[str, int]:
    """The same by names, which a failure shows better."""
    return {kind.__name__: status for kind, status in statuses.items()}


@pytest.mark.parametrize("label", PROTECTED)
async def test_who_belongs_to_another_account_reaches_nothing_of_this_one(staged: StageMaker, label: str) -> None:
    about = PROTECTED[label]
    async with staged() as stage:
        company = await a_company(stage)
        stranger = await a_company(stage, "other.example")
        account_id = (await stage.tables())["accounts"][0]["id"]
        before, everything = await belongings(stage, account_id), await stage.tables()
        for number, credential in enumerate((stranger.member, stranger.owner.session, stranger.owner.api_key)):
            response = await asked(stage, label, company, carrying(credential), about.body(company, number))

            refused = credential == stranger.member and about.level[a_member] == 403
            assert response.status_code == (403 if refused else about.stranger), response.text
            assert "acme" not in response.text
            assert await belongings(stage, account_id) == before
            if response.status_code != 200:
                assert await stage.tables() == everything
            everything = await stage.tables()


@pytest.mark.parametrize("label", PUBLIC)
async def test_what_is_public_needs_no_credential_and_minds_no_wrong_one(staged: StageMaker, label: str) -> None:
    async with staged() as stage:
        owner = await stage.sign_up()
        record = stage.world.newest(0, 1)[0]
        body = PUBLIC[label]
        path = label.partition(" ")[2].format(udi=record.primary_di, srn=record.manufacturer.srn)
        queries = {"GET /v1/search": {"q": "set"}, "GET /v1/refresh": {"q": record.primary_di}}
        for headers in (
            {},
            {"X-API-Key": UNKNOWN_KEY},
            {"Authorization": f"Bearer {UNKNOWN_SESSION}"},
            {"Authorization": "Bearer"},
            {"Authorization": "Basic b3duZXI6cGFzcw=="},
            {"X-API-Key": "x" * 10_000},
        ):
            if body is not None and "token" in body:
                body = {**body, "token": (await stage.service.accounts.recovering.link(EMAIL)).partition("token=")[2]}
            response = await stage.client.request(
                label.partition(" ")[0], path, params=queries.get(label), json=body, headers=headers
            )
            assert response.status_code == 200, (headers, response.text)
            await stage.settle()
        assert (await stage.client.get("/v1/me", headers=carrying(owner.api_key))).status_code == 200


async def test_a_credential_counts_by_its_header_and_its_beginning(staged: StageMaker) -> None:
    async with staged() as stage:
        owner = await stage.sign_up()
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
            assert (await stage.client.get("/v1/me", headers=list(headers))).status_code == status, headers
        for query in ({"api_key": owner.api_key}, {"X-API-Key": owner.api_key}, {"session": owner.session}):
            assert (await stage.client.get("/v1/me", params=query)).status_code == 401


async def test_a_credential_with_bytes_beyond_ascii_is_nobodys(staged: StageMaker) -> None:
    async with staged() as stage:
        for value in (b"rw_\xff\xfe", "rw_…".encode(), b"us_\x80", b"\xc3\x28"):
            for headers in ([(b"X-API-Key", value)], [(b"Authorization", b"Bearer " + value)]):
                assert (await stage.client.get("/v1/me", headers=headers)).status_code == 401
