"""Codes over the public surfaces: what they say, and that any of them stands for the device that it names."""

import json
from collections.abc import AsyncIterator

import pytest

from registerwatch.platform.structs import replace
from registerwatch.register.identifiers.check_digits import hibc_character
from registerwatch_standins.register.generated import GeneratedWorld
from tests.mcp.messages import asking, used
from tests.pages.markup import Markup
from tests.support.harness import NewAccount, ServiceHarness, ServiceStarter

GTIN = "04012345678901"
HIBC = "A123BJC5D6E71"
MODEL = "732045102349"
"""A Basic UDI-DI of GS1 that is a GTIN-12 too."""
OTHER_GTIN = "00000002345673"
OTHER_UPC = "00023456000073"
"""What eight digits, 02345673, can mean as a GTIN-8 and as a UPC-E."""
UNKNOWN = "04099999999992"

WRITTEN = {
    GTIN: (
        "4012345678901",
        "4 012345 678901",
        "4-012345-678901",
        f"(01){GTIN}(17)280131(10)A1(21)7",
        f"(01) {GTIN} (10) A1",
        f"01{GTIN}1728013110A1",
        f"]d201{GTIN}10A1\x1d21B2",
        f"^01{GTIN}10A1^21B2",
        f"https://id.gs1.org/01/{GTIN}/10/A1?17=280131",
        f"B-{GTIN}",
    ),
    HIBC: (f"+{HIBC}G", f"*+{HIBC}G*", f"+{HIBC}/$$52001510X3C", f"+{HIBC}", f"{HIBC}G"),
    "A9999XYZ100T0944": ("=/A9999XYZ100T0944=,000025=>014032", "=+02000=/A9999XYZ100T0944=,000025"),
    "1312345MED777094": ("(9N)1312345MED777094(1T)ABC12345", ".9N1312345MED777094^1TABC12345^D241231"),
}
CODES = [(code, udi) for udi, codes in WRITTEN.items() for code in codes]


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    world = GeneratedWorld(10, seed=3)
    template = world.newest(0, 1)[0]
    for number, udi in enumerate((*WRITTEN, OTHER_GTIN, OTHER_UPC)):
        world.register(replace(template, uuid=f"u-{number}", primary_di=udi, basic_udi=MODEL if udi == GTIN else None))
    async with start_service(world=world) as harness:
        await harness.fill_copy()
        yield harness


async def test_every_surface_takes_every_code(harness: ServiceHarness, owner: NewAccount) -> None:
    for code, udi in CODES:
        found = (await harness.get("/v1/search", q=code)).json()
        assert ([row["udi"] for row in found["results"]], found["match"]) == ([udi], "udi"), code
        device = await harness.client.get(f"/v1/devices/{_quoted(code)}")
        assert (device.status_code, device.json()["udi"]) == (200, udi), code
        page = await harness.client.get(f"/d/{_quoted(code)}")
        assert (page.status_code, udi in Markup.of(page).main) == (200, True), code
        tool = (await used(harness, "get_device", udi=code)).payload
        assert tool["udi"] == udi, code
        watch = (await harness.post("/v1/watches", owner.api_key, subject=code)).json()["watch"]
        assert watch["subject"] == udi, code

    assert {each["subject"] for each in await harness.get_list(owner.api_key, "watches")} == set(WRITTEN)


async def test_codes_of_a_list_are_watched_as_the_udi_dis_that_they_name(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    for code, udi in CODES:
        answer = (await harness.post("/v1/import", owner.api_key, csv=code, dry_run=True)).json()
        assert [(line["subject"], line["fate"]) for line in answer["lines"]] == [(udi, "added")], code


async def test_a_refresh_takes_a_code(harness: ServiceHarness) -> None:
    answer = (await harness.get("/v1/refresh", q=f"(01){GTIN}(10)A1")).json()

    assert (answer["refreshed"], answer["device"]["udi"]) == (True, GTIN)


async def test_a_code_of_a_device_that_the_copy_has_not_is_read_from_the_register(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    missing = await harness.client.get(f"/v1/devices/{_quoted(f'(01){UNKNOWN}(10)A1')}")
    watched = await harness.post("/v1/watches", owner.api_key, subject=f"https://id.gs1.org/01/{UNKNOWN}")

    assert (missing.status_code, missing.json()["found"], missing.json()["udi"]) == (404, False, UNKNOWN)
    assert watched.json()["watch"]["subject"] == UNKNOWN


async def test_what_the_copy_has_as_it_is_written_goes_before_what_it_could_mean(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    template = harness.world.newest(0, 1)[0]
    for uuid, udi in (("odd-1", "4012345678901"), ("odd-2", "+A123BJC5D6E71G"), ("odd-3", "5901234123458")):
        harness.world.register(replace(template, uuid=uuid, primary_di=udi))
        await harness.service.refresher.refresh(udi)

        device = await harness.client.get(f"/v1/devices/{_quoted(udi)}")
        assert (device.status_code, device.json()["udi"]) == (200, udi)
        watch = (await harness.post("/v1/watches", owner.api_key, subject=udi)).json()["watch"]
        assert watch["subject"] == udi


async def test_a_code_that_can_be_two_devices_shows_both_and_names_none(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    code = "02345673"
    found = (await harness.get("/v1/search", q=code)).json()
    refused = await harness.client.get(f"/v1/devices/{code}")
    page = await harness.client.get(f"/d/{code}")
    watch = await harness.post("/v1/watches", owner.api_key, subject=code)

    assert ([row["udi"] for row in found["results"]], found["total"]) == ([OTHER_GTIN, OTHER_UPC], 2)
    assert (refused.status_code, watch.status_code) == (400, 400)
    for answer in (refused, watch):
        assert OTHER_GTIN in answer.json()["error"]
        assert OTHER_UPC in answer.json()["error"]
    assert (page.status_code, page.headers["location"]) == (303, f"/?q={code}")


async def test_a_basic_udi_di_that_is_also_a_gtin_finds_its_devices(harness: ServiceHarness) -> None:
    found = (await harness.get("/v1/search", q=MODEL)).json()

    assert [row["udi"] for row in found["results"]] == [GTIN]


@pytest.mark.parametrize("text", ["de mf 000006413", "DEMF000006413", "DE–MF–000006413", " de-mf-000 006 413 "])
async def test_an_srn_is_taken_with_any_spacing(harness: ServiceHarness, owner: NewAccount, text: str) -> None:
    found = (await harness.get("/v1/search", q=text)).json()
    actor = (await harness.client.get(f"/v1/actors/{_quoted(text)}")).json()
    watch = (await harness.post("/v1/watches", owner.api_key, subject=text)).json()["watch"]

    assert found["match"] == "srn"
    assert actor["srn"] == "DE-MF-000006413"
    assert (watch["kind"], watch["subject"]) == ("srn", "DE-MF-000006413")


async def test_lots_and_dates_are_shown_and_never_stored(harness: ServiceHarness, owner: NewAccount) -> None:
    code = f"(01){GTIN}(17)280131(10)SECRETLOT(21)SECRETSERIAL"
    pages = [await harness.get("/", q=code), await harness.client.get(f"/d/{_quoted(code)}")]
    await harness.post("/v1/watches", owner.api_key, subject=code)
    await harness.post("/v1/import", owner.api_key, csv=code)

    for page in pages:
        assert all(said in Markup.of(page).main for said in ("SECRETLOT", "SECRETSERIAL", "31 Jan 2028"))
    account = await harness.client.get("/v1/watches", headers={"X-API-Key": owner.api_key})
    audit = await harness.client.get("/v1/audit", headers={"X-API-Key": owner.api_key})
    assert "SECRET" not in account.text + audit.text
    assert "SECRET" not in (await harness.get(f"/d/{GTIN}")).text


async def test_a_page_says_what_is_wrong_with_a_code_that_it_shows(harness: ServiceHarness) -> None:
    wrong = Markup.of(await harness.get("/", q="+A123BJC5D6E71J")).main
    joined = Markup.of(await harness.get("/", q=f"01{GTIN}10LOT17280131")).main
    words = Markup.of(await harness.get("/", q="titanium screw 35")).main

    assert "The last character should be G" in wrong
    assert "A separator may be missing" in joined
    assert "What this code says" not in words


async def test_a_code_is_answered_with_its_parts(harness: ServiceHarness) -> None:
    response = await harness.get("/v1/parse", code=f"(01){GTIN}(17)280131(10)A1(21)7(240)X")
    answer = response.json()

    assert (response.status_code, response.headers["cache-control"]) == (200, "no-store")
    assert (answer["subject"], answer["warnings"]) == (GTIN, [])
    assert answer["candidates"] == [
        {
            "kind": "udi-di",
            "value": GTIN,
            "agency": "gs1",
            "form": "GTIN-14",
            "check": {"verdict": "right", "expected": "1"},
            "explanation": "GTIN-14.",
        }
    ]
    parts = [(part["name"], part["value"], part["written"], part["qualifier"]) for part in answer["parts"]]
    assert parts == [
        ("expiry", "2028-01-31", "280131", "17"),
        ("lot", "A1", "A1", "10"),
        ("serial", "7", "7", "21"),
        ("other", "X", "X", "240"),
    ]


async def test_a_wrong_check_digit_is_told_with_the_right_one(harness: ServiceHarness) -> None:
    answer = (await harness.get("/v1/parse", code="4012345678902")).json()

    assert answer["subject"] is None
    assert answer["candidates"][0]["check"] == {"verdict": "wrong", "expected": "1"}
    assert "The last digit should be 1" in answer["candidates"][0]["explanation"]


@pytest.mark.parametrize(
    "code", ["titanium", "🩺", "\x00", "(01)", "+", "%%%", "' OR 1=1 --", "\ud800".encode("utf-8", "replace").decode()]
)
async def test_what_means_nothing_is_answered_without_candidates(harness: ServiceHarness, code: str) -> None:
    response = await harness.get("/v1/parse", code=code)

    assert response.status_code == 200
    assert [each for each in response.json()["candidates"] if each["kind"] != "certificate"] == []


@pytest.mark.parametrize("parameters", [{}, {"code": ""}, {"code": "1" * 501}, {"code": "1", "cod": "2"}])
async def test_a_code_that_is_missing_or_too_long_is_refused(
    harness: ServiceHarness, parameters: dict[str, str]
) -> None:
    response = await harness.client.get("/v1/parse", params=parameters)

    assert response.status_code == 400
    assert response.json()["error"]


async def test_codes_are_counted(start_service: ServiceStarter) -> None:
    async with start_service(rate_limits=True) as harness:
        response = await harness.get("/v1/parse", code=GTIN)

        assert (response.status_code, response.headers["ratelimit-limit"]) == (200, "120")


PARSE_ERROR = -32700
NO_CODES = (
    "(9N)111234567842(8P)²²²²²²²²",
    "=A123415123456²²",
    f"(01){GTIN}(10)A\x00",
    f"(01){GTIN}(10)\ud800",
    f"{GTIN}\x00",
    "(01)0401234567\x008901",
)


@pytest.mark.parametrize("text", NO_CODES, ids=ascii)
async def test_what_no_database_holds_and_odd_digits_fail_nowhere(harness: ServiceHarness, text: str) -> None:
    owner = await harness.sign_up()
    written = "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))
    addresses = ["/v1/parse?code=", "/v1/search?q=", "/?q=", "/v1/refresh?q=", "/v1/devices/", "/d/"]
    paths = [f"{each}{written}" for each in addresses]
    paths += [f"/v1/devices/{written}/history", f"/d/{written}/history"]
    answers = {path: await harness.client.get(path) for path in paths}
    headers = {"X-API-Key": owner.api_key, "Content-Type": "application/json"}
    for path, key in (("/v1/watches", "subject"), ("/v1/import", "csv")):
        body = json.dumps({key: text})  # half of a surrogate pair can be escaped alone
        answers[path] = await harness.client.post(path, content=body, headers=headers)
    assert {path: each.status_code for path, each in answers.items() if each.status_code >= 500} == {}

    arguments = (("get_device", "udi"), ("search_devices", "query"), ("add_watch", "subject"))
    for name, argument in arguments:
        call = asking("tools/call", {"name": name, "arguments": {argument: text}})
        said = await harness.client.post("/mcp", content=json.dumps(call), headers=headers)
        assert said.json().get("error", {}).get("code") in {None, PARSE_ERROR}, name


@pytest.mark.parametrize("udi", ["BEPR000000011", "MAAR123456789"])
async def test_a_udi_di_that_could_be_an_srn_without_dashes_is_found(harness: ServiceHarness, udi: str) -> None:
    owner = await harness.sign_up()
    srn = f"{udi[:2]}-{udi[2:4]}-{udi[4:]}"
    before = (await harness.post("/v1/import", owner.api_key, csv=udi, dry_run=True)).json()
    await _register(harness, udi)

    found = (await harness.get("/v1/search", q=udi)).json()
    pages = [await harness.client.get(f"/d/{udi}"), await harness.client.get(f"/d/{udi}/history")]
    tool = (await used(harness, "get_device", udi=udi)).payload
    refreshed = (await harness.get("/v1/refresh", q=udi)).json()
    listed = (await harness.post("/v1/import", owner.api_key, csv=udi, dry_run=True)).json()
    watch = (await harness.post("/v1/watches", owner.api_key, subject=udi)).json()["watch"]

    assert ([row["udi"] for row in found["results"]], found["match"]) == ([udi], "udi")
    assert [page.status_code for page in pages] == [200, 200]
    assert (tool["udi"], refreshed["device"]["udi"], watch["subject"]) == (udi, udi, udi)
    assert (before["lines"][0]["subject"], listed["lines"][0]["subject"]) == (srn, udi)
    assert (await harness.get("/v1/search", q=srn)).json()["match"] == "srn"


async def test_what_is_stored_as_it_was_typed_is_found_alone(harness: ServiceHarness) -> None:
    for udi in ("abc12345", "ABC12345", f"(01){GTIN}", GTIN[1:]):
        await _register(harness, udi)

    found = {
        text: [row["udi"] for row in (await harness.get("/v1/search", q=text)).json()["results"]]
        for text in ("abc12345", "ABC12345", "Abc12345", f"(01){GTIN}", f"(01) {GTIN} (10) A", GTIN, GTIN[1:])
    }

    assert found == {
        "abc12345": ["abc12345"],
        "ABC12345": ["ABC12345"],
        "Abc12345": ["ABC12345"],
        f"(01){GTIN}": [f"(01){GTIN}"],
        f"(01) {GTIN} (10) A": [GTIN],
        GTIN: [GTIN],
        GTIN[1:]: [GTIN[1:]],
    }
    page = Markup.of(await harness.get("/", q=f"(01){GTIN}")).main
    assert "with this UDI-DI" in page


async def _register(harness: ServiceHarness, udi: str) -> None:
    template = harness.world.newest(0, 1)[0]
    harness.world.register(replace(template, uuid=f"own-{udi.encode().hex()}", primary_di=udi, basic_udi=None))
    await harness.service.refresher.refresh(udi)


def test_the_hibc_example_has_its_check_character() -> None:
    assert hibc_character(f"+{HIBC}") == "G"


def _quoted(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())
