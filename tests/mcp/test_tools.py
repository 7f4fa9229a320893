"""The tools: what each says, when that is an error, and that it says what REST says."""

import asyncio
import json
from typing import Any

import psycopg
import pytest

from registerwatch.accounts.models import PERIOD_ENDED
from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.lookup.actors import ActorAnswer
from registerwatch.mcp import tools as registered
from registerwatch.mcp.tools.registry import NEEDS_KEY
from registerwatch.watches.events import event_repository
from registerwatch.web.responses import NO_DATABASE
from tests.mcp.messages import (
    OF_ACCOUNTS,
    TOOLS,
    Said,
    answered,
    arguments_of_tools,
    asking,
    posted,
    used,
    using,
    without_code,
)
from tests.register.builders import a_udi
from tests.support.harness import PASSWORD, NewAccount, ServiceHarness, auth_headers

UNREGISTERED = "04099999999992"
UNKNOWN_ACTOR = "DE-MF-999999999"
ARGUMENTS = arguments_of_tools(UNREGISTERED, UNKNOWN_ACTOR)
NO_LIMITS: tuple[object, ...] = (0, -1, "5", 1.5, None, True, [], {})
NO_OBJECTS: tuple[object, ...] = ([], "text", 7, True)
NO_TEXTS: tuple[object, ...] = (None, 7, True, [], {})
NO_TOOLS: tuple[object, ...] = ("nothing", "", "Get_device", "__class__", None, 7, [], {}, ["get_device"], True)
UNKNOWN_TOOL = {"content": [{"type": "text", "text": '{"error":"Unknown tool."}'}], "isError": True}


async def of_rest(harness: ServiceHarness, path: str, credential: str = "", **parameters: str) -> Any:
    """What a GET of REST says to who waits for a whole record, as tools do."""
    headers = {**auth_headers(credential), "Prefer": "wait=3"}
    return (await harness.client.get(path, headers=headers, params=parameters)).json()


async def ended(harness: ServiceHarness, owner: NewAccount) -> None:
    """Let the account's period end."""
    await harness.service.accounts.admin.set_period(owner.email, None, harness.now)


# Reading the register


async def test_a_device_is_the_same_by_either_name_and_the_same_as_over_rest(harness: ServiceHarness) -> None:
    udi = harness.unique_devices(1)[0].primary_di
    await harness.service.refresher.refresh(udi)

    answers = [await used(harness, tool, udi=f" {udi[:4]} {udi[4:]}") for tool in ("get_device", "lookup_udi")]

    assert answers == [Said(await of_rest(harness, f"/v1/devices/{udi}"), is_error=False)] * 2


async def test_a_device_that_is_not_stored_is_read_from_the_register(harness: ServiceHarness) -> None:
    [device] = [each for each in harness.unique_devices(120) if each.primary_di][:1]
    read = harness.register_log.total

    answer = await used(harness, "get_device", udi=device.primary_di)

    assert (answer.payload["udi"], answer.payload["error"]) == (device.primary_di, None)
    await harness.finish_background_work()
    assert harness.register_log.total > read


async def test_a_device_that_nobody_registered_is_not_found_in_the_payload(harness: ServiceHarness) -> None:
    answers = [await used(harness, tool, udi=UNREGISTERED) for tool in ("get_device", "lookup_udi")]

    over_rest = without_code(await of_rest(harness, f"/v1/devices/{UNREGISTERED}"))
    assert answers == [Said(over_rest, is_error=True)] * 2
    assert answers[0].payload["found"] is False


async def test_a_device_whose_last_read_failed_is_shown_and_an_error(harness: ServiceHarness) -> None:
    udi = harness.unique_devices(1)[0].primary_di
    harness.faults.fail("any", "http-503")
    await harness.service.refresher.refresh(udi)

    answer = await used(harness, "get_device", udi=udi)

    assert answer.is_error
    assert answer.payload["udi"] == udi
    assert answer.payload == await of_rest(harness, f"/v1/devices/{udi}")


async def test_an_actor_is_the_same_as_over_rest_and_an_unknown_one_is_thin(harness: ServiceHarness) -> None:
    srn = harness.unique_devices(1)[0].manufacturer.srn
    await harness.service.refresher.refresh(srn)

    known, unknown = (
        await used(harness, "get_actor", srn=srn.lower()),
        await used(harness, "get_actor", srn=UNKNOWN_ACTOR),
    )

    assert known == Said(await of_rest(harness, f"/v1/actors/{srn}"), is_error=False)
    assert unknown.payload == await of_rest(harness, f"/v1/actors/{UNKNOWN_ACTOR}")
    assert set(unknown.payload) == set(known.payload) == set(ActorAnswer.__struct_fields__) - {"listed"}
    assert (unknown.payload["name"], unknown.payload["devices"]) == ("", [])


async def test_a_search_finds_what_rest_finds(harness: ServiceHarness) -> None:
    device = harness.unique_devices(1)[0]
    for query in (device.primary_di, device.manufacturer.srn, "set", "qzqzqz", device.manufacturer.name[:6]):
        answer = await used(harness, "search_devices", q=query, limit=8)

        over_rest = await of_rest(harness, "/v1/search", q=query)
        shown = over_rest["results"][:8]
        assert answer == Said({**over_rest, "results": shown}, is_error=False)
        of_maker = {"complete", "devices_registered", "devices_known"} if answer.payload["match"] == "srn" else set()
        assert set(answer.payload) == {"results", "total", "match", "refresh", "error"} | of_maker


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_search_shows_as_many_as_asked_for_up_to_25(harness: ServiceHarness) -> None:
    common = await used(harness, "search_devices", q="g")
    assert common.payload["total"] > 25, "a question that more than 25 devices answer"

    for limit, shown in ((1, 1), (10, 10), (25, 25), (26, 25), (1_000, 25), (10**30, 25)):
        answer = await used(harness, "search_devices", q="g", limit=limit)
        assert (len(answer.payload["results"]), answer.payload["total"]) == (shown, common.payload["total"])
        assert not answer.is_error
    assert len(common.payload["results"]) == 10
    srn = harness.unique_devices(1)[0].manufacturer.srn
    assert len((await used(harness, "search_devices", q=srn, limit=1)).payload["results"]) == 1


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_arguments_that_do_not_fit_are_told_in_the_payload(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    before, read = harness.all_rows(), harness.register_log.total
    named = [(tool, name) for tool, arguments in ARGUMENTS.items() for name in arguments]
    without = [tool for tool in TOOLS if tool not in ARGUMENTS]
    wrong: list[tuple[str, object]] = [
        *(("search_devices", {"q": "set", "limit": limit}) for limit in NO_LIMITS),
        *((tool, arguments) for tool in ARGUMENTS for arguments in ({}, None, *NO_OBJECTS)),
        *((tool, arguments) for tool in without for arguments in NO_OBJECTS),
        *((tool, {name: value}) for tool, name in named for value in (*NO_TEXTS, "", "x" * 10_000)),
    ]
    for tool, arguments in wrong:
        payload = await refused(harness, tool, arguments, owner.api_key)
        assert len(payload["error"]) < 500
    assert (harness.all_rows(), harness.register_log.total) == (before, read)


async def refused(harness: ServiceHarness, tool: str, arguments: object, credential: str) -> Any:
    """What a tool says to arguments that it does not take."""
    message = asking("tools/call", {"name": tool, "arguments": arguments})
    result = (await answered(harness, message, credential))["result"]
    payload = json.loads(result["content"][0]["text"])
    assert result["isError"], (tool, arguments)
    assert payload["error"], (tool, arguments)
    return payload


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_arguments_that_a_tool_does_not_have_are_refused_and_nothing_is_done(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    before, read = harness.all_rows(), harness.register_log.total
    for tool in TOOLS:
        arguments = {**ARGUMENTS.get(tool, {}), "page": 2, "api_key": "rw_1"}
        payload = await refused(harness, tool, arguments, owner.api_key)
        assert payload["error"].startswith("There is no argument `page` here. There is no argument `api_key` here.")
    assert (harness.all_rows(), harness.register_log.total) == (before, read)
    assert (await answered(harness, using("list_changes"), owner.api_key))["result"]["isError"] is False


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_tool_that_is_none_is_told_as_such(harness: ServiceHarness) -> None:
    for name in NO_TOOLS:
        result = (await answered(harness, using(name, {"udi": "1"})))["result"]
        assert result == UNKNOWN_TOOL, name
    assert (await answered(harness, asking("tools/call")))["result"] == UNKNOWN_TOOL


# Watching


async def test_a_watch_that_is_added_is_the_one_that_rest_shows(harness: ServiceHarness, owner: NewAccount) -> None:
    udi = harness.unique_devices(1)[0].primary_di

    added = await used(harness, "add_watch", owner.api_key, subject=f" {udi}\n")
    again = await used(harness, "add_watch", owner.session, subject=udi)

    [watch] = (await of_rest(harness, "/v1/watches", owner.api_key))["watches"]
    assert added == again == Said({"watch": watch, "error": None}, is_error=False)
    assert watch["subject"] == udi


async def test_a_sync_and_the_list_of_changes_say_what_rest_says(harness: ServiceHarness, owner: NewAccount) -> None:
    device = harness.unique_devices(1)[0]
    await harness.post_watches(owner.api_key, device.primary_di)
    harness.world.change(device.uuid, reference="NEW-1")

    synced = await used(harness, "sync_watches", owner.api_key)
    changes = await used(harness, "list_changes", owner.api_key)

    assert synced.payload["synced"] == 1
    assert synced.payload["error"] is None
    [event] = changes.payload["events"]
    assert changes == Said(await of_rest(harness, "/v1/events", owner.api_key), is_error=False)
    assert set(event) == {"id", "watch_id", "subject", "label", "created_at", "summary", "changes"} | {
        "kind",
        "severity",
        "visible_at",
    }
    shown = {name: event[name] for name in ("subject", "label", "summary", "changes")}
    assert synced == Said({"synced": 1, "events": [shown], "error": None}, is_error=False)
    quiet = {"synced": 1, "events": [], "error": None}
    assert await used(harness, "sync_watches", owner.api_key) == Said(quiet, is_error=False)
    assert (await harness.post("/v1/sync", owner.api_key)).json() == quiet


async def test_the_newest_fifty_changes_are_listed_newest_first(harness: ServiceHarness, owner: NewAccount) -> None:
    caller = await harness.service.accounts.sessions.caller(credential_of(owner.api_key, None))
    made = [
        event_repository.NewEvent(caller.account.id, 1, UNREGISTERED, "Label", f"reference: → R-{number}", [], True)
        for number in range(60)
    ]
    async with harness.database.transaction() as connection:
        await event_repository.add_events(connection, made, harness.now)

    events = (await used(harness, "list_changes", owner.api_key)).payload["events"]

    assert [event["summary"] for event in events] == [f"reference: → R-{number}" for number in range(59, 9, -1)]
    assert events == (await of_rest(harness, "/v1/events", owner.api_key))["events"][:50]


async def test_a_member_uses_every_tool(harness: ServiceHarness, owner: NewAccount) -> None:
    await harness.post("/v1/users", owner.api_key, email="member@acme.example", password=PASSWORD)
    member = await harness.sign_in("member@acme.example")
    udi = harness.unique_devices(1)[0].primary_di

    arguments = arguments_of_tools(udi, UNKNOWN_ACTOR)
    for tool in OF_ACCOUNTS:
        assert not (await used(harness, tool, member, **arguments.get(tool, {}))).is_error, tool


async def test_a_word_is_watched_by_the_tool_only_where_that_is_asked_for(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    refusal = await used(harness, "add_watch", owner.api_key, subject="titan")
    assert (refusal.is_error, refusal.payload["watch"]) == (True, None)
    assert "no digit" in refusal.payload["error"]
    assert await used(harness, "add_watch", owner.api_key, subject="titan", must_exist=None) == refusal
    taken = await used(harness, "add_watch", owner.api_key, subject="titan", must_exist=False)
    assert taken.payload["watch"]["subject"] == "titan"


async def test_a_stranger_sees_nothing_of_an_account(harness: ServiceHarness, owner: NewAccount) -> None:
    device = harness.unique_devices(1)[0]
    await harness.post_watches(owner.api_key, device.primary_di)
    harness.world.change(device.uuid, reference="NEW-1")
    await harness.service.refresher.refresh(device.primary_di)
    stranger = await harness.sign_up("stranger@other.example")

    answers = [await used(harness, tool, stranger.api_key) for tool in ("list_watches", "sync_watches", "list_changes")]

    assert [answer.payload for answer in answers] == [
        {"watches": []},
        {"synced": 0, "events": [], "error": None},
        {"events": []},
    ]
    assert len((await used(harness, "list_changes", owner.api_key)).payload["events"]) == 1


NOTHING: dict[str, dict[str, object]] = {"add_watch": {"watch": None}, "sync_watches": {"synced": 0, "events": []}}
"""What a tool that failed tells beside `error`."""


@pytest.mark.parametrize("tool", OF_ACCOUNTS)
async def test_a_tool_of_an_account_needs_a_key_in_the_request(harness: ServiceHarness, tool: str) -> None:
    arguments = {**ARGUMENTS.get(tool, {}), "api_key": "rw_1", "key": "rw_1"}

    assert await used(harness, tool, **arguments) == Said({**NOTHING.get(tool, {}), "error": NEEDS_KEY}, is_error=True)


async def test_a_credential_is_taken_as_rest_takes_it(harness: ServiceHarness, owner: NewAccount) -> None:
    key, session = owner.api_key, owner.session
    taken = [{"X-API-Key": key}, *({"Authorization": f"{scheme} {key}"} for scheme in ("Bearer", "bearer", "BEARER"))]
    taken += [{"Authorization": f"Bearer {session}"}, {"X-API-Key": key, "Authorization": "Bearer us_nobodys"}]
    not_taken = [{"Authorization": f"Basic {key}"}, {"Authorization": key}, {"X-API-Key": session}]
    not_taken += [{"X-API-Key": key[:-1]}, {"X-API-Key": "rw_nobodys", "Authorization": f"Bearer {session}"}]
    for headers in taken + not_taken:
        answer = (await harness.client.post("/mcp", json=using("list_watches"), headers=headers)).json()
        over_rest = await harness.client.get("/v1/watches", headers=headers)
        assert answer["result"]["isError"] is (headers in not_taken) is (over_rest.status_code == 401), headers


async def test_after_the_period_watches_can_be_listed_and_nothing_else(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    [watch] = await harness.post_watches(owner.api_key, "A1")
    await ended(harness, owner)
    before, read = harness.all_rows(), harness.register_log.total

    for credential in (owner.api_key, owner.session):
        assert (await used(harness, "list_watches", credential)).payload["watches"] == [watch]
        for tool in ("add_watch", "sync_watches", "list_changes"):
            answer = await used(harness, tool, credential, **({} if tool == "sync_watches" else {"subject": "B2"}))
            assert answer == Said({**NOTHING.get(tool, {}), "error": PERIOD_ENDED}, is_error=True)
    over_rest = (await harness.post("/v1/sync", owner.api_key)).json()
    assert without_code(over_rest) == {"synced": 0, "events": [], "error": PERIOD_ENDED}
    assert (harness.all_rows(), harness.register_log.total) == (before, read)


async def test_at_the_cap_no_watch_is_added_and_one_that_is_there_is_told(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    await harness.post("/v1/import", owner.api_key, csv="\n".join(a_udi(number) for number in range(25)))

    full = await used(harness, "add_watch", owner.api_key, subject=UNREGISTERED)
    there = await used(harness, "add_watch", owner.api_key, subject=a_udi(7))

    over_rest = (await harness.post("/v1/watches", owner.api_key, subject=UNREGISTERED)).json()
    assert full == Said({"watch": None, "error": over_rest["error"]}, is_error=True)
    assert there.payload["watch"]["subject"] == a_udi(7)
    await harness.service.accounts.admin.set_period(owner.email, PlanName.STANDARD, None)
    assert not (await used(harness, "add_watch", owner.api_key, subject=UNREGISTERED)).is_error


async def test_a_subject_that_the_register_does_not_know_is_watched(harness: ServiceHarness, owner: NewAccount) -> None:
    answer = await used(harness, "add_watch", owner.api_key, subject=UNREGISTERED)

    assert not answer.is_error
    assert answer.payload["watch"]["last_error"]


async def test_of_two_tools_at_once_that_add_one_subject_both_tell_the_one_watch(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    udi = harness.unique_devices(1)[0].primary_di

    answers = await asyncio.gather(*(used(harness, "add_watch", owner.api_key, subject=udi) for _ in range(3)))

    assert len({answer.payload["watch"]["id"] for answer in answers}) == 1


# One question, two surfaces


async def test_rest_and_the_tools_give_the_same_object_for_the_same_question(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    """Refusals too. What differs by contract: rows of a search, `error: null` beside a watch, 50 of the events."""
    device, other = harness.unique_devices(2)
    udi, srn, key = device.primary_di, device.manufacturer.srn, owner.api_key
    await harness.post_watches(key, udi, srn)
    harness.world.change(device.uuid, reference="NEW-1")
    await harness.service.refresher.refresh(udi)
    await harness.post("/v1/sync", key)  # so that neither surface lists what the other has listed
    strange = (
        "",
        " ",
        "\x00",
        "A\x00B",
        "A1\x1b[31m",
        "🩺",
        "' OR 1=1 --",
        "../x",
        "x" * 121,
        "1e309",
        "++E494ZIRKON5F5",
        "DE-MF-1",
        UNREGISTERED,
    )
    asked: set[str] = set()

    async def same(tool: str, over_rest: Any, **arguments: object) -> None:
        asked.add(tool)
        payload = (await used(harness, tool, key, **arguments)).payload
        if "results" in payload:
            over_rest = {**over_rest, "results": over_rest["results"][: len(payload["results"])]}
        over_rest = without_code(over_rest)
        if tool == "add_watch":
            over_rest = {"watch": None, "error": None, **over_rest}
        assert payload == over_rest, (tool, arguments)

    for subject in (udi, other.primary_di, srn, *strange):
        if "/" not in subject and subject:
            await same("get_device", await of_rest(harness, f"/v1/devices/{_quoted(subject)}"), udi=subject)
            await same("lookup_udi", await of_rest(harness, f"/v1/devices/{_quoted(subject)}"), udi=subject)
            await same("get_actor", await of_rest(harness, f"/v1/actors/{_quoted(subject)}"), srn=subject)
        await same("search_devices", await of_rest(harness, "/v1/search", q=subject), q=subject)
        await same("add_watch", (await harness.post("/v1/watches", key, subject=subject)).json(), subject=subject)
    await same("list_watches", await of_rest(harness, "/v1/watches", key))
    await same("list_changes", await of_rest(harness, "/v1/events", key))
    await same("sync_watches", (await harness.post("/v1/sync", key)).json())
    assert asked == set(TOOLS), "every tool is compared with its route here"


def _quoted(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


# What must not happen


async def test_a_database_out_of_reach_is_told_in_the_payload_and_its_address_is_not(
    harness: ServiceHarness, owner: NewAccount, database_kind: str, database_url: str
) -> None:
    async def used_meanwhile() -> list[Said]:
        uses = (used(harness, tool, owner.api_key, **ARGUMENTS.get(tool, {})) for tool in TOOLS)
        return await asyncio.gather(*uses)  # a server that is gone is waited for some seconds

    answers = await (
        _without_file(harness, used_meanwhile)
        if database_kind == "sqlite"
        else _without_server(database_url, used_meanwhile)
    )

    for tool, answer in zip(TOOLS, answers, strict=True):
        assert answer == Said({**NOTHING.get(tool, {}), "error": NO_DATABASE}, is_error=True), tool


async def _without_file(harness: ServiceHarness, act: Any) -> list[Said]:
    """Act while the file of the database is away."""
    await harness.service.documents.close()
    await harness.database.close()
    database = harness.service.settings.data_dir / "registerwatch.db"
    database.rename(database.with_suffix(".away"))
    try:
        said: list[Said] = await act()
    finally:
        database.with_suffix(".away").rename(database)
    return said


async def _without_server(database_url: str, act: Any) -> list[Said]:
    """Act while nobody may connect."""
    name, _, sockets = database_url.partition("@/")[2].partition("?host=")
    with psycopg.connect(host=sockets, user="postgres", dbname="postgres", autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS false'.encode())
        ended = "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE datname = %s"
        while connection.execute(ended, [name]).fetchall():
            pass  # until there is none: one that was just being opened shows only now
        try:
            said: list[Said] = await act()
        finally:
            connection.execute(f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS true'.encode())
    return said


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_defect_is_told_without_its_details(harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_udi: str) -> None:
        raise LookupError("secret detail")

    monkeypatch.setattr(harness.service.devices, "stored", broken)

    response = await posted(harness, using("get_device", {"udi": UNREGISTERED}))

    assert response.status_code == 200
    assert response.json()["result"]["isError"]
    assert "secret detail" not in response.text


async def test_no_answer_holds_a_secret(harness: ServiceHarness, owner: NewAccount) -> None:
    bodies = [asking("initialize"), asking("tools/list"), *(using(tool, ARGUMENTS.get(tool)) for tool in TOOLS)]
    texts = [
        (await posted(harness, body, credential)).text
        for credential in (owner.api_key, owner.session)
        for body in bodies
    ]

    for secret in (owner.api_key, owner.session, owner.password, owner.api_key[3:], owner.session[3:]):
        assert not any(secret in text for text in texts)


def test_what_is_described_says_what_a_key_is_needed_for() -> None:
    for each in (tool.description for tool in registered.TOOLS):
        assert ("API key" in each.description) is (each.name in OF_ACCOUNTS), each.name
