"""The public page about how fresh everything is and what was verified of the register."""

from sqlalchemy import insert

from registerwatch.copy.tables import device_sweeps, walks
from registerwatch.ingest.checks.check_rules import DAY_SECONDS
from registerwatch.ingest.checks.register_status import KEPT_SECONDS
from registerwatch.pages.public.status import PATH, WALK_TITLES
from registerwatch.sources.budget_row import Host
from registerwatch.sources.checks.assumptions import ASSUMPTIONS
from registerwatch.sources.checks.names import CheckName
from tests.ingest.test_register_status import a_sweep, a_walk
from tests.pages.conftest import SiteMaker
from tests.pages.markup import Markup
from tests.pages.registrations import gtin, registration
from tests.support.harness import ServiceHarness


async def shown(harness: ServiceHarness) -> Markup:
    harness.clock.move(KEPT_SECONDS)
    response = await harness.client.get(PATH)
    assert response.status_code == 200, response.text
    assert "no-store" in response.headers["cache-control"]
    return Markup.of(response)


def results(page: Markup) -> set[str]:
    return {row[1] for row in page.rows}


async def test_a_service_that_has_not_looked_yet_says_so(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem")) as harness:
        page = await shown(harness)

        assert page.facts["Device records"].startswith("1 A device can have several")
        assert results(page) == {"– Not looked yet"}
        assert "No manufacturer’s devices are listed for watches" in page.one("main").text
        assert "Not looked yet: the lists of certificates" in page.one("main").text
        assert "Its build is not known." in page.one("main").text
        assert page.problems == []


async def test_fine_changed_and_could_not_look_are_told_with_when(site: SiteMaker) -> None:
    async with site(*(registration(gtin(number), "Stem") for number in range(1, 4))) as harness:
        await harness.service.register_checks.run_where_due()
        assert "✓ Fine" in results(await shown(harness))

        harness.world.build_version = "4.0.0"
        harness.faults.fail("search", "renamed-filter", names=("srn",))
        harness.faults.fail("actor", "http-503")
        harness.clock.move(DAY_SECONDS)
        await harness.service.register_checks.run_where_due()
        page = await shown(harness)

        by_title = {row[0]: row[1:] for row in page.rows}
        changed = next(row for title, row in by_title.items() if title.startswith("Search of devices by manufacturer"))
        silent = by_title["Fields of an actor"]
        assert changed[0] == "✕ Changed"
        assert silent[0] == "! Could not look"
        assert "No answer since" in silent[1]
        assert "Before that it was fine." in silent[1]
        assert "The register answers differently than before." in page.one("main").text
        assert "Its build is 4.0.0" in page.one("main").text
        assert page.problems == []


async def test_what_is_switched_on_is_said_and_what_closes_nothing_is_told_apart(site: SiteMaker) -> None:
    async with site(*(registration(gtin(number), "Stem") for number in range(1, 4))) as harness:
        harness.world.feature_flags["ffVigFsn"] = True
        await harness.service.register_checks.run_where_due()
        page = (await shown(harness)).one("main").text

        assert "Everything is stored as before" in page
        assert (
            "The register publishes something else than before. ffVigFsn is on (it was off): EUDAMED publishes" in page
        )
        assert "is not stored until" not in page
        answer = (await harness.get("/health")).json()["checks"]
        assert "flags" in answer["changed"]
        assert answer["checks"]["flags"]["meaning"].startswith("A flag that is on now means that EUDAMED publishes")
        assert answer["checks"]["build"]["meaning"] is None


async def test_the_age_of_sweeps_and_lists_is_told_in_words(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem")) as harness:
        now = harness.now
        async with harness.database.transaction() as connection:
            await connection.execute(insert(device_sweeps), [a_sweep("DE-MF-1", swept_at=now - 1_260)])
            await connection.execute(
                insert(walks),
                [
                    a_walk("certificates", complete_at=now - 7_300, problem="The register is throttling requests."),
                    a_walk("refusals", complete_at=None),
                ],
            )
        page = await shown(harness)

        assert page.facts["Manufacturers whose devices are listed"] == "1"
        assert page.facts["Longest without a look"].endswith("21 minutes ago")
        assert "2 hours ago" in page.facts["Certificates"]
        assert "300 of 4,654 records in the last look" in page.facts["Certificates"]
        assert "The last look was not complete: The register is throttling requests." in page.facts["Certificates"]
        assert page.facts["Refused applications"].startswith("Not complete yet")
        assert "DE-MF-1" not in page.one("main").text, "who is watched is nobody's business"


async def test_every_page_leads_to_the_status(site: SiteMaker) -> None:
    async with site() as harness:
        assert 'href="/status"' in (await harness.client.get("/docs")).text


def test_every_check_and_every_list_has_a_title() -> None:
    assert set(ASSUMPTIONS) == set(CheckName)
    assert set(WALK_TITLES) >= {"certificates", "refusals", "notified bodies"}


async def test_the_pace_of_requests_is_shown_with_its_pause(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem"), register_requests_per_minute=60) as harness:
        assert (await shown(harness)).facts["Requests to EUDAMED"] == "60 a minute at most 60"

        await harness.service.budgets[Host.REGISTER].throttled(300)

        page = await shown(harness)
        assert page.facts["Requests to EUDAMED"].startswith("30 a minute at most 60 None until ")
        assert page.problems == []
