"""Workbooks while they are made and sent: what they take from others, and what a full disk leaves of them."""

import asyncio
import io
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha512
from pathlib import Path

import pytest
from openpyxl import load_workbook

from registerwatch.platform.account_slots import AccountSlots
from registerwatch.platform.disk import WRITTEN_BYTES
from registerwatch.web.files import spreadsheet
from tests.files.lists.steps import ListSteps
from tests.pages.account.pages_client import PagesClient
from tests.register.builders import a_udi
from tests.support.harness import NewAccount, ServiceHarness, auth_headers
from tests.support.readers import HeldReader

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

WAIT_SECONDS = 10.0


@pytest.fixture
def temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files of this process."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@contextmanager
def full_disk(most: int) -> Iterator[None]:
    """No file can be longer than so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def a_list(harness: ServiceHarness, owner: NewAccount, lines: int = 3) -> str:
    """The path of the workbook of a list."""
    rows = [f"{a_udi(number)};{sha512(bytes(number)).hexdigest()}" for number in range(lines)]
    list_id = await ListSteps(harness, owner).kept("\n".join(["GTIN;Name", *rows]))
    return f"/v1/lists/{list_id}/lines.xlsx"


async def test_a_full_disk_is_told_leaves_nothing_behind_and_later_workbooks_are_made(
    harness: ServiceHarness, owner: NewAccount, temporary_files: Path
) -> None:
    path, other = await a_list(harness, owner, 1_500), await harness.sign_up("someone@other.example")
    small, before = await a_list(harness, other), sorted(harness.service.settings.data_dir.iterdir())

    for most in (0, WRITTEN_BYTES + 1, WRITTEN_BYTES + 30_000):  # at the start, in the midst, at the end
        with full_disk(most):
            refused = await harness.client.get(path, headers=auth_headers(owner.api_key))
        assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
        assert refused.json()["error"] == spreadsheet.NO_ROOM
        assert refused.headers["retry-after"] == "10"
    made = [
        await harness.client.get(path, headers=auth_headers(owner.api_key)),
        await harness.client.get(small, headers=auth_headers(other.api_key)),
    ]

    assert [each.status_code for each in made] == [200, 200]
    sheets = [load_workbook(io.BytesIO(each.content)).worksheets[0] for each in made]
    assert [each.max_row for each in sheets] == [1_501, 4]
    assert len(made[0].content) > WRITTEN_BYTES + 30_000
    assert sorted(harness.service.settings.data_dir.iterdir()) == before
    assert list(temporary_files.iterdir()) == []


async def test_no_workbook_is_made_while_the_disk_is_nearly_full(
    harness: ServiceHarness, owner: NewAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await a_list(harness, owner)
    monkeypatch.setattr(harness.app.state.workbooks._room, "_min_free_bytes", 1 << 60)

    refused = await harness.client.get(path, headers=auth_headers(owner.api_key))
    as_csv = await harness.client.get(path.replace("xlsx", "csv"), headers=auth_headers(owner.api_key))

    assert (refused.status_code, refused.json()["error"]) == (503, spreadsheet.NO_ROOM)
    assert as_csv.status_code == 200


async def test_nothing_has_a_name_while_a_workbook_is_sent_and_the_next_one_of_its_account_waits_for_it(
    harness: ServiceHarness, owner: NewAccount, temporary_files: Path
) -> None:
    path, other = await a_list(harness, owner), await harness.sign_up("someone@other.example")
    theirs, before = await a_list(harness, other), sorted(harness.service.settings.data_dir.rglob("*"))
    readers = [HeldReader(harness, path, headers=auth_headers(owner.api_key)) for _ in range(5)]
    reading = [asyncio.create_task(each.read()) for each in readers]
    await asyncio.wait_for(readers[0].has_head.wait(), WAIT_SECONDS)

    answer = await asyncio.wait_for(harness.client.get(theirs, headers=auth_headers(other.api_key)), WAIT_SECONDS)
    begun = [each.has_head.is_set() for each in readers]
    named = [*sorted(harness.service.settings.data_dir.rglob("*")), *temporary_files.iterdir()]
    for each in readers:
        each.let.set()
    bodies = await asyncio.wait_for(asyncio.gather(*reading), WAIT_SECONDS)

    assert answer.status_code == 200
    assert begun == [True, False, False, False, False], "another account's is made before the second one of this"
    assert named == before
    assert {load_workbook(io.BytesIO(each)).worksheets[0].max_row for each in bodies} == {4}


async def test_a_client_that_leaves_gives_its_place_back(harness: ServiceHarness, owner: NewAccount) -> None:
    path = await a_list(harness, owner)
    for _ in range(2 * spreadsheet.MAX_WORKBOOKS):
        gone = HeldReader(harness, path, headers=auth_headers(owner.api_key))
        reading = asyncio.create_task(gone.read())
        await asyncio.wait_for(gone.has_head.wait(), WAIT_SECONDS)
        reading.cancel()
        await asyncio.wait([reading])


async def test_a_workbook_that_finds_no_place_in_time_is_told_when_to_come_again(
    harness: ServiceHarness, owner: NewAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spreadsheet, "WAIT_SECONDS", 0.05)
    path = await a_list(harness, owner)
    pages = PagesClient(harness)
    await pages.sign_in(owner.email, owner.password)
    refusals = []
    for places in (AccountSlots(most=0, most_per_account=1), AccountSlots(most=1, most_per_account=0)):
        harness.app.state.workbooks._slots = places
        refusals.append(await harness.client.get(path, headers=auth_headers(owner.api_key)))
        for page in (path.replace("/v1/", "/app/"), "/app/watches.xlsx"):
            assert (await pages.get(page)).status_code == 503

    assert [each.status_code for each in refusals] == [503, 503]
    assert [each.json()["error"] for each in refusals] == [spreadsheet.BUSY, spreadsheet.BUSY_ACCOUNT]
    assert refusals[0].headers["retry-after"] == "10"
