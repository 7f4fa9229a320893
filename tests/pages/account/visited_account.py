"""Every state of the pages of a filled account: pages as they are, forms that were sent empty or with hostile texts."""

from collections.abc import AsyncIterator, Sequence
from urllib.parse import urljoin

from registerwatch.accounts.passwords.proof import PROOF_SECONDS
from tests.accounts.second_factors import app_of
from tests.pages.account.filled_account import MEMBERS_PASSWORD, PASSWORD, SCRIPT, FilledAccount
from tests.pages.account.page_walk import PageForm, PageWalk, State, page_routes
from tests.pages.account.pages_client import PagesClient
from tests.support.harness import ServiceHarness

STARTS = ("/app/watches/1", "/app/watches/13", "/app/watches/14", "/app/watches/15")
"""Pages that are opened beside those to which other pages lead first: watches that are well, failing, unknown."""
INJECTED_HEADER = "x-injected"
TYPED = ("", f"{SCRIPT}\r\n{INJECTED_HEADER}: yes\x00\x07")
"""What somebody types into every field of every form."""
STEP = "/login/second-step"
PERIOD_SECONDS = 7 * 24 * 3600
"""After so long the trial is over."""
_LAST = ("delete", "stop", "remove", "logout", "password", "sessions", "end")
"""Words of forms that take something away: they are sent last."""


def plain_addresses(harness: ServiceHarness) -> list[str]:
    """The pages of the account whose address has no id."""
    routes = page_routes(harness.app)
    return [each.path for each in routes if each.is_of_account and each.method == "GET" and "{" not in each.path]


def takes_away(label: str) -> bool:
    """Whether a request may end the session, or take away what other pages show: such requests come last."""
    return any(word in label for word in _LAST)


async def hostile_states(harness: ServiceHarness, account: FilledAccount) -> list[State]:
    """The short form: what the owner sees, who sends every form with hostile texts alone, and then looks again."""
    owner = PagesClient(harness)
    await owner.sign_in(account.owner.email, PASSWORD)
    walk = await _walked(owner)
    sent = [each async for each in _sent_forms(walk, account, typed=TYPED[-1:])]
    await _stay_signed_in(owner, account)
    again = [State("GET", path, await owner.get(path)) for path in plain_addresses(harness)]
    return [*await _seen_by_nobody(harness), *walk.states.values(), *sent, *again]


async def visited_states(harness: ServiceHarness, account: FilledAccount) -> list[State]:
    """What everybody sees who opens everything; and the owner, who sends every form of every page in every way."""
    others = [*await _seen_by_nobody(harness), *await _seen_by_a_newcomer(harness), *await _seen_by_a_member(harness)]
    owner = PagesClient(harness)
    await owner.sign_in(account.owner.email, PASSWORD)
    walk = await _walked(owner)
    sent = [each async for each in _sent_forms(walk, account)]
    await _stay_signed_in(owner, account)
    again = await _walked(owner)
    harness.clock.move(PROOF_SECONDS + 1)
    unproved = [each async for each in _sent_forms(walk, account, signs_in=False)]
    asked = [each for each in unproved if 'name="proof-password"' in each.response.text][:1]
    harness.clock.move(PERIOD_SECONDS)
    await _stay_signed_in(owner, account)
    ended = await _walked(owner)
    return [*others, *walk.states.values(), *sent, *again.states.values(), *asked, *ended.states.values()]


async def _walked(pages: PagesClient) -> PageWalk:
    walk = PageWalk(pages)
    await walk.follow_links(*plain_addresses(pages.harness), *STARTS)
    return walk


async def _seen_by_nobody(harness: ServiceHarness) -> list[State]:
    nobody = PagesClient(harness)
    return [State("GET", path, await nobody.get(path)) for path in ("/login", "/signup", "/login?next=/app/import")]


async def _seen_by_a_newcomer(harness: ServiceHarness) -> list[State]:
    """Pages that have nothing to show yet."""
    pages = PagesClient(harness)
    await pages.sign_up("newcomer@new.example")
    return list((await _walked(pages)).states.values())


async def _seen_by_a_member(harness: ServiceHarness) -> list[State]:
    """Pages of somebody who is no owner, and has an authenticator app; the step that asks for its code."""
    email = "member@acme.example"
    pages = PagesClient(harness)
    await pages.sign_in(email, MEMBERS_PASSWORD)
    caller = await pages.caller()
    app = await app_of(harness.service.accounts, caller, harness.clock)
    seen = list((await _walked(pages)).states.values())
    step = PagesClient(harness)
    await step.sign_in(email, MEMBERS_PASSWORD)
    for typed in ("", "000000"):
        seen.append(State("GET", STEP, await step.get(STEP)))
        seen.append(State("POST", STEP, await step.post(STEP, code=typed)))
    seen.append(State("POST", STEP, await step.post(STEP, code=app.recovery_codes[0])))
    return seen


async def _sent_forms(
    walk: PageWalk, account: FilledAccount, *, signs_in: bool = True, typed: Sequence[str] = TYPED
) -> AsyncIterator[State]:
    """What each form is answered, and the pages that it leads to."""
    for label, form in sorted(walk.forms.items(), key=lambda item: takes_away(item[0])):
        for each in typed:
            if signs_in:
                await _stay_signed_in(walk.pages, account)
            state = await _sent(walk.pages, form, each)
            yield state
            location = state.response.headers.get("location")
            if location and not takes_away(label):
                address = urljoin(form.action, location)
                yield State("GET", address, await walk.pages.get(address))


async def _sent(pages: PagesClient, form: PageForm, typed: str) -> State:
    return State("POST", form.action, await pages.post(form.action, **form.filled(typed)))


async def _stay_signed_in(pages: PagesClient, account: FilledAccount) -> None:
    if (await pages.get("/app")).status_code != 200:
        await pages.sign_in(account.owner.email, PASSWORD)
