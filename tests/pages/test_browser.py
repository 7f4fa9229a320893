"""The pages in a real browser, over a real socket: typing, keyboard, small screens, colour schemes, no script."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Keyboard, Page, expect

from tests.pages.browser_site import Served, complaints, new_page, served_site
from tests.pages.page_checks import REACHABLE
from tests.pages.public_states import HOSTILE, NAMED, REGISTRATIONS, UNREAD
from tests.support.long_forms import some_by_day


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Served]:
    """The site, served from a thread."""
    with served_site(tmp_path_factory.mktemp("served"), sqlite_template, REGISTRATIONS) as site:
        yield site


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A page of which `complaints` tells every error that it meets."""
    return new_page(context)


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
    assert complaints(page) == []


@pytest.mark.nightly
def test_filters_apply_at_once_and_an_empty_box_brings_the_introduction_back(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Market status").select_option("off")
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page).to_have_url(re.compile(r"/\?status=off$"))

    page.get_by_label("Market status").select_option("")

    expect(page.get_by_text("keeps a copy of a source that is not EUDAMED")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/$"))
    assert complaints(page) == []


@pytest.mark.nightly
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
    assert complaints(page) == []


@pytest.mark.nightly
def test_a_lost_connection_is_told_and_typing_on_recovers(context: BrowserContext) -> None:
    page = new_page(context)
    page.goto("/")
    box = page.get_by_label("Name, UDI-DI, SRN or catalogue reference")
    context.set_offline(True)
    box.fill("titanium")
    expect(page.get_by_role("status")).to_have_text(re.compile("cannot be reached"))

    context.set_offline(False)
    box.press("Enter")

    expect(page.get_by_role("row")).to_have_count(9)


@pytest.mark.nightly
def test_a_query_that_makes_no_sense_is_told_in_place(page: Page) -> None:
    page.goto("/")
    box = page.get_by_label("Name, UDI-DI, SRN or catalogue reference")
    box.evaluate("box => { box.maxLength = 1000 }")
    box.fill("x" * 300)

    expect(page.get_by_text("the longest that is possible has 200")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/$"))


@pytest.mark.nightly
def test_a_record_that_is_being_read_appears_in_full_by_itself(page: Page, served: Served) -> None:
    page.clock.install()
    page.goto(f"/d/{UNREAD}")
    expect(page.get_by_text("The certificates of this device have not been read yet.")).to_be_visible()
    served.portal.call(served.harness.finish_background_work)

    page.clock.run_for(2_000)

    expect(page.get_by_text("The register names no certificate for this device.")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("The whole record is shown now.")
    assert complaints(page) == []


@pytest.mark.nightly
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
    assert complaints(page) == []


@pytest.mark.nightly
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
    page.get_by_role("main").get_by_role("link", name="Muster GmbH").first.click()
    page.get_by_label("Market status").select_option("off")
    page.get_by_role("button", name="Filter").click()

    expect(page.get_by_role("row")).to_have_count(2)
    plain.close()


@pytest.mark.parametrize("width", some_by_day((390, 1280), (390,)), ids=["phone", "desktop"])
def test_facets_stand_beside_the_results_or_folded_above_them_and_typing_keeps_the_filters(
    browser: Browser, served: Served, width: int
) -> None:
    visitor = browser.new_context(base_url=served.address, viewport={"width": width, "height": 900})
    page = visitor.new_page()
    page.goto("/?q=stem&facets=all")
    if width == 390:
        expect(page.get_by_role("link", name="Germany")).to_be_hidden()
        page.get_by_text("Narrow down these results").click()
    page.get_by_role("link", name="Germany").click()
    expect(page.get_by_role("link", name="Remove the filter Country of the manufacturer: Germany")).to_be_visible()

    page.get_by_label("Name, UDI-DI, SRN or catalogue reference").fill("titanium")
    expect(page).to_have_url(re.compile("q=titanium.*country=DE.*facets=all"))
    expect(page.get_by_role("link", name="Remove the filter Country of the manufacturer: Germany")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    visitor.close()


@pytest.mark.nightly
@pytest.mark.parametrize("scripted", some_by_day((True, False), (True,)), ids=["script", "no script"])
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


@pytest.mark.nightly
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
    assert complaints(page) == []


@pytest.mark.nightly
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


@pytest.mark.parametrize("scripted", some_by_day((True, False), (True,)), ids=["script", "no script"])
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


@pytest.mark.nightly
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
