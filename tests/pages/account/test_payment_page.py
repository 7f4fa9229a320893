"""The way to the payment provider's page in a real browser, which holds forms to this site."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.billing.plain_provider import SETTINGS
from tests.pages.account.pages_client import STRONG_PASSWORD
from tests.pages.browser_site import Served, complaints, new_page, served_site


@pytest.fixture
def served(tmp_path: Path, sqlite_template: Path) -> Iterator[Served]:
    with served_site(tmp_path, sqlite_template, [], public_url="http://localhost:8000", **SETTINGS) as site:
        yield site


def _provider_page(route: Route) -> None:
    route.fulfill(body="<h1>Pay here</h1>", content_type="text/html")


@pytest.mark.nightly
def test_a_plan_is_chosen_paid_at_the_providers_and_shown(served: Served, browser: Browser) -> None:
    for scripted in (True, False):
        context = browser.new_context(base_url=served.address, java_script_enabled=scripted)
        context.route("https://pay.example/**", _provider_page)
        page = new_page(context)
        page.goto("/signup?next=/app/billing")
        page.get_by_label("E-mail address").fill(f"{scripted}@acme.example")
        page.get_by_label("Password").fill(STRONG_PASSWORD)
        page.get_by_role("button", name="Start the trial").click()

        page.get_by_role("button", name="Choose Standard").click()
        expect(page.get_by_role("heading")).to_have_text("Pay here")
        page.go_back()
        expect(page).to_have_url(re.compile("/app/billing"))
        session = list(served.harness.provider.checkouts)[-1]
        served.harness.provider.pay(session)
        page.goto(f"/billing/done?session_id={session}")

        expect(page.get_by_text("The subscription has begun.")).to_be_visible()
        assert not scripted or complaints(page) == []
        context.close()
