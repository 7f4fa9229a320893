"""Files of lists are read without a process of their own, which takes most of a test's time."""

from collections.abc import Callable

from registerwatch.accounts.limits.plan_shares import PlanShares
from registerwatch.accounts.limits.work_budget import WorkBudget
from registerwatch.accounts.plans import plans
from registerwatch.files.lists.worker import ListWorker
from registerwatch.files.tables.process import BOUNDS, BUSY, WAIT_SECONDS, TableReader, _read
from registerwatch.platform.bounded_process import BoundedProcesses, ProcessBounds, ProcessEnd, ProcessOutput
from registerwatch.watches.imports.code_process import CodeReader
from tests.support.harness import ServiceHarness

Reading = Callable[[bytes], bytes]

DAMAGED = b"PK\x03\x04 ..."
"""A file that begins as a workbook does, and cannot be read."""


def in_this_process(read: Reading = _read, *, budget: WorkBudget | None = None) -> TableReader:
    """A reader of files, few at a time as always. `read` takes the choices and the file, and gives the table."""

    def run(_module: str, content: bytes, _bounds: ProcessBounds, _end: ProcessEnd) -> ProcessOutput:
        return ProcessOutput(read(content), 0.01)

    processes = BoundedProcesses(
        "", BOUNDS, most=2, most_per_account=1, wait_seconds=WAIT_SECONDS, busy=BUSY, budget=budget, run=run
    )
    return TableReader(processes)


def list_worker(
    harness: ServiceHarness, reader: TableReader | None = None, codes: CodeReader | None = None
) -> ListWorker:
    """Another worker over the same database, as another node has one."""
    service = harness.service
    shares = PlanShares(plans(service.settings.trial_watch_cap), needs_confirmation=True)
    reader, codes = reader or in_this_process(), codes or service.watches.code_reader
    return ListWorker(service.database, harness.clock, service.records, reader, codes, shares, service.work)


async def work_on_lists(harness: ServiceHarness) -> None:
    """Read and match every file of a list that waits."""
    await list_worker(harness).work_off()
