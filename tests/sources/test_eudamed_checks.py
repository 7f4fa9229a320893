"""Looking at how the register answers, over the stand-in and its drift."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from registerwatch.ingest.checks.check_rules import KNOWN_CODES
from registerwatch.platform.db.engine import Database
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.checks.assumptions import ASSUMPTIONS, DAILY
from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.outcomes import CheckResult, KnownBefore, Outcome, Unanswered
from registerwatch.sources.checks.shapes import judge_shape
from registerwatch.sources.checks.source_checks import SourceChecks
from registerwatch.sources.eudamed.checks.filters import FINDS_NOTHING, IGNORED, OPTIONAL_IGNORED, OTHERS
from registerwatch.sources.eudamed.checks.looks import LOOKS
from registerwatch.sources.eudamed.shapes import SHAPES
from registerwatch.sources.requests import RegisterHttpClient
from registerwatch_standins.register.generated import GeneratedWorld
from tests.register.canned import CannedRegister, a_page, ok
from tests.sources.conftest import Sender
from tests.sources.reader import BASE, Reader, reading
from tests.support.fakes import SteppedClock

Outcomes = dict[CheckName, Outcome]
BEFORE = KnownBefore(KNOWN_CODES)
ALWAYS = DAILY & frozenset(LOOKS)
MAX_DAILY_REQUESTS = 26


@pytest.fixture(scope="module")
def world() -> GeneratedWorld:
    return GeneratedWorld(400, seed=5, certificates=40)


@pytest.fixture
async def reader(world: GeneratedWorld, database: Database, clock: SteppedClock) -> AsyncIterator[Reader]:
    async with reading(world, database, clock) as found:
        yield found


def checks_over(requests: RegisterHttpClient, clock: SteppedClock) -> SourceChecks:
    return SourceChecks(LOOKS, requests, BASE, clock, RequestPriority.SWEEP)


async def look(reader: Reader, *due: CheckName, before: KnownBefore = BEFORE) -> Outcomes:
    checks = checks_over(reader.client.interface.requests, reader.clock)
    return await checks.look(due or ALWAYS, before)


def failed(outcomes: Outcomes) -> dict[CheckName, str]:
    return {name: each.found for name, each in outcomes.items() if isinstance(each, CheckResult) and not each.is_ok}


def unanswered(outcomes: Outcomes) -> set[CheckName]:
    return {name for name, each in outcomes.items() if isinstance(each, Unanswered)}


async def test_a_register_that_answers_as_ever_passes_every_daily_check_with_few_requests(reader: Reader) -> None:
    outcomes = await look(reader)

    assert failed(outcomes) == {}
    assert unanswered(outcomes) == set()
    assert set(outcomes) == ALWAYS
    assert len(reader.log.requests) <= MAX_DAILY_REQUESTS


async def test_every_assumption_holds_with_as_many_requests_as_are_announced(reader: Reader) -> None:
    outcomes = await look(reader, *LOOKS)

    assert failed(outcomes) == {}
    assert unanswered(outcomes) == set()
    assert list(outcomes) == [name for name in CheckName if name in LOOKS]
    announced = sum(ASSUMPTIONS[name].requests for name in LOOKS)
    assert announced - 1 <= len(reader.log.requests) <= announced


async def test_what_other_checks_need_too_is_asked_once(reader: Reader) -> None:
    await look(reader, *LOOKS)

    asked = [(each.path, each.query) for each in reader.log.requests]
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize(
    ("kind", "names", "check"),
    [
        ("search", ("primaryDi",), CheckName.FILTER_PRIMARY_DI),
        ("search", ("srn",), CheckName.FILTER_SRN),
        ("actor-search", ("srn",), CheckName.FILTER_ACTOR_SRN),
    ],
)
async def test_a_filter_that_a_new_build_renames_is_told(
    reader: Reader, kind: Any, names: tuple[str, ...], check: CheckName
) -> None:
    reader.faults.fail(kind, "renamed-filter", names=names)

    assert failed(await look(reader)) == {check: IGNORED}


async def test_a_filter_that_finds_other_records_is_told(reader: Reader) -> None:
    reader.faults.fail("search", "renamed-filter", names=("srn",), skip=1, contains="srn=")

    assert failed(await look(reader, CheckName.FILTER_SRN)) == {CheckName.FILTER_SRN: OTHERS}


async def test_a_filter_that_finds_nothing_at_all_is_told(sender: Sender, clock: SteppedClock) -> None:
    row = {"uuid": "u-1", "primaryDi": "04099999999992", "manufacturerSrn": "DE-MF-000000001"}
    register = CannedRegister(lambda asked: ok(a_page() if "srn" in asked.url.params else a_page(row)))

    outcomes = await checks_over(sender(register), clock).look({CheckName.FILTER_SRN})

    assert outcomes[CheckName.FILTER_SRN] == CheckResult(False, FINDS_NOTHING)


async def test_the_filter_that_nobody_has_proven_is_no_failure_and_told_all_the_same(
    world: GeneratedWorld, database: Database, clock: SteppedClock
) -> None:
    async with reading(world, database, clock, basic_udi_filter_works=False) as reader:
        looked = await look(reader)

    assert failed(looked) == {}
    assert looked[CheckName.FILTER_BASIC_UDI] == CheckResult(True, OPTIONAL_IGNORED)


@pytest.mark.parametrize(
    ("kind", "names", "check", "said"),
    [
        ("search", ("manufacturerSrn",), CheckName.DEVICE_ROW, "Missing: manufacturerSrn."),
        ("search", ("reference",), CheckName.DEVICE_ROW, "Missing: reference."),
        ("detail", ("deviceStatus",), CheckName.DEVICE_DETAIL, "Missing: deviceStatus."),
        ("basic", ("lastUpdated",), CheckName.BASIC_UDI_RECORD, "Missing: lastUpdated."),
        ("basic", ("deviceCertificateInfoList",), CheckName.BASIC_UDI_RECORD, "Missing: deviceCertificateInfoList."),
        ("actor-search", ("countryIso2Code",), CheckName.ACTOR_ROW, "Missing: countryIso2Code."),
        ("actor", ("actorDataPublicView",), CheckName.ACTOR_DETAIL, "Missing: actorDataPublicView."),
        ("certificates", ("expiryDate",), CheckName.CERTIFICATE_ROW, "Missing: expiryDate."),
        ("certificate", ("scopes",), CheckName.CERTIFICATE_DETAIL, "Missing: scopes."),
        ("refusals", ("certificateRefusalDate",), CheckName.REFUSAL_ROW, "Missing: certificateRefusalDate."),
        ("bodies", ("eudamedIdentifier",), CheckName.NOTIFIED_BODY, "Missing: eudamedIdentifier."),
    ],
)
async def test_a_field_that_a_new_build_renames_is_told(
    reader: Reader, kind: Any, names: tuple[str, ...], check: CheckName, said: str
) -> None:
    reader.faults.fail(kind, "json-of-renamed-fields", names=names)

    found = failed(await look(reader))

    assert said in found[check]


@pytest.mark.parametrize(
    ("kind", "name", "check"),
    [
        ("search", "deviceStatusType", CheckName.STATUS_CODES),
        ("search", "riskClass", CheckName.RISK_CODES),
        ("search", "manufacturerStatus", CheckName.ACTOR_STATUS_CODES),
        ("basic", "legislation", CheckName.LEGISLATION_CODES),
        ("certificates", "certificateStatus", CheckName.CERTIFICATE_STATUS_CODES),
    ],
)
async def test_codes_of_a_later_build_are_seen(reader: Reader, kind: Any, name: str, check: CheckName) -> None:
    reader.faults.fail(kind, "unknown-codes", names=(name,))

    looked = await look(reader)

    assert failed(looked).keys() == {check}
    assert failed(looked)[check].endswith(".of-a-later-build")


@pytest.mark.parametrize("mode", ["http-503", "throttled-429", "html-200", "empty-page", "connection-reset"])
async def test_a_register_that_is_down_proves_nothing_and_is_asked_little(reader: Reader, mode: Any) -> None:
    reader.faults.fail("any", mode)

    looked = await look(reader)

    if mode != "empty-page":  # only lists show it
        assert unanswered(looked) == ALWAYS
        assert failed(looked) == {}
        assert len(reader.log.requests) <= 6, "three requests, each twice"
    assert CheckName.DEVICE_ROW in unanswered(looked)


@pytest.mark.parametrize("mode", ["http-400", "redirect-302", "json-of-wrong-shape", "json-of-null-fields"])
async def test_a_list_that_is_refused_or_of_another_form_is_told(reader: Reader, mode: Any) -> None:
    reader.faults.fail("certificates", mode)

    looked = await look(reader)

    assert {CheckName.LIST_CERTIFICATES, CheckName.CERTIFICATE_ROW} <= set(failed(looked))
    assert CheckName.CERTIFICATE_DETAIL in unanswered(looked), "there is no certificate to ask for"


async def test_only_what_is_due_is_asked_for(reader: Reader) -> None:
    await look(reader, CheckName.BUILD)
    assert [each.kind for each in reader.log.requests] == ["build"]

    reader.log.clear()
    await look(reader, CheckName.FILTER_SRN)
    assert [each.kind for each in reader.log.requests] == ["search"] * 3


async def test_a_stored_record_with_certificates_is_looked_at_and_one_that_is_gone_is_no_failure(
    reader: Reader,
) -> None:
    record = reader.world.newest(0, 1)[0]
    await look(reader, CheckName.BASIC_UDI_RECORD, before=KnownBefore(KNOWN_CODES, certified=record.uuid))
    assert record.uuid in reader.log.requests[-1].path

    gone = KnownBefore(KNOWN_CODES, certified="00000000-0000-0000-0000-000000000000")
    looked = await look(reader, CheckName.BASIC_UDI_RECORD, before=gone)

    assert failed(looked) == {}
    assert unanswered(looked) == set()


CAPTURES = {
    "device_search_page.json": CheckName.DEVICE_ROW,
    "device_search_by_primary_di.json": CheckName.DEVICE_ROW,
    "device_detail.json": CheckName.DEVICE_DETAIL,
    "eos_search_page.json": CheckName.ACTOR_ROW,
    "actor_public_information.json": CheckName.ACTOR_DETAIL,
    "certificate_search_page.json": CheckName.CERTIFICATE_ROW,
}


@pytest.mark.parametrize("name", CAPTURES)
def test_real_replies_have_all_that_is_relied_on(captures: Path, name: str) -> None:
    answer = msgspec.json.decode((captures / name).read_bytes())

    assert judge_shape(SHAPES[CAPTURES[name]], answer.get("content", [answer])) == CheckResult(True)
