"""Lists of devices of actors that no fill brought: every page is read when asked for, and what is missing is said.

`said_of` asks every surface and holds them to saying the same.
"""

import json
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.ingest.device_lists import CHANGED, UNREADABLE
from registerwatch.ingest.refresh import DROPPED, MAX_BACKGROUND_LISTS_OF_CLIENT
from registerwatch.platform.structs import replace
from registerwatch_standins.register.file_world import FileWorld
from registerwatch_standins.register.filters import DeviceFilter
from registerwatch_standins.register.records import Registration
from tests.pages.markup import Markup
from tests.pages.registrations import MAKER, gtin, registration
from tests.register.actor_surfaces import ROWS, said_of
from tests.register.builders import FEW
from tests.support.harness import ServiceHarness, built_harness
from tests.watches.sweep_steps import sweep

SRN = MAKER["srn"]
HOUR = 3600
MINUTE = 61
SECOND_PAGE = "page=1&"


class LeavingWorld(FileWorld):
    """A register that no longer lists records that have left it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.left: set[str] = set()

    def search(self, wanted: DeviceFilter, offset: int, limit: int) -> tuple[int, list[Registration]]:
        """A page of those that are left."""
        kept = [each for each in super().search(wanted, 0, 10_000)[1] if each.uuid not in self.left]
        return len(kept), kept[offset : offset + limit]


def leave(harness: ServiceHarness, rank: int = 0) -> None:
    """Let the newest device leave the register, or one after it."""
    assert isinstance(harness.world, LeavingWorld)
    harness.world.left.add(harness.world.search(DeviceFilter(srn=SRN), rank, 1)[1][0].uuid)


@asynccontextmanager
async def a_service(
    database_url: str, folder: Path, devices: int, page_size: int = 300
) -> AsyncIterator[ServiceHarness]:
    """A service over a manufacturer of so many devices, in which nothing is stored and nobody updates the index."""
    path = folder / "registrations.jsonl"
    lines = [json.dumps(registration(gtin(number))) for number in range(devices, 0, -1)]
    path.write_text("\n".join(lines))
    async with built_harness(database_url, folder, world=LeavingWorld(path), page_size=page_size) as harness:
        yield harness


def register_more(harness: ServiceHarness, number: int, first: int = 1_000) -> None:
    """Register more devices of the manufacturer, which come first in its list."""
    [like] = harness.world.oldest(0, 1)
    for place in range(first, first + number):
        harness.world.register(
            replace(like, uuid=f"00000000-0000-4000-8000-{place:012}", primary_di=gtin(place + 10_000))
        )


def registered(harness: ServiceHarness) -> list[str]:
    """UDI-DIs of the manufacturer in the register."""
    return sorted(each.primary_di for each in harness.world.search(DeviceFilter(srn=SRN), 0, 5_000)[1])


def pages_asked(harness: ServiceHarness) -> int:
    """How many pages of devices the register was asked for since the last call, without control probes."""
    asked = sum(each.kind == "search" and SRN in each.query for each in harness.register_log.requests)
    harness.register_log.clear()
    return asked


async def page_of(harness: ServiceHarness, number: int) -> dict[str, Any]:
    answer: dict[str, Any] = (await harness.get(f"/v1/actors/{SRN}", page=number)).json()
    return answer


@pytest.mark.parametrize("devices", [25, 300, 301, 650])
async def test_every_page_of_an_actor_that_nobody_has_read_has_its_devices(
    database_url: str, tmp_path: Path, devices: int
) -> None:
    async with a_service(database_url, tmp_path, devices) as harness:
        rows = []
        for number in range(1, -(-devices // ROWS) + 1):
            answer = await page_of(harness, number)
            rows.append(len(answer["devices"]))
            assert (answer["device_total"], answer["error"]) == (devices, None)
        assert rows == [ROWS] * (devices // ROWS) + [devices % ROWS] * (devices % ROWS > 0)
        await harness.finish_background_work()

        said = await said_of(harness, SRN)
        assert (said.udis, said.missing, said.error) == (registered(harness), [], None)
        assert said.headline == f"{devices} devices of this manufacturer"
        assert pages_asked(harness) == -(-devices // 300), "each page of the list was read once"


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_what_a_failing_register_did_not_bring_is_missing_everywhere_until_it_was_read(
    database_url: str, tmp_path: Path
) -> None:
    async with a_service(database_url, tmp_path, 650) as harness:
        harness.faults.fail("search", "http-500", contains=SECOND_PAGE)
        await page_of(harness, 1)
        await harness.finish_background_work()

        said = await said_of(harness, SRN)
        assert (said.total, said.known, said.missing) == (650, 300, ["devices"])
        assert said.error == said.search_error == "The register (register.test) has a fault of its own (status 500)."
        last = await page_of(harness, 16)
        assert (last["devices"], last["complete"], last["error"]) == ([], False, said.error)
        page = Markup.of(await harness.client.get(f"/a/{SRN}?page=16"))
        assert "300 devices of 650 registrations known so far." in page.main
        assert "The devices of this page are not known yet." in page.main

        harness.faults.clear()
        harness.clock.move(MINUTE)
        read = await page_of(harness, 16)
        assert len(read["devices"]) == ROWS, "the page was read within the request"
        await harness.finish_background_work()
        said = await said_of(harness, SRN)
        assert (said.udis, said.missing, said.search_error) == (registered(harness), [], None)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_devices_that_are_known_by_chance_are_said_to_be_some_before_and_all_after_the_first_read(
    database_url: str, tmp_path: Path
) -> None:
    async with a_service(database_url, tmp_path, 25) as harness:
        searched = (await harness.get("/v1/search", q=SRN)).json()
        assert (searched["total"], searched["complete"], searched["error"]) == (0, False, None)
        empty = Markup.of(await harness.get("/", q=SRN))
        assert empty.all("h2")[0].text == "No device is known so far"
        for number in range(1, 6):
            await harness.service.refresher.refresh(gtin(number))
        some = Markup.of(await harness.get("/", q=SRN))
        assert "These are the devices that are known so far" in some.main
        assert some.link(SRN) == f"/a/{SRN}"

        said = await said_of(harness, SRN)
        assert (said.total, said.registered, said.known) == (5, None, 5)
        assert said.missing == ["record", "devices"]
        assert said.headline == "5 devices of this manufacturer known so far"

        said = await said_of(harness, SRN)  # what the surfaces asked for was read behind them
        assert (said.udis, said.registered, said.missing) == (registered(harness), 25, [])
        assert said.headline == "25 devices of this manufacturer"


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_second_page_is_read_though_only_devices_of_the_actor_were_known(
    database_url: str, tmp_path: Path
) -> None:
    async with a_service(database_url, tmp_path, 25) as harness:
        await harness.service.refresher.refresh(gtin(1))

        answer = await page_of(harness, 2)

        assert (len(answer["devices"]), answer["complete"]) == (5, True)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_who_waits_for_it_gets_the_whole_list_in_one_answer(database_url: str, tmp_path: Path) -> None:
    async with a_service(database_url, tmp_path, 650) as harness:
        await harness.service.refresher.refresh(gtin(1))

        waited = await harness.client.get(f"/v1/actors/{SRN}", headers={"Prefer": "wait=3"})

        assert (waited.json()["complete"], waited.json()["devices_known"]) == (True, 650)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_search_that_could_not_look_says_so_and_one_that_found_nothing_is_complete(
    database_url: str, tmp_path: Path
) -> None:
    async with a_service(database_url, tmp_path, 25) as harness:
        harness.faults.fail("any", "http-503")
        await page_of(harness, 1)
        failed = (await harness.get("/v1/search", q=SRN)).json()
        assert (failed["total"], failed["complete"]) == (0, False)
        assert failed["error"] == "The register (register.test) has a fault of its own (status 503)."
        harness.faults.clear()
        harness.clock.move(MINUTE)
        await harness.fill_copy()
        found = (await harness.get("/v1/search", q="DE-MF-000000999")).json()
        assert (found["total"], found["complete"], found["error"]) == (0, True, None)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_fill_brings_every_list_so_that_only_the_record_is_missing(database_url: str, tmp_path: Path) -> None:
    async with a_service(database_url, tmp_path, 650) as harness:
        await harness.fill_copy()
        said = await said_of(harness, SRN)
        assert (said.udis, said.missing, said.registered) == (registered(harness), ["record"], None)
        pages_asked(harness)

        harness.clock.move(MINUTE)
        said = await said_of(harness, SRN)
        assert (said.missing, said.registered) == ([], 650)
        harness.clock.move(7 * HOUR)
        await page_of(harness, 1)
        await harness.finish_background_work()
        assert pages_asked(harness) == 1, "the newest devices alone"


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_new_devices_of_a_known_list_take_one_page_and_more_than_a_page_take_all_pages(
    database_url: str, tmp_path: Path
) -> None:
    async with a_service(database_url, tmp_path, 650) as harness:
        await page_of(harness, 1)
        await harness.finish_background_work()
        pages_asked(harness)

        register_more(harness, 5)
        leave(harness, 640)
        harness.clock.move(7 * HOUR)
        await page_of(harness, 1)
        await harness.finish_background_work()
        said = await said_of(harness, SRN)
        assert (said.registered, said.known, said.missing) == (654, 655, [])
        assert pages_asked(harness) == 1

        register_more(harness, 400, first=2_000)
        harness.clock.move(7 * HOUR)
        await page_of(harness, 1)
        await harness.finish_background_work()
        said = await said_of(harness, SRN)
        assert (said.registered, said.missing) == (1_054, [])
        assert set(registered(harness)) <= set(said.udis)
        assert pages_asked(harness) == 4


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_list_that_shifts_while_it_is_read_is_read_on_until_it_has_all(
    database_url: str, tmp_path: Path
) -> None:
    async with a_service(database_url, tmp_path, 650) as harness:
        harness.faults.before("search", lambda: register_more(harness, 7), contains=SECOND_PAGE)
        await page_of(harness, 1)
        await harness.finish_background_work()

        said = await said_of(harness, SRN)
        assert (said.registered, said.udis, said.missing) == (657, registered(harness), [])


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_list_of_which_a_device_left_while_it_was_read_is_not_believed_before_it_was_read_again(
    database_url: str, tmp_path: Path
) -> None:
    async with a_service(database_url, tmp_path, 650) as harness:
        harness.faults.before("search", lambda: leave(harness), contains="page=2&")
        await page_of(harness, 1)
        await harness.finish_background_work()
        said = await said_of(harness, SRN)
        assert (said.missing, said.error) == (["devices"], CHANGED)

        harness.clock.move(MINUTE)
        await page_of(harness, 1)
        await harness.finish_background_work()
        said = await said_of(harness, SRN)
        assert (said.missing, said.error) == ([], None)
        assert set(registered(harness)) <= set(said.udis)


async def test_what_is_known_of_a_list_outlasts_the_process(database_url: str, tmp_path: Path) -> None:
    async with a_service(database_url, tmp_path, 301) as harness:
        await page_of(harness, 1)
        await harness.finish_background_work()
    async with a_service(database_url, tmp_path, 301) as harness:
        said = await said_of(harness, SRN)

        assert (said.known, said.missing, said.registered) == (301, [], 301)
        assert pages_asked(harness) == 0


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_no_device_is_missing_of_an_actor_that_devices_do_not_name(harness: ServiceHarness) -> None:
    named = next(each for each in harness.world.newest(0, 120) if each.authorised_representative)
    assert named.authorised_representative is not None
    srn = named.authorised_representative.srn

    answer = (await harness.get(f"/v1/actors/{srn}")).json()
    searched = (await harness.get("/v1/search", q=srn)).json()

    assert (answer["devices"], answer["complete"], answer["missing"]) == ([], True, [])
    assert answer["device_total"] == answer["devices_registered"] > 0
    assert (searched["total"], searched["complete"]) == (0, True)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_device_that_cannot_be_read_is_missing_and_its_list_is_not_read_again_and_again(
    database_url: str, tmp_path: Path
) -> None:
    def without_key(page: Any) -> Any:
        for row in page["content"][3:4]:
            row["primaryDi"] = None
        return page

    async with a_service(database_url, tmp_path, 25) as harness:
        harness.to_register.rewrites = {f"udiDiData?srn={SRN}": without_key}
        await page_of(harness, 1)
        await harness.finish_background_work()

        said = await said_of(harness, SRN)
        assert (said.registered, said.known, said.missing) == (25, 24, ["devices"])
        assert said.error == said.search_error == UNREADABLE.format(number=1)
        pages_asked(harness)
        for _ in range(3):
            harness.clock.move(MINUTE)
            await page_of(harness, 1)
            await harness.finish_background_work()
        assert pages_asked(harness) == 0

        harness.to_register.rewrites = {}
        harness.clock.move(7 * HOUR)
        await page_of(harness, 1)
        await harness.finish_background_work()
        said = await said_of(harness, SRN)
        assert (said.known, said.missing, said.error) == (25, [], None)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_client_has_few_lists_read_behind_it_and_is_told_that_others_were_not_asked_for(
    database_url: str, tmp_path: Path
) -> None:
    async with built_harness(database_url, tmp_path, page_size=2) as harness:
        makers = Counter(each.manufacturer.srn for each in harness.world.newest(0, 120)).most_common(3)
        harness.to_register.held = {SECOND_PAGE}
        answers = [(await harness.get(f"/v1/actors/{srn}")).json() for srn, _ in makers]

        assert [each["missing"] for each in answers] == [["devices"]] * 3
        assert [each["error"] for each in answers] == [*[None] * MAX_BACKGROUND_LISTS_OF_CLIENT, DROPPED]
        harness.to_register.held = set()
        harness.to_register.let.set()
        await harness.finish_background_work()


async def test_a_list_that_the_sweep_has_read_is_whole_without_another_request(
    database_url: str, tmp_path: Path
) -> None:
    async with a_service(database_url, tmp_path, 25, page_size=10) as harness:
        owner = await harness.sign_up()
        await harness.post_watches(owner.api_key, SRN)
        before = (await harness.get("/v1/search", q=SRN)).json()
        assert (before["total"], before["complete"], before["devices_registered"]) == (10, False, 25)
        harness.register_log.clear()

        await sweep(harness)
        assert pages_asked(harness) == 3
        said = await said_of(harness, SRN)
        assert (said.udis, said.missing) == (registered(harness), [])
        assert pages_asked(harness) == 0


STEPS = st.lists(
    st.sampled_from(["device", "actor", "page", "more", "many", "leave", "fail", "heal", "fill", "later"]),
    min_size=3,
    max_size=12,
)


@FEW
@given(STEPS)
async def test_whatever_happens_surfaces_agree_and_a_list_that_was_read_now_and_is_complete_has_every_device(
    sqlite_template: Path, tmp_path: Path, steps: list[str]
) -> None:
    folder = Path(mkdtemp(dir=tmp_path))
    database = shutil.copyfile(sqlite_template, folder / "registerwatch.db")
    async with a_service(f"sqlite:///{database}", folder, 25, page_size=10) as harness:
        for number, step in enumerate(steps):
            await _take(harness, step, number)
        if await harness.service.documents.actor(SRN) is not None:
            await said_of(harness, SRN)
        harness.faults.clear()
        for _ in range(3):  # read, read the rest, read again what changed meanwhile
            harness.clock.move(7 * HOUR)
            await page_of(harness, 1)
            await harness.finish_background_work()
        said = await said_of(harness, SRN)
        assert said.is_whole
        assert set(registered(harness)) <= set(said.udis)


async def _take(harness: ServiceHarness, step: str, number: int) -> None:
    """One step of a history."""
    match step:
        case "device":
            await harness.service.refresher.refresh(registered(harness)[number])
        case "actor":
            await harness.get("/v1/refresh", q=SRN)
        case "page":
            await page_of(harness, 1 + number % 3)
        case "more" | "many":
            register_more(harness, 3 if step == "more" else 14, first=1_000 + 100 * number)
        case "leave":
            leave(harness, number)
        case "fail":
            harness.faults.fail("search", "http-500", skip=number % 3, times=4)
        case "heal":
            harness.faults.clear()
        case "fill":
            await harness.fill_copy()
        case _:
            harness.clock.move(7 * HOUR)
    if number % 2:
        await harness.finish_background_work()
