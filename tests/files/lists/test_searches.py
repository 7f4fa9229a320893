"""Looking for words in long lists: what it finds, and what it takes from others."""

import asyncio
import csv
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from registerwatch.accounts.tables import work_used
from registerwatch.files.lists import service as list_service
from registerwatch.platform.account_slots import AccountSlots
from registerwatch.register.models import Certificate
from tests.files.lists.steps import ListSteps
from tests.pages.account.pages_client import PagesClient
from tests.register.builders import a_full_reading, a_udi
from tests.support.harness import ServiceHarness, ServiceStarter
from tests.support.statements import counted_statements

WORDS = [f"QWERT{letter}" for letter in "ABCDEFGH"]
LOOKED_FOR = " ".join(WORDS).lower()
AT_ONCE = 30


def a_long_list(lines: int) -> str:
    """2 MiB for 200 lines; every line has the words, in upper case and at its end."""
    headings = ";".join(f"c{number}" for number in range(48))
    cells = ";".join(["X" * 199] * 47 + [" ".join(WORDS)])
    return "\n".join([f"code;{headings}", *(f"0401{number:010};{cells}" for number in range(lines))])


async def test_searches_of_one_account_keep_no_read_of_another_waiting(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    list_id = await lists.kept(a_long_list(200))
    other = ListSteps(harness, await harness.sign_up("someone@other.example"))
    path, ended, first = f"/v1/lists/{list_id}/lines", list[int](), asyncio.Event()

    async def search() -> None:
        answer = await lists.request("GET", path, params={"text": LOOKED_FOR, "limit": 1})
        ended.append(answer.status_code)
        first.set()

    searches = [asyncio.create_task(search()) for _ in range(AT_ONCE)]
    await first.wait()
    for each in ("/v1/events?after=0", "/v1/lists", "/v1/watches"):
        assert (await other.request("GET", each)).status_code == 200
    before = len(ended)
    await asyncio.gather(*searches)

    assert before < AT_ONCE / 2, "others do not wait until all of them have ended"
    assert set(ended) <= {200, 503}


async def test_a_search_puts_each_line_into_lower_case_once_for_its_page_and_its_count(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    list_id = await lists.kept(a_long_list(3))
    with counted_statements() as sent:
        answer = await lists.get(f"/v1/lists/{list_id}/lines", text=LOOKED_FOR, limit=1)

    assert (len(answer["lines"]), answer["total"]) == (1, 3)
    assert sum(each.count("lower(") for each in sent) == 1


async def test_a_page_behind_the_last_line_says_how_many_match(harness: ServiceHarness, lists: ListSteps) -> None:
    list_id = await lists.kept(f"Name;GTIN\nPump A;{a_udi(1)}\nSet;{a_udi(2)}\npump B;{a_udi(3)}\n")
    path = f"/v1/lists/{list_id}/lines"

    for text, total in (("PUMP", 2), ("", 3), ("none", 0)):
        page = await lists.get(path, text=text, limit=1)
        last = await lists.get(path, text=text, after=4)
        assert (len(page["lines"]), page["total"], last["lines"], last["total"]) == (min(1, total), total, [], total)


async def test_words_are_found_in_codes_and_cells_whatever_their_case(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    lines = ['"Ärzte ""6"""', "a\\b", "50%", "Straße", "[x]"]
    list_id = await lists.kept("Name;GTIN\n" + "".join(f'{each};"Q""\\{n}a"\n' for n, each in enumerate(lines)))

    async def found(text: str) -> list[int]:
        return [each["line"] - 2 for each in await lists.lines(list_id, text=text)]

    assert [await found(each) for each in ("ärzte", "ÄRZTE", '"6"', "A\\B", "50%", "sTRAßE", "[X]", "_")] == [
        [0],
        [0],
        [0],
        [1],
        [2],
        [3],
        [4],
        [],
    ]
    assert await found('q"\\3A') == [3]
    assert await found('q"\\ ärzte') == [0]


async def test_what_is_taken_away_are_the_lines_with_the_words(harness: ServiceHarness, lists: ListSteps) -> None:
    await harness.store(a_full_reading("u-1", a_udi(0), certs=(Certificate("C-1", expiry="2030-01-01"),)))
    rows = [f"{'Pump' if number % 2 else 'Set'} {number};{a_udi(number)}" for number in range(1_100)]
    list_id = await lists.kept("\n".join(["Name;GTIN", *rows]))

    taken = await lists.request("GET", f"/v1/lists/{list_id}/lines.csv", params={"text": "pump", "coverage": "unknown"})

    [_, *found] = csv.reader(io.StringIO(taken.content.decode("utf-8-sig")))
    assert [row[0] for row in found] == [f"Pump {number}" for number in range(1, 1_100, 2)]


async def test_a_search_that_finds_no_place_is_told_when_to_come_again_and_what_reads_no_cells_needs_none(
    harness: ServiceHarness, lists: ListSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = await lists.kept(f"GTIN;Name\n{a_udi(1)};Pump\n")
    _, upload = await lists.matched(f"GTIN;Name\n{a_udi(1)};Pumps\n")
    theirs = f"/v1/lists/{own}"
    monkeypatch.setattr(list_service, "WAIT_SECONDS", 0.05)
    harness.service.lists.service._cell_reads = AccountSlots(most=0, most_per_account=1)

    searches = [
        await lists.request("GET", f"{theirs}/lines", params={"text": "pump"}),
        await lists.request("GET", f"{theirs}/lines.csv", params={"text": "pump"}),
        await lists.request("POST", f"{theirs}/watch", json={"text": "pump"}),
        await lists.request("GET", f"{theirs}/uploads/{upload['upload']['id']}"),
        await lists.request("GET", f"{theirs}/lines", params={"upload": upload["upload"]["id"], "change": "changed"}),
    ]
    others = [
        await lists.request("GET", f"{theirs}/lines", params={"coverage": "unknown"}),
        await lists.request("GET", f"{theirs}/lines.csv"),
        await lists.request("POST", f"{theirs}/watch", json={}),
        await lists.request("GET", theirs),
    ]

    for answer in searches:
        assert (answer.status_code, answer.json()["error"]) == (503, list_service.BUSY)
        assert answer.headers["retry-after"] == "10"
    assert [each.status_code for each in others] == [200] * 4


async def test_a_page_whose_search_finds_no_place_says_so(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = PagesClient(harness)
    owner = await harness.sign_up()
    list_id = await ListSteps(harness, owner).kept(f"GTIN;Name\n{a_udi(1)};Pump\n")
    await pages.sign_in(owner.email, owner.password)
    monkeypatch.setattr(list_service, "WAIT_SECONDS", 0.05)
    harness.service.lists.service._cell_reads = AccountSlots(most=0, most_per_account=1)

    refused, shown = await pages.get(f"/app/lists/{list_id}", q="pump"), await pages.get(f"/app/lists/{list_id}")

    assert (refused.status_code, shown.status_code) == (503, 200)
    assert list_service.BUSY in refused.text
    assert refused.headers["retry-after"] == "10"


async def test_searches_use_the_processor_time_of_their_account_and_what_needs_none_goes_on_without(
    start_service: ServiceStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_service, "COUNTED_SECONDS", 0.0)
    async with start_service(rate_limits=True) as harness:
        lists = ListSteps(harness, await harness.sign_up())
        list_id = await lists.kept(f"GTIN;Name\n{a_udi(1)};Pump\n")
        [before] = await harness.rows(work_used)
        await lists.get(f"/v1/lists/{list_id}/lines", text="pump")
        [after] = await harness.rows(work_used)
        await harness.service.work.spend(after["account_id"], 1_000)
        refused = await lists.request("GET", f"/v1/lists/{list_id}/lines", params={"text": "pump"})
        shown = await lists.request("GET", f"/v1/lists/{list_id}/lines")

    assert after["milliseconds"] > before["milliseconds"]
    assert after["milliseconds"] > before["milliseconds"]
    assert (refused.status_code, shown.status_code) == (429, 200)
    assert refused.json()["code"] == "rate-limited"


async def test_searches_take_turns_by_the_network_that_they_come_from(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = PagesClient(harness)
    owner = await harness.sign_up()
    lists = ListSteps(harness, owner)
    list_id = await lists.kept(f"GTIN;Name\n{a_udi(1)};Pump\n")
    await pages.sign_in(owner.email, owner.password)
    networks = list[str | None]()

    class Noted(AccountSlots):
        @asynccontextmanager
        async def slot(self, account_id: int, network: str | None = None) -> AsyncIterator[None]:
            networks.append(network)
            async with super().slot(account_id, network):
                yield

    harness.service.lists.service._cell_reads = Noted(most=1, most_per_account=1)
    await lists.lines(list_id, text="pump")
    await pages.page(f"/app/lists/{list_id}", q="pump")

    assert set(networks) == {"127.0.0.1"}
