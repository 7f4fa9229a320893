"""Whatever the list: counts add up, each line is there once, and lines that follow are as if they were matched anew."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registerwatch.copy.standings import stored_standings
from registerwatch.files.lists.line_match import Known, ReadLine, match
from registerwatch.files.lists.models import COVERAGES
from registerwatch.register.codes import StatusFilter
from registerwatch.watches.imports.code_process import code_of
from tests.files.lists.steps import ListSteps
from tests.register.builders import a_full_reading, a_udi
from tests.support.harness import ServiceHarness

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite", "postgresql"], indirect=True)

UDIS = [a_udi(number) for number in range(6)]
JUNK = ("", "n/a", "-", "4,01235E+12", "=A1", "\u202e123", "0401234567890", "BEPR000000011", "<b>", "Ö" * 30)

spelt = st.builds(
    lambda udi, way: way.format(udi=udi, bare=udi.lstrip("0"), parts=f"{udi[:5]} {udi[5:9]}-{udi[9:]}"),
    st.sampled_from(UDIS),
    st.sampled_from(("{udi}", "{bare}", "{parts}", "(01){udi}(10)LOT7", "01{udi}", "  {udi} ")),
)
codes = st.lists(st.one_of(spelt, st.sampled_from(JUNK)), min_size=1, max_size=12)
articles = st.lists(st.sampled_from("AB"), min_size=12, max_size=12)
per_database = settings(
    max_examples=min(12, max(3, settings().max_examples // 3)),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def a_file(codes: Sequence[str], articles: Sequence[str]) -> str:
    rows = (f'{article};"{code}";end\n' for code, article in zip(codes, articles, strict=False))
    return "Article;GTIN;End\n" + "".join(rows)


def compared(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> dict[str, int]:
    """The differences, by plain dictionaries of the nth line of each key."""

    def by_key(lines: Sequence[dict[str, Any]]) -> dict[tuple[str, int], Any]:
        count: Counter[str] = Counter()
        found = {}
        for line in lines:
            key = ReadLine.of_code(line["code"], code_of(line["code"])).key
            count[key] += 1
            found[key, count[key]] = line["cells"]
        return found

    before, after = by_key(old), by_key(new)
    same = sum(1 for key, cells in after.items() if before.get(key) == cells)
    fresh = len(after.keys() - before.keys())
    return {
        "new": fresh,
        "same": same,
        "changed": len(after) - fresh - same,
        "gone": len(before.keys() - after.keys()),
    }


async def test_each_line_is_there_once_and_counts_and_differences_are_those_of_a_plain_comparison(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    await harness.store(a_full_reading("u-1", UDIS[1]))
    await harness.store(a_full_reading("u-2", UDIS[2], status_code=StatusFilter.OFF.code))
    number = 0

    @per_database
    @given(first=codes, second=codes, articles=articles)
    async def holds(first: Sequence[str], second: Sequence[str], articles: Sequence[str]) -> None:
        nonlocal number
        number += 1
        chosen: dict[str, Any] = {"code_column": 1, "heading_row": 1, "delimiter": ";"}
        list_id = await lists.kept(a_file(first, articles), f"List {number}", **chosen)
        old = await lists.lines(list_id)
        told = (await lists.get(f"/v1/lists/{list_id}"))["list"]["coverage"]

        _, answer = await lists.matched(a_file(second, articles[::-1]), f"List {number}", **chosen)
        new = await lists.lines(list_id, upload=answer["upload"]["id"])

        assert [each["line"] for each in old] == list(range(2, len(first) + 2))
        assert told["lines"] == len(first) == sum(told[each] for each in COVERAGES)
        assert Counter(each["coverage"] for each in old) == {each: told[each] for each in COVERAGES if told[each]}
        assert answer["differences"] == compared(old, new)
        await lists.request("DELETE", f"/v1/lists/{list_id}")

    await run(holds)


async def test_lines_that_follow_the_copy_are_as_if_they_were_matched_anew(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    version = 0
    await harness.service.accounts.admin.set_period(lists.owner.email, None, harness.now + 365 * 24 * 3600)
    change = st.tuples(st.integers(0, len(UDIS) - 1), st.sampled_from(list(StatusFilter)))

    @per_database
    @given(listed=codes, changes=st.lists(change, max_size=6))
    async def holds(listed: Sequence[str], changes: Sequence[tuple[int, StatusFilter]]) -> None:
        nonlocal version
        list_id = await lists.kept(a_file(listed, "A" * 12), "Followed", code_column=1, heading_row=1, delimiter=";")
        for number, status in changes:
            version += 1
            harness.clock.move(60)
            reading = a_full_reading(f"u-{number}", UDIS[number], version=version, status_code=status.code)
            await harness.store(reading)
        await lists.follow()
        harness.clock.move(24 * 3600 + 1)
        await lists.follow()

        lines = await lists.lines(list_id)
        today = harness.service.lists.service.today()
        for line in lines:
            read = ReadLine.of_code(line["code"], code_of(line["code"]))
            async with harness.service.database.reading() as connection:
                known = await stored_standings(connection, read.spellings)
            anew = match(read, Known(known), today)
            if line["reason"] is None or anew.reason:  # what the spreadsheet did is known of the file alone
                assert (line["subject"], line["coverage"]) == (anew.subject, anew.standing), line

    await run(holds)


async def run(holds: Any) -> None:
    """Let an asynchronous property be tried in the loop of its test."""
    loop = asyncio.get_running_loop()
    inner = holds.hypothesis.inner_test

    def in_loop(**drawn: Any) -> None:
        asyncio.run_coroutine_threadsafe(inner(**drawn), loop).result(60)

    holds.hypothesis.inner_test = in_loop
    await asyncio.to_thread(holds)
