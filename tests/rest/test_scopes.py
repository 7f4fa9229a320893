"""What keys of each scope may do on every route and with every tool, for how long, and what their use leaves behind.

An operation or a tool without a line in the tables here fails a test.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from registerwatch.accounts.models import Scope
from registerwatch.accounts.passwords.unproven_passwords import UNPROVEN_SECONDS
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.errors import Unauthenticated
from registerwatch.mcp.tools import TOOLS
from registerwatch.platform.clock import iso_utc
from registerwatch.rest.routing.auth import KeyOrSession
from tests.mcp.messages import used
from tests.rest.answers import granted, me, refused
from tests.rest.test_access import OF_USERS_TOO, PROTECTED, a_company, a_member, address_of, asked, operations
from tests.support.harness import PASSWORD, NewAccount, ServiceHarness, ServiceStarter, auth_headers
from tests.support.receiver import Receiver

NEW = "set without the one before"


HOUR, DAY = 3600, 24 * 3600
READ, WATCH, MANAGE = Scope.READ, Scope.WATCH, Scope.MANAGE

NEEDED: Mapping[str, Scope] = {
    "GET /v1/me": READ,
    "POST /v1/password": MANAGE,
    "POST /v1/account/delete": MANAGE,
    "POST /v1/users": MANAGE,
    "DELETE /v1/users/{id}": MANAGE,
    "POST /v1/keys": MANAGE,
    "DELETE /v1/keys/{id}": MANAGE,
    "GET /v1/audit": MANAGE,
    "GET /v1/sessions": MANAGE,
    "DELETE /v1/sessions": MANAGE,
    "DELETE /v1/sessions/{id}": MANAGE,
    "GET /v1/watches": READ,
    "POST /v1/watches": WATCH,
    "PATCH /v1/watches/{id}": WATCH,
    "DELETE /v1/watches/{id}": WATCH,
    "POST /v1/sync": WATCH,
    "GET /v1/events": READ,
    "GET /v1/expiring": READ,
    "POST /v1/import": WATCH,
    "GET /v1/lists": READ,
    "POST /v1/lists": WATCH,
    "GET /v1/lists/{id}": READ,
    "PATCH /v1/lists/{id}": WATCH,
    "DELETE /v1/lists/{id}": WATCH,
    "GET /v1/lists/{id}/lines": READ,
    "GET /v1/lists/{id}/lines.csv": READ,
    "GET /v1/lists/{id}/lines.xlsx": READ,
    "POST /v1/lists/{id}/watch": WATCH,
    "GET /v1/lists/{id}/uploads/{upload_id}": READ,
    "PATCH /v1/lists/{id}/uploads/{upload_id}": WATCH,
    "DELETE /v1/lists/{id}/uploads/{upload_id}": WATCH,
    "POST /v1/lists/{id}/uploads/{upload_id}/keep": WATCH,
    "POST /v1/webhook": MANAGE,
    "POST /v1/webhook/test": MANAGE,
    "GET /v1/webhooks": MANAGE,
    "POST /v1/webhooks": MANAGE,
    "DELETE /v1/webhooks/{id}": MANAGE,
    "POST /v1/webhooks/{id}/test": MANAGE,
    "POST /v1/webhooks/{id}/rotate": MANAGE,
    "GET /v1/webhooks/{id}/deliveries": MANAGE,
    "POST /v1/webhooks/{id}/deliveries/{delivery}/resend": MANAGE,
    "GET /v1/channels": MANAGE,
    "POST /v1/channels": MANAGE,
    "GET /v1/channels/{id}": MANAGE,
    "PATCH /v1/channels/{id}": MANAGE,
    "DELETE /v1/channels/{id}": MANAGE,
    "POST /v1/channels/{id}/test": MANAGE,
    "GET /v1/channels/{id}/deliveries": MANAGE,
    "GET /v1/feeds": READ,
    "POST /v1/feeds": MANAGE,
    "DELETE /v1/feeds/{id}": MANAGE,
    "POST /v1/billing/checkout": MANAGE,
    "POST /v1/billing/confirm": MANAGE,
    "POST /v1/billing/cancel": MANAGE,
    "POST /v1/billing/resume": MANAGE,
    "POST /v1/billing/portal": MANAGE,
}
"""The scope that each operation needs."""
TOOL_SCOPES: Mapping[str, Scope | None] = {
    "search_devices": None,
    "lookup_udi": None,
    "get_device": None,
    "get_actor": None,
    "list_watches": READ,
    "add_watch": WATCH,
    "sync_watches": WATCH,
    "list_changes": READ,
}
ARGUMENTS: Mapping[str, Mapping[str, str]] = {"add_watch": {"subject": "04099999999992"}}


@pytest.fixture
def harness(whole_service: ServiceHarness) -> ServiceHarness:
    return whole_service


async def a_key(harness: ServiceHarness, credential: str, **fields: object) -> str:
    """A new key with these fields of the request."""
    return str(granted(await harness.post("/v1/keys", credential, **fields))["api_key"])


async def keys_of(harness: ServiceHarness, owner: NewAccount) -> dict[str, dict[str, object]]:
    """The account's keys by their labels."""
    return {key["label"]: key for key in granted(await me(harness, owner.session))["keys"]}


def in_seconds(harness: ServiceHarness, seconds: int) -> str:
    """An instant of the harness's clock."""
    return iso_utc(harness.now + seconds)


def calls_of(dependant: Dependant) -> Iterator[Callable[..., object] | None]:
    for each in dependant.dependencies:
        yield each.call
        yield from calls_of(each)


# Scopes


async def test_every_route_that_needs_a_credential_declares_the_scope_of_the_table(
    start_service: ServiceStarter,
) -> None:
    async with start_service() as harness:
        declared = {}
        for context in iter_route_contexts(harness.app.routes):
            if isinstance(route := context.original_route, APIRoute):
                scopes = {call.scope for call in calls_of(route.dependant) if isinstance(call, KeyOrSession)}
                for method in (context.methods or set()) if scopes else ():
                    [declared[f"{method} {context.path_format}"]] = scopes
        needs_credential = {label for label, security in operations(harness.app).items() if security}

        assert declared == NEEDED
        assert needs_credential - {"POST /mcp", "POST /v1/logout"} == set(NEEDED) == set(PROTECTED)


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_the_description_tells_the_scope_of_every_operation_and_what_owners_alone_may(
    harness: ServiceHarness,
) -> None:
    paths = (await harness.get("/openapi.json")).json()["paths"]
    told = {
        f"{method.upper()} {path}": operation["x-access"]
        for path, item in paths.items()
        for method, operation in item.items()
        if "x-access" in operation
    }

    assert {label: access["scope"] for label, access in told.items()} == NEEDED
    assert {label for label, access in told.items() if access["owners_only"]} == {
        label for label, about in PROTECTED.items() if about.level[a_member] == 403 and label not in OF_USERS_TOO
    }


def test_every_tool_declares_the_scope_of_the_table() -> None:
    assert {tool.description.name: tool.scope for tool in TOOLS} == TOOL_SCOPES


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("label", NEEDED)
async def test_a_key_does_what_its_scope_allows_and_what_is_refused_changes_nothing(
    harness: ServiceHarness, box: Receiver, label: str
) -> None:
    company = await a_company(harness)
    path, body = await address_of(harness, label, company, box), PROTECTED[label].body(company, 1)
    for scope in (READ, WATCH, MANAGE):
        headers = auth_headers(await a_key(harness, company.owner.session, scope=scope))
        before, sent, read = harness.all_rows(), len(box.requests), harness.register_log.total

        response = await asked(harness, label, path, headers, body)

        if scope.includes(NEEDED[label]):
            assert response.status_code in (200, 202, 400, 503), (scope, response.text)
            break  # what is wider may do it too, and this may have changed the company
        assert f"`{NEEDED[label]}`" in refused(response, 403)
        assert response.json()["code"] == "scope-too-narrow"
        assert (harness.all_rows(), len(box.requests), harness.register_log.total) == (before, sent, read)


async def test_a_tool_that_a_key_may_not_use_says_so_in_its_payload(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    for scope in (READ, WATCH, MANAGE):
        key = await a_key(harness, owner.session, scope=scope)
        for name, needed in TOOL_SCOPES.items():
            if needed is None:
                continue
            before = harness.all_rows()
            said = await used(harness, name, key, **ARGUMENTS.get(name, {}))

            assert said.is_error is not scope.includes(needed), (name, scope)
            if said.is_error:
                assert f"scope `{scope}`" in said.payload["error"]
                assert harness.all_rows() == before


async def test_a_key_without_a_scope_may_do_everything_and_a_wrong_scope_is_a_400(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()

    granted(
        await harness.post(
            "/v1/users", await a_key(harness, owner.session), email="m@acme.example", password="12345678"
        )
    )
    for wrong in ("all", "", "READ", 7, ["read"]):
        refused(await harness.post("/v1/keys", owner.session, scope=wrong), 400)
    assert {key["scope"] for key in (await keys_of(harness, owner)).values()} == {"manage"}


@pytest.mark.parametrize("scope", [READ, WATCH])
async def test_a_key_that_may_not_manage_sees_no_webhook_secret(
    harness: ServiceHarness, box: Receiver, scope: Scope
) -> None:
    owner = await harness.sign_up()
    saved = granted(await harness.post("/v1/webhook", owner.session, url=box.url))
    key = await a_key(harness, owner.session, scope=scope)

    shown = await me(harness, key)

    assert saved["webhook_secret"].startswith("whsec_")
    assert saved["webhook_secret"] not in shown.text
    assert (granted(shown)["webhook_secret"], granted(shown)["webhook_url"]) == ("", box.url)


# Ends


async def test_a_key_with_an_end_stops_then_and_makes_room_for_another(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    keys = [await a_key(harness, owner.session, label=f"{n}", expires_at=in_seconds(harness, HOUR)) for n in range(9)]
    assert refused(await harness.post("/v1/keys", owner.session), 409)

    harness.clock.move(HOUR - 1)
    granted(await me(harness, keys[0]))
    harness.clock.move(1)

    refused(await me(harness, keys[0]), 401)
    assert (await keys_of(harness, owner))["0"]["expires_at"] == iso_utc(harness.now)
    assert (await keys_of(harness, owner))["0"]["revoked"] is False
    await a_key(harness, owner.session, label="new")


@pytest.mark.parametrize(
    "end",
    [
        "9999-12-31T23:59:59-23:59",
        "9999-12-31T23:59:59-00:01",
        "2020-01-01T00:00:00Z",
        "2040-01-01T00:00:00",
        "tomorrow",
        7.5,
        "",
        "9999999-01-01",
    ],
)
async def test_an_end_that_is_over_or_is_no_instant_is_a_400(harness: ServiceHarness, end: object) -> None:
    owner = await harness.sign_up()

    refused(await harness.post("/v1/keys", owner.session, expires_at=end), 400)
    assert len(await keys_of(harness, owner)) == 1


async def test_the_latest_end_that_can_be_written_is_taken(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()

    await a_key(harness, owner.session, label="long", expires_at="9999-12-31T23:59:59Z")

    assert (await keys_of(harness, owner))["long"]["expires_at"] == "9999-12-31T23:59:59Z"


async def test_a_key_with_an_end_makes_no_key_that_lasts_longer(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    end = in_seconds(harness, HOUR)
    key = await a_key(harness, owner.session, expires_at=end)

    await a_key(harness, key, label="by default")
    await a_key(harness, key, label="earlier", expires_at=in_seconds(harness, 60))
    said = refused(await harness.post("/v1/keys", key, expires_at=in_seconds(harness, 2 * HOUR)), 400)

    assert "lasts longer" in said
    assert (await keys_of(harness, owner))["by default"]["expires_at"] == end
    assert (await keys_of(harness, owner))["earlier"]["expires_at"] == in_seconds(harness, 60)


async def test_a_key_with_an_end_sets_no_password_and_adds_nobody_who_gets_in_afterwards(
    harness: ServiceHarness,
) -> None:
    owner = await harness.sign_up()
    key = await a_key(harness, owner.session, expires_at=in_seconds(harness, HOUR))
    of_key = await a_key(harness, key)
    before = harness.all_rows()

    for each in (key, of_key):
        for answer in (
            await harness.post("/v1/password", each, password=NEW),
            await harness.post("/v1/users", each, email="thief@evil.example", password=NEW),
        ):
            assert "has an end" in refused(answer, 403)
            assert answer.json()["code"] == "key-has-end"
    assert harness.all_rows() == before
    granted(await harness.post("/v1/users", owner.api_key, email="member@acme.example", password=NEW))
    granted(await harness.post("/v1/password", owner.api_key, password=NEW))


async def test_a_key_that_has_been_over_for_90_days_is_no_longer_listed(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await a_key(harness, owner.session, label="short", expires_at=in_seconds(harness, 60))
    harness.clock.move(60 + 90 * DAY)
    await harness.service.accounts.pruner.prune()
    assert len(harness.all_rows()["api_keys"]) == 2
    harness.clock.move(1)
    await harness.service.accounts.pruner.prune()

    assert [row["label"] for row in harness.all_rows()["api_keys"]] == ["first key"]


# Uses


async def test_the_last_use_of_a_key_is_shown_to_about_ten_minutes(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    key, uses = await a_key(harness, owner.session, label="ERP"), harness.service.accounts.uses
    assert (await keys_of(harness, owner))["ERP"]["last_used_at"] is None

    first = iso_utc(harness.now)
    for _ in range(3):
        granted(await me(harness, key))
        await uses.store()
        harness.clock.move(199)
    assert (await keys_of(harness, owner))["ERP"]["last_used_at"] == first
    harness.clock.move(10)
    granted(await me(harness, key))
    await uses.store()

    assert (await keys_of(harness, owner))["ERP"]["last_used_at"] == iso_utc(harness.now)
    await uses.store()
    before = harness.all_rows()
    refused(await me(harness, f"{key}x"), 401)
    await uses.store()
    assert harness.all_rows() == before


async def test_uses_are_stored_while_somebody_changes_the_keys(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    keys = [await a_key(harness, owner.session) for _ in range(3)]
    for key in keys:
        granted(await me(harness, key))

    deletion = harness.post("/v1/account/delete", owner.session, password=PASSWORD)
    _, answer = await asyncio.gather(harness.service.accounts.uses.store(), deletion)

    assert answer.status_code == 200


# What a key that somebody found can do


@pytest.mark.parametrize("by", ["key", "session"])
async def test_a_password_that_was_set_without_the_one_before_deletes_no_account_for_a_day(
    by: str, harness: ServiceHarness
) -> None:
    owner = await harness.sign_up()
    granted(await harness.post("/v1/password", owner.api_key if by == "key" else owner.session, password=NEW))
    session = await harness.sign_in(owner.email, NEW)

    for credential in (owner.api_key, session):
        answer = await harness.post("/v1/account/delete", credential, password=NEW)
        assert "24 hours" in refused(answer, 403)
        assert answer.json()["code"] == "password-too-new"
        refused(await harness.post("/v1/account/delete", credential, password="a wrong one"), 401)
    harness.clock.move(UNPROVEN_SECONDS - 1)
    refused(await harness.post("/v1/account/delete", session, password=NEW), 403)
    harness.clock.move(1)

    granted(await harness.post("/v1/account/delete", session, password=NEW))


async def test_a_session_that_such_a_password_opened_does_not_shorten_the_day(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    granted(await harness.post("/v1/password", owner.api_key, password="set by a key"))
    session = await harness.sign_in(owner.email, "set by a key")
    granted(await harness.post("/v1/password", session, password="set by a session"))

    refused(await harness.post("/v1/account/delete", session, password="set by a session"), 403)


async def test_the_owners_own_password_by_a_mailed_link_deletes_at_once(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    granted(await harness.post("/v1/password", owner.api_key, password="set by a key"))
    token = (await harness.service.accounts.password_reset.link(owner.email)).partition("token=")[2]
    granted(await harness.post("/v1/password/reset", token=token, password="my own again"))
    session = await harness.sign_in(owner.email, "my own again")

    granted(await harness.post("/v1/account/delete", session, password="my own again"))


async def test_a_request_that_waits_while_its_key_is_revoked_changes_nothing(harness: ServiceHarness) -> None:
    """The key is looked up before the account is locked; what waits for the lock looks again."""
    owner = await harness.sign_up()
    other = await a_key(harness, owner.session)
    caller = await harness.service.accounts.sessions.caller(credential_of(other, None))
    key_id = next(key["id"] for key in granted(await me(harness, owner.session))["keys"] if key["id"] == caller.key_id)
    answer = await harness.client.delete(f"/v1/keys/{key_id}", headers=auth_headers(owner.session))
    granted(answer)
    before = harness.all_rows()
    accounts, notifications = harness.service.accounts, harness.service.notifications

    for late in (
        accounts.api_keys.create(caller, "late"),
        accounts.password_reset.change(caller, "a late password"),
        accounts.members.add_user(caller, "late@acme.example", PASSWORD),
        notifications.webhooks.add(caller, "https://hooks.late.example/"),
        harness.service.feeds.add(caller),
    ):
        with pytest.raises(Unauthenticated):
            await late
    assert harness.all_rows() == before
