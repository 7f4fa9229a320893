"""Work on uploads that is interrupted, doubled or overtaken: no line is lost, none is there twice."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pytest

from registerwatch.accounts.limits.plan_shares import PlanShares
from registerwatch.accounts.limits.work_budget import WINDOW_SECONDS, WorkBudget
from registerwatch.accounts.plans import UNCONFIRMED_STORED_BYTES, plans
from registerwatch.accounts.tables import work_used
from registerwatch.errors import CapReached, DatabaseUnavailable, Overloaded
from registerwatch.files.lists import repository
from registerwatch.files.lists import worker as list_worker_module
from registerwatch.files.lists.models import MAX_LISTS, MAX_WAITING
from registerwatch.files.lists.service import NO_FILE, NO_ROOM
from registerwatch.files.lists.worker import NO_TIME_LEFT, _Work
from registerwatch.files.tables.process import TOO_MUCH_WORK, _read
from registerwatch.files.tables.table import ReadChoices, Table, TableRow
from registerwatch.platform.bounded_process import ProcessFailed, ProcessOutput
from registerwatch.platform.disk import MIN_FREE_FOR_FILES
from registerwatch.platform.leases import LEASE_SECONDS
from registerwatch.watches.imports.code_process import TOO_MUCH_WORK as TOO_SLOW_CODES
from registerwatch.watches.imports.code_process import CodeReader, code_processes
from tests.files.lists.steps import ListSteps
from tests.files.tables.workbooks import a_written_workbook
from tests.pages.account.pages_client import PagesClient
from tests.register.builders import a_full_reading, a_udi
from tests.support.harness import ServiceHarness
from tests.support.list_files import DAMAGED, in_this_process, list_worker

LINES = 7


class Killed(BaseException):
    """As if the process had ended."""


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_worker_module, "AT_ONCE", 2)


def a_file(lines: int = LINES, first: int = 0) -> str:
    return "Article;GTIN\n" + "".join(f"A-{number};{a_udi(first + number)}\n" for number in range(lines))


def before_store(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], Any]) -> None:
    """Let something happen before the store of this number, from 0, and only once."""
    original, count = _Work.store, 0

    async def store(self: _Work, table: Table, rows: Sequence[TableRow], today: date) -> None:
        nonlocal count
        count += 1
        if count == number + 1 and (happens := act()) is not None:
            await happens
        await original(self, table, rows, today)

    monkeypatch.setattr(_Work, "store", store)


def stop() -> None:
    raise Killed


async def numbers(lists: ListSteps, list_id: int) -> list[int]:
    return [each["line"] for each in await lists.lines(list_id)]


@pytest.mark.parametrize("step", range(4))
async def test_another_node_goes_on_where_one_was_killed(
    harness: ServiceHarness, lists: ListSteps, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    list_id, _ = await lists.send(a_file(), keep=True)
    before_store(monkeypatch, step, stop)
    with pytest.raises(Killed):
        await list_worker(harness).work_off()
    assert len(harness.all_rows()["list_lines"]) == 2 * step

    await list_worker(harness).work_off()
    assert len(harness.all_rows()["list_lines"]) == 2 * step, "the lease is still the first node's"
    harness.clock.move(LEASE_SECONDS + 1)
    await list_worker(harness).work_off()

    assert await numbers(lists, list_id) == list(range(2, LINES + 2))
    assert await lists.coverage(list_id) == {"lines": LINES, "unknown": LINES}


async def test_a_node_that_was_too_slow_stops_and_changes_nothing(
    harness: ServiceHarness, lists: ListSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_id, _ = await lists.send(a_file(), keep=True)

    async def overtaken() -> None:
        harness.clock.move(LEASE_SECONDS + 1)
        await list_worker(harness).work_off()

    before_store(monkeypatch, 1, overtaken)
    await list_worker(harness).work_off()

    assert await numbers(lists, list_id) == list(range(2, LINES + 2))


async def test_two_leases_that_end_in_one_second_are_two(
    harness: ServiceHarness, lists: ListSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_id, upload_id = await lists.send(f"GTIN;Other\n{a_udi(1)};{a_udi(2)}\n{a_udi(3)};{a_udi(4)}\n")

    async def read_in_another_way_by_another_node() -> None:
        path = f"/v1/lists/{list_id}/uploads/{upload_id}"
        assert (await lists.request("PATCH", path, json={"code_column": 1})).status_code == 200
        async with harness.service.database.transaction() as connection:
            claimed = await repository.claim(connection, harness.now)
        assert claimed is not None

    before_store(monkeypatch, 0, read_in_another_way_by_another_node)
    await list_worker(harness).work_off()

    assert harness.all_rows()["list_lines"] == [], "the first node has read the wrong column"
    harness.clock.move(LEASE_SECONDS + 1)
    await list_worker(harness).work_off()
    lines = await lists.lines(list_id, upload=upload_id)
    assert [each["code"] for each in lines] == [a_udi(2), a_udi(4)]


@pytest.mark.parametrize("taken_back", ["discard", "remove", "send", "account"])
async def test_what_is_taken_back_during_the_work_leaves_nothing(
    harness: ServiceHarness, lists: ListSteps, monkeypatch: pytest.MonkeyPatch, taken_back: str
) -> None:
    list_id, upload_id = await lists.send(a_file(), keep=True)

    async def take_back() -> None:
        if taken_back == "discard":
            answer = await lists.request("DELETE", f"/v1/lists/{list_id}/uploads/{upload_id}")
        elif taken_back == "remove":
            answer = await lists.request("DELETE", f"/v1/lists/{list_id}")
        elif taken_back == "send":
            answer = await lists.request("POST", "/v1/lists", params={"name": "Stock"}, content=a_file(1, 50))
        else:
            answer = await harness.post("/v1/account/delete", lists.owner.session, password=lists.owner.password)
        assert answer.status_code in (200, 202), answer.text

    before_store(monkeypatch, 2, take_back)
    await list_worker(harness).work_off()

    rows = harness.all_rows()
    left = {"discard": (0, 0, 0), "remove": (0, 0, 0), "send": (1, 1, 1), "account": (0, 0, 0)}[taken_back]
    assert tuple(len(rows[table]) for table in ("item_lists", "list_uploads", "list_lines")) == left


async def test_an_upload_is_kept_once_however_often_that_is_asked(harness: ServiceHarness, lists: ListSteps) -> None:
    list_id, answer = await lists.matched(a_file())
    path = f"/v1/lists/{list_id}/uploads/{answer['upload']['id']}/keep"

    answers = await asyncio.gather(*(lists.request("POST", path, json={}) for _ in range(3)))

    assert [each.status_code for each in answers] == [200] * 3
    assert len(harness.all_rows()["list_lines"]) == LINES


async def test_a_node_that_is_killed_keeps_what_keeps_itself_or_leaves_it_to_the_next(
    harness: ServiceHarness, lists: ListSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_id, _ = await lists.send(a_file(), keep=True)

    async def killed(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(list_worker_module, "keep_upload", killed)
        with pytest.raises(Killed):
            await list_worker(harness).work_off()
    harness.clock.move(LEASE_SECONDS + 1)
    await list_worker(harness).work_off()

    assert await lists.coverage(list_id) == {"lines": LINES, "unknown": LINES}


async def test_lists_and_waiting_uploads_have_a_cap_and_what_is_refused_makes_nothing(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    for number in range(MAX_WAITING):
        await lists.send(a_file(1), f"List {number}")
    refused = await lists.request("POST", "/v1/lists", params={"name": "One more"}, content=a_file(1))
    assert (refused.status_code, refused.json()["code"]) == (409, "cap-reached")
    assert len(harness.all_rows()["item_lists"]) == MAX_WAITING
    await lists.send(a_file(2), "List 0")  # in place of the one that waits

    caller = await harness.owner()
    async with harness.service.database.transaction() as connection:
        for number in range(MAX_WAITING, MAX_LISTS):
            await repository.add(connection, caller.account.id, f"List {number}", 0)
    await list_worker(harness).work_off()
    lists_of = harness.service.lists.service
    with pytest.raises(CapReached, match="50 lists"):
        await lists_of.send_named(caller, "One more", "", b"x", ReadChoices())


async def test_a_list_that_the_plan_has_no_room_for_waits_and_says_so(
    harness: ServiceHarness, lists: ListSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_worker_module, "AT_ONCE", 1_000)
    await lists.kept("GTIN\n" + f"{a_udi(1)}\n" * 3_000)

    _, waiting = await lists.matched("GTIN\n" + f"{a_udi(1)}\n" * 2_001, "Other", keep=True)
    _, failed = await lists.matched("GTIN\n" + f"{a_udi(1)}\n" * 5_001, "Third", keep=True)

    assert waiting["upload"]["state"] == "ready"
    assert "5,000 lines" in waiting["upload"]["error"]
    assert (failed["upload"]["state"], failed["upload"]["error"]) == (
        "failed",
        "The plan allows 5,000 lines of lists; this file has 5,001.",
    )


HOSTILE = ("=HYPERLINK(1)", "<script>alert(1)</script>", "a\u202eb", "x\x00y", "\ufeff", "'; DROP TABLE list_lines")


async def test_hostile_text_is_text(harness: ServiceHarness, lists: ListSteps) -> None:
    await harness.store(a_full_reading("u-1", a_udi(1)))
    for number, text in enumerate(HOSTILE):
        answer = await lists.request(
            "POST", "/v1/lists", params={"name": text, "filename": text, "keep": True}, content=a_file(1)
        )
        assert answer.status_code in (202, 400), (number, answer.text)
        await lists.work()
    cells = "".join(f'"{text}";{a_udi(1)}\n' for text in HOSTILE if "\x00" not in text)
    list_id = await lists.kept(f'"<b>";"=cmd()";GTIN\n{cells}'.replace('"=cmd()";', ""))

    assert (await lists.coverage(list_id))["found"] == len(HOSTILE) - 1
    for text in HOSTILE:
        found = await lists.request("GET", f"/v1/lists/{list_id}/lines", params={"text": text})
        assert found.status_code == 200, (text, found.text)
    quoted = await lists.kept(f'Name;GTIN\n"6"" pump";{a_udi(1)}\n', "Quoted")
    assert len(await lists.lines(quoted, text='6" PUMP')) == 1
    exported = await lists.request("GET", f"/v1/lists/{list_id}/lines.csv")
    assert "'=HYPERLINK(1)" in exported.text


async def test_reading_that_others_keep_busy_is_tried_again(harness: ServiceHarness, lists: ListSteps) -> None:
    list_id, _ = await lists.send(a_file(), keep=True)

    def busy(_: bytes) -> bytes:
        raise Overloaded("Others are being read.")

    await list_worker(harness, in_this_process(busy)).work_off()
    assert (await lists.get(f"/v1/lists/{list_id}"))["list"]["waiting"]["state"] == "working"
    harness.clock.move(1)
    await list_worker(harness, in_this_process(_read)).work_off()

    assert (await lists.coverage(list_id))["lines"] == LINES


async def test_a_file_that_cannot_be_read_is_not_stored(harness: ServiceHarness, lists: ListSteps) -> None:
    list_id, answer = await lists.matched(DAMAGED)
    [upload] = harness.all_rows()["list_uploads"]
    assert (upload["state"], upload["content"]) == ("failed", None)
    refused = await lists.request("PATCH", f"/v1/lists/{list_id}/uploads/{upload['id']}", json={"code_column": 1})
    assert (refused.status_code, refused.json()["error"]) == (400, NO_FILE)

    list_id, answer = await lists.matched(a_file(2))
    path = f"/v1/lists/{list_id}/uploads/{answer['upload']['id']}"
    for heading, state in ((9, "failed"), (1, "ready")):  # a wrong correction can be corrected
        await lists.request("PATCH", path, json={"heading_row": heading})
        await lists.work()
        assert (await lists.get(path))["upload"]["state"] == state


async def test_a_file_that_used_up_what_a_process_may_use_is_not_read_again(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    def endless(_: bytes) -> bytes:
        raise ProcessFailed

    list_id, answer = await lists.matched(a_file(2))
    path = f"/v1/lists/{list_id}/uploads/{answer['upload']['id']}"
    await lists.request("PATCH", path, json={"code_column": 0})
    await list_worker(harness, in_this_process(endless)).work_off()

    assert (await lists.get(path))["upload"]["error"] == TOO_MUCH_WORK
    assert (await lists.request("PATCH", path, json={"code_column": 1})).json()["error"] == NO_FILE
    assert [each["content"] for each in harness.all_rows()["list_uploads"]] == [None]


async def test_a_file_whose_codes_take_too_long_fails_in_a_sentence_and_its_list_stays_as_it_was(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    def endless(*_: object) -> ProcessOutput:
        raise ProcessFailed

    list_id = await lists.kept(a_file(2))
    _, upload_id = await lists.send(a_file(3), keep=True)
    await list_worker(harness, codes=CodeReader(code_processes(run=endless))).work_off()

    failed = (await lists.get(f"/v1/lists/{list_id}/uploads/{upload_id}"))["upload"]
    assert (failed["state"], failed["error"]) == ("failed", TOO_SLOW_CODES)
    assert await numbers(lists, list_id) == [2, 3]


async def test_a_file_whose_reading_has_begun_is_read_to_its_end_though_the_share_of_the_hour_is_used(
    limited: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = ListSteps(limited, await limited.sign_up())
    list_id, _ = await lists.send(a_file(), keep=True)

    async def use_up_the_share() -> None:
        [row] = await limited.rows(work_used)
        await limited.service.work.spend(row["account_id"], 3_600)

    before_store(monkeypatch, 1, use_up_the_share)
    await limited.service.lists.worker.work_off()

    assert await numbers(lists, list_id) == list(range(2, LINES + 2))


async def test_lines_that_are_matched_again_by_themselves_are_counted_for_nobody(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    list_id = await lists.kept(a_file(3))
    used = await harness.rows(work_used)
    await harness.store(a_full_reading(udi=a_udi(1)))
    harness.clock.move(24 * 3600 + 1)

    await harness.service.lists.worker.follow()

    assert await lists.coverage(list_id) == {"lines": 3, "found": 1, "unknown": 2}
    assert await harness.rows(work_used) == used


async def test_files_and_lines_have_a_cap_in_bytes_which_is_small_until_the_address_is_confirmed(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    file = a_file(1) + "x" * (UNCONFIRMED_STORED_BYTES - 200)
    await lists.send(file, "First")
    await lists.send(file, "First")  # in place of the one that waits

    refused = await lists.request("POST", "/v1/lists", params={"name": "Other"}, content=a_file(9))
    assert (refused.status_code, refused.json()["code"]) == (409, "cap-reached")
    assert "may have 5 MiB together, and would have 5.0 MiB." in refused.json()["error"]
    assert refused.json()["error"].endswith("once your e-mail address is confirmed.")
    await harness.prove_address(lists.owner)
    await lists.send(file, "Other")


async def test_lines_that_a_small_workbook_becomes_count_as_what_they_are(
    harness: ServiceHarness, lists: ListSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_worker_module, "AT_ONCE", 1_000)
    cells = '<c t="s"><v>0</v></c>' * 50
    workbook = a_written_workbook(f"<row>{cells}</row>" * 250, texts=f"<si><t>{'x' * 200}</t></si>")
    assert len(workbook) < 20_000

    first, second = [(await lists.matched(workbook, name))[1]["upload"] for name in ("First", "Second")]
    assert first["state"] == second["state"] == "ready"
    assert (await lists.matched(workbook, "Third"))[1]["upload"]["error"].startswith(
        "The files and lines of lists may have 5 MiB together, and would have 7.2 MiB."
    )
    await lists.request("DELETE", f"/v1/lists/{first['list_id']}")
    await lists.request("DELETE", f"/v1/lists/{second['list_id']}")
    assert (await lists.matched(workbook, "Third"))[1]["upload"]["state"] == "ready"


async def test_no_file_is_taken_while_the_disk_is_nearly_full(
    harness: ServiceHarness, lists: ListSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_id = await lists.kept(a_file())
    usage = shutil.disk_usage(harness.service.settings.data_dir)
    little = usage._replace(free=MIN_FREE_FOR_FILES - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: little)

    refused = await lists.request("POST", "/v1/lists", params={"name": "Other"}, content=a_file())

    assert (refused.status_code, refused.json()["error"]) == (503, NO_ROOM)
    assert "retry-after" in refused.headers
    assert len(harness.all_rows()["list_uploads"]) == 1
    assert (await lists.coverage(list_id))["lines"] == LINES


async def test_the_account_for_which_least_was_done_is_next_and_none_is_worked_for_twice(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    other = ListSteps(harness, await harness.sign_up("someone@other.example"))
    sent = [await lists.send(a_file(), name) for name in ("First", "Second")]
    theirs = await other.send(a_file())
    await harness.service.work.spend((await harness.owner()).account.id, 20)

    claimed = []
    for _ in range(3):
        async with harness.database.transaction() as connection:
            found = await repository.claim(connection, harness.now)
        claimed.append(found and (found.upload.list_id, found.upload.id))

    assert claimed == [theirs, sent[0], None]


async def test_an_upload_says_until_when_it_waits_for_processor_time_and_is_read_then(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    account_id = (await harness.owner()).account.id
    budget = WorkBudget(harness.database, harness.clock, PlanShares(plans(25), needs_confirmation=False), refuses=True)
    await budget.spend(account_id, 3_600)
    list_id, upload_id = await lists.send(a_file(), keep=True)
    path = f"/v1/lists/{list_id}/uploads/{upload_id}"
    worker = list_worker(harness, in_this_process(budget=budget))

    await worker.work_off()

    waiting = (await lists.get(path))["upload"]
    until = datetime.fromtimestamp(harness.now + WINDOW_SECONDS, UTC)
    assert (waiting["state"], waiting["error"]) == ("waiting", NO_TIME_LEFT)
    assert datetime.fromisoformat(waiting["waits_until"]) == until
    pages = PagesClient(harness)
    await pages.sign_in()
    page = await pages.get(f"/app/lists/{list_id}/uploads/{upload_id}")
    assert "<p>It waits until <time" in page.text
    assert f"{until:%H:%M}</time>: {NO_TIME_LEFT}" in page.text
    harness.clock.move(WINDOW_SECONDS + 1)
    await worker.work_off()
    assert await numbers(lists, list_id) == list(range(2, LINES + 2))
    assert (await lists.get(path))["upload"]["error"] is None


async def test_a_full_disk_is_told_and_the_work_goes_on_when_there_is_room_again(
    harness: ServiceHarness, lists: ListSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    if harness.database.sqlite_path is None:
        pytest.skip("the disk of a server is out of this test's reach")
    list_id, _ = await lists.send(a_file(2_000), keep=True)

    async def fill_the_disk() -> None:
        await set_page_limit(harness, 1)

    with monkeypatch.context() as patch:
        patch.setattr(list_worker_module, "AT_ONCE", 500)
        before_store(patch, 2, fill_the_disk)
        with pytest.raises(DatabaseUnavailable, match="full"):
            await list_worker(harness).work_off()
    refused = await lists.request("POST", "/v1/lists", params={"name": "Other"}, content=a_file(20_000))
    assert (refused.status_code, refused.json()["code"]) == (503, "database-unavailable")
    assert len(harness.all_rows()["item_lists"]) == 1
    await set_page_limit(harness, 1_000_000)
    harness.clock.move(LEASE_SECONDS + 1)
    monkeypatch.setattr(list_worker_module, "AT_ONCE", 500)
    await list_worker(harness).work_off()

    assert (await lists.coverage(list_id))["lines"] == 2_000


async def set_page_limit(harness: ServiceHarness, pages: int) -> None:
    """Let the one connection that writes believe that its disk has room for so many pages."""
    async with harness.database.engine.connect() as connection:
        await connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
