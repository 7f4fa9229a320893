"""Every public page in every state: what axe, vnu and the browser say of it. A page that is not listed fails a test."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from registerwatch.pages.site_files import assets
from tests.pages.account.page_walk import page_routes
from tests.pages.browser_site import Served, complaints, new_page, served_site
from tests.pages.markup_checker import markup_problems
from tests.pages.page_checks import add_axe, problems, problems_at_first_sight
from tests.pages.public_states import (
    AT_FIRST_SIGHT,
    PAGES,
    REGISTRATIONS,
    changed_pages,
    mailed_pages,
    store_certificates_of_maker,
    verify_register,
)

NO_PAGES = ("/static/", "/compare.csv", "/favicon.ico", "/robots.txt", "/sitemap")
"""What is no HTML."""
ELSEWHERE = ("/billing/",)
"""Pages that need a payment provider. Those of an account are walked in `account/`."""

_ADD = "document.querySelector('main').insertAdjacentHTML('beforeend', `%s`)"
BAD_CHANGES = {
    _ADD % "<img src=/favicon.ico>": "image-alt",
    _ADD % "<a href=/ tabindex=-1>Not reached</a>": "the keyboard walks",
    _ADD
    % "<a href=/ id=unmarked>Unmarked</a>"
    + "; new CSSStyleSheet().replace('#unmarked { outline: none !important }').then((sheet) => "
    "document.adoptedStyleSheets.push(sheet))": "reached without a sign of it",
    _ADD % "<pre>%s</pre>" % ("wide" * 100): "the page scrolls sideways",
    _ADD % "<p id=pale>Pale</p>" + "; document.querySelector('#pale').style.color = '#888'": "hard to read in light",
    _ADD % "<img alt=elsewhere src=http://127.0.0.2:9/>": "img-src",
    _ADD
    % "<form><table><tr><td>Row</td></tr></table></form>"
    + "; new CSSStyleSheet().replace('@media print { form { display: none !important } }').then((sheet) => "
    "document.adoptedStyleSheets.push(sheet))": "print: ",
    "console.error('lost')": "lost",
}
"""What spoils a page, and what the checks say then."""


LOOKED_AT_BY_DAY = {"results", "long device", "certificate with hostile texts"}
"""What a browser looks at without `--nightly`; of the others the markup is checked alone."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A page that was looked at, or by day only fetched."""

    path: str
    html: str
    problems: list[str]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Served]:
    """The site, served from a thread."""
    with served_site(tmp_path_factory.mktemp("served"), sqlite_template, REGISTRATIONS) as site:
        yield site


@pytest.fixture(scope="module")
def looked_at(browser: Browser, served: Served, is_nightly: bool) -> Mapping[str, Looked]:
    """Every page, looked at in one visit; by day most are only fetched."""
    page = new_page(browser.new_context(base_url=served.address))
    add_axe(page)
    found = {}
    served.portal.call(verify_register, served.harness)
    served.portal.call(store_certificates_of_maker, served.harness)
    made = [served.portal.call(each, served.harness) for each in (mailed_pages, changed_pages)]
    for name, path in {**PAGES, **made[0], **made[1]}.items():
        if not is_nightly and name not in LOOKED_AT_BY_DAY:
            found[name] = Looked(path, page.request.get(path).text(), [])
            continue
        response = page.goto(path)
        assert response is not None
        page.wait_for_selector("[data-reading]", state="detached")  # else the record changes while it is looked at
        seen = problems_at_first_sight(page) if name in AT_FIRST_SIGHT else problems(page)
        found[name] = Looked(path, response.text(), [*seen, *complaints(page)])
    page.context.close()
    return found


def test_a_browser_finds_nothing_wrong_with_any_page(looked_at: Mapping[str, Looked]) -> None:
    found = [f"{name}: {problem}" for name, each in looked_at.items() for problem in each.problems]

    assert not found, "\n".join(found)


def test_a_page_that_is_not_looked_at_in_full_has_only_what_others_have(looked_at: Mapping[str, Looked]) -> None:
    kinds = {name: set(re.findall(r'<[a-z0-9]+|class="[^"]*"', each.html)) for name, each in looked_at.items()}
    in_full = set().union(*(found for name, found in kinds.items() if name not in AT_FIRST_SIGHT))

    assert {name: kinds[name] - in_full for name in AT_FIRST_SIGHT} == {name: set() for name in AT_FIRST_SIGHT}


def test_what_is_wrong_with_a_page_is_found(browser: Browser, served: Served) -> None:
    page = new_page(browser.new_context(base_url=served.address))
    add_axe(page)
    page.goto("/")
    for change in BAD_CHANGES:
        page.evaluate(change)

    found = "\n".join([*problems(page), *complaints(page)])
    assert [problem for problem in BAD_CHANGES.values() if problem not in found] == [], found
    page.context.close()


def test_the_markup_of_every_page_and_file_is_valid(looked_at: Mapping[str, Looked], tmp_path: Path) -> None:
    pages = {f"{name.replace(' ', '-')}.html": each.html for name, each in looked_at.items()}
    files = {name: each.body for name, each in assets().items() if name.endswith((".css", ".svg"))}

    found = markup_problems({**pages, **files, "bad.html": "<p>No head"}, tmp_path)

    assert [each for each in found if each.startswith("bad.html")], "the checker finds what is wrong"
    found = [each for each in found if not each.startswith("bad.html")]
    assert not found, "\n".join(found)


def test_every_route_of_a_public_page_is_looked_at(looked_at: Mapping[str, Looked], served: Served) -> None:
    routes = {
        each.path: each.pattern
        for each in page_routes(served.harness.app)
        if each.method == "GET" and not each.is_of_account and not each.path.startswith((*NO_PAGES, *ELSEWHERE))
    }
    paths = [each.path.partition("?")[0] for each in looked_at.values()]
    missing = {route for route, pattern in routes.items() if not any(map(pattern.match, paths))}

    assert missing == set(), "name a state of it in public_states.PAGES"
