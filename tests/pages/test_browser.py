"""The pages in a real browser, over a real socket: typing, keyboard, small screens, colour schemes, no script."""

import json
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
import uvicorn
from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Keyboard, Page, expect, sync_playwright

from registerwatch.accounts.credentials import credential_of
from registerwatch_standins.register.file_world import FileWorld
from tests.pages.registrations import MAKER, certificate, gtin, in_days, registration
from tests.support.harness import PASSWORD, ServiceHarness, running_harness
from tests.support.servers import serving

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]
SRN = MAKER["srn"]
REACHABLE = "a[href], button, input:not([type=hidden]), select"
HOSTILE = "<script>window.hacked = true</script><img src=x onerror='window.hacked = true'>"
LONG_NAME = "Retaining-" * 12 + "strap, 600 × 38 mm, non-slip silicone lines, with hook-and-loop fixation"
CERTIFICATES = [
    certificate("GONE-1", in_days(-400), type="MDD_II_EX_4"),
    certificate("SOON-1", in_days(90), revision="2"),
    certificate("Z-25-052-S-IX-E-LONG-NUMBER-THAT-GOES-ON-AND-ON-000000000001", in_days(900)),
    certificate("NONE-1", None),
]
NAMED, HOSTILE_DI, LONG_DI, UNREAD, LEGACY = gtin(1), gtin(50), "+H" + "9" * 40, gtin(52), gtin(53)
REGISTRATIONS = [
    *(registration(gtin(number), f"Titanium stem {number}", certificates=CERTIFICATES) for number in range(1, 11)),
    registration(HOSTILE_DI, HOSTILE),
    registration(LONG_DI, LONG_NAME, reference="R" * 80, certificates=CERTIFICATES),
    registration(UNREAD, "Stem that was never read", basic_udi="4012345OTHER9"),
    registration(
        LEGACY,
        None,
        model="CAGE",
        legislation="refdata.applicable-legislation.mdd",
        basic_udi=None,
        status="refdata.device-model-status.no-longer-on-the-market",
    ),
]
PAGES = {
    "first visit": "/",
    "results": "/?q=stem",
    "nothing found": "/?q=nothing+of+this+kind&risk=a",
    "unknown code": f"/?q={gtin(900)}",
    "long names": "/?q=strap",
    "device": f"/d/{NAMED}",
    "long device": f"/d/{LONG_DI}",
    "hostile device": f"/d/{HOSTILE_DI}",
    "legacy device": f"/d/{LEGACY}",
    "actor": f"/a/{SRN}",
    "missing device": f"/d/{gtin(900)}",
    "error": "/?status=maybe",
    "forgotten password": "/password/forgot",
    "new password": "/password/reset?token=t",
    "shown password": "/password/reset?token=t&show=yes",
    "bad link": "/password/reset",
}


@dataclass(frozen=True, slots=True)
class Served:
    """A site that a browser can reach."""

    address: str
    harness: ServiceHarness
    portal: BlockingPortal


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Served]:
    """The site, served from a thread."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copyfile(sqlite_template, folder / "registerwatch.db")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(_serving(folder)) as (address, harness):
        yield Served(address, harness, portal)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed; `make test` installs it, or install the package chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def context(browser: Browser, served: Served) -> Iterator[BrowserContext]:
    """A fresh visitor."""
    visitor = browser.new_context(base_url=served.address)
    visitor.set_default_timeout(10_000)
    yield visitor
    visitor.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A page of which `_trouble` tells every error that it meets."""
    return _watched(context)


def test_results_appear_as_one_types_without_leaving_the_page(page: Page) -> None:
    page.goto("/")
    page.evaluate("window.same = true")
    box = page.get_by_label("Name, UDI-DI, SRN or catalogue reference")
    expect(box).to_be_focused()

    box.press_sequentially("titanium st")

    expect(page.get_by_role("row")).to_have_count(9)
    expect(page.get_by_role("heading", level=2)).to_have_text("10 devices found by name")
    expect(page.get_by_role("status")).to_have_text("10 devices found by name")
    expect(page).to_have_url(re.compile(r"/\?q=titanium\+st$"))
    expect(page).to_have_title("titanium st · Registerwatch")
    assert page.evaluate("window.same") is True
    assert _trouble(page) == []


def test_filters_apply_at_once_and_an_empty_box_brings_the_introduction_back(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Market status").select_option("off")
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page).to_have_url(re.compile(r"/\?status=off$"))

    page.get_by_label("Market status").select_option("")

    expect(page.get_by_text("keeps a copy of a source that is not EUDAMED")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/$"))
    assert _trouble(page) == []


def test_going_back_shows_the_whole_page_with_the_search_that_was_typed(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Name, UDI-DI, SRN or catalogue reference").fill("titanium")
    page.get_by_role("link", name="Titanium stem 3").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Titanium stem 3")

    page.go_back()

    expect(page.get_by_role("banner")).to_be_visible()
    expect(page.get_by_label("Name, UDI-DI, SRN or catalogue reference")).to_have_value("titanium")
    expect(page.get_by_role("link", name="Titanium stem 3")).to_be_visible()


def test_hostile_names_are_shown_and_not_run(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Name, UDI-DI, SRN or catalogue reference").fill("hacked")
    page.get_by_role("link", name=HOSTILE).click()

    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    assert page.evaluate("window.hacked") is None
    assert _trouble(page) == []


def test_a_lost_connection_is_told_and_typing_on_recovers(context: BrowserContext) -> None:
    page = _watched(context)
    page.goto("/")
    box = page.get_by_label("Name, UDI-DI, SRN or catalogue reference")
    context.set_offline(True)
    box.fill("titanium")
    expect(page.get_by_role("status")).to_have_text(re.compile("cannot be reached"))

    context.set_offline(False)
    box.press("Enter")

    expect(page.get_by_role("row")).to_have_count(9)


def test_a_query_that_makes_no_sense_is_told_in_place(page: Page) -> None:
    page.goto("/")
    box = page.get_by_label("Name, UDI-DI, SRN or catalogue reference")
    box.evaluate("box => { box.maxLength = 1000 }")
    box.fill("x" * 300)

    expect(page.get_by_text("the longest that is possible has 200")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/$"))


def test_a_record_that_is_being_read_appears_in_full_by_itself(page: Page, served: Served) -> None:
    page.clock.install()
    page.goto(f"/d/{UNREAD}")
    expect(page.get_by_text("The certificates of this device have not been read yet.")).to_be_visible()
    served.portal.call(served.harness.finish_background_work)

    page.clock.run_for(2_000)

    expect(page.get_by_text("The register names no certificate for this device.")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("The whole record is shown now.")
    assert _trouble(page) == []


def test_a_print_has_its_address_and_the_time_of_reading_instead_of_forms(page: Page, served: Served) -> None:
    page.goto(f"/d/{NAMED}")
    printed = page.locator(".printed")
    expect(printed).to_be_hidden()
    page.emulate_media(media="print")

    expect(printed).to_contain_text(f"/d/{NAMED}")
    expect(printed).to_contain_text(re.compile("Read from .*: 15 Jan 2027, 08:00 UTC"))
    expect(page.get_by_role("button")).to_have_count(0)
    expect(page.get_by_text("These records are not EUDAMED's")).to_be_visible()

    page.emulate_media(media="screen")
    page.goto("/")
    page.get_by_label("Name, UDI-DI, SRN or catalogue reference").press_sequentially("titanium st")
    expect(page).to_have_url(f"{served.address}/?q=titanium+st")
    page.emulate_media(media="print")
    expect(printed).to_contain_text(f"{served.address}/?q=titanium+st")
    expect(page.get_by_role("searchbox")).to_have_count(0)
    assert _trouble(page) == []


def test_without_a_script_the_form_the_links_and_the_button_work(browser: Browser, served: Served) -> None:
    plain = browser.new_context(base_url=served.address, java_script_enabled=False)
    page = plain.new_page()
    page.goto("/")
    page.get_by_label("Name, UDI-DI, SRN or catalogue reference").fill("titanium")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("row")).to_have_count(9)

    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_role("link", name="Titanium stem").first.click()
    page.get_by_role("button", name="Read it from the register again").click()
    expect(page.get_by_text("Read in part.")).to_have_count(0)
    page.get_by_role("main").get_by_role("link", name="Muster GmbH").click()
    page.get_by_label("Market status").select_option("off")
    page.get_by_role("button", name="Filter").click()

    expect(page.get_by_role("row")).to_have_count(2)
    plain.close()


@pytest.mark.parametrize("scripted", [True, False], ids=["script", "no script"])
def test_a_forgotten_password_is_replaced_by_keyboard_alone(browser: Browser, served: Served, scripted: bool) -> None:
    email = f"jürgen{scripted}@acme.example"
    served.portal.call(served.harness.sign_up, email)
    visitor = browser.new_context(base_url=served.address, java_script_enabled=scripted)
    page = visitor.new_page()
    page.goto("/password/forgot")
    _to(page, "email").type(email)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Look into your mail")
    served.portal.call(served.harness.finish_background_work)
    link = served.harness.mail.mails[-1].text.partition("/password/reset")[2].split()[0]

    page.goto(f"/password/reset{link}")
    _to(page, "password").type("a new password")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Your new password is set")
    expect(page).to_have_url(re.compile(r"/password/reset$"))
    assert served.portal.call(served.harness.sign_in, email, "a new password").startswith("us_")
    assert visitor.cookies() == []
    visitor.close()


def test_a_password_shows_on_demand_and_is_hidden_again_before_it_is_sent(page: Page, served: Served) -> None:
    page.goto(f"/password/reset?token={_token(served, 'shown@acme.example')}")
    field, status = page.get_by_label("New password"), page.get_by_role("status")
    field.fill("a new password")
    expect(field).to_have_attribute("type", "password")

    page.get_by_role("button", name="Show the password").press("Enter")
    expect(field).to_have_attribute("type", "text")
    expect(field).to_have_value("a new password")
    expect(status).to_have_text("The password is shown.")
    page.get_by_role("button", name="Hide the password").press("Space")
    expect(field).to_have_attribute("type", "password")
    expect(status).to_have_text("The password is hidden.")

    page.get_by_role("button", name="Show the password").click()
    page.evaluate("addEventListener('formdata', () => sessionStorage.setItem('sent as', password.type))")
    page.get_by_role("button", name="Set the password").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your new password is set")
    assert page.evaluate("sessionStorage.getItem('sent as')") == "password"
    assert _trouble(page) == []


def test_without_a_script_the_button_loads_a_field_that_shows_what_is_typed(browser: Browser, served: Served) -> None:
    plain = browser.new_context(base_url=served.address, java_script_enabled=False)
    page = plain.new_page()
    page.goto(f"/password/reset?token={_token(served, 'plain@acme.example')}")
    field = page.get_by_label("New password")
    field.fill("not to be seen")

    page.get_by_role("button", name="Show the password").click()
    expect(field).to_have_attribute("type", "text")
    expect(field).to_be_focused()
    expect(field).to_have_value("")
    assert "seen" not in page.url
    page.get_by_role("button", name="Hide the password").click()
    expect(field).to_have_attribute("type", "password")
    page.get_by_role("button", name="Show the password").click()
    field.fill("a new password")
    page.get_by_role("button", name="Set the password").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Your new password is set")
    plain.close()


@pytest.mark.parametrize("scripted", [True, False], ids=["script", "no script"])
def test_a_complaint_has_the_focus_on_its_field_and_describes_it(
    browser: Browser, served: Served, scripted: bool
) -> None:
    visitor = browser.new_context(base_url=served.address, java_script_enabled=scripted)
    page = visitor.new_page()
    page.goto("/password/forgot")
    page.get_by_label("E-mail address").fill("ow ner@acme.example")
    page.keyboard.press("Enter")
    email = page.get_by_label("E-mail address")
    expect(email).to_be_focused()
    expect(email).to_have_accessible_description(re.compile("no e-mail address"))
    expect(email).to_have_value("ow ner@acme.example")

    page.goto(f"/password/reset?token={_token(served, f'brief{scripted}@acme.example')}")
    page.get_by_label("New password").fill("🩺🩺🩺🩺")  # eight for the browser, four for the service
    page.keyboard.press("Enter")

    password = page.get_by_label("New password")
    expect(password).to_be_focused()
    expect(password).to_have_accessible_description(re.compile("At least 8 .* needs at least 8 characters"))
    expect(password).to_have_value("")
    visitor.close()


def test_no_request_tells_the_address_of_a_mailed_link(page: Page) -> None:
    given: list[str] = []
    page.on("request", lambda request: given.append(request.all_headers().get("referer", "")))
    page.goto("/password/reset?token=t")
    page.get_by_label("New password").fill("a new password")
    page.get_by_role("button", name="Set the password").click()
    page.get_by_role("link", name="Ask for a new link").click()
    page.goto("/password/reset?token=t")
    page.get_by_role("link", name="Registerwatch").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Search the EU register of medical devices")

    assert len(given) > 4
    assert [each for each in given if "token" in each] == []


@pytest.mark.parametrize("name", ["results", "device", "actor", "forgotten password", "new password"])
def test_the_keyboard_reaches_everything_in_order_and_skips_what_one_knows(page: Page, name: str) -> None:
    page.goto(PAGES[name])
    page.evaluate("document.activeElement.blur()")
    reached: list[int] = []
    while (place := _after_tab(page)) not in reached:
        reached.append(place)

    assert [place for place in reached if place >= 0] == list(range(page.locator(REACHABLE).count()))

    page.reload()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_pages_fit_the_screen_stand_out_and_meet_no_errors(
    browser: Browser, served: Served, width: int, scheme: Literal["light", "dark"]
) -> None:
    visitor = browser.new_context(
        base_url=served.address, color_scheme=scheme, viewport={"width": width, "height": 640}
    )
    page = _watched(visitor)
    found = {}
    pages = {**PAGES, **served.portal.call(_mailed_pages, served.harness, str(width))}
    for name, path in pages.items():
        page.goto(path)
        found[name] = {
            "too wide": page.evaluate("document.documentElement.scrollWidth > innerWidth"),
            "cut off": page.evaluate(_CUT_OFF),
            "hard to read": page.evaluate(_CONTRASTS),
            "dark": page.evaluate(_BRIGHTNESS) < 64,
            "trouble": [each for each in _trouble(page) if "Failed to load resource" not in each],
        }
    visitor.close()

    good = {"too wide": False, "cut off": [], "hard to read": [], "dark": scheme == "dark", "trouble": []}
    assert found == dict.fromkeys(pages, good)


async def _mailed_pages(harness: ServiceHarness, some: str) -> dict[str, str]:
    """Where mailed links lead, with long texts on the pages."""
    accounts = harness.service.accounts
    owner = await harness.sign_up(f"{'somebody' * 7}.{some}@acme.example")
    member = f"member{some}@{'acme' * 14}.example"
    for path, fields in (
        ("/v1/keys", {"label": "x" * 80}),
        ("/v1/webhook", {"url": f"https://{'hooks' * 12}.example/"}),
        ("/v1/feeds", {}),
        ("/v1/users", {"email": member, "password": PASSWORD}),
    ):
        assert (await harness.post(path, owner.session, **fields)).status_code == 200
    owners, members = [
        (await accounts.password_reset.link(email)).rpartition("=")[2] for email in (owner.email, member)
    ]
    host = await harness.sign_up(f"host{some}@acme.example")
    await harness.prove_address(host)
    await accounts.invitations.invite(await accounts.sessions.caller(credential_of(None, host.session)), f"g{member}")
    await harness.finish_background_work()
    invitation = harness.mail.mails[-1].text.partition("/account/invitation")[2].split()[0]
    return {
        "reset of an owner": f"/password/reset?token={owners}",
        "reset of a member": f"/password/reset?token={members}",
        "confirmation of an owner": f"/account/confirm?token={owners}",
        "confirmation of a member": f"/account/confirm?token={members}",
        "invitation": f"/account/invitation{invitation}",
    }


@asynccontextmanager
async def _serving(folder: Path) -> AsyncIterator[tuple[str, ServiceHarness]]:
    records = folder / "registrations.jsonl"
    records.write_text("".join(json.dumps(each) + "\n" for each in REGISTRATIONS))
    address = f"sqlite:///{folder / 'registerwatch.db'}"
    async with running_harness(address, folder, background=True, world=FileWorld(records)) as harness:
        await harness.service.bulk_loader.load(harness.service.bulk_source(str(records)), lambda _progress: None)
        await harness.update_index()
        config = uvicorn.Config(harness.app, port=0, lifespan="off", log_config=None, access_log=False)
        async with serving(config) as port:
            yield f"http://127.0.0.1:{port}", harness
        await harness.finish_background_work()


def _watched(context: BrowserContext) -> Page:
    page = context.new_page()
    page.add_init_script(
        "window.violations = [];"
        "addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective))"
    )
    page.on("console", lambda message: _note(page, message))
    page.on("pageerror", lambda error: _TROUBLE.setdefault(page, []).append(str(error)))
    return page


_TROUBLE: dict[Page, list[str]] = {}


def _note(page: Page, message: ConsoleMessage) -> None:
    if message.type in ("error", "warning"):
        _TROUBLE.setdefault(page, []).append(message.text)


def _trouble(page: Page) -> list[str]:
    """What the page complained about: errors, warnings, violations of its policy."""
    violations: list[str] = page.evaluate("window.violations")
    return [*_TROUBLE.get(page, []), *violations]


def _to(page: Page, field: str) -> Keyboard:
    """The keyboard, once it has reached the field of this id."""
    for _ in range(page.locator(REACHABLE).count()):
        page.keyboard.press("Tab")
        if page.locator(":focus").get_attribute("id") == field:
            return page.keyboard
    raise AssertionError(f"{field} cannot be reached")


def _token(served: Served, email: str) -> str:
    """A token that sets the password of a new user."""
    served.portal.call(served.harness.sign_up, email)
    return served.portal.call(served.harness.service.accounts.password_reset.link, email).rpartition("=")[2]


def _after_tab(page: Page) -> int:
    """The place of what has the focus now among all that can have it, -1 for none of it."""
    page.keyboard.press("Tab")
    place: int = page.evaluate(
        "(all) => [...document.querySelectorAll(all)].indexOf(document.activeElement)", REACHABLE
    )
    return place


_BRIGHTNESS = "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)[0]"
_CUT_OFF = """() => [...document.querySelectorAll("main *")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(".hidden, thead"))
  .map((each) => each.outerHTML.slice(0, 100))"""
_CONTRASTS = """() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const linear = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const luminance = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  const background = (each) => {
    for (; each; each = each.parentElement) {
      const color = numbers(getComputedStyle(each).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const each of document.querySelectorAll("body *")) {
    const isText = [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!isText && !["INPUT", "SELECT"].includes(each.tagName)) continue;
    const [text, behind] = [numbers(getComputedStyle(each).color), background(each)].map(luminance);
    const contrast = (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05);
    if (contrast < 4.5) poor.push([each.outerHTML.slice(0, 80), contrast]);
  }
  return poor;
}"""
