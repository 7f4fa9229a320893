"""Codes are read in a process with bounds, few lists at a time, whoever sends them."""

import asyncio
import sys
import threading
from collections.abc import Iterator

import msgspec
import pytest

from registerwatch.accounts.tables import work_used
from registerwatch.errors import InvalidInput, Overloaded
from registerwatch.platform import process_template
from registerwatch.platform.bounded_process import ProcessBounds, ProcessEnd, ProcessOutput, run_process
from registerwatch.register.identifiers import parse
from registerwatch.watches.imports import code_process
from registerwatch.watches.imports.code_process import BOUNDS, CodeReader, CodesToRead, code_of, code_processes
from tests.register.builders import UDI, a_udi
from tests.support.harness import ServiceHarness, auth_headers

CODES = (
    *(
        UDI,
        UDI.lstrip("0"),
        f"(01){UDI}(17)280131(10)A1",
        f"01{UDI}17280131",
        f"https://id.gs1.org/01/{UDI}/10/A1?17=280131",
    ),
    *("]C10104012345678901", "(01)04012345678901(7003)2801311200(8008)28013112", "A9997XYZ100T0479", "+E4947660611"),
    *("+A99912345/$$52001510X3", "9N110375286414", "110375286414", "=/A9997XYZ100T0479", "B-04049154123456"),
    *("de-mf-000006413", "BEPR000000011", "SRN: DE-MF-000006413", "02345673", "++A999MODELIDENTIFIER11S8"),
    *("", "n/a", "4.04519E+12", '="05060123456786"', "ART-1001", "ß1", "\u202e123", "A\x00B1", "9" * 2_000),
)
SLOW = [f"+A99{'+$9' * 160}{number}" for number in range(499)]
"""At every third character of each another code may begin."""


async def test_codes_of_every_kind_are_read_in_a_process_as_they_are_without_one() -> None:
    assert await CodeReader().read(CODES, 1) == [code_of(each) for each in CODES]


async def test_all_that_codes_say_is_read_as_it_is_without_a_process() -> None:
    assert await CodeReader().parse(CODES, 2027, 1) == [parse(each, 2027) for each in CODES]


async def test_what_no_text_can_hold_is_no_code() -> None:
    [whole, half] = await CodeReader().read([UDI, f"{UDI}\ud83d"], 1)

    assert whole == code_of(UDI)
    assert half == "The identifier holds signs that cannot be seen. Type it anew."


async def test_more_codes_than_one_process_reads_come_back_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_process, "AT_ONCE", 3)
    codes = [a_udi(number) for number in range(7)]

    assert await CodeReader().read(codes, 1) == [code_of(each) for each in codes]


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Iterator[CodeReader]:
    """A reader whose processes never end by themselves, and are killed."""
    monkeypatch.setattr(process_template, "COMMAND", (sys.executable, "-m"))
    module = "tests.platform.endless_process"

    def run(_module: str, content: bytes, bounds: ProcessBounds, end: ProcessEnd) -> ProcessOutput:
        return run_process(module, content, bounds, end)

    yield CodeReader(code_processes(bounds=ProcessBounds(1, 0.2, BOUNDS.memory_bytes), run=run))
    process_template.template_of(module).end()


async def test_codes_whose_process_is_killed_are_refused_in_a_sentence(endless: CodeReader) -> None:
    with pytest.raises(InvalidInput, match="Reading these codes takes too long"):
        await endless.read([UDI], 1)


class HeldWork:
    """Stands in for processes: the codes of lists that begin with `slow` are held until the gate opens."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.begun: list[list[str]] = []

    def __call__(self, _module: str, content: bytes, _bounds: ProcessBounds, _end: ProcessEnd) -> ProcessOutput:
        codes = list(msgspec.msgpack.decode(content, type=CodesToRead).texts)
        self.begun.append(codes)
        if codes[0] == "slow":
            self.gate.wait(20)
        return ProcessOutput(msgspec.msgpack.encode(codes), 0.1)


@pytest.mark.parametrize("networks", [(None, None), ("203.0.113.7", "203.0.113.8")])
async def test_slow_codes_of_one_account_let_those_of_others_in(networks: tuple[str | None, str | None]) -> None:
    work = HeldWork()
    reader = CodeReader(code_processes(run=work))
    slow = [asyncio.create_task(reader.read(["slow"], 1, networks[0])) for _ in range(3)]
    while not work.begun:
        await asyncio.sleep(0)
    try:
        async with asyncio.timeout(5):
            assert await reader.read([UDI], 2, networks[1]) == [UDI]
        assert work.begun == [["slow"], [UDI]]
    finally:
        work.gate.set()
    assert await asyncio.gather(*slow) == [["slow"]] * 3


async def test_between_two_parts_of_a_long_list_the_codes_of_another_account_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(code_process, "AT_ONCE", 1)
    work = HeldWork()
    monkeypatch.setattr(code_process, "MAX_AT_A_TIME", 1)
    reader = CodeReader(code_processes(run=work))
    long = asyncio.create_task(reader.read(["slow", "a", "b"], 1))
    while not work.begun:
        await asyncio.sleep(0)
    other = asyncio.create_task(reader.read([UDI], 2))
    await asyncio.sleep(0)
    work.gate.set()

    await asyncio.gather(long, other)
    assert work.begun.index([UDI]) < work.begun.index(["b"])


async def test_who_waits_too_long_is_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_process, "WAIT_SECONDS", 0.01)
    work = HeldWork()
    reader = CodeReader(code_processes(run=work))
    slow = asyncio.create_task(reader.read(["slow"], 1))
    while not work.begun:
        await asyncio.sleep(0)
    try:
        with pytest.raises(Overloaded, match="Other lists are being read"):
            await reader.read([UDI], 1)
    finally:
        work.gate.set()
    await slow


async def test_slow_codes_are_counted_and_refused_once_the_share_of_the_hour_is_used(limited: ServiceHarness) -> None:
    owner = await limited.sign_up()
    headers = {**auth_headers(owner.api_key), "Content-Type": "text/csv"}

    first = await limited.client.post("/v1/import?dry_run=true", content="\n".join(SLOW), headers=headers)
    [row] = await limited.rows(work_used)
    await limited.service.work.spend(row["account_id"], 3_600)
    second = await limited.client.post("/v1/import?dry_run=true", content=UDI, headers=headers)

    assert (first.status_code, {line["fate"] for line in first.json()["lines"]}) == (200, {"error"})
    assert row["milliseconds"] > 50
    assert (second.status_code, "processor time" in second.json()["error"]) == (429, True)
