"""Work in processes with bounds: who waits for whom, and what a process cannot do."""

import asyncio
import threading
from datetime import date

import msgspec
import psutil
import pytest
from bench.labels import WHOLE, Shot, label, photographed, saved, symbol
from PIL import ExifTags, Image

from registerwatch.errors import Overloaded
from registerwatch.files.scan.symbols import Symbol
from registerwatch.files.tables.table import ReadChoices, Table
from registerwatch.platform import bounded_process
from registerwatch.platform.bounded_process import (
    BoundedProcesses,
    ProcessBounds,
    ProcessEnd,
    ProcessFailed,
    ProcessOutput,
    run_process,
)
from tests.files.tables.workbooks import a_workbook, an_ods, an_xlsb, ods_text
from tests.support.processes import until

BOUNDS = ProcessBounds(cpu_seconds=1, wall_seconds=10, memory_bytes=200 * 1024 * 1024)
READ = ProcessBounds(cpu_seconds=10, wall_seconds=60, memory_bytes=1024**3)
BUSY = "Others are being read."


class HeldWork:
    """Stands in for processes: contents that end with `slow` are held until the gate opens."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.begun: list[bytes] = []

    def __call__(self, _module: str, content: bytes, _bounds: ProcessBounds, _end: ProcessEnd) -> ProcessOutput:
        self.begun.append(content)
        if content.endswith(b"slow"):
            self.gate.wait(20)
        return ProcessOutput(content, 0.1)


def processes(work: HeldWork, *, wait_seconds: float = 20) -> BoundedProcesses:
    return BoundedProcesses("none", BOUNDS, most=2, most_per_account=1, wait_seconds=wait_seconds, busy=BUSY, run=work)


async def test_slow_contents_of_one_account_let_those_of_others_in() -> None:
    work = HeldWork()
    shared = processes(work)
    slow = [asyncio.create_task(shared.run(b"slow", 1)) for _ in range(3)]
    while not work.begun:
        await asyncio.sleep(0)
    try:
        async with asyncio.timeout(5):
            assert await shared.run(b"quick", 2) == b"quick"
        assert work.begun == [b"slow", b"quick"]
    finally:
        work.gate.set()
    assert await asyncio.gather(*slow) == [b"slow"] * 3


async def test_who_waits_too_long_is_told_and_a_place_is_kept_until_its_process_has_ended() -> None:
    work = HeldWork()
    shared = processes(work, wait_seconds=0.01)
    slow = asyncio.create_task(shared.run(b"slow", 1))
    while not work.begun:
        await asyncio.sleep(0)
    slow.cancel()
    try:
        with pytest.raises(Overloaded, match=BUSY):
            await shared.run(b"quick", 1)
    finally:
        work.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await slow
    assert await shared.run(b"quick", 1) == b"quick"


async def test_a_process_for_which_nobody_waits_any_more_is_killed_so_that_the_service_can_end() -> None:
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def run(_module: str, content: bytes, bounds: ProcessBounds, end: ProcessEnd) -> ProcessOutput:
        loop.call_soon_threadsafe(begun.set)
        return run_process("code", content, bounds, end)  # a prompt of Python

    shared = BoundedProcesses("none", READ, most=1, most_per_account=1, wait_seconds=1, busy=BUSY, run=run)
    endless = asyncio.create_task(shared.run(b"while True: pass\n\n", 1))
    await begun.wait()
    endless.cancel()
    async with asyncio.timeout(READ.wall_seconds / 2):
        with pytest.raises(asyncio.CancelledError):
            await endless


def test_a_process_that_breaks_down_or_takes_too_long_is_told_from_one_that_refuses() -> None:
    with pytest.raises(ProcessFailed):
        run_process("no_such_module", b"", BOUNDS, ProcessEnd())
    with pytest.raises(ProcessFailed):
        run_process(
            "registerwatch.files.tables.process",
            b"",
            ProcessBounds(1, 0.001, BOUNDS.memory_bytes),
            ProcessEnd(),
        )


def test_a_process_that_takes_longer_than_most_gets_all_of_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_process, "QUICK_SECONDS", 0.0)  # before it has begun to read
    content = b"GTIN\n" + b"04012345000009\n" * 20_000

    read = _made("files.tables.process", b"{}\n" + content)

    assert len(msgspec.msgpack.decode(read, type=Table).rows) == 20_000


def test_a_process_that_takes_longer_than_most_goes_last_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_process, "QUICK_SECONDS", 0.0)
    monkeypatch.setattr(bounded_process, "NICENESS", 12)
    end, me = ProcessEnd(), psutil.Process()
    others = set(me.children())
    work = threading.Thread(target=_endless, args=(end,))
    work.start()
    try:
        until(lambda: any(each.nice() >= 12 for each in set(me.children()) - others), "a process that goes last")
    finally:
        end.end()
        work.join()


def _endless(end: ProcessEnd) -> None:
    with pytest.raises(ProcessFailed):
        run_process("code", b"while True: pass\n\n", READ, end)


ELEMENT_STRING = "(01)04012345000009(17)280131(10)LÖT"


def test_confined_processes_have_what_they_need_for_each_format_and_code() -> None:
    """What a library loads only when it meets something must be there before: afterwards nothing can be opened."""
    for content, choices in (
        (ELEMENT_STRING.encode("cp850"), ReadChoices(encoding="cp850")),
        (a_workbook(["UDI", "Day"], [ELEMENT_STRING, date(2026, 1, 2)]), ReadChoices()),
        (an_xlsb("UDI", ELEMENT_STRING), ReadChoices()),
        (an_ods(ods_text("UDI"), ods_text(ELEMENT_STRING)), ReadChoices()),
    ):
        read = _made("files.tables.process", msgspec.json.encode(choices) + b"\n" + content)
        assert [row.code for row in msgspec.msgpack.decode(read, type=Table).rows] == [ELEMENT_STRING]

    turned = Image.Exif()
    turned[ExifTags.Base.Orientation] = 6
    for form in ("JPEG", "PNG", "WEBP"):
        photo = saved(photographed(label(symbol("DataMatrix", WHOLE)), Shot()), form, exif=turned)
        [found] = msgspec.json.decode(_made("files.scan.photo_process", photo), type=list[Symbol])
        assert found.names_device, form


def _made(module: str, content: bytes) -> bytes:
    return run_process(f"registerwatch.{module}", content, READ, ProcessEnd()).content
