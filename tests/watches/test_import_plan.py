"""What a list would bring, line by line, before and when it is added."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.errors import CapReached, PeriodEnded
from registerwatch.files.tables.cells import bare
from registerwatch.watches.imports.code_process import code_of
from registerwatch.watches.imports.import_plan import KnownSubject, ReadLine, plan_lines
from registerwatch.watches.imports.import_table import ListLine
from tests.register.builders import PROPERTY, UDI, a_full_reading, a_row, a_udi
from tests.support.harness import SRN, ServiceHarness

TRIAL_CAP = 25


def listed(*cells: str) -> list[ListLine]:
    return [ListLine(number, cell) for number, cell in enumerate(cells, start=2)]


def read(*cells: str) -> list[ReadLine]:
    return [ReadLine.of(line, code_of(line.cell)) for line in listed(*cells)]


async def test_each_line_has_a_fate_and_what_the_copy_knows(harness: ServiceHarness) -> None:
    await harness.store(a_full_reading(trade_name="Stent", manufacturer_name="Acme"))
    await harness.store(a_row("u-2", a_udi(5), trade_name="Clamp"))
    await harness.service.records.delist(a_udi(5), read_at=harness.now, since=2**40)
    await harness.store_actor(name="Acme")
    caller = await harness.owner_watching("owner@acme.example", UDI)
    lines = [*listed(UDI, SRN.lower(), a_udi(5), a_udi(6), a_udi(6), "nonsense"), ListLine(9, "5.04", "date")]

    plan = await harness.service.watches.imports.plan(caller, lines)

    assert [(line.number, line.subject, line.fate, line.known) for line in plan.lines[:6]] == [
        (2, UDI, "watched", KnownSubject("listed", "Stent", "Acme")),
        (3, SRN, "new", KnownSubject("listed", "Acme")),
        (4, a_udi(5), "new", KnownSubject("delisted", "Clamp")),
        (5, a_udi(6), "new", KnownSubject("unread")),
        (6, a_udi(6), "twice", KnownSubject("unread")),
        (7, "nonsense", "invalid", KnownSubject("unread")),
    ]
    assert "made a date of it" in plan.lines[6].reason
    assert (plan.counts["new"], plan.present, plan.cap, plan.free) == (3, 1, TRIAL_CAP, TRIAL_CAP - 1)
    assert len(await harness.service.watches.service.all(caller)) == 1, "a plan adds nothing"


async def test_a_list_is_added_once_with_its_tag(harness: ServiceHarness) -> None:
    caller, watches = await harness.owner_watching("owner@acme.example", UDI), harness.service.watches
    lines = listed(UDI, *(a_udi(number) for number in range(30)))

    first = await watches.imports.add_list(caller, lines, ["Ward 3"])
    again = await watches.imports.add_list(caller, lines, ["Ward 4"])

    assert first.counts == {"watched": 1, "new": TRIAL_CAP - 1, "left": 31 - TRIAL_CAP}
    assert again.counts == {"watched": TRIAL_CAP, "left": 31 - TRIAL_CAP}
    assert await watches.tags.counts(caller) == {"Ward 3": TRIAL_CAP - 1}
    await watches.imports.add_list(caller, listed(UDI, a_udi(0), UDI), ["ward 3", "Ward 5"], tags_watched=True)
    assert await watches.tags.counts(caller) == {"Ward 3": TRIAL_CAP, "Ward 5": 2}


async def test_nothing_is_added_where_the_period_has_ended_or_tags_are_too_many(harness: ServiceHarness) -> None:
    caller, watches = await harness.owner(), harness.service.watches

    with pytest.raises(CapReached):
        await watches.imports.add_list(caller, listed(a_udi(0)), [f"tag {number}" for number in range(30)])
    harness.clock.move(8 * 24 * 3600)
    with pytest.raises(PeriodEnded):
        await watches.imports.add_list(caller, listed(a_udi(0)))

    assert await watches.service.all(caller) == []


cells = st.sampled_from([*(a_udi(number) for number in range(6)), "", "x", "7", "de-mf-000000001", "DE-MF-000000001"])


@PROPERTY
@given(st.lists(cells, max_size=12), st.sets(st.sampled_from([a_udi(0), a_udi(1)])), st.integers(0, 6))
def test_every_line_has_one_fate_and_what_is_new_fits_under_the_cap(
    typed: list[str], present: set[str], cap: int
) -> None:
    planned = plan_lines(read(*typed), present, set(), cap)

    new = [line.subject for line in planned if line.fate == "new"]
    assert [line.number for line in planned] == list(range(2, len(typed) + 2))
    assert len(set(new)) == len(new) <= max(0, cap - len(present))
    assert not present.intersection(new)
    for line in planned:
        assert bool(line.reason) == (line.fate in {"left", "invalid"})
    assert not {line.subject for line in planned if line.fate == "left"} & {*present, *new}, "it takes no place"
    in_use = [line.subject for line in planned if line.fate in {"new", "watched"}]
    assert len(set(in_use)) == len(in_use), "a line that repeats one above is told as such"
    assert {line.subject for line in planned if line.fate == "twice"} <= set(in_use)


def test_a_scanned_code_in_a_cell_keeps_its_separators_and_means_its_udi_di() -> None:
    cell = bare("010401234567890110A1\x1d17280131")

    [line] = plan_lines(read(cell), present=(), known=(), cap=TRIAL_CAP)

    assert cell == "010401234567890110A1<GS>17280131"
    assert (line.subject, line.fate) == ("04012345678901", "new")


def test_a_line_that_can_be_two_known_devices_is_invalid_and_names_both() -> None:
    known = {"00000002345673", "00023456000073"}

    [line] = plan_lines(read("02345673"), present=(), known=known, cap=TRIAL_CAP)

    assert line.fate == "invalid"
    assert all(udi in line.reason for udi in known)


def test_a_basic_udi_di_in_a_list_is_told_to_be_one() -> None:
    [line] = plan_lines(read("++A999MODELIDENTIFIER11S8"), present=(), known=(), cap=TRIAL_CAP)

    assert line.fate == "invalid"
    assert "Basic UDI-DI" in line.reason


CODE = a_udi(3)


@PROPERTY
@given(
    st.sets(st.sampled_from([CODE, a_udi(1), a_udi(2)])),
    st.sets(st.sampled_from([CODE, a_udi(1), a_udi(2)])),
    st.lists(st.sampled_from([a_udi(1), a_udi(2)]), unique=True),
    st.sampled_from([CODE, f"(01){CODE}(10)A1", CODE[1:]]),
)
def test_a_code_of_one_device_is_that_device_unless_it_is_watched_or_stored_itself(
    present: set[str], known: set[str], owners: list[str], cell: str
) -> None:
    [line] = plan_lines(read(cell), present, known, TRIAL_CAP, {CODE: owners})

    if CODE in present or CODE in known or not owners:
        assert line.subject == CODE
        assert line.fate == ("watched" if CODE in present else "new")
    elif len(owners) == 1:
        assert line.subject == owners[0]
        assert line.fate == ("watched" if owners[0] in present else "new")
    else:
        assert line.fate == "invalid"
        assert all(each in line.reason for each in owners)
