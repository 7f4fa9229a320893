"""The whole product in a browser: from a search to the end of the account, with script and without."""

import re
import shutil
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyotp
import pytest
import uvicorn
from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.sync_api import Browser, BrowserContext, Page, expect

from registerwatch.billing.stripe_provider import StripeProvider
from registerwatch_standins.payment.app import PaymentSandbox
from registerwatch_standins.payment.event_sender import Webhook
from registerwatch_standins.payment.records import Card
from tests.pages.browser_site import complaints, new_page
from tests.support.fakes import SteppedClock
from tests.support.harness import ServiceHarness, running_harness
from tests.support.servers import serving

EMAIL, PASSWORD = "buyer@hospital.example", "a long phrase that nobody uses"
GUEST, GUEST_PASSWORD = "colleague@hospital.example", "another long phrase of theirs"
RECEIVER = "https://hooks.hospital.example/registerwatch"
API_KEY, SECRET = "sk_test_of_the_tests", "whsec_of_the_tests"


VIRTUAL_AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@dataclass(frozen=True, slots=True)
class Site:
    """The service and the payment provider, each at an address of its own."""

    address: str
    harness: ServiceHarness
    payments: PaymentSandbox
    portal: BlockingPortal

    def settle(self) -> None:
        """Let mails and reads in the background end."""
        self.portal.call(self.harness.finish_background_work)

    def mailed_link(self, to: str) -> str:
        """The link in the last mail to somebody."""
        self.settle()
        mail = next(each for each in reversed(self.harness.mail.mails) if each.to == to and "token=" in each.text)
        return str(re.findall(r"http://\S+token=\S+", mail.text)[0])


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in front of a browser."""

    site: Site
    context: BrowserContext
    page: Page

    def press(self, name: str) -> None:
        """Press a button of the page's content."""
        self.page.get_by_role("main").get_by_role("button", name=name).click()

    def follow(self, name: str) -> None:
        """Follow a link."""
        self.page.get_by_role("link", name=name).first.click()

    def fill(self, **values: str) -> None:
        """Fill fields by their ids."""
        for name, value in values.items():
            self.page.locator(f"#{name.replace('_', '-')}").fill(value)

    def sees(self, text: str) -> None:
        """The page's content says this."""
        expect(self.page.get_by_role("main")).to_contain_text(text)

    def sign_in(self, email: str = EMAIL, password: str = PASSWORD) -> None:
        """Sign in with a password."""
        self.page.goto("/login")
        self.fill(email=email, password=password)
        self.press("Sign in")

    def sign_out(self) -> None:
        """Sign out by the button in the head of the page."""
        self.page.get_by_role("button", name="Sign out").click()
        expect(self.page).to_have_url(re.compile("/login"))


@pytest.fixture
def site(tmp_path: Path, sqlite_template: Path) -> Iterator[Site]:
    """A service over a generated register; its copy is filled, its recheck and its deliveries run."""
    shutil.copyfile(sqlite_template, tmp_path / "registerwatch.db")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(_served(tmp_path, portal)) as site:
        yield site


@asynccontextmanager
async def _served(folder: Path, portal: BlockingPortal) -> AsyncIterator[Site]:
    port, payment_port = _free_port(), _free_port()
    address, provider_address = f"http://localhost:{port}", f"http://localhost:{payment_port}"
    settings = {
        "public_url": address,
        "payment_api_key": API_KEY,
        "payment_api_url": provider_address,
        "payment_webhook_secret": SECRET,
        "payment_prices": "standard=price_standard,operator=price_operator",
    }
    database = f"sqlite:///{folder / 'registerwatch.db'}"
    provider = StripeProvider(API_KEY, provider_address, SteppedClock())
    async with running_harness(database, folder, background=True, stripe=provider, **settings) as harness:
        await harness.fill_copy()
        webhook = Webhook(f"{address}/v1/billing/webhook", SECRET)
        payments = PaymentSandbox(
            base_url=provider_address, api_key=API_KEY, webhook=webhook, clock=harness.clock.now, seed=3
        )
        paid = uvicorn.Config(payments.app, port=payment_port, log_config=None, access_log=False)
        served = uvicorn.Config(harness.app, port=port, lifespan="off", log_config=None, access_log=False)
        async with serving(paid), serving(served):
            yield Site(address, harness, payments, portal)
        await harness.finish_background_work()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _another_browser(person: Person) -> Iterator[Person]:
    """The same site in a browser that has none of the person's cookies."""
    browser = person.context.browser
    assert browser is not None
    context = browser.new_context(base_url=person.site.address)
    yield Person(person.site, context, new_page(context))
    context.close()


@pytest.fixture(params=["with script", pytest.param("without script", marks=pytest.mark.nightly)])
def person(request: pytest.FixtureRequest, browser: Browser, site: Site) -> Iterator[Person]:
    """A buyer who has never been here."""
    has_script = request.param == "with script"
    context = browser.new_context(base_url=site.address, java_script_enabled=has_script, accept_downloads=True)
    context.set_default_timeout(15_000)
    page = new_page(context)
    yield Person(site, context, page)
    if has_script:
        assert complaints(page) == []
    context.close()


def test_a_buyer_watches_a_device_sees_it_change_and_runs_an_account(person: Person) -> None:
    site, page = person.site, person.page
    [device] = site.harness.unique_devices(1)
    _signs_up_to_watch(person, device.trade_name or device.primary_di, device.primary_di)
    _confirms_the_address(person)
    _sees_what_changed(person, device.uuid)
    _exports(person, device.primary_di)
    _tests_a_webhook(person)
    key = _makes_a_key(person)
    _invites_a_colleague(person)
    app = _signs_in_with_an_app(person)
    _pays(person)
    _signs_out_everywhere(person, app)
    _deletes_the_account(person)
    answer = page.request.get("/v1/me", headers={"X-API-Key": key})
    assert answer.status == 401


def _signs_up_to_watch(person: Person, words: str, udi: str) -> None:
    """Visit, search, the button of the device, the form, and back at the device."""
    page = person.page
    page.goto("/")
    page.get_by_label("Name, UDI-DI, SRN or catalogue reference").fill(words)
    page.get_by_role("main").get_by_role("button", name="Search").click()
    page.locator(f'a[href="/d/{udi}"]').first.click()
    person.follow("Watch this device")
    person.sees(udi)
    person.fill(email=EMAIL, password=PASSWORD, company="Example Hospital")
    person.press("Start the trial")
    expect(page).to_have_url(re.compile(r"/app/watches/\d+\?done=added"))
    person.sees(udi)


def _confirms_the_address(person: Person) -> None:
    person.page.goto(person.site.mailed_link(EMAIL))
    person.page.locator('input[type="password"]').first.fill(PASSWORD)
    person.page.get_by_role("main").locator("form button").first.click()
    person.sees("Your address is confirmed")


def _sees_what_changed(person: Person, uuid: str) -> None:
    """The register changes; a sync from the page finds it; it is unseen on the first page, then seen."""
    site, page = person.site, person.page
    site.harness.world.change(uuid, reference="NEW-REFERENCE")
    site.harness.clock.move(60)
    page.goto("/app/watches")
    person.press("Sync all now")
    site.settle()
    page.goto("/app")
    person.sees("NEW-REFERENCE")
    page.goto("/app/events")
    person.sees("NEW-REFERENCE")
    person.press("Mark this one as seen")
    expect(page.get_by_role("main")).not_to_contain_text("NEW-REFERENCE")
    page.goto("/app/events?view=all")
    person.sees("NEW-REFERENCE")


def _exports(person: Person, udi: str) -> None:
    person.page.goto("/app/watches")
    with person.page.expect_download() as download:
        person.page.get_by_role("link", name="CSV").click()
    assert udi in Path(download.value.path()).read_text(encoding="utf-8-sig")


def _tests_a_webhook(person: Person) -> None:
    person.page.goto("/app/webhooks")
    person.fill(url=RECEIVER)
    person.press("Add the webhook")
    person.press("Send a test")
    person.sees("200")
    assert [str(each.url) for each in person.site.harness.receivers.requests] == [RECEIVER]


def _makes_a_key(person: Person) -> str:
    person.page.goto("/app/keys")
    person.fill(label="ERP")
    person.page.locator("#scope-read").check()
    person.press("Make the key")
    key = person.page.locator("#new-key").inner_text()
    answer = person.page.request.get("/v1/watches", headers={"X-API-Key": key})
    assert (answer.status, len(answer.json()["watches"])) == (200, 1)
    assert person.page.request.get("/v1/watches").status == 401, "the cookie opens nothing for programs"
    return key


def _invites_a_colleague(person: Person) -> None:
    """They join by the mailed link in a browser of their own, and see what the account watches."""
    person.page.goto("/app/team")
    person.fill(email=GUEST)
    person.press("Send the invitation")
    with _another_browser(person) as guest:
        guest.page.goto(person.site.mailed_link(GUEST))
        guest.page.locator("#password").fill(GUEST_PASSWORD)
        guest.press("Join the account")
        guest.sign_in(GUEST, GUEST_PASSWORD)
        guest.page.goto("/app/watches")
        guest.sees("1")
        answer = guest.page.goto("/app/audit")
        assert answer is not None
        assert answer.status == 403
    person.page.goto("/app/team")
    person.sees(GUEST)


def _signs_in_with_an_app(person: Person) -> pyotp.TOTP:
    """An authenticator app is set up, and then needed."""
    person.page.goto("/app/settings")
    person.press("Set up an authenticator app")
    app = pyotp.TOTP("".join(person.page.locator("#totp-secret").inner_text().split()))
    person.fill(code=app.at(person.site.harness.now))
    person.press("Turn it on")
    person.sees("recovery codes")
    person.sign_out()
    _takes_both_steps(person, app)
    return app


def _takes_both_steps(person: Person, app: pyotp.TOTP) -> None:
    """Sign in with the password and the next code: each works once."""
    person.site.harness.clock.move(60)
    person.sign_in()
    expect(person.page).to_have_url(re.compile("/login/second-step"))
    person.fill(code=app.at(person.site.harness.now))
    person.press("Sign in")
    expect(person.page).to_have_url(re.compile("/app"))


def _pays(person: Person) -> None:
    """The stand-in provider's page takes a made-up card, and leads back."""
    page = person.page
    page.goto("/app/billing")
    person.press("Choose Standard")
    page.locator(f'[value="{Card.GOOD.value}"]').first.check()
    page.get_by_role("button").first.click()
    expect(page).to_have_url(re.compile(person.site.address))
    person.site.portal.call(person.site.payments.event_sender.deliver)
    page.goto("/app/billing")
    person.sees("Standard")
    person.sees("1 of 250")


def _signs_out_everywhere(person: Person, app: pyotp.TOTP) -> None:
    """Sessions in other browsers end, the one in this browser stays."""
    with _another_browser(person) as other:
        _takes_both_steps(other, app)
        person.page.goto("/app/settings")
        person.press("End all other sessions")
        other.page.goto("/app")
        expect(other.page).to_have_url(re.compile("/login"))
    person.page.goto("/app")
    person.sees("Today")


def _deletes_the_account(person: Person) -> None:
    page = person.page
    page.goto("/app/settings")
    person.follow("Delete the account…")
    person.fill(password=PASSWORD)
    person.press("Delete the account for good")
    person.sees("deleted")
    person.sign_in()
    person.sees("Email or password is wrong.")
    assert person.site.payments.store.subscriptions, "there was one"


@pytest.mark.nightly
def test_a_passkey_signs_in_without_a_password(browser: Browser, site: Site) -> None:
    """With the browser's own virtual authenticator, which knows its user."""
    context = browser.new_context(base_url=site.address)
    context.set_default_timeout(15_000)
    person = Person(site, context, new_page(context))
    devtools = context.new_cdp_session(person.page)
    devtools.send("WebAuthn.enable")
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": VIRTUAL_AUTHENTICATOR})
    person.page.goto("/signup")
    person.fill(email=EMAIL, password=PASSWORD)
    person.press("Start the trial")

    person.page.goto("/app/settings/passkeys")
    person.press("Add a passkey")
    person.page.locator("#add-passkey").click()
    person.sees("recovery codes")
    person.sign_out()
    person.page.locator("#use-passkey").click()

    expect(person.page).to_have_url(re.compile("/app$"))
    person.sign_out()
    person.sign_in()
    expect(person.page).to_have_url(re.compile("/login/second-step"))
    person.page.locator("#use-passkey").click()
    expect(person.page).to_have_url(re.compile("/app$"))
    assert complaints(person.page) == []
    context.close()
