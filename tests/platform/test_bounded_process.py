"""Work in processes with bounds: who waits for whom, and what a process cannot do."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import date

import msgspec
import psutil
import pytest
from bench.labels import WHOLE, Shot, label, photographed, saved, symbol
from PIL import ExifTags, Image

from registerwatch.errors import Overloaded
from registerwatch.files.scan.symbols import Symbol
from registerwatch.files.tables.table import ReadChoices, Table
from registerwatch.platform import bounded_process, process_template
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
TABLES, PHOTOS = "registerwatch.files.tables.process", "registerwatch.files.scan.photo_process"


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


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module whose processes never end by themselves."""
    monkeypatch.setattr(process_template, "COMMAND", (sys.executable, "-m"))
    module = "tests.platform.endless_process"
    yield module
    process_template.template_of(module).end()


async def test_a_process_for_which_nobody_waits_any_more_is_killed_so_that_the_service_can_end(endless: str) -> None:
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def run(_module: str, content: bytes, bounds: ProcessBounds, end: ProcessEnd) -> ProcessOutput:
        loop.call_soon_threadsafe(begun.set)
        return run_process(endless, content, bounds, end)

    shared = BoundedProcesses("none", READ, most=1, most_per_account=1, wait_seconds=1, busy=BUSY, run=run)
    work = asyncio.create_task(shared.run(b"", 1))
    await begun.wait()
    work.cancel()
    async with asyncio.timeout(READ.wall_seconds / 2):
        with pytest.raises(asyncio.CancelledError):
            await work


def test_a_process_that_breaks_down_or_takes_too_long_is_told_from_one_that_refuses(endless: str) -> None:
    with pytest.raises(ProcessFailed):
        run_process(endless, b"", ProcessBounds(1, 0.2, BOUNDS.memory_bytes), ProcessEnd())
    until(lambda: not any(endless in each.cmdline() for each in _copies()), "the end of the process")


def test_where_no_process_can_be_started_the_content_is_not_called_unreadable() -> None:
    with pytest.raises(Overloaded, match="can start no process"):
        run_process("no_such_module", b"", READ, ProcessEnd())


async def test_an_account_is_not_charged_for_a_process_that_could_not_begin() -> None:
    spent: list[float] = []

    class Budget:
        async def require(self, account_id: int) -> None:
            """Everybody has something left."""

        async def spend(self, account_id: int, seconds: float) -> None:
            spent.append(seconds)

    shared = BoundedProcesses(
        "no_such_module", READ, most=1, most_per_account=1, wait_seconds=1, busy=BUSY, budget=Budget()
    )
    with pytest.raises(Overloaded, match="can start no process"):
        await shared.run(b"", 1)
    assert spent == [0.0]


def test_a_content_is_read_though_the_template_of_its_process_was_killed() -> None:
    assert len(_read(b"GTIN\n04012345000009\n").rows) == 1
    [template] = [each for each in _templates() if TABLES in each.cmdline()]
    os.kill(template.pid, signal.SIGKILL)

    assert len(_read(b"GTIN\n04012345000009\n").rows) == 1


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_process_goes_on_where_all_are_told_to_stop_since_the_service_finishes_its_work(
    endless: str, stop: signal.Signals
) -> None:
    end, others = ProcessEnd(), set(_copies())
    work = threading.Thread(target=_run_to_its_end, args=(endless, end))
    work.start()
    try:
        until(lambda: bool(set(_copies()) - others), "a process")
        for each in (*_templates(), *_copies()):
            each.send_signal(stop)

        assert len(_read(b"GTIN\n04012345000009\n").rows) == 1
        assert work.is_alive()
    finally:
        end.end()
        work.join()


def test_a_content_is_read_after_one_whose_process_was_killed() -> None:
    for _ in range(3):
        with pytest.raises(ProcessFailed):
            run_process(
                TABLES, b"{}\nGTIN\n" + b"04012345000009\n" * 50_000, ProcessBounds(1, 0.05, 2**30), ProcessEnd()
            )
        assert len(_read(b"GTIN\n04012345000009\n").rows) == 1


def test_a_process_that_takes_longer_than_most_gets_all_of_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_process, "QUICK_SECONDS", 0.0)  # before it has begun to read
    content = b"GTIN\n" + b"04012345000009\n" * 20_000

    assert len(_read(content).rows) == 20_000


def test_a_process_that_takes_longer_than_most_goes_last_on_the_machine(
    monkeypatch: pytest.MonkeyPatch, endless: str
) -> None:
    monkeypatch.setattr(bounded_process, "QUICK_SECONDS", 0.0)
    monkeypatch.setattr(bounded_process, "NICENESS", 12)
    end = ProcessEnd()
    others = set(_copies())
    work = threading.Thread(target=_run_to_its_end, args=(endless, end))
    work.start()
    try:
        until(lambda: any(each.nice() >= 12 for each in set(_copies()) - others), "a process that goes last")
    finally:
        end.end()
        work.join()


def _run_to_its_end(module: str, end: ProcessEnd) -> None:
    with pytest.raises(ProcessFailed):
        run_process(module, b"", READ, end)


def _copies() -> list[psutil.Process]:
    """The processes that read contents now: those below the templates."""
    return [copy for template in _templates() for copy in template.children()]


def _templates() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if each.status() != psutil.STATUS_ZOMBIE]


ELEMENT_STRING = "(01)04012345000009(17)280131(10)LÖT"


def test_confined_processes_have_what_they_need_for_each_format_and_code() -> None:
    """What a library loads only when it meets something must be there before: afterwards nothing can be opened."""
    for content, choices in (
        (ELEMENT_STRING.encode("cp850"), ReadChoices(encoding="cp850")),
        (a_workbook(["UDI", "Day"], [ELEMENT_STRING, date(2026, 1, 2)]), ReadChoices()),
        (an_xlsb("UDI", ELEMENT_STRING), ReadChoices()),
        (an_ods(ods_text("UDI"), ods_text(ELEMENT_STRING)), ReadChoices()),
    ):
        assert [row.code for row in _read(content, choices).rows] == [ELEMENT_STRING]

    turned = Image.Exif()
    turned[ExifTags.Base.Orientation] = 6
    for form in ("JPEG", "PNG", "WEBP"):
        photo = saved(photographed(label(symbol("DataMatrix", WHOLE)), Shot()), form, exif=turned)
        [found] = msgspec.json.decode(_made(PHOTOS, photo), type=list[Symbol])
        assert found.names_device, form


def _read(content: bytes, choices: ReadChoices | None = None) -> Table:
    return msgspec.msgpack.decode(
        _made(TABLES, msgspec.json.encode(choices or ReadChoices()) + b"\n" + content), type=Table
    )


def _made(module: str, content: bytes) -> bytes:
    return run_process(module, content, READ, ProcessEnd()).content
