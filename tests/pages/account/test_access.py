"""Who may see and do what: every page of the account, asked by every kind of caller.

A page that is not in the table here fails a test. What an address with an id is, links and forms tell: see `page_walk`.
"""

import re
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import cycle, islice
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlencode

import httpx2
import pytest

from registerwatch.accounts.sessions.credentials import browser_session_of
from registerwatch.web.limits.body_limits import MAX_BODY_BYTES, max_body_bytes
from tests.billing.plain_provider import SETTINGS
from tests.mcp.messages import OF_ACCOUNTS, using
from tests.pages.account.filled_account import PASSWORD, REGISTRATIONS, FilledAccount, filled_account
from tests.pages.account.page_walk import PageRoute, PageWalk, page_routes
from tests.pages.account.pages_client import FROM_HERE, PagesClient
from tests.pages.account.visited_account import STARTS, plain_addresses, takes_away
from tests.pages.conftest import running_site
from tests.pages.markup import Markup
from tests.support.harness import ServiceHarness, ServiceStarter


class Level(Enum):
    """Who may open a page."""

    PUBLIC = auto()
    """Anybody."""
    USER = auto()
    """Every user of the account."""
    OWNER = auto()
    """Owners alone."""


PUBLIC, USER, OWNER = Level
LEVELS: Mapping[str, Level] = {
    "GET /login": PUBLIC,
    "POST /login": PUBLIC,
    "GET /signup": PUBLIC,
    "POST /signup": PUBLIC,
    "GET /logout": PUBLIC,
    "POST /logout": PUBLIC,
    "GET /login/second-step": PUBLIC,
    "POST /login/second-step": PUBLIC,
    "GET /app/settings": USER,
    "POST /app/settings/name": OWNER,
    "GET /app/settings/time-zone": USER,
    "POST /app/settings/time-zone": USER,
    "GET /app/settings/password": USER,
    "POST /app/settings/password": USER,
    "POST /app/settings/sessions/end": USER,
    "GET /app/settings/delete": OWNER,
    "POST /app/settings/delete": OWNER,
    "POST /app/settings/authenticator": USER,
    "GET /app/settings/authenticator": USER,
    "POST /app/settings/authenticator/confirm": USER,
    "GET /app/settings/authenticator/remove": USER,
    "POST /app/settings/authenticator/remove": USER,
    "GET /app/settings/recovery-codes": USER,
    "POST /app/settings/recovery-codes": USER,
    "POST /app/settings/recovery-codes/file": USER,
    "GET /app/settings/passkeys": USER,
    "POST /app/settings/passkeys": USER,
    "POST /app/settings/passkeys/new": USER,
    "POST /app/settings/passkeys/rename": USER,
    "POST /app/settings/passkeys/remove": USER,
    "POST /app/settings/oidc": USER,
    "POST /app/settings/oidc/remove": USER,
    "POST /login/passkey/options": PUBLIC,
    "POST /login/passkey": PUBLIC,
    "GET /login/oidc": PUBLIC,
    "GET /login/oidc/back": PUBLIC,
    "GET /app": USER,
    "POST /app/confirm-address": USER,
    "POST /app/mails-on": USER,
    "GET /app/events": USER,
    "POST /app/events": USER,
    "GET /app/events.csv": USER,
    "POST /app/watches/add": USER,
    "GET /app/certificates": USER,
    "GET /app/certificates.csv": USER,
    "GET /app/watches": USER,
    "POST /app/watches/sync": USER,
    "POST /app/watches/bulk": USER,
    "POST /app/watches/bulk/delete": USER,
    "GET /app/watches.csv": USER,
    "GET /app/watches.xlsx": USER,
    "GET /app/lists": USER,
    "POST /app/lists": USER,
    "GET /app/lists/{list_id}": USER,
    "POST /app/lists/{list_id}/name": USER,
    "POST /app/lists/{list_id}/watch": USER,
    "GET /app/lists/{list_id}/delete": USER,
    "POST /app/lists/{list_id}/delete": USER,
    "GET /app/lists/{list_id}/lines.csv": USER,
    "GET /app/lists/{list_id}/lines.xlsx": USER,
    "GET /app/lists/{list_id}/uploads/{upload_id}": USER,
    "POST /app/lists/{list_id}/uploads/{upload_id}": USER,
    "GET /app/import": USER,
    "POST /app/import": USER,
    "GET /app/scan": USER,
    "POST /app/scan": USER,
    "GET /app/watches/{watch_id}": USER,
    "POST /app/watches/{watch_id}": USER,
    "POST /app/watches/{watch_id}/read": USER,
    "POST /app/watches/{watch_id}/seen": USER,
    "GET /app/watches/{watch_id}/stop": USER,
    "POST /app/watches/{watch_id}/stop": USER,
    "GET /app/keys": USER,
    "POST /app/keys": OWNER,
    "GET /app/keys/{key_id}/revoke": OWNER,
    "POST /app/keys/{key_id}/revoke": OWNER,
    "GET /app/feeds": USER,
    "POST /app/feeds": OWNER,
    "GET /app/feeds/{feed_id}/end": OWNER,
    "POST /app/feeds/{feed_id}/end": OWNER,
    "GET /app/notifications": USER,
    "POST /app/notifications": OWNER,
    "POST /app/notifications/email": USER,
    "POST /app/notifications/pause": OWNER,
    "GET /app/notifications/{channel_id}": OWNER,
    "POST /app/notifications/{channel_id}": OWNER,
    "POST /app/notifications/{channel_id}/off": OWNER,
    "POST /app/notifications/{channel_id}/pause": OWNER,
    "POST /app/notifications/{channel_id}/test": OWNER,
    "GET /app/notifications/{channel_id}/remove": OWNER,
    "POST /app/notifications/{channel_id}/remove": OWNER,
    "GET /app/notifications/{channel_id}/deliveries/{delivery_id}/payload.json": OWNER,
    "POST /app/notifications/{channel_id}/deliveries/{delivery_id}/resend": OWNER,
    "GET /app/webhooks": USER,
    "POST /app/webhooks": OWNER,
    "GET /app/webhooks/{webhook_id}": OWNER,
    "POST /app/webhooks/{webhook_id}/secret": OWNER,
    "POST /app/webhooks/{webhook_id}/rounds": OWNER,
    "POST /app/webhooks/{webhook_id}/test": OWNER,
    "GET /app/webhooks/{webhook_id}/rotate": OWNER,
    "POST /app/webhooks/{webhook_id}/rotate": OWNER,
    "GET /app/webhooks/{webhook_id}/delete": OWNER,
    "POST /app/webhooks/{webhook_id}/delete": OWNER,
    "GET /app/webhooks/{webhook_id}/deliveries/{delivery_id}/payload.json": OWNER,
    "POST /app/webhooks/{webhook_id}/deliveries/{delivery_id}/resend": OWNER,
    "GET /app/team": USER,
    "POST /app/team/invitations": OWNER,
    "POST /app/team/invitations/withdraw": OWNER,
    "POST /app/team/users": OWNER,
    "GET /app/team/{user_id}": OWNER,
    "POST /app/team/{user_id}/role": OWNER,
    "POST /app/team/{user_id}/remove": OWNER,
    "GET /app/audit": OWNER,
    "GET /app/audit.csv": OWNER,
    "GET /app/billing": USER,
    "POST /app/billing/checkout": OWNER,
    "POST /app/billing/portal": OWNER,
    "GET /app/billing/done": USER,
    "GET /app/billing/cancel": OWNER,
    "POST /app/billing/cancel": OWNER,
    "POST /app/billing/resume": OWNER,
}
UNLINKED: Mapping[str, str] = {}
"""Addresses of routes that no page of the filled account leads to, by label."""
FORM = {**FROM_HERE, "Content-Type": "application/x-www-form-urlencoded"}
Request = tuple[str, str, Mapping[str, list[str]]]
"""Method, address, fields."""


@dataclass(frozen=True, slots=True)
class Site:
    """A site with a filled account, what its owner finds there, and somebody of another account."""

    harness: ServiceHarness
    account: FilledAccount
    stranger: str
    walk: PageWalk
    """What the owner finds who follows every link."""
    requests: Mapping[str, Request]
    """One to each route that the account's pages lead to, by label."""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for all tests here, over which they share a site."""
    return "asyncio"


@pytest.fixture(scope="module")
async def filled(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> AsyncIterator[Site]:
    """A site that tests leave as it is, but for what somebody of another account does in their own."""
    folder = tmp_path_factory.mktemp("filled")
    shutil.copyfile(sqlite_template, folder / "registerwatch.db")
    address = f"sqlite:///{folder / 'registerwatch.db'}"
    async with running_site(address, folder, *REGISTRATIONS, **SETTINGS) as harness:
        account = await filled_account(harness)
        stranger = await harness.sign_up("stranger@other.example", "a phrase of a stranger")
        walk = await walked(harness, account.owner_cookie)
        session = await harness.browser_session(stranger.email, stranger.password)
        with patch.object(harness.service.accounts.uses, "note"):  # stored once a minute, in the midst of this
            yield Site(harness, account, session, walk, _requests(walk))


@pytest.fixture
async def changed(filled: Site, start_service: ServiceStarter, tmp_path: Path) -> AsyncIterator[Site]:
    """The same site over a copy of its database, that one test changes."""
    original, path = filled.harness, tmp_path / "registerwatch.db"
    assert original.database.sqlite_path is not None
    with closing(sqlite3.connect(original.database.sqlite_path)) as source, closing(sqlite3.connect(path)) as copy:
        source.backup(copy)
    async with start_service(world=original.world, **SETTINGS) as harness:
        harness.clock.move(original.now - harness.now)
        await harness.update_index()
        yield replace(filled, harness=harness)
        await harness.finish_background_work()


async def walked(harness: ServiceHarness, session: str) -> PageWalk:
    """What somebody finds who follows every link."""
    walk = PageWalk(browser_of(harness, session))
    await walk.follow_links(*plain_addresses(harness), *STARTS)
    return walk


def _requests(walk: PageWalk) -> dict[str, Request]:
    plain = plain_addresses(walk.pages.harness)
    found: dict[str, Request] = {f"GET {path}": ("GET", path, {}) for path in plain}
    for state in walk.states.values():
        route = walk.route_of("GET", state.address)
        assert route is not None
        found.setdefault(route.label, ("GET", state.address, {}))
    for label, form in walk.forms.items():
        found[label] = ("POST", form.action, form.filled(""))
    for label, address in UNLINKED.items():
        found[label] = (label.partition(" ")[0], address, {})
    for route in walk.routes:
        if "{" not in route.path:
            found.setdefault(route.label, (route.method, route.path, {}))
    return found


def account_routes(harness: ServiceHarness) -> list[PageRoute]:
    """The routes of the account's pages."""
    return [each for each in page_routes(harness.app) if each.is_of_account]


def browser_of(harness: ServiceHarness, session: str) -> PagesClient:
    """A browser that has this in its cookie."""
    pages = PagesClient(harness)
    if session:
        pages.client.cookies.set("session", session)
    return pages


def listed(wrong: Iterable[object]) -> str:
    """What is wrong, a line each."""
    return "\n".join(map(str, wrong))


async def send(pages: PagesClient, request: Request, **headers: str) -> httpx2.Response:
    """Ask for a page as one of our own pages does."""
    method, address, fields = request
    if method == "GET":
        return await pages.client.get(address, headers=headers)
    return await pages.client.post(address, content=urlencode(fields, doseq=True), headers={**FORM, **headers})


def is_asked_to_sign_in(method: str, response: httpx2.Response) -> bool:
    """Whether a page leads to the form for signing in, or a form that was sent waits there."""
    if method == "GET":
        return response.status_code == 303 and response.headers["location"].startswith("/login")
    return response.status_code == 401 and "<h1>Sign in</h1>" in response.text


async def test_the_table_here_has_every_page_and_no_other(harness: ServiceHarness) -> None:
    assert {each.label for each in account_routes(harness)} == set(LEVELS)


async def test_without_a_session_in_the_cookie_every_page_asks_to_sign_in_and_changes_nothing(
    filled: Site, is_nightly: bool
) -> None:
    """By day each page is asked for by three of them in turn."""
    harness, owner, session = filled.harness, filled.account.owner, filled.account.owner_cookie
    callers: dict[str, tuple[str, dict[str, str]]] = {
        "nobody": ("", {}),
        "a session in a header": ("", {"Authorization": f"Bearer {session}"}),
        "a program's session in a header": ("", {"Authorization": f"Bearer {owner.session}"}),
        "a program's session in the cookie": (owner.session, {}),
        "a program's session as if it were a browser's": (f"ub_{owner.session[3:]}", {}),
        "an API key in a header": ("", {"X-API-Key": owner.api_key}),
        "an API key as a session": (owner.api_key, {}),
        "a session that is changed": (session[:-1] + ("a" if session[-1] != "a" else "b"), {}),
    }
    before, wrong = harness.all_rows(), []
    turns = cycle(callers.items())
    for label in protected(filled):
        request = filled.requests[label]
        for name, (cookie, headers) in callers.items() if is_nightly else islice(turns, 3):
            response = await send(browser_of(harness, cookie), request, **headers)
            if not is_asked_to_sign_in(request[0], response):
                wrong.append((label, name, response.status_code))
    assert not wrong, listed(wrong)
    assert harness.all_rows() == before


async def test_a_form_of_a_session_that_ends_while_the_form_comes_changes_nothing(changed: Site) -> None:
    harness, owner, wrong = changed.harness, changed.account.owner, []
    for label in [each for each in protected(changed) if each.startswith("POST")]:
        session = await harness.browser_session(owner.email, PASSWORD)
        _, address, fields = changed.requests[label]
        form = urlencode(fields, doseq=True).encode() or b"any=field"
        left: dict[str, object] = {}

        async def slow_form(
            session: str = session, form: bytes = form, left: dict[str, object] = left
        ) -> AsyncIterator[bytes]:
            await harness.service.accounts.sessions.logout(browser_session_of(session))
            left.update(harness.all_rows())
            yield form

        headers = {**FORM, "Content-Length": str(len(form))}
        response = await browser_of(harness, session).client.post(address, content=slow_form(), headers=headers)
        is_large = max_body_bytes(address) > MAX_BODY_BYTES  # which is received when its sender has a place
        if not (is_asked_to_sign_in("POST", response) or is_large) or harness.all_rows() != left:
            wrong.append((label, response.status_code))
    assert not wrong, listed(wrong)


def protected(filled: Site, *levels: Level) -> list[str]:
    """The labels of pages of these levels, else of all that not anybody may see."""
    return [label for label, level in LEVELS.items() if level in (levels or (USER, OWNER)) and label in filled.requests]


async def test_the_pages_lead_to_every_page(filled: Site) -> None:
    missing = {label for label in LEVELS if label not in filled.requests}
    assert missing == set(), "link to it, send a form that leads to it in SENT, or name an address in UNLINKED"


async def test_members_are_refused_what_owners_may_and_change_nothing(filled: Site) -> None:
    pages, before, wrong = browser_of(filled.harness, filled.account.member), filled.harness.all_rows(), []
    for label in protected(filled, OWNER):
        response = await send(pages, filled.requests[label])
        if response.status_code != 403 or any(each in response.text for each in filled.account.secrets):
            wrong.append((label, response.status_code))
    assert not wrong, listed(wrong)
    assert filled.harness.all_rows() == before


SECRET = re.compile(r"(?:rw|us|ft)_[\w-]{20,}|whsec_[\w+/-]{20,}")


async def test_no_page_shows_a_member_any_secret(filled: Site) -> None:
    walk = await walked(filled.harness, filled.account.member)
    wrong = [(each.name, SECRET.findall(each.response.text)) for each in walk.states.values()]
    assert not [each for each in wrong if each[1]], listed(wrong)


async def test_who_belongs_to_another_account_reaches_nothing_of_this_one(filled: Site) -> None:
    pages, harness = browser_of(filled.harness, filled.stranger), filled.harness
    before, wrong = harness.rows_of_account(1), []
    for label in sorted(protected(filled), key=takes_away):
        response = await send(pages, filled.requests[label])
        if "{" in label and response.status_code not in (303, 400, 403, 404):
            wrong.append((label, response.status_code))
        if "o&#39;wner" in response.text or ("hacked" in response.text and not filled.requests[label][2]):
            wrong.append((label, response.status_code))
    assert not wrong, listed(wrong)
    assert harness.rows_of_account(1) == before


@pytest.mark.parametrize("who", ["a member", "an owner", "an owner too late"])
async def test_who_may_is_answered(changed: Site, who: str) -> None:
    harness = changed.harness
    if who == "an owner too late":
        harness.clock.move(7 * 24 * 3600)
    session = changed.account.member if who == "a member" else changed.account.owner_cookie
    levels, wrong = ((USER,) if who == "a member" else (USER, OWNER)), []
    for label in sorted(protected(changed, *levels), key=takes_away):
        response = await send(browser_of(harness, session), changed.requests[label])
        if response.status_code not in (200, 303, 400) + ((402,) if who == "an owner too late" else ()):
            wrong.append((label, response.status_code))
        if 'id="proof-password"' not in response.text and is_asked_to_sign_in(label.split()[0], response):
            wrong.append((label, response.status_code))
    assert not wrong, listed(wrong)


async def test_opening_pages_changes_nothing(filled: Site) -> None:
    harness = filled.harness
    pages = browser_of(harness, filled.account.owner_cookie)
    walk = PageWalk(pages)
    before = rows_without_uses(harness)
    await walk.follow_links(*plain_addresses(harness), *STARTS)
    for state in list(walk.states.values()):
        head = await pages.client.head(state.address)
        assert (head.status_code, head.content) == (state.response.status_code, b""), state.name
    after = rows_without_uses(harness)

    assert {name: rows for name, rows in after.items() if rows != before[name]} == {}


USES = frozenset({"last_used_at", "used_at", "seen_at", "last_seen_at", "signed_in_at"})


def rows_without_uses(harness: ServiceHarness) -> dict[str, list[dict[str, object]]]:
    """Every row without the times of last use."""
    return {
        name: [{column: value for column, value in row.items() if column not in USES} for row in rows]
        for name, rows in harness.all_rows().items()
    }


async def test_every_page_of_the_account_forbids_frames_scripts_of_others_and_being_kept(filled: Site) -> None:
    wrong = []
    for state in filled.walk.states.values():
        headers = state.response.headers
        policy = headers.get("content-security-policy", "")
        if headers.get("cache-control") != "no-store" and not state.response.is_redirect:
            wrong.append((state.name, headers.get("cache-control")))
        if state.is_html and not ("frame-ancestors 'none'" in policy and "default-src 'none'" in policy):
            wrong.append((state.name, policy))
        if "'unsafe" in policy or headers.get("access-control-allow-origin") is not None:
            wrong.append((state.name, policy))
    assert not wrong, listed(wrong)


async def test_every_page_of_the_account_has_a_way_to_sign_out(filled: Site) -> None:
    pages = [each for each in filled.walk.states.values() if each.is_html and each.response.status_code == 200]
    assert len(pages) > 20
    assert [each.name for each in pages if not Markup.of(each.response).all("form", action="/logout")] == []


async def test_a_browsers_session_opens_nothing_of_the_interfaces_for_programs(filled: Site) -> None:
    harness, cookie = filled.harness, filled.account.owner_cookie
    pages, nobody, before, wrong = browser_of(harness, cookie), browser_of(harness, ""), harness.all_rows(), []
    sent: Sequence[Mapping[str, str]] = ({}, {"Authorization": f"Bearer {cookie}"}, {"X-API-Key": cookie})
    described = harness.app.openapi()["paths"]
    for path, operations in described.items():
        for method, operation in operations.items():
            if not operation.get("security") or {} in operation["security"]:
                continue
            address = path.replace("{delivery}", "whd_1").replace("{id}", "1")
            for headers in sent:
                response = await pages.client.request(method, address, json={}, headers={**FROM_HERE, **headers})
                if response.status_code != 401:
                    wrong.append((method, path, response.status_code))
    for tool in OF_ACCOUNTS:
        message = using(tool, {"subject": "04099999999992"} if tool == "add_watch" else {})
        expected = (await nobody.client.post("/mcp", json=message, headers=FROM_HERE)).json()
        answers = [await pages.client.post("/mcp", json=message, headers={**FROM_HERE, **each}) for each in sent]
        assert all(answer.json()["result"]["isError"] for answer in answers), tool
        assert answers[0].json() == expected, tool
    assert not wrong, listed(wrong)
    assert harness.all_rows() == before


SITES = ("same-origin", "same-site", "cross-site", "none", None)
ORIGINS = ("http://localhost:8000", "https://evil.example", "http://localhost:8001", "null", "", None)


def may_pass(site: str | None, origin: str | None) -> bool:
    """What the design says: the browser's own word, or else a matching origin; never neither."""
    return site == "same-origin" if site is not None else origin == "http://localhost:8000"


@pytest.mark.parametrize("path", ["/app/watches/add", "/login", "/app/import"])
async def test_forms_are_taken_by_this_table_alone(harness: ServiceHarness, path: str) -> None:
    owner = await harness.sign_up()
    wrong = []
    for cookie in (await harness.browser_session(owner.email, owner.password), ""):
        for site in SITES:
            for origin in ORIGINS:
                given = {"Sec-Fetch-Site": site, "Origin": origin}
                headers = {name: value for name, value in given.items() if value is not None}
                response = await browser_of(harness, cookie).post_from(headers, path)
                if (response.status_code != 403) is not may_pass(site, origin):
                    wrong.append((bool(cookie), site, origin, response.status_code))
    assert not wrong, listed(wrong)


FORMS_OF_ANYBODY = {
    "POST /d/{udi}",
    "POST /a/{srn}",
    "POST /password/forgot",
    "POST /password/reset",
    "POST /account/confirm",
    "POST /account/invitation",
    "POST /mail/unsubscribe/{token}",
}
"""Forms that need no session: what lets in is a mailed link, or nothing."""


async def test_no_form_of_the_account_is_taken_from_elsewhere(filled: Site) -> None:
    harness, wrong = filled.harness, []
    unsafe = [each for each in page_routes(harness.app) if each.method not in ("GET", "HEAD", "OPTIONS")]
    assert {each.label for each in unsafe if not each.is_of_account} == FORMS_OF_ANYBODY
    before = harness.all_rows()
    for route in (each for each in unsafe if each.is_of_account):
        _, address, fields = filled.requests[route.label]
        for cookie in (filled.account.owner_cookie, ""):
            for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "none"}, {"Origin": "null"}, {}):
                response = await browser_of(harness, cookie).post_from(headers, address, **fields)
                if response.status_code != 403 or "set-cookie" in response.headers:
                    wrong.append((route.label, headers, response.status_code))
    assert not wrong, listed(wrong)
    assert harness.all_rows() == before


async def test_a_session_that_somebody_else_chose_is_never_taken_over(harness: ServiceHarness) -> None:
    owner, attacker = await harness.sign_up("owner@acme.example", PASSWORD), await harness.sign_up("b@evil.example")
    cookies = [await harness.browser_session(each.email, each.password) for each in (attacker, owner)]
    for planted in (*cookies, cookies[0][:-4] + "AAAA", attacker.session, owner.session):
        response = await browser_of(harness, planted).post("/login", email=owner.email, password=PASSWORD)

        assert response.headers["set-cookie"].startswith("session=ub_")
        assert planted not in response.headers["set-cookie"]
