"""The pages of a filled account in a real browser: what axe says of each, and how sessions end."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from registerwatch.accounts.sessions.credentials import browser_session_of
from tests.pages.account.filled_account import PASSWORD, REGISTRATIONS, FilledAccount, filled_account
from tests.pages.account.page_walk import State, page_routes
from tests.pages.account.pages_client import PagesClient
from tests.pages.account.visited_account import visited_states
from tests.pages.browser_site import Served, complaints, new_page, served_site
from tests.pages.page_checks import add_axe, problems, problems_at_first_sight
from tests.support.harness import ServiceHarness

LOOKED_AT_BY_DAY = {"GET /app/watches", "GET /app/settings"}
"""What is looked at without `--nightly`."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Served]:
    """The site, served from a thread."""
    with served_site(tmp_path_factory.mktemp("served"), sqlite_template, REGISTRATIONS, background=False) as site:
        yield site


@pytest.fixture(scope="module")
def account(served: Served) -> FilledAccount:
    """The account that the browser sees."""
    return served.portal.call(filled_account, served.harness)


def sign_in(page: Page, account: FilledAccount) -> None:
    """Sign in as the owner, in the form that is shown."""
    page.get_by_label("E-mail address").fill(account.owner.email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def signed_in(context: BrowserContext, account: FilledAccount, address: str = "/app") -> Page:
    """A page of somebody who has signed in to see it."""
    page = new_page(context)
    page.goto(f"/login?next={address}")
    sign_in(page, account)
    expect(page).to_have_url(re.compile(re.escape(address)))
    return page


@pytest.mark.parametrize(("width", "highest"), [(320, 0.4), (1200, 0.22)])
def test_header_and_banner_leave_the_screen_to_the_page(
    context: BrowserContext, account: FilledAccount, width: int, highest: float
) -> None:
    page = signed_in(context, account)
    page.set_viewport_size({"width": width, "height": 640})

    banner = page.locator(".demonstration").bounding_box()
    assert banner is not None
    assert (banner["y"] + banner["height"]) / 640 < highest
    if width == 1200:
        assert banner["height"] < 45, "the banner takes one line"


@pytest.mark.nightly
def test_a_change_is_one_line_on_a_narrow_screen(context: BrowserContext, account: FilledAccount) -> None:
    page = signed_in(context, account, "/app/events")
    page.goto("/app/events?view=all&field=device_total")
    page.set_viewport_size({"width": 320, "height": 640})

    cells = page.locator("tbody", has_text="Number of registered devices").first.locator("td.change")
    tops = [box["y"] for cell in cells.all() if (box := cell.bounding_box())]
    assert len(tops) == 3
    assert max(tops) - min(tops) < 4


@pytest.mark.nightly
def test_a_form_that_is_sent_after_the_session_ended_keeps_what_was_typed(
    context: BrowserContext, served: Served, account: FilledAccount
) -> None:
    page = signed_in(context, account, "/app/import")
    page.locator("textarea").fill("04012340007201\n=1+1 <b>typed</b>")
    session = browser_session_of(context.cookies()[0].get("value", ""))
    served.portal.call(served.harness.service.accounts.sessions.logout, session)

    page.locator("main form:has(textarea) button").first.click()
    expect(page.get_by_text("nothing that you typed is lost")).to_be_visible()
    sign_in(page, account)
    page.locator("main form button").first.click()

    expect(page.get_by_text("<b>typed</b>").first).to_be_visible()
    assert complaints(page) == []


def test_after_signing_out_the_back_button_and_other_tabs_show_nothing(
    context: BrowserContext, account: FilledAccount
) -> None:
    page, other = signed_in(context, account, "/app/settings"), context.new_page()
    other.goto("/app/import")
    page.goto("/app")
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile("/login"))

    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    assert account.owner.email not in page.content()
    other.reload()
    expect(other.get_by_role("heading", level=1)).to_have_text("Sign in")
    assert context.cookies() == []


@pytest.mark.nightly
def test_ending_the_other_sessions_signs_out_the_other_browser(
    browser: Browser, context: BrowserContext, served: Served, account: FilledAccount
) -> None:
    elsewhere = browser.new_context(base_url=served.address)
    far, here = signed_in(elsewhere, account), signed_in(context, account, "/app/settings")

    here.get_by_role("button", name=re.compile("other", re.IGNORECASE)).first.click()
    if here.get_by_role("button", name=re.compile("other", re.IGNORECASE)).count():
        here.get_by_role("button", name=re.compile("other", re.IGNORECASE)).first.click()
    far.reload()

    expect(far.get_by_role("heading", level=1)).to_have_text("Sign in")
    here.reload()
    expect(here.get_by_role("heading", level=1)).not_to_have_text("Sign in")
    elsewhere.close()


def test_a_browser_finds_nothing_wrong_with_any_page_of_the_account(
    context: BrowserContext, served: Served, account: FilledAccount, is_nightly: bool
) -> None:
    """The last test here: forms are sent that take things away."""
    states = served.portal.call(visited_states if is_nightly else states_by_day, served.harness, account)
    page, found = new_page(context), []
    add_axe(page)
    for state, is_whole in chosen(states, served, is_nightly=is_nightly):
        show(page, state)
        seen = problems(page) if is_whole else problems_at_first_sight(page)
        said = [each for each in complaints(page) if "does not conform to the required format" not in each]
        found += [f"{state.name}: {problem}" for problem in [*seen, *said]]
        if page.evaluate("window.hacked") is not None:
            found.append(f"{state.name}: a hostile text was run")

    assert not found, "\n".join(found)


async def states_by_day(harness: ServiceHarness, account: FilledAccount) -> list[State]:
    """The pages that are looked at by day, as the owner finds them."""
    owner = PagesClient(harness)
    await owner.sign_in(account.owner.email, PASSWORD)
    paths = [each.removeprefix("GET ") for each in sorted(LOOKED_AT_BY_DAY)]
    return [State("GET", path, await owner.get(path)) for path in paths]


def chosen(states: Sequence[State], served: Served, *, is_nightly: bool) -> Iterator[tuple[State, bool]]:
    """Some answers of each route, by day of some routes alone, and whether everything about them is looked at, which is
    so for the longest page.
    """
    routes = page_routes(served.harness.app)
    by_route: dict[str, list[State]] = {}
    for state in sorted(states, key=lambda each: -len(each.response.text)):
        path = state.address.partition("?")[0]
        label = next(each.label for each in routes if each.method == state.method and each.pattern.match(path))
        if state.is_html:
            by_route.setdefault(label, []).append(state)
    for label, found in by_route.items():
        if is_nightly or label in LOOKED_AT_BY_DAY:
            yield found[0], label.startswith("GET")
        if is_nightly and label.startswith("GET") and len(found) > 1:
            yield found[-1], False


def show(page: Page, state: State) -> None:
    """Let the browser show what was answered, at the address that answered it."""

    def fulfil(route: Route) -> None:
        headers = {name: value for name, value in state.response.headers.items() if name != "content-length"}
        route.fulfill(status=state.response.status_code, headers=headers, body=state.response.text)

    shown = re.compile(re.escape(state.address.partition("?")[0]) + r"(\?|$)")
    page.route(shown, fulfil)
    page.goto(state.address)
    page.unroute(shown)
