"""The time zone of a new user is that of their browser, and one that is in another says so."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.pages.account.pages_client import STRONG_PASSWORD
from tests.pages.browser_site import Served, complaints, new_page, served_site
from tests.pages.page_checks import add_axe, problems

EMAIL = "berlin@acme.example"
SAME_CLOCKS_AS_BERLIN = "Europe/Vienna"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Served]:
    """The site, served from a thread."""
    with served_site(tmp_path_factory.mktemp("served"), sqlite_template, [], background=False) as site:
        yield site


def browser_in(browser: Browser, served: Served, zone: str) -> Page:
    """A page of a new browser that is in a time zone."""
    context = browser.new_context(base_url=served.address, timezone_id=zone)
    context.set_default_timeout(10_000)
    return new_page(context)


def send(page: Page, button: str, **fields: str) -> None:
    """Fill the form that is shown, and send it."""
    for label, value in {"E-mail address": EMAIL, "Password": STRONG_PASSWORD, **fields}.items():
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_role("button", name=button).click()


@pytest.mark.nightly
def test_a_new_user_has_the_zone_of_their_browser_and_another_browser_offers_its_own(
    browser: Browser, served: Served
) -> None:
    page = browser_in(browser, served, "Europe/Berlin")
    page.goto("/signup")
    send(page, "Start the trial")
    expect(page.get_by_text("Days and times are those of Europe/Berlin.")).to_be_visible()
    offer = page.get_by_role("heading", name="Another time zone")
    expect(offer).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.get_by_text("Days and times are those of Europe/Berlin.")).to_be_visible()
    expect(page.get_by_role("link", name="Change the time zone")).to_be_hidden()
    page.emulate_media(media="screen")

    same = browser_in(browser, served, SAME_CLOCKS_AS_BERLIN)
    same.goto("/login")
    send(same, "Sign in")
    expect(same.get_by_text("Days and times are those of Europe/Berlin.")).to_be_visible()
    expect(same.get_by_role("heading", name="Another time zone")).to_be_hidden()

    far = browser_in(browser, served, "America/Los_Angeles")
    add_axe(far)
    far.goto("/login")
    send(far, "Sign in")
    told = far.get_by_text("Times are shown in Europe/Berlin; this browser is in America/Los Angeles.")
    expect(told).to_be_visible()
    assert problems(far) == []
    far.get_by_role("button", name="Keep Europe/Berlin").click()
    expect(told).to_be_hidden()
    far.goto("/app/settings")
    expect(far.get_by_role("heading", name="Settings")).to_be_visible()
    expect(told).to_be_hidden()

    far.evaluate("localStorage.clear()")
    far.reload()
    far.get_by_role("button", name="Use America/Los Angeles").click()
    expect(far.get_by_text("Days and times are those of America/Los Angeles.")).to_be_visible()
    expect(told).to_be_hidden()
    page.reload()
    expect(page.get_by_text("this browser is in Europe/Berlin.")).to_be_visible()
    assert [*complaints(page), *complaints(same), *complaints(far)] == []
    for each in (page, same, far):
        each.context.close()
