"""Scanning in Chromium: by the keyboard of a hand scanner, by a photo, by the live camera, without script, at a phone's
width. The camera is Chromium's fake one; its `BarcodeDetector`, which Linux has none of, is made up.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.labels import Shot, label, photo_of, photographed, saved, symbol
from playwright.sync_api import Browser, BrowserContext, Page, expect

from registerwatch.accounts.sessions.credentials import browser_session_of
from tests.pages.account.pages_client import STRONG_PASSWORD
from tests.pages.browser_site import Served, chromium, complaints, new_page, served_site
from tests.register.builders import UDI, a_full_reading, a_udi

NAME = "Stent of the label"
EMAIL = "scanner@acme.example"
DETECTOR = """
window.BarcodeDetector = class {
  static async getSupportedFormats() { return ["data_matrix", "code_128"]; }
  async detect(video) {
    if (!video.videoWidth) return [];
    return [{ rawValue: "01%s10L1\\x1d21S1" }, { rawValue: "01%s10L1\\x1d21S1" }];
  }
};
"""


READ_MILLISECONDS = 60_000
"""A photo is read by a process of low priority."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream") as launched:
        yield launched


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Served]:
    with served_site(tmp_path_factory.mktemp("scan"), sqlite_template, []) as site:
        reading = a_full_reading(udi=UDI, trade_name=NAME)
        site.portal.call(site.harness.store, reading)
        site.portal.call(site.harness.sign_up, EMAIL, STRONG_PASSWORD)
        yield site


@pytest.fixture
def context(browser: Browser, served: Served) -> Iterator[BrowserContext]:
    made = browser.new_context(base_url=served.address, viewport={"width": 375, "height": 740})
    yield made
    made.close()


def scan_page(context: BrowserContext) -> Page:
    """The page of somebody who came by the button beside the search box, and signed in."""
    page = new_page(context)
    page.goto("/")
    page.locator("form#search").get_by_role("link", name="Scan").click()
    page.locator("#email").fill(EMAIL)
    page.locator("#password").fill(STRONG_PASSWORD)
    page.get_by_role("button", name="Sign in").first.click()
    expect(page).to_have_url(re.compile("/app/scan$"))
    return page


def rows(page: Page) -> list[str]:
    return [row.inner_text().partition("\n")[0] for row in page.locator(".scanned-list tbody tr").all()]


@pytest.mark.nightly
def test_the_button_is_there_on_phones_alone(context: BrowserContext) -> None:
    page = new_page(context)
    page.goto("/")
    button = page.locator("form#search").get_by_role("link", name="Scan")
    expect(button).to_be_visible()
    page.set_viewport_size({"width": 1200, "height": 900})
    expect(button).to_be_hidden()


def test_a_hand_scanner_types_codes_without_waiting_and_each_is_read(context: BrowserContext) -> None:
    page = scan_page(context)
    expect(page.locator("#code")).to_be_focused()

    for number in range(8):
        page.keyboard.type(f"01{UDI}10L{number}")
        page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="8 codes in the list")).to_be_visible()
    expect(page.locator("#code")).to_be_focused()
    assert rows(page) == [NAME] * 8
    page.get_by_role("button", name=re.compile("^Remove")).first.click()
    expect(page.get_by_role("heading", name="7 codes in the list")).to_be_visible()
    page.get_by_role("button", name="Watch the one device").click()
    expect(page.get_by_role("heading", name="Check the list")).to_be_visible()
    assert complaints(page) == []


@pytest.mark.nightly  # a photo is read by a process of low priority, which the tests of other workers hold up
def test_a_photo_is_read_as_soon_as_it_is_chosen(context: BrowserContext) -> None:
    page = scan_page(context)
    both = label(symbol("DataMatrix", f"(01){UDI}(17)280131(10)A1"), symbol("Code128", f"(01){a_udi(7)}", 3))
    photo = saved(photographed(both, Shot(turn=3, noise=10)))

    page.locator("#photo").set_input_files({"name": "label.jpg", "mimeType": "image/jpeg", "buffer": photo})

    expect(page.get_by_role("heading", name=NAME)).to_be_visible(timeout=READ_MILLISECONDS)
    expect(page.locator("#announcement")).to_have_text(f"In the register, Market status not known: {NAME}")
    assert rows(page) == [a_udi(7), NAME]
    page.locator("#photo").set_input_files({"name": "x.jpg", "mimeType": "image/jpeg", "buffer": b"\xff\xd8\xff"})
    expect(page.get_by_role("alert")).to_be_visible(timeout=READ_MILLISECONDS)
    assert len(rows(page)) == 2, "what was scanned stays"
    assert [each for each in complaints(page) if "400" not in each] == []


@pytest.mark.nightly
def test_the_live_camera_adds_what_it_sees_once(context: BrowserContext) -> None:
    context.add_init_script(DETECTOR.replace("%s", UDI, 1).replace("%s", a_udi(7), 1))
    page = scan_page(context)

    page.get_by_role("button", name="Scan live with the camera").click()

    expect(page.get_by_role("heading", name="2 codes in the list")).to_be_visible()
    assert page.locator("input[name=codes]").input_value().splitlines()[0] == f"01{UDI}10L1<GS>21S1"
    page.get_by_role("button", name="Stop the camera").click()
    expect(page.locator("video")).to_be_hidden()
    assert len(rows(page)) == 2
    assert complaints(page) == []


@pytest.mark.nightly
def test_without_a_detector_there_is_no_button_for_the_camera(context: BrowserContext) -> None:
    context.add_init_script("delete window.BarcodeDetector")
    page = scan_page(context)
    expect(page.locator("[data-live-camera]")).to_be_hidden()


@pytest.mark.nightly
def test_a_print_has_the_table_of_codes_and_no_fields(context: BrowserContext) -> None:
    page = scan_page(context)
    page.keyboard.type(UDI)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="1 code in the list")).to_be_visible()

    page.emulate_media(media="print")

    expect(page.get_by_role("table")).to_be_visible()
    for hidden in ("#code", "#photo", "[data-live-camera]", ".scan details"):
        expect(page.locator(hidden)).to_be_hidden()


@pytest.mark.nightly
def test_a_session_that_ends_meanwhile_loses_nothing(context: BrowserContext, served: Served) -> None:
    page = scan_page(context)
    page.keyboard.type(UDI)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="1 code in the list")).to_be_visible()
    session = browser_session_of(context.cookies()[0].get("value", ""))
    served.portal.call(served.harness.service.accounts.sessions.logout, session)

    page.keyboard.type(a_udi(7))
    page.keyboard.press("Enter")
    expect(page.get_by_text("nothing that you typed is lost")).to_be_visible()
    page.locator("#email").fill(EMAIL)
    page.locator("#password").fill(STRONG_PASSWORD)
    page.get_by_role("button", name="Sign in").first.click()
    page.locator("main form button").first.click()

    expect(page.get_by_role("heading", name="2 codes in the list")).to_be_visible()


@pytest.mark.nightly
def test_everything_works_without_script(browser: Browser, served: Served) -> None:
    plain = browser.new_context(
        base_url=served.address, java_script_enabled=False, viewport={"width": 375, "height": 740}
    )
    page = scan_page(plain)

    page.locator("#code").fill(a_udi(7))
    page.locator("#code").press("Enter")
    expect(page.get_by_role("heading", name="1 code in the list")).to_be_visible()
    photo = photo_of("Code128", f"(01){UDI}(17)280131", Shot(module=3))
    page.locator("#photo").set_input_files({"name": "label.jpg", "mimeType": "image/jpeg", "buffer": photo})
    page.get_by_role("button", name="Read the photo").click()

    expect(page.get_by_role("heading", name=NAME)).to_be_visible()
    assert rows(page) == [NAME, a_udi(7)]
    plain.close()
