"""The status of sweeps, of stored records and of the register's checks, for `/status`, `/health` and `/metrics`."""

import asyncio
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from registerwatch.copy.records import CopyState, RecordStore
from registerwatch.copy.unread_fields import StoredUnreadField, stored_unread_fields
from registerwatch.ingest.checks import check_repository
from registerwatch.ingest.checks.check_rules import GATES, KnownChecks, RegisterCheck
from registerwatch.ingest.checks.register_checks import RegisterChecks
from registerwatch.ingest.sweeps.sweep_state import SweepState, sweep_state
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.sources.budget_row import Host
from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.request_budget import PaceState, RequestBudget

KEPT_SECONDS = 3.0
"""A status is reused for this long: clients may ask as often as they like."""


class CheckState(StrEnum):
    """The state of a check."""

    NOT_LOOKED = "not_looked"
    UNANSWERED = "unanswered"
    """The last run got no answer; the result of an earlier one is shown beside."""
    FINE = "fine"
    CHANGED = "changed"


def state_of(check: RegisterCheck) -> CheckState:
    """The state of a check. A change stays until a run finds that it is over."""
    if check.is_ok is False:
        return CheckState.CHANGED
    if check.unanswered_since is not None:
        return CheckState.UNANSWERED
    return CheckState.NOT_LOOKED if check.is_ok is None else CheckState.FINE


class RegisterStatus(msgspec.Struct, frozen=True):
    """The stored records, the progress of sweeps, the pace of requests to each host, and every check of this process.
    `at` is in unix seconds.
    """

    at: int
    copy: CopyState
    sweeps: SweepState
    checks: KnownChecks
    unread_fields: list[StoredUnreadField]
    """Fields of the register's records that could not be read lately."""
    paces: Mapping[Host, PaceState]

    @property
    def build(self) -> str:
        """The last known build of the register; empty before the first answer."""
        return self.checks[CheckName.BUILD].found if self.checks[CheckName.BUILD].is_ok else ""

    @property
    def changed(self) -> list[CheckName]:
        """The checks whose result differs from what is relied on."""
        return [name for name, check in self.checks.items() if state_of(check) is CheckState.CHANGED]

    @property
    def closes_lists(self) -> bool:
        """Whether nothing of some list is stored, since a check that it relies on has failed."""
        return not GATES.isdisjoint(self.changed)

    @property
    def switched(self) -> str:
        """The feature flags that changed in the register since this release, in sentences; empty for none."""
        flags = self.checks.get(CheckName.FLAGS)
        return flags.found if flags is not None and state_of(flags) is CheckState.CHANGED else ""


class RegisterStatusReader:
    """Reads the status, once for all requests within some seconds."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        records: RecordStore,
        checks: RegisterChecks,
        budgets: Mapping[Host, RequestBudget],
    ) -> None:
        self._database = database
        self._clock = clock
        self._records = records
        self._checks = checks
        self._budgets = budgets
        self._reading = asyncio.Lock()
        self._kept: tuple[float, RegisterStatus] | None = None

    async def status(self) -> RegisterStatus:
        """The status, some seconds old at most. Raises `DatabaseUnavailable`."""
        async with self._reading:
            now = self._clock.monotonic()
            if self._kept is None or not now - KEPT_SECONDS < self._kept[0] <= now:
                self._kept = now, await self._read()
            return self._kept[1]

    async def _read(self) -> RegisterStatus:
        now = int(self._clock.now())
        copy = await self._records.state()
        async with self._database.reading() as connection:
            sweeps = await sweep_state(connection, now)
            known = await check_repository.all_checks(connection)
            unread_fields = await stored_unread_fields(connection)
        return RegisterStatus(
            at=now,
            copy=copy,
            sweeps=sweeps,
            checks={
                name: known.get(name, RegisterCheck(name))
                for name in CheckName
                if name in known or name in self._checks.names
            },
            unread_fields=unread_fields,
            paces={host: await budget.pace() for host, budget in self._budgets.items()},
        )
