"""Somebody steals something of an account's owner: who has the account after both acted, in either order.

The table in docs/accounts.md is what this brings about over the public surfaces and looks at, cell by cell.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import unescape
from itertools import combinations, count, dropwhile, islice, takewhile
from pathlib import Path

import httpx2
import pyotp
import pytest

from tests.accounts.authenticator import Authenticator
from tests.accounts.second_factors import RECOVERY_CODE, App
from tests.pages.account.pages_client import STRONG_PASSWORD, PagesClient
from tests.support.harness import ServiceHarness, ServiceStarter, auth_headers
from tests.support.long_forms import some_by_day

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

PAGE = Path(__file__).parents[2] / "docs" / "accounts.md"
DAY = 24 * 3600
HOME, ELSEWHERE = "192.0.2.7", "203.0.113.9"
NEW, THEIRS = "the owner's new phrase", "the thief's own phrase"
LINK = re.compile(r"(?:/account/confirm|/password/reset)\?token=([\w.-]{43,})")
SECRET = re.compile(r'id="totp-secret">([A-Z2-7 ]+)<')
PASSKEY_OPTIONS = re.compile(r'id="add-passkey"[^>]* data-options="([^"]+)"')
KEY = re.compile(r"\brw_[\w-]{43}\b")
THINGS = ("password", "program's session", "browser's session", "key", "mailbox", "second factor")
WITHOUT = " (no second factor)"
STOLEN: Mapping[str, frozenset[str]] = {
    **{f"{each}{WITHOUT}": frozenset({each}) for each in THINGS[:-1]},
    **{each: frozenset({each}) for each in THINGS},
    **{f"{one}, {other}": frozenset({one, other}) for one, other in combinations(THINGS, 2)},
}
RESETS = {"password by the link": "own sessions", "keys, sessions too": "keys and sessions", "everything": "all"}
COLUMNS = ("deletes it", "nothing", *RESETS, *(f"first: {each}" for each in RESETS))

_numbers = count(1)


@dataclass
class Person:
    """What the owner or the thief knows and has."""

    harness: ServiceHarness
    email: str
    address: str
    """Of the network that they use."""
    passwords: list[str] = field(default_factory=list)
    bearers: list[str] = field(default_factory=list)
    pages: PagesClient | None = None
    apps: list[App] = field(default_factory=list)
    recovery_codes: list[str] = field(default_factory=list)
    passkeys: list[Authenticator] = field(default_factory=list)

    def browser(self) -> PagesClient:
        """A browser of theirs, nobody signed in."""
        pages = PagesClient(self.harness)
        pages.client.headers["X-Forwarded-For"] = self.address
        return pages

    async def posted(self, path: str, bearer: str = "", /, **fields: object) -> httpx2.Response:
        """What `/v1` answers them."""
        return await self.browser().client.post(path, json=fields, headers=auth_headers(bearer))

    async def works(self, bearer: str) -> bool:
        """Whether a key or session opens the account."""
        return (await self.browser().client.get("/v1/me", headers=auth_headers(bearer))).status_code == 200

    async def signed_in(self) -> PagesClient | None:
        """A browser that is signed in with what they have, if that is enough."""
        for passkey in self.passkeys:
            pages = self.browser()
            options = await pages.post("/login/passkey/options")
            await pages.post("/login/passkey", credential=passkey.get(options.text))
            if pages.session:
                return pages
        for password in reversed(self.passwords):
            codes: list[Callable[[], str]] = [app.next_code for app in reversed(self.apps)]
            for code in [*codes, *([self.recovery_codes.pop] if self.recovery_codes else [])] or [lambda: "000000"]:
                pages = self.browser()
                await pages.post("/login", email=self.email, password=password)
                if not pages.session and pages.client.cookies.get("step"):
                    await pages.post("/login/second-step", code=code())
                if pages.session:
                    return pages
        return None

    async def sets_by_the_link(self, password: str, ends: str) -> None:
        """Have a link mailed, and set a password by it on its page."""
        await self.posted("/v1/password/forgot", email=self.email)
        token = await mailed(self.harness, self.email)
        answer = await self.browser().post("/password/reset", token=token, password=password, end=ends)
        assert answer.status_code == 200, answer.text
        self.passwords.append(password)

    async def sets_up_an_app(self, pages: PagesClient) -> None:
        """An authenticator app of their own, where the account has none."""
        await pages.post("/app/settings/authenticator", **self.proof())
        secrets = SECRET.findall((await pages.get("/app/settings/authenticator")).text)
        if secrets:
            app = App(secrets[0].replace(" ", ""), self.harness.clock, ())
            code = pyotp.TOTP(app.secret).at(self.harness.now)
            answer = await pages.post("/app/settings/authenticator/confirm", code=code)
            self.apps.append(app)
            self.recovery_codes += sorted(set(RECOVERY_CODE.findall(answer.text)))

    def code(self) -> str:
        """A code of the second factor, if they have any."""
        return self.apps[-1].next_code() if self.apps else self.recovery_codes.pop() if self.recovery_codes else ""

    def proof(self) -> dict[str, str]:
        """What a page is told that asks again who somebody is."""
        return {"proof-password": self.passwords[-1], "proof-code": self.code()}

    async def adds_a_passkey(self, pages: PagesClient) -> None:
        """A passkey of their own, which signs in without a password."""
        asked = await pages.post("/app/settings/passkeys/new", label="x", **self.proof())
        options = PASSKEY_OPTIONS.findall(asked.text)
        if options and not self.passkeys:
            passkey = Authenticator()
            answer = await pages.post("/app/settings/passkeys", credential=passkey.create(unescape(options[0])))
            self.passkeys += [passkey] * (answer.status_code in (200, 303))
            self.recovery_codes += sorted(set(RECOVERY_CODE.findall(answer.text)))


async def mailed(harness: ServiceHarness, to: str) -> str:
    """The token of the newest link that was mailed to somebody."""
    await harness.finish_background_work()
    return next(
        found[1] for mail in reversed(harness.mail.mails) if mail.to == to and (found := LINK.search(mail.text))
    )


async def new_owner(harness: ServiceHarness, *, has_app: bool) -> Person:
    """The owner of a new account, with everything that can be stolen."""
    opened = await harness.sign_up(f"owner{next(_numbers)}@acme.example", STRONG_PASSWORD)
    token = await mailed(harness, opened.email)
    owner = Person(harness, opened.email, HOME, [STRONG_PASSWORD], [opened.api_key, opened.session])
    owner.pages = owner.browser()
    await owner.pages.post("/account/confirm", token=token, choice="keep", password=STRONG_PASSWORD)
    await owner.pages.sign_in(opened.email, STRONG_PASSWORD)
    if has_app:
        await owner.sets_up_an_app(owner.pages)
    harness.clock.move(DAY + 1)
    return owner


def thief_of(owner: Person, stolen: frozenset[str]) -> Person:
    """Who has stolen some of it."""
    key, session = owner.bearers
    thief = Person(owner.harness, owner.email, ELSEWHERE)
    thief.passwords += [STRONG_PASSWORD] * ("password" in stolen)
    thief.bearers += [session] * ("program's session" in stolen) + [key] * ("key" in stolen)
    if "browser's session" in stolen and owner.pages is not None:
        thief.pages = thief.browser()
        thief.pages.client.cookies.set("session", owner.pages.session)
    if "second factor" in stolen:
        thief.apps += owner.apps
        thief.recovery_codes += owner.recovery_codes[:5]
    return thief


@dataclass
class Theft:
    """A thief at work in an owner's account. Adding a user of their own is part of it."""

    owner: Person
    stolen: frozenset[str]
    thief: Person = field(init=False)
    user: Person = field(init=False)

    def __post_init__(self) -> None:
        self.thief = thief_of(self.owner, self.stolen)
        self.user = Person(self.owner.harness, self.owner.email.replace("owner", "thief"), ELSEWHERE)

    async def acts(self) -> None:
        """Do whatever what was stolen allows, and keep as many ways in as possible."""
        thief = self.thief
        if "mailbox" in self.stolen and THEIRS not in thief.passwords:
            await thief.sets_by_the_link(THEIRS, "own sessions" if thief.bearers else "all")
        await self._manages_on_pages()  # before a key sets a password, which is no proof
        for bearer in list(thief.bearers):
            if THEIRS not in thief.passwords:
                changed = await thief.posted("/v1/password", bearer, password=THEIRS)
                thief.passwords += [THEIRS] * (changed.status_code == 200)
            await self._makes_by(bearer)
        await self._manages_on_pages()
        if thief.passwords:
            fields = {"code": thief.apps[-1].next_code()} if thief.apps else {}
            opened = await thief.posted("/v1/login", email=thief.email, password=thief.passwords[-1], **fields)
            if opened.status_code == 200:
                thief.bearers.append(opened.json()["session"])
                await self._makes_by(thief.bearers[-1])

    async def deletes(self) -> bool:
        """Try to delete the account; whether it is gone."""
        for bearer in [*self.thief.bearers, *self.user.bearers]:
            for password in dict.fromkeys(self.thief.passwords):
                answer = await self.thief.posted("/v1/account/delete", bearer, password=password)
                if answer.status_code == 200:
                    return True
        for pages in filter(None, (self.thief.pages, await self.thief.signed_in())):
            for password in dict.fromkeys(self.thief.passwords):
                fields = {"password": password, "proof-code": self.thief.code()}
                if (await pages.post("/app/settings/delete", **fields)).status_code == 200:
                    return True
        return "mailbox" in self.stolen and await self._deletes_by_the_link()

    async def _deletes_by_the_link(self) -> bool:
        """Send a link to set a password to where links that prove an address lead."""
        await self.thief.posted("/v1/password/forgot", email=self.thief.email)
        fields = {"token": await mailed(self.thief.harness, self.thief.email), "choice": "delete", "sure": "yes"}
        return (await self.thief.browser().post("/account/confirm", **fields)).status_code == 200

    async def is_in(self) -> str:
        """What the thief has of the account."""
        thief = self.thief
        if [each for each in thief.bearers if await thief.works(each)]:
            return "owner"
        if thief.pages is not None and (await thief.pages.get("/app")).status_code == 200:
            return "owner"
        if await thief.signed_in() is not None:
            return "owner"
        answer = await thief.posted("/v1/login", email=self.user.email, password=THEIRS)
        return str(answer.json()["role"]) if answer.status_code == 200 else ""

    async def _makes_by(self, bearer: str) -> None:
        made = await self.thief.posted("/v1/keys", bearer, label="of the thief")
        if made.status_code == 200:
            self.thief.bearers.append(made.json()["api_key"])
        await self.thief.posted("/v1/users", bearer, email=self.user.email, password=THEIRS)
        await self._joins()

    async def _manages_on_pages(self) -> None:
        """What pages ask for the password again."""
        for pages in (self.thief.pages, await self.thief.signed_in()):
            if pages is not None and self.thief.passwords:
                await self._manages_on(pages)

    async def _manages_on(self, pages: PagesClient) -> None:
        thief = self.thief
        fields = {"old-password": thief.passwords[-1], "password": THEIRS, "proof-code": thief.code()}
        if (await pages.post("/app/settings/password", **fields)).status_code == 303:
            thief.passwords.append(THEIRS)
        answer = await pages.post("/app/keys", form="x", label="of the thief", scope="manage", **thief.proof())
        thief.bearers += KEY.findall(answer.text)[:1]
        await pages.post("/app/team/users", email=self.user.email, password=THEIRS, **thief.proof())
        await self._joins()
        for found in set(re.findall(r'/app/team/(\d+)"', (await pages.get("/app/team")).text)):
            if self.user.email in (await pages.get(f"/app/team/{found}")).text:
                await pages.post(f"/app/team/{found}/role", role="owner", **thief.proof())
        await pages.post("/app/settings/authenticator/remove", sure="yes", **thief.proof())
        await thief.sets_up_an_app(pages)
        await thief.adds_a_passkey(pages)

    async def _joins(self) -> None:
        """The thief's user proves the address of their own."""
        harness, email = self.thief.harness, self.user.email
        await harness.finish_background_work()
        if any(mail.to == email for mail in harness.mail.mails):
            token = await mailed(harness, email)
            await self.user.browser().post("/account/confirm", token=token, choice="join", password=THEIRS)


async def outcome(theft: Theft) -> str:
    """Who has the account: who can sign in as an owner, or has a key or session of one."""
    owner = await theft.owner.signed_in()
    thief = await theft.is_in()
    if owner is None and not thief:
        await theft.owner.sets_by_the_link(NEW, "all")
        if await theft.owner.signed_in() is not None:
            return "nobody"
        await theft.owner.harness.service.accounts.second_factors.reset(theft.owner.email)
        assert await theft.owner.signed_in() is not None
        return "operator"
    return {"": "owner", "member": "owner, member"}.get(thief, "both") if owner else "thief"


async def row_of(harness: ServiceHarness, what: str) -> dict[str, str]:
    """Every cell of what was stolen."""
    found: dict[str, str] = {}

    async def new_theft() -> Theft:
        harness.mail.mails.clear()
        return Theft(await new_owner(harness, has_app=not what.endswith(WITHOUT)), STOLEN[what])

    theft = await new_theft()
    is_gone = await theft.deletes()
    await theft.acts()
    is_gone = is_gone or await theft.deletes()
    harness.clock.move(DAY)
    found["deletes it"] = "at once" if is_gone else "after a day" if await theft.deletes() else "no"
    theft = await new_theft()
    await theft.acts()
    harness.clock.move(DAY)
    await theft.acts()
    found["nothing"] = await outcome(theft)
    for name, ends in RESETS.items():
        theft = await new_theft()
        await theft.acts()
        await theft.owner.sets_by_the_link(NEW, ends)
        found[name] = await outcome(theft)
        theft = await new_theft()
        await theft.owner.sets_by_the_link(NEW, ends)
        await theft.acts()
        found[f"first: {name}"] = await outcome(theft)
    return found


BY_DAY = ("password", "program's session", "mailbox (no second factor)")


@pytest.mark.parametrize("what", some_by_day(STOLEN, BY_DAY))
async def test_who_has_the_account_in_the_end_is_what_the_table_says(start_service: ServiceStarter, what: str) -> None:
    async with start_service(trusted_proxies="127.0.0.0/8") as harness:
        assert await row_of(harness, what) == _documented()[what]


def test_the_table_has_everything_that_can_be_stolen_and_any_two_of_it(database_kind: str) -> None:
    assert list(_documented()) == list(STOLEN)


def _documented() -> dict[str, dict[str, str]]:
    """The rows of the table in docs/accounts.md."""
    lines = iter(PAGE.read_text(encoding="utf-8").splitlines())
    header = f"| stolen | {' | '.join(COLUMNS)} |"
    rows = takewhile(lambda line: line.startswith("|"), dropwhile(lambda line: line != header, lines))
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in islice(rows, 2, None)]
    return {row[0]: dict(zip(COLUMNS, row[1:], strict=True)) for row in cells}
