"""The page of all watches in a real browser: with its script, and without."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.pages.account.pages_client import STRONG_PASSWORD
from tests.pages.browser_site import Served, complaints, new_page, served_site
from tests.pages.registrations import gtin, registration

NAMES = ("Pump Alpha", "Pump Beta", "Pump Delta", "Pump Gamma")
DEVICES = [registration(gtin(number), trade_name=name) for number, name in enumerate(NAMES)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Served]:
    """The site, served from a thread."""
    with served_site(tmp_path_factory.mktemp("served"), sqlite_template, DEVICES) as site:
        yield site


def signed_up(browser: Browser, served: Served, email: str, *, script: bool) -> Page:
    """The page of somebody who watches the four devices."""
    address = served.address.replace("127.0.0.1", "localhost")
    context = browser.new_context(base_url=address, java_script_enabled=script)
    context.set_default_timeout(10_000)
    page = new_page(context)
    page.goto("/signup")
    page.fill("#email", email)
    page.fill("#password", STRONG_PASSWORD)
    page.get_by_role("button", name="Start the trial").click()
    for each in DEVICES:
        page.goto("/app/watches")
        page.get_by_label("Watch a UDI-DI or SRN").fill(each["primary_di"])
        page.get_by_role("button", name="Watch", exact=True).click()
        expect(page.get_by_role("status").first).to_contain_text("You watch this from now on")
    page.goto("/app/watches")
    return page


@pytest.mark.nightly
def test_the_list_follows_typing_and_keeps_what_was_marked(browser: Browser, served: Served) -> None:
    page = signed_up(browser, served, "script@acme.example", script=True)
    page.evaluate("window.same = true")

    page.get_by_label("Find", exact=True).press_sequentially("pump del")
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page).to_have_url(re.compile(r"q=pump\+del$"))
    expect(page.get_by_role("button", name="Add tag")).to_be_hidden()
    page.get_by_label("Choose Pump Delta").check()
    expect(page.get_by_role("button", name="Add tag")).to_be_in_viewport()
    expect(page.get_by_text("This page (1 chosen)")).to_be_visible()
    page.wait_for_load_state("networkidle")
    expect(page.get_by_label("Choose Pump Delta")).to_be_checked()
    assert page.evaluate("window.same") is True

    page.get_by_label("Tag", exact=True).fill("ward 3")
    page.get_by_role("button", name="Add tag").click()
    expect(page.get_by_text("1 watch has the tag “ward 3” now.")).to_be_visible()
    page.get_by_role("link", name="ward 3").click()
    expect(page.get_by_role("row")).to_have_count(2)

    page.goto("/app/watches")
    served.harness.to_register.held = {DEVICES[0]["uuid"]}
    page.get_by_role("button", name="Sync all now").click()
    expect(page.locator("#sync")).to_contain_text("of 4 watches")
    page.get_by_label("Choose Pump Beta").check()
    page.locator("#new-tag").fill("half typed")
    page.evaluate("document.querySelector('.watches').dataset.stale = 1")
    served.portal.call(served.harness.to_register.let.set)
    expect(page.locator("#sync")).to_contain_text("4 of 4 watches tried; no change")
    expect(page.locator(".watches[data-stale]")).to_have_count(0)
    expect(page.get_by_label("Choose Pump Beta")).to_be_checked()
    expect(page.get_by_text("1 chosen", exact=True)).to_be_visible()
    expect(page.locator("#new-tag")).to_have_value("half typed")
    served.harness.to_register.held.clear()
    assert complaints(page) == []
    page.context.close()


@pytest.mark.nightly
def test_everything_works_without_script(browser: Browser, served: Served) -> None:
    page = signed_up(browser, served, "plain@acme.example", script=False)

    page.get_by_label("Find", exact=True).fill("pump")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("link", name="Name", exact=True).click()
    expect(page.locator("th[aria-sort=descending]")).to_have_text("Name")
    expect(page.locator("tbody th").first).to_have_text("Pump Gamma")
    expect(page.locator("#select-all")).to_be_hidden()
    page.get_by_label("Choose Pump Gamma").check()
    page.get_by_label("Choose Pump Beta").check()
    page.get_by_role("button", name="Stop watching…").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Stop watching 2 watches?")
    page.get_by_role("button", name="Stop watching 2 watches").click()

    expect(page.get_by_text("You have stopped watching 2. Their events stay.")).to_be_visible()
    expect(page.locator("tbody th")).to_have_text(["Pump Delta", "Pump Alpha"])
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.suggested_filename == "watches.csv"
    page.context.close()
