"""A register that differs in one thing, or in all of them: each is named, and nothing else."""

from collections.abc import Iterable, Mapping

import httpx2
import pytest

from registerwatch.ingest.checks.check_rules import KNOWN_CODES
from registerwatch.platform.db.engine import Database
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.checks.assumptions import ASSUMPTIONS
from registerwatch.sources.checks.names import CheckName as N
from registerwatch.sources.checks.outcomes import KnownBefore, Unanswered
from registerwatch.sources.checks.source_checks import SourceChecks
from registerwatch.sources.data_lake.checks import LOOKS as DATA_LAKE_LOOKS
from registerwatch.sources.eudamed.checks.looks import LOOKS as EUDAMED_LOOKS
from registerwatch.sources.request_budget import RequestBudget
from registerwatch.sources.request_pace import PaceLimits
from registerwatch.sources.requests import RegisterHttpClient
from registerwatch_standins.register.app import create_app
from registerwatch_standins.register.drift import Difference as D  # noqa: N817  # named often
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.transport import InProcessTransport
from tests.sources.reader import BASE, IMPATIENT
from tests.support.fakes import SteppedClock

LAKE = "http://register.test/datalake"
NAMED: Mapping[D, set[N]] = {
    D.PRIMARY_DI_FILTER_IGNORED: {N.FILTER_PRIMARY_DI},
    D.ACTOR_SRN_FILTER_IGNORED: {N.FILTER_CERTIFICATE_ACTOR},
    D.ACTOR_SRN_MISSING: {N.CERTIFICATE_ROW},
    D.PAGE_CAP_OF_100: {N.LIST_DEVICES, N.LIST_CAP, N.LIST_CERTIFICATES, N.LIST_CERTIFICATES_CAP},
    D.PAGES_FROM_1: {N.LIST_PAGING},
    D.TOTALS_AS_TEXT: {N.LIST_ENVELOPE},
    D.DETAIL_FIELD_RENAMED: {N.DEVICE_DETAIL},
    D.TIMESTAMPS_WITH_ZONE: {N.TIMES},
    D.NEW_DEVICE_STATUS: {N.STATUS_CODES},
    D.BASIC_ULID_DIFFERS: {N.BASIC_UDI_ULID},
    D.MISSING_RECORD_404: {N.UNKNOWN_RECORD},
    D.NEW_BUILD: {N.BUILD},
    D.SAFETY_NOTICES_ON: {N.FLAGS},
    D.DATALAKE_COLUMN_RENAMED: {N.DATA_LAKE_ROW, N.DATA_LAKE_COLUMNS},
    D.REFERENCE_ID_CHANGED: {N.DATA_LAKE_IDS, N.DATA_LAKE_REFERENCE},
    D.NEXT_LINK_MISSING: {N.DATA_LAKE_PAGING},
}
"""The checks that name a difference."""
WORDS = {
    D.PRIMARY_DI_FILTER_IGNORED: "It is ignored: a value that nothing has finds records.",
    D.ACTOR_SRN_MISSING: "Missing: actorSrn.",
    D.PAGES_FROM_1: "Pages 0 and 1 are the same: pages are not counted from 0.",
    D.TOTALS_AS_TEXT: "totalElements is a text. totalPages is a text.",
    D.DETAIL_FIELD_RENAMED: "Missing: cndNomenclatures.",
    D.TIMESTAMPS_WITH_ZONE: "With a zone: lastUpdated, versionDate.",
    D.NEW_DEVICE_STATUS: "refdata.device-model-status.made-available",
    D.MISSING_RECORD_404: "It answers with status 404 instead of 302.",
    D.NEW_BUILD: "2.28.0",
    D.SAFETY_NOTICES_ON: "ffVigFsn is on (it was off): EUDAMED publishes field safety notices now",
    D.REFERENCE_ID_CHANGED: "RISK_CLASS_ID: -204 not listed any more. RISK_CLASS_ID: -1204 has no label here.",
    D.NEXT_LINK_MISSING: "A page of 1,000 rows has no nextLink.",
}


@pytest.fixture(scope="module")
def world() -> GeneratedWorld:
    return GeneratedWorld(1_100, seed=5, certificates=320)


@pytest.fixture
def looks_at(world: GeneratedWorld, database: Database, clock: SteppedClock) -> "LooksAt":
    return LooksAt(world, database, clock)


class LooksAt:
    """Looks at everything that is assumed of a stand-in."""

    def __init__(self, world: GeneratedWorld, database: Database, clock: SteppedClock) -> None:
        self._world, self._database, self._clock = world, database, clock
        self.requests = 0

    async def __call__(self, *differences: D) -> tuple[dict[N, str], dict[N, str]]:
        """What differs, and what could not be looked at, each with what was said."""
        app = create_app(self._world, differences=differences)
        async with httpx2.AsyncClient(transport=InProcessTransport(app)) as http:
            budget = RequestBudget(self._database, PaceLimits(100_000, start=100_000), self._clock)
            requests = RegisterHttpClient(
                http, budget, user_agent="Registerwatch/1.0", timeout=60.0, retry_policies=IMPATIENT
            )
            eudamed = SourceChecks(EUDAMED_LOOKS, requests, BASE, self._clock, RequestPriority.SWEEP)
            lake = SourceChecks(DATA_LAKE_LOOKS, requests, LAKE, self._clock, RequestPriority.BULK_LOAD)
            before = KnownBefore(KNOWN_CODES)
            outcomes = await eudamed.look(eudamed.names, before) | await lake.look(lake.names, before)
        self.requests = len(app.state.log.requests)
        assert set(outcomes) == set(N)
        silent = {name: each.reason for name, each in outcomes.items() if isinstance(each, Unanswered)}
        known = {name: each for name, each in outcomes.items() if not isinstance(each, Unanswered)}
        return {name: each.found for name, each in known.items() if not each.is_ok or each.note}, silent


async def test_all_assumptions_hold_of_a_register_as_it_was_measured(looks_at: LooksAt) -> None:
    assert await looks_at() == ({}, {})
    announced = {name: each.requests for name, each in ASSUMPTIONS.items()} | {
        N.DATA_LAKE_REFERENCE: 1
    }  # it is short here
    assert looks_at.requests == sum(announced.values()), "what the progress announces is what is sent"


@pytest.mark.parametrize("difference", D)
async def test_a_difference_is_named_and_nothing_else(looks_at: LooksAt, difference: D) -> None:
    differing, silent = await looks_at(difference)

    assert set(differing) == NAMED[difference]
    assert WORDS.get(difference, "") in " ".join(differing.values())
    assert set(silent) <= _not_to_be_judged([difference])


async def test_all_differences_at_once_are_each_named_and_nothing_else(looks_at: LooksAt) -> None:
    differing, silent = await looks_at(*D)

    assert set(differing) | set(silent) >= set().union(*NAMED.values())
    assert set(differing) <= set().union(*NAMED.values())
    assert set(silent) <= _not_to_be_judged(D)
    assert not set(silent) & {name for names in NAMED.values() if len(names) == 1 for name in names}


def _not_to_be_judged(differences: Iterable[D]) -> set[N]:
    """What a difference leaves nothing of to look at."""
    hidden = {
        D.ACTOR_SRN_MISSING: {N.FILTER_CERTIFICATE_ACTOR},
        D.NEXT_LINK_MISSING: {N.DATA_LAKE_REFERENCE},
    }
    return set().union(*(hidden.get(each, set()) for each in differences))
