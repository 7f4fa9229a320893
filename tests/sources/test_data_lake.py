"""The bulk Data Lake: every page once, nothing cut off unnoticed, no other host."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from registerwatch.platform.db.engine import Database
from registerwatch.register.models import FLAGS, Actor, ActorReference, Completeness
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.data_lake.client import DataLakeClient
from registerwatch.sources.data_lake.convert import actor_of_row, reading_of_row
from registerwatch.sources.data_lake.wire import ActorRow, DeviceRow, device_row
from registerwatch.sources.request_budget import RequestBudget
from registerwatch.sources.request_pace import PaceLimits
from registerwatch.sources.requests import RegisterHttpClient, RetryPolicy
from registerwatch_standins.register.app import create_app
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.transport import InProcessTransport
from tests.register.canned import CannedRegister, in_turn, ok
from tests.support.fakes import SteppedClock

BASE = "http://lake.test/datalake"
NEXT = f"{BASE}/udi?api-version=v1.0&format=json&$after=abc"

LakeMaker = Callable[[httpx2.AsyncBaseTransport], DataLakeClient]


@pytest.fixture
def database_kind() -> str:
    """Reading does not depend on the database."""
    return "sqlite"


@pytest.fixture
def lake(database: Database) -> LakeMaker:
    """Makes a client: `lake(transport)`."""

    def make(transport: httpx2.AsyncBaseTransport) -> DataLakeClient:
        requests = RegisterHttpClient(
            httpx2.AsyncClient(transport=transport),
            RequestBudget(database, PaceLimits(10_000, start=10_000), SteppedClock()),
            user_agent="Registerwatch/1.0",
            timeout=5,
            retry_policies={RequestPriority.BULK_LOAD: RetryPolicy(tries=2, pause=0.1, limit=60)},
        )
        return DataLakeClient(requests, BASE + "/")

    return make


def some_rows(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"UUID": f"u-{each}", "PRIMARY_DI": f"{each:014}"} for each in range(start, start + count)]


def a_page(rows: list[dict[str, Any]], next_link: str | None = None) -> httpx2.Response:
    return ok({"value": rows} | ({"nextLink": next_link} if next_link else {}))


NO_ACTORS = a_page([])


async def all_uuids(client: DataLakeClient, cursor: str = "") -> list[str]:
    return [reading.device.uuid async for page in client.batches(cursor) for reading in page.readings]


async def all_actors(client: DataLakeClient, cursor: str = "") -> list[Actor]:
    return [actor async for page in client.batches(cursor) for actor in page.actors]


@pytest.mark.parametrize("devices", [0, 1, 999, 1_000, 1_001, 2_500])
async def test_every_device_is_read_once_whatever_their_number(lake: LakeMaker, devices: int) -> None:
    world = GeneratedWorld(max(devices, 1), seed=7)
    if devices == 0:
        assert await all_uuids(lake(in_turn(a_page([])))) == []
        return

    uuids = await all_uuids(lake(InProcessTransport(create_app(world))))

    assert uuids == [record.uuid for record in world.oldest(0, devices)]


async def test_reading_goes_on_from_the_cursor_of_any_page(lake: LakeMaker) -> None:
    world = GeneratedWorld(2_500, seed=7)
    client = lake(InProcessTransport(create_app(world)))
    cursors = [page.cursor async for page in client.batches()]

    assert [not cursor for cursor in cursors[:3]] == [False] * 3
    assert await all_uuids(client, cursors[0]) == [record.uuid for record in world.oldest(1_000, 1_500)]
    assert await all_uuids(client, cursors[1]) == [record.uuid for record in world.oldest(2_000, 500)]


async def test_the_parameters_of_the_first_request_and_of_the_link_are_sent_as_they_are(lake: LakeMaker) -> None:
    register = in_turn(a_page(some_rows(1), NEXT), a_page(some_rows(1, 1)), NO_ACTORS)

    await all_uuids(lake(register))

    assert [dict(request.url.params) for request in register.asked] == [
        {"api-version": "v1.0", "format": "json"},
        {"api-version": "v1.0", "format": "json", "$after": "abc"},
        {"api-version": "v1.0", "format": "json"},
    ]


UNREADABLE = {
    "no key": {"UUID": None, "PRIMARY_DI": "1"},
    "a key of another type": {"UUID": "u-9", "PRIMARY_DI": 5},
    "null": None,
}
unreadable = pytest.mark.parametrize("row", UNREADABLE.values(), ids=UNREADABLE)


@unreadable
async def test_a_row_that_cannot_be_read_costs_the_others_of_its_page_nothing(lake: LakeMaker, row: Any) -> None:
    pages = in_turn(a_page([*some_rows(5), row], NEXT), a_page(some_rows(5, 5)), NO_ACTORS)

    assert await all_uuids(lake(pages)) == [f"u-{each}" for each in range(10)]


@unreadable
async def test_a_page_of_which_no_row_can_be_read_is_a_failure_and_no_empty_page(lake: LakeMaker, row: Any) -> None:
    with pytest.raises(RegisterFailure, match="no row of it can be read"):
        await all_uuids(lake(in_turn(a_page([row] * 3, NEXT), a_page(some_rows(1)))))


@unreadable
async def test_rows_that_cannot_be_read_count_where_a_full_page_shows_that_it_is_cut_off(
    lake: LakeMaker, row: Any
) -> None:
    with pytest.raises(RegisterFailure, match="broke off"):
        await all_uuids(lake(in_turn(a_page([*some_rows(999), row]))))


async def test_an_actor_that_cannot_be_read_costs_the_others_nothing(lake: LakeMaker) -> None:
    page = a_page([{"ACTOR_ID": "DE-MF-000000001", "NAME": "Alpha"}, {"ACTOR_ID": 7}, {"ACTOR_ID": None}])

    assert [actor.srn for actor in await all_actors(lake(in_turn(a_page([]), page)))] == ["DE-MF-000000001"]


async def test_an_actor_has_a_row_for_each_responsible_person_and_notified_bodies_are_no_actors(
    lake: LakeMaker,
) -> None:
    alpha = {"ACTOR_ID": "DE-IM-000000001", "NAME": "Alpha", "STATUS": "Active", "ACTOR_TYPE": "Importer"}
    body = {"ACTOR_ID": "2460", "NAME": "DNV Product Assurance AS", "ACTOR_TYPE": "Notified Body"}

    [actor] = await all_actors(lake(in_turn(a_page([]), a_page([alpha, alpha, body]))))

    assert (actor.srn, actor.status_code) == ("DE-IM-000000001", "refdata.actor-status.active")


async def test_reading_goes_on_within_the_actors(lake: LakeMaker) -> None:
    next_actors = NEXT.replace("/udi", "/actors")
    pages = a_page([{"ACTOR_ID": "DE-MF-000000001"}], next_actors), a_page([{"ACTOR_ID": "DE-MF-000000002"}])
    cursors = [batch.cursor async for batch in lake(in_turn(a_page([]), *pages)).batches()]
    register = in_turn(pages[1])

    actors = await all_actors(lake(register), cursors[1])

    assert [actor.srn for actor in actors] == ["DE-MF-000000002"]
    assert [request.url.path for request in register.asked] == ["/datalake/actors"]


async def test_a_full_page_without_a_link_is_cut_off(lake: LakeMaker) -> None:
    with pytest.raises(RegisterFailure, match="broke off"):
        await all_uuids(lake(in_turn(a_page(some_rows(1_000)))))


@pytest.mark.parametrize(
    "link",
    [
        "http://elsewhere.test/datalake/udi?$after=1",
        "https://lake.test/datalake/udi?$after=1",
        "http://lake.test:8080/datalake/udi?$after=1",
        "http://lake.test@elsewhere.test/datalake/udi?$after=1",
        "//elsewhere.test/udi",
        "/datalake/udi?$after=1",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://[",
        "http://lake.test]/",
    ],
)
async def test_a_link_to_any_other_place_is_refused_and_never_asked(lake: LakeMaker, link: str) -> None:
    register = in_turn(a_page(some_rows(1), link))

    with pytest.raises(RegisterFailure, match=r"link|form"):
        await all_uuids(lake(register))

    assert len(register.asked) == 1


@pytest.mark.parametrize(
    "link", [f"{BASE}/udi?api-version=v1.0&format=json", f"{BASE}/udi?format=json&api-version=v1.0"]
)
async def test_a_link_to_the_page_itself_is_no_endless_walk(lake: LakeMaker, link: str) -> None:
    register = in_turn(a_page(some_rows(1), link))

    with pytest.raises(RegisterFailure, match="one that it has given already"):
        await all_uuids(lake(register))

    assert len(register.asked) == 1


async def test_links_that_lead_in_a_circle_are_no_endless_walk(lake: LakeMaker) -> None:
    other = NEXT.replace("abc", "def")
    pages = [a_page(some_rows(1, each), NEXT if each % 2 == 0 else other) for each in range(12)]
    register = in_turn(*pages, a_page(some_rows(1)))

    with pytest.raises(RegisterFailure):
        await all_uuids(lake(register))


async def test_an_empty_page_that_says_where_the_next_one_is_skips_rows_and_is_no_page(lake: LakeMaker) -> None:
    register = in_turn(*[a_page([], NEXT)] * 9)

    with pytest.raises(RegisterFailure):
        await all_uuids(lake(register))


async def test_rows_without_identifiers_are_left_out_and_the_others_read(lake: LakeMaker) -> None:
    rows: list[dict[str, Any]] = [{"UUID": "u-1", "PRIMARY_DI": None}, {"UUID": " ", "PRIMARY_DI": "1"}, *some_rows(1)]

    assert await all_uuids(lake(in_turn(a_page(rows), NO_ACTORS))) == ["u-0"]


async def test_a_row_whose_key_is_null_does_not_keep_the_others_from_being_read(lake: LakeMaker) -> None:
    rows = [{"UUID": None, "PRIMARY_DI": "1"}, *some_rows(1)]

    assert await all_uuids(lake(in_turn(a_page(rows), NO_ACTORS))) == ["u-0"]


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(302, headers={"location": "/elsewhere"}),
        httpx2.Response(400),
        httpx2.Response(503),
        ok({"error": "no rows"}),
        ok({"value": None}),
        ok({"value": some_rows(1), "nextLink": 5}),
        ok({"value": [{"UUID": 7}]}),
    ],
)
async def test_what_is_no_page_is_a_failure(lake: LakeMaker, answer: httpx2.Response) -> None:
    with pytest.raises(RegisterFailure):
        await all_uuids(lake(in_turn(answer)))


async def test_every_actor_is_told_with_country_and_status(lake: LakeMaker) -> None:
    world = GeneratedWorld(400, seed=7)

    actors = await all_actors(lake(InProcessTransport(create_app(world))))

    assert {record.manufacturer.srn for record in world.newest(0, 400)} <= {actor.srn for actor in actors}
    for actor in actors:
        known = world.actor(actor.srn)
        assert known is not None
        assert (actor.name, actor.country, actor.status_code) == (
            known.name,
            known.country,
            "refdata.actor-status.active",
        )
        assert not actor.complete


# Rows

RISKS = {
    -203: "Class I",
    -204: "Class IIa",
    -205: "Class IIb",
    -10: "Class III",
    -199: "Class A",
    -200: "Class B",
    -201: "Class C",
    -202: "Class D",
    -154: "Active implantable (AIMDD)",
    -155: "IVD Annex II List A",
    -156: "IVD Annex II List B",
    -157: "IVD general",
    -219: "IVD self-testing",
}
LEGISLATIONS = {-197: "MDR", -198: "IVDR", -53: "MDD", -54: "AIMDD", -55: "IVDD", -3020: "None", -3021: ""}
STATUSES = {
    -11: "On the EU market",
    -12: "No longer placed on the EU market",
    -790: "Not intended for the EU market",
}


def a_row(**columns: Any) -> DeviceRow:
    named = {name.upper(): value for name, value in columns.items()}
    return device_row.read({"UUID": "u-1", "PRIMARY_DI": "04099999999992", **named})


@pytest.mark.parametrize(("number", "label"), RISKS.items())
def test_every_number_of_a_risk_class_has_its_label(number: int, label: str) -> None:
    device = reading_of_row(a_row(risk_class_id=number)).device

    assert device.risk_class == label
    assert device.risk_class_code.startswith("refdata.risk-class.")
    assert reading_of_row(a_row(risk_class_id=str(number))).device == device
    assert reading_of_row(a_row(risk_class_id=float(number))).device == device


@pytest.mark.parametrize(("number", "label"), LEGISLATIONS.items())
def test_every_number_of_a_legislation_has_its_label(number: int, label: str) -> None:
    assert reading_of_row(a_row(applicable_legislation_id=number)).device.legislation == label


@pytest.mark.parametrize(("number", "label"), STATUSES.items())
def test_every_number_of_a_market_status_has_its_label(number: int, label: str) -> None:
    assert reading_of_row(a_row(device_status_type_id=number)).device.status == label


def test_a_number_that_nobody_knows_stays_readable_and_a_missing_one_says_nothing() -> None:
    unknown = reading_of_row(a_row(risk_class_id=-9999)).device
    missing = reading_of_row(a_row(risk_class_id=None, device_status_type_id="", applicable_legislation_id="x")).device

    assert (unknown.risk_class, unknown.risk_class_code) == ("Unknown 9999", "refdata.risk-class.unknown-9999")
    assert (missing.risk_class, missing.status, missing.legislation) == ("", "", "")


@pytest.mark.parametrize(
    ("said", "flag"),
    [(1, True), ("1", True), (True, True), (0.0, False), ("0", False), (None, None), ("", None), (7, None)],
)
def test_a_flag_that_is_empty_is_not_known_and_no_no(said: Any, flag: bool | None) -> None:
    device = reading_of_row(a_row(sterile=said, latex=said, implantable=said, reusable=said)).device

    assert [getattr(device, name) for name in FLAGS] == [flag] * 4


def test_a_row_tells_some_of_a_device_and_lags() -> None:
    reading = reading_of_row(
        a_row(
            trade_name=" Alpha ",
            nomenclature_code=" A01, B02,, ",
            ar_srn="DE-AR-000000002",
            ar_name="Representative",
            version_number="3",
        )
    )

    assert (reading.completeness, reading.lags, reading.detail_version) == (Completeness.SOME, True, None)
    assert reading.device.trade_name == "Alpha"
    assert reading.device.emdn == ("A01", "B02")
    assert reading.device.authorised_representative == ActorReference("DE-AR-000000002", "Representative")
    assert reading.device.version == 3
    assert reading.device.certs == ()


@pytest.mark.parametrize(
    ("said", "is_latest"),
    [(True, True), (False, False), ("true", True), ("FALSE", False), (0.0, False), (1.0, True), (None, True)],
)
def test_a_superseded_version_is_known_however_it_is_written(said: Any, is_latest: bool) -> None:
    assert reading_of_row(a_row(latest_version=said)).latest_version is is_latest


def test_an_actor_without_a_name_is_an_actor_without_a_name() -> None:
    assert actor_of_row(ActorRow(actor_id=" DE-MF-000000001 ")).srn == "DE-MF-000000001"


async def test_only_the_lakes_own_host_is_asked(lake: LakeMaker) -> None:
    register = CannedRegister(lambda _request: httpx2.Response(307, headers={"location": "http://elsewhere.test"}))

    with pytest.raises(RegisterFailure):
        await all_uuids(lake(register))

    assert {request.url.host for request in register.asked} == {"lake.test"}
