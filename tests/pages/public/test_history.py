"""The pages of what this service observed: a timeline, older pages, a record as of a day."""

import re

import pytest

from registerwatch.copy.history.record_history import ValueChange
from registerwatch.copy.tables import portfolio_news
from registerwatch.pages.public.comparison.history_view import lines_of
from registerwatch.platform.clock import iso_utc, utc_in_words
from registerwatch.platform.structs import replace
from registerwatch.register.models import Contradiction
from tests.pages.conftest import SiteMaker
from tests.pages.markup import Markup, accessibility_problems
from tests.pages.public_states import HOSTILE
from tests.pages.registrations import MAKER, certificate, gtin, in_days, registration
from tests.register.builders import a_full_reading
from tests.register.forgetful_world import ForgetfulWorld
from tests.support.harness import NOW, ServiceHarness, ServiceStarter

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

DAY = 24 * 3600
UDI, SRN = gtin(1), MAKER["srn"]
UUID = "00000000-0000-4000-8000-000000000"
OLD = "A stem of titanium for a hip that is replaced for the first time"


async def test_a_device_shows_what_changed_with_the_words_that_differ_and_what_it_was(site: SiteMaker) -> None:
    first = certificate("Z-1", in_days(900))
    async with site(registration(UDI, "Stem", device_name=OLD, reference="R-0", certificates=[first])) as harness:
        page = Markup.of(await harness.get(f"/d/{UDI}"))
        assert "No change was observed since then." in page.main
        uuid = harness.world.newest(0, 1)[0].uuid
        harness.world.change(uuid, device_name=OLD.replace("first", "second"), reference=HOSTILE)
        harness.clock.move(DAY)
        await harness.client.post(f"/d/{UDI}")
        for number in range(60):
            harness.world.change(uuid, reference=f"R-{number}")
            harness.clock.move(DAY)
            await harness.service.refresher.refresh(UDI)

        page = Markup.of(await harness.get(f"/d/{UDI}"))
        assert "observed the record since 15 Jan 2027, 08:00 UTC" in page.main
        assert "Catalogue reference: R-58 → R-59" in page.main.replace("became ", "")
        older = page.link("All changes that were observed")
        whole = Markup.of(await harness.get(older))
        rest = Markup.of(await harness.client.get(whole.link("Older →")))

        assert [len(each.all("h3")) for each in (page, whole, rest)] == [20, 50, 11]
        assert [each.text for each in rest.all("del")] == ["first"]
        assert [each.text for each in rest.all("ins")] == ["second"]
        assert HOSTILE in rest.main
        then = Markup.of(await harness.get(f"/d/{UDI}/history", at=iso_utc(NOW)))
        assert "Not the present." in then.main
        assert (then.facts["Device name"], then.facts["Catalogue reference"]) == (OLD, "R-0")
        assert "Standing then" in then.main
        unknown = Markup.of(await harness.get(f"/d/{UDI}/history", at="2001-01-01"))
        assert "This service had not observed it yet." in unknown.main
        for each in (page, whole, rest, then, unknown):
            assert accessibility_problems(each) == []
        assert (await harness.client.get(f"/d/{UDI}/history?at=2999-01-01")).status_code == 400
        assert (await harness.client.get(f"/d/{gtin(900)}/history")).status_code == 404


async def test_a_device_says_which_new_record_took_over_its_udi_di(start_service: ServiceStarter) -> None:
    world = ForgetfulWorld(60)
    async with start_service(world=world) as harness:
        [old] = harness.separate_devices(1)
        udi, new = old.primary_di, "00000000-0000-4000-8000-000000000777"

        async def shown(step: int) -> list[str]:
            harness.clock.move(DAY)
            await harness.service.refresher.refresh(udi)
            pages = [Markup.of(await harness.get(f"/d/{udi}{tail}")).main for tail in ("", "/history")]
            said = [text.partition("Another record answers for the UDI-DI since ")[2][:60].strip() for text in pages]
            assert said[0] == said[1], step
            return said

        nothing = [await shown(1)]
        world.forgotten.add(old.uuid)
        nothing.append(await shown(2))
        world.register(replace(old, uuid=new, reference="NEW"))
        taken_over = await shown(3)
        history = (await harness.get(f"/v1/devices/{udi}/history")).json()
        world.forgotten.clear()
        world.forgotten.add(new)
        nothing.append(await shown(4))

    since = utc_in_words(NOW + 3 * DAY)
    assert nothing == [["", ""]] * 3, "what became so later has an entry"
    assert taken_over == [f"{since}: {new}"[:60]] * 2
    [answering] = [each for each in history["records"] if each["current"]]
    assert (answering["uuid"], answering["observed_since"]) == (new, iso_utc(NOW + 3 * DAY))


async def test_a_device_says_which_new_records_answered_for_its_code_for_a_time(
    start_service: ServiceStarter,
) -> None:
    world = ForgetfulWorld(60)
    async with start_service(world=world) as harness:
        [old] = harness.separate_devices(1)
        udi, first, second = old.primary_di, f"{UUID}777", f"{UUID}888"

        async def shown(*forgotten: str) -> list[str]:
            world.forgotten.clear()
            world.forgotten.update(forgotten)
            harness.clock.move(DAY)
            await harness.service.refresher.refresh(udi)
            pages = [Markup.of(await harness.get(f"/d/{udi}{tail}")).main for tail in ("", "/history")]
            said = [re.findall(f"Another record [^.]*{UUID}[0-9]*", page) for page in pages]
            assert said[0] == said[1]
            return said[0]

        assert await shown() == []
        world.register(replace(old, uuid=first, reference="FIRST"))
        assert await shown(old.uuid) == [f"Another record answers for the UDI-DI since {_day(2)}: {first}"]
        world.register(replace(old, uuid=second, reference="SECOND"))
        of_first = f"Another record answered for the UDI-DI from {_day(2)} to {_day(3)}: {first}"
        assert await shown(old.uuid, first) == [
            f"Another record answers for the UDI-DI since {_day(3)}: {second}",
            of_first,
        ]
        of_second = f"Another record answered for the UDI-DI from {_day(3)} to {_day(4)}: {second}"
        assert await shown(first, second) == [of_second, of_first]
        assert await shown(old.uuid, second) == [of_second, of_first], "what became so later has an entry"


def _day(number: int) -> str:
    return utc_in_words(NOW + number * DAY)


async def test_an_actor_shows_what_changed_and_what_it_was(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem")) as harness:
        await harness.get(f"/a/{SRN}")
        await harness.finish_background_work()
        await harness.client.post(f"/a/{SRN}")
        harness.world.change_actor(SRN, name="Another AG", status="inactive")
        harness.clock.move(DAY)
        await harness.client.post(f"/a/{SRN}")

        async with harness.service.database.transaction() as connection:
            at = int(harness.clock.now())
            news = {"srn": SRN, "change": "registered", "found_at": at, "visible_at": at}
            rows = [{**news, "primary_di": gtin(each), "name": HOSTILE if each == 1 else ""} for each in range(1, 13)]
            await connection.execute(portfolio_news.insert(), rows)

        owner = await harness.sign_up()
        await harness.post_watches(owner.api_key, SRN)
        cookie = {"Cookie": f"session={await harness.browser_session(owner.email, owner.password)}"}
        page = Markup.of(await harness.client.get(f"/a/{SRN}", headers=cookie))
        whole = Markup.of(await harness.get(f"/a/{SRN}/history"))
        then = Markup.of(await harness.get(f"/a/{SRN}/history", at=iso_utc(NOW)))

        assert f"Name: {MAKER['name']} → Another AG" in page.main.replace("became ", "")
        for each in page, whole:
            assert "Status: Active → Inactive" in each.main.replace("became ", "")
            assert "refdata" not in each.main
        assert f"Devices newly registered: 12 ({HOSTILE}, {gtin(2)}, " in page.main
        assert page.link(gtin(10)) == f"/d/{gtin(10)}"
        assert " and 2 more)" in page.main
        assert accessibility_problems(page) == []
        assert then.one("h1").text == MAKER["name"]
        assert "Not the present." in then.main
        assert accessibility_problems(then) == []


def test_certificates_are_told_one_by_one_and_names_by_language(database_kind: str) -> None:
    old = [{"number": "A", "revision": "1", "status": "Issued"}, {"number": "B", "revision": ""}]
    new = [
        {"number": "A", "revision": "1", "status": "Suspended"},
        {"number": "C", "revision": "", "expiry": "2030-01-01"},
    ]

    lines = lines_of(ValueChange("certs", old, new))
    names = lines_of(ValueChange("trade_names", {"en": "A", "de": "B"}, {"en": "C", "de": "B"}))

    assert [(each.title, each.of, each.old, each.new) for each in lines] == [
        ("Status", "A", "Issued", "Suspended"),
        ("Listing", "B", "Listed", ""),
        ("Listing", "C", "", "Listed, until 1 Jan 2030"),
    ]
    assert [(each.title, each.old, each.new) for each in names] == [("Trade name (English)", "A", "C")]


def test_the_name_of_a_notified_body_that_a_read_does_not_bring_is_not_told_beside_what_changed(
    database_kind: str,
) -> None:
    old = {"number": "A", "notified_body": "0123", "notified_body_name": "A body", "status": "Issued"}
    new = {"number": "A", "notified_body": "0123", "status": "Suspended"}

    for before, after in ((old, new), (new, old)):
        assert [each.title for each in lines_of(ValueChange("certs", [before], [after]))] == ["Status"]
    [line] = lines_of(ValueChange("certs", [old], [{**old, "notified_body_name": "B body"}]))
    assert (line.title, line.old, line.new) == ("Notified body", "A body", "B body")


async def test_where_the_register_contradicts_itself_is_told_with_the_names_of_fields_and_who_says_what(
    harness: ServiceHarness,
) -> None:
    told = Contradiction("risk_class", "Class III", "Class IIb"), Contradiction("basic_udi", "B-1", "B-2")
    await harness.store(a_full_reading(udi=UDI))
    harness.clock.move(DAY)
    await harness.store(a_full_reading(udi=UDI, contradictions=told))

    shown = Markup.of(await harness.get(f"/d/{UDI}/history")).main

    assert (
        "Where the register contradicts itself: nothing → became"
        " Risk class: Class III by the device search, Class IIb by the record of the device;"
        " Basic UDI-DI: B-1 by the device search, B-2 by the record of the device"
    ) in shown


def test_an_instant_of_the_register_is_told_in_words(database_kind: str) -> None:
    [line] = lines_of(ValueChange("updated", None, "2026-07-16T08:05:00Z"))

    assert (line.title, line.old, line.new) == ("Last changed in the register", "", "16 Jul 2026, 08:05 UTC")
