"""A site that a browser can reach: Debian's Chromium, the service in a thread, and what a page complains of.

Playwright's loop runs in this thread while Chromium is open: modules whose tests use it have no asynchronous tests.
"""

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest
import uvicorn
from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.pages.conftest import running_site
from tests.support.harness import ServiceHarness
from tests.support.servers import serving

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]
EXPECTED_WITHIN_MS = 20_000
"""Playwright's own 5 seconds are few while other tests use up the machine."""
_KEEP_VIOLATIONS = """
window.violations = [];
addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));
"""
_COMPLAINTS: WeakKeyDictionary[Page, list[str]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Served:
    """A site that a browser can reach."""

    address: str
    harness: ServiceHarness
    portal: BlockingPortal


@contextmanager
def chromium(*arguments: str) -> Iterator[Browser]:
    """Debian's Chromium, with these arguments too; the test is skipped where it is missing."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed; `make test` installs it, or install the package chromium")
    expect.set_options(timeout=EXPECTED_WITHIN_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, *arguments])
        yield launched
        launched.close()


@contextmanager
def served_site(folder: Path, template: Path, registrations: list[dict[str, Any]], **settings: Any) -> Iterator[Served]:
    """A site whose copy holds these registrations, served from a thread over a copy of the template database."""
    shutil.copyfile(template, folder / "registerwatch.db")
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(_serving(folder, registrations, settings)) as (address, harness),
    ):
        yield Served(address, harness, portal)


@asynccontextmanager
async def _serving(
    folder: Path, registrations: list[dict[str, Any]], settings: dict[str, Any]
) -> AsyncIterator[tuple[str, ServiceHarness]]:
    address = f"sqlite:///{folder / 'registerwatch.db'}"
    async with running_site(address, folder, *registrations, **{"background": True, **settings}) as harness:
        config = uvicorn.Config(harness.app, port=0, lifespan="off", log_config=None, access_log=False)
        async with serving(config) as port:
            yield f"http://127.0.0.1:{port}", harness


def new_page(context: BrowserContext) -> Page:
    """A page of which `complaints` tells every error that it meets."""
    page = context.new_page()
    page.add_init_script(_KEEP_VIOLATIONS)
    kept = _COMPLAINTS.setdefault(page, [])
    page.on("console", lambda message: kept.extend(_complaint(message)))
    page.on("pageerror", lambda error: kept.append(str(error)))
    return page


def complaints(page: Page) -> list[str]:
    """What the page complained about since this was asked last: errors, warnings, violations of its policy."""
    violations: list[str] = page.evaluate("window.violations.splice(0)")
    kept = _COMPLAINTS[page]
    found, kept[:] = [*kept, *violations], []
    return found


def _complaint(message: ConsoleMessage) -> list[str]:
    """What the console got, where that is one. That a page is answered with the status of an error is none."""
    is_status_of_page = "Failed to load resource" in message.text and message.location["url"] == _address(message)
    return [message.text] if message.type in ("error", "warning") and not is_status_of_page else []


def _address(message: ConsoleMessage) -> str | None:
    return message.page.url if message.page else None
