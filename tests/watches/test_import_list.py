"""Importing a list: what counts as a line, what is added, what is left."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.accounts.models import Caller
from registerwatch.accounts.repository import lock_account
from registerwatch.errors import InvalidInput
from registerwatch.register.models import Certificate
from registerwatch.watches import repository
from registerwatch.watches.imports.code_process import CodeReader
from registerwatch.watches.imports.import_list import ImportResult, ImportService
from registerwatch.watches.imports.import_text import MAX_LINE_LENGTH, MAX_LINES, identifiers
from registerwatch.watches.models import Watch
from tests.register.builders import PROPERTY, UDI, a_full_reading, a_row, a_udi
from tests.support.harness import SRN, ServiceHarness
from tests.watches.steps import tried_at

FRESH = 6 * 3600
OTHER = "04099999999985"

LISTS = {
    "one a line": ("A1\nB2\n", ["A1", "B2"]),
    "no line break at the end": ("A1\nB2", ["A1", "B2"]),
    "CR LF": ("A1\r\nB2\r\n", ["A1", "B2"]),
    "CR alone": ("A1\rB2", ["A1", "B2"]),
    "byte order mark": ("\ufeffudi\nA1", ["A1"]),
    "commas": ("A1,first\nB2,second", ["A1", "B2"]),
    "tabs": ("A1\tfirst\nB2\tsecond", ["A1", "B2"]),
    "semicolons": ("A1;first\nB2;second", ["A1", "B2"]),
    "a mixture": ("A1;x,y\nB2,x;y\nC3\tx", ["A1", "B2", "C3"]),
    "quoted cells": ('"A1","x"\n"B2";x', ["A1", "B2"]),
    "a separator in a quoted cell": ('"A,1",x', ["A,1"]),
    "a quote in a quoted cell": ('"A""1",x', ['A"1']),
    "a quote that never ends": ('"A1\nB2', ['"A1', "B2"]),
    "spaces around": ("  A1  ,x\n ' B2 '".replace("'", '"'), ["A1", "B2"]),
    "blank lines": ("\nA1\n\n  \n,,\nB2\n\n", ["A1", "B2"]),
    "an empty first cell": (",A1\n;A2\n\tA3\n \tA4\nB2", ["B2"]),
    "nothing": ("", []),
    "white space": (" \r\n\t\n", []),
    "a header further down": ("A1\nudi\nB2\nSRN,x", ["A1", "B2"]),
    "a header twice": ("udi\nsrn\nA1", ["A1"]),
}


@pytest.mark.parametrize(("csv", "expected"), LISTS.values(), ids=LISTS)
def test_the_first_cell_of_every_line_is_used(csv: str, expected: list[str]) -> None:
    assert [cell for _, cell in identifiers(csv)] == expected


@pytest.mark.parametrize("word", ["udi", "srn", "udi-di", "subject", "identifier", "UDI-DI", "Identifier", '"Udi"'])
@pytest.mark.parametrize("rest", ["", ",name", ";name", "\tname"])
def test_a_header_is_left_out_in_any_case(word: str, rest: str) -> None:
    assert identifiers(f"{word}{rest}\nA1") == [(2, "A1")]


def test_lines_are_counted_as_an_editor_does() -> None:
    assert identifiers("udi\r\n\r\nA1\r\nB2") == [(3, "A1"), (4, "B2")]


def test_five_hundred_lines_are_taken_and_one_more_is_refused() -> None:
    lines = [f"A{number}" for number in range(MAX_LINES)]

    assert len(identifiers("\n".join(["udi", "", *lines, "", ""]))) == MAX_LINES == 500
    with pytest.raises(InvalidInput, match="more than 500 lines"):
        identifiers("\n".join([*lines, "one more"]))


@pytest.mark.parametrize("csv", ["A1\nB\x002", "A1\n" + "9" * (MAX_LINE_LENGTH + 1)], ids=["NUL", "a long line"])
def test_what_is_no_list_is_refused(csv: str) -> None:
    with pytest.raises(InvalidInput, match="Nothing was added"):
        identifiers(csv)


@PROPERTY
@given(st.text(max_size=300))
def test_any_text_gives_cells_without_space_around_them_or_is_refused(csv: str) -> None:
    try:
        found = identifiers(csv)
    except InvalidInput:
        return
    assert all(cell and cell == cell.strip() for _, cell in found)


# What is added


@pytest.fixture
def import_service(harness: ServiceHarness) -> ImportService:
    codes = harness.service.watches.code_reader
    return ImportService(harness.database, harness.clock, harness.service.records, fresh_for=FRESH, codes=codes)


async def subjects(harness: ServiceHarness, caller: Caller) -> list[str]:
    """What the account watches, oldest first."""
    async with harness.database.reading() as connection:
        return [watch.subject for watch in await repository.of_account(connection, caller.account.id)]


async def test_what_is_new_is_added_and_waits_to_be_read_first(
    harness: ServiceHarness, import_service: ImportService
) -> None:
    caller = await harness.owner_watching()
    await harness.store_actor()

    imported = await import_service.add_all(caller, "subject\nde-mf-000000001\n0401 2345 678901\n")

    assert imported == ImportResult(2, 0, [])
    srn: Watch = await harness.watch(caller, "DE-MF-000000001")
    udi = await harness.watch(caller, "04012345678901")
    assert (srn.kind, udi.kind) == ("srn", "udi")
    assert (udi.snapshot, udi.last_sync, udi.last_error, udi.label) == (None, None, "", "04012345678901")
    assert await tried_at(harness) == [0, 0, 0]


async def test_a_fresh_read_in_the_copy_is_the_baseline(harness: ServiceHarness, import_service: ImportService) -> None:
    await harness.store(a_full_reading(trade_name="Stent", reference="R-1", certs=(Certificate("Z-1"),)))
    await harness.store_actor(name="Acme")
    read_at = harness.now
    harness.clock.move(60)
    caller = await harness.owner()

    await import_service.add_all(caller, f"{UDI}\n{SRN}")

    udi, srn = await harness.watch(caller), await harness.watch(caller, SRN)
    assert (udi.label, udi.last_sync, srn.label, srn.last_sync) == ("Stent", read_at, "Acme", read_at)
    assert await tried_at(harness) == [0, 0], "both are read in full next"
    await harness.store(a_full_reading(trade_name="Stent", reference="R-1", certs=(Certificate("Z-1"),)))
    assert await harness.events(caller) == [], "whether the copy's certificates were read is not known"
    await harness.store(
        a_full_reading(trade_name="Stent", reference="R-2", certs=(Certificate("Z-1", expiry="2027-01-01"),))
    )
    assert await harness.summaries(caller) == ["reference: R-1 → R-2; cert_expiry:  → 2027-01-01"]


async def test_a_read_that_is_not_fresh_and_a_row_are_no_baseline_but_name_the_watch(
    harness: ServiceHarness, import_service: ImportService
) -> None:
    await harness.store(a_full_reading(trade_name="Stent"))
    await harness.store_actor(name="Acme")
    harness.clock.move(FRESH)
    await harness.store(a_row("u-2", OTHER, trade_name="Clamp"), lists_all=False)
    caller = await harness.owner()

    await import_service.add_all(caller, f"{UDI}\n{SRN}\n{OTHER}")

    for subject, name in {UDI: "Stent", SRN: "Acme", OTHER: "Clamp"}.items():
        watch = await harness.watch(caller, subject)
        assert (watch.snapshot, watch.last_sync, watch.label) == (None, None, name)
    await harness.store(a_full_reading(trade_name="Stent II"))
    assert (await harness.watch(caller)).label == "Stent II", "nobody has given it a name"


async def test_what_is_watched_already_and_what_stands_twice_is_skipped(
    harness: ServiceHarness, import_service: ImportService
) -> None:
    first, second = a_udi(1), a_udi(2)
    caller = await harness.owner_watching("owner@acme.example", first)
    other = await harness.owner_watching("other@acme.example", second)

    csv = f"{first}\n{second}\n{second}\n{second[:4]} {second[4:]}\n"
    assert await import_service.add_all(caller, csv) == ImportResult(1, 3, [])
    assert await subjects(harness, caller) == [first, second]
    assert await subjects(harness, other) == [second]


async def test_at_most_five_errors_are_told_and_what_is_right_is_added(
    harness: ServiceHarness, import_service: ImportService
) -> None:
    caller = await harness.owner()

    imported = await import_service.add_all(caller, "\n".join(["---"] * 7 + [a_udi(1), "9" * 121]))

    assert (imported.added, imported.skipped, len(imported.errors)) == (1, 0, 5)
    assert [error.split(":")[0] for error in imported.errors] == ["Line 1", "Line 2", "Line 3", "Line 4", "Line 9"]
    assert await subjects(harness, caller) == [a_udi(1)]


async def test_reaching_the_cap_stops_the_import_and_keeps_what_was_added(
    harness: ServiceHarness, import_service: ImportService
) -> None:
    caller = await harness.owner_watching("owner@acme.example", a_udi(0))
    lines = ["---"] * 6 + [a_udi(number) for number in range(40)]

    imported = await import_service.add_all(caller, "\n".join(lines))

    assert (imported.added, imported.skipped, len(imported.errors)) == (24, 1, 5)
    assert imported.errors[-1] == "Line 32: the plan allows 25 watches; the rest was left."
    assert await subjects(harness, caller) == [a_udi(number) for number in range(25)]


async def test_a_list_of_what_is_watched_already_fits_under_a_cap_that_is_reached(
    harness: ServiceHarness, import_service: ImportService
) -> None:
    caller = await harness.owner()
    csv = "\n".join(a_udi(number) for number in range(25))
    await import_service.add_all(caller, csv)

    assert await import_service.add_all(caller, csv) == ImportResult(0, 25, [])


async def test_a_dry_run_waits_for_no_change_of_the_account(harness: ServiceHarness) -> None:
    caller = await harness.owner()
    codes = CodeReader()  # which counts nothing
    service = ImportService(harness.database, harness.clock, harness.service.records, fresh_for=FRESH, codes=codes)

    async with harness.database.transaction() as connection:
        await lock_account(connection, caller.account.id)
        async with asyncio.timeout(20):
            tried = await service.add_all(caller, a_udi(1), dry_run=True)

    assert (tried.added, tried.dry_run) == (1, True)
    assert await subjects(harness, caller) == []


async def test_an_import_asks_the_register_nothing(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    udis = [device.primary_di for device in harness.unique_devices(20)]

    response = await harness.post("/v1/import", owner.api_key, csv="\n".join(udis))

    lines = [{"line": line, "subject": udi, "fate": "added", "error": None} for line, udi in enumerate(udis, start=1)]
    told = {"added": 20, "skipped": 0, "errors": [], "lines": lines, "dry_run": False}
    assert (response.status_code, response.json()) == (200, told)
    await harness.finish_background_work()
    assert harness.register_log.total == 0
