"""The routers of all pages, the navigation of the account, and the page of errors."""

from collections.abc import Mapping

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.pages import site_files, sitemap
from registerwatch.pages.account import audit, keys, settings, team, today
from registerwatch.pages.account import billing as account_billing
from registerwatch.pages.account.channels import (
    feeds,
    mails_came_back,
    notification,
    notifications,
    webhook_log,
    webhooks,
)
from registerwatch.pages.account.events import events
from registerwatch.pages.account.lists import lists, scan
from registerwatch.pages.account.rendering import Section
from registerwatch.pages.account.sign_in import (
    confirm_address,
    passkeys,
    provider,
    second_factors,
    second_step,
    sign_in,
)
from registerwatch.pages.account.watches import add_watch, certificates, import_list, watch, watch_exports, watches
from registerwatch.pages.public import actor, device, docs, search, status
from registerwatch.pages.public.certificates import certificate
from registerwatch.pages.public.comparison import compare, history
from registerwatch.pages.public.links import checkout_return, link_pages, mailed_links, password, unsubscribe
from registerwatch.pages.rendering import FRAGMENT_HEADER, unindexed_page
from registerwatch.web.request_ids import current_request_id

HEADINGS = {
    400: "This request cannot be understood",
    402: "The account’s period has ended",
    403: "This is not allowed",
    404: "There is nothing here",
    405: "This cannot be done here",
    429: "Too many requests",
    503: "Out of reach for the moment",
}
UNEXPECTED = "Something went wrong"


router = APIRouter(include_in_schema=False)
PARTS = (
    search,
    history,  # before devices and actors, whose codes may have slashes
    device,
    compare,
    actor,
    certificate,
    docs,
    status,
    password,
    mailed_links,
    unsubscribe,
    checkout_return,
    sign_in,
    second_step,
    settings,
    confirm_address,
    mails_came_back,
    second_factors,
    passkeys,
    provider,
    today,
    events,
    add_watch,
    certificates,
    watches,
    watch_exports,
    import_list,
    lists,
    scan,
    watch,
    keys,
    feeds,
    notifications,
    notification,
    webhooks,
    webhook_log,
    team,
    audit,
    account_billing,
    site_files,
    sitemap,
)
SECTIONS = (
    Section("today", "/app", "Today"),
    Section("watches", "/app/watches", "Watches"),
    Section("events", "/app/events", "Events"),
    Section("certificates", "/app/certificates", "Certificates"),
    Section("lists", "/app/lists", "Lists"),
    Section("import", "/app/import", "Import"),
    Section("scan", "/app/scan", "Scan"),
    Section("notifications", "/app/notifications", "Notifications", is_of_account=True),
    Section("webhooks", "/app/webhooks", "Webhooks", is_of_account=True),
    Section("feeds", "/app/feeds", "Feeds", is_of_account=True),
    Section("keys", "/app/keys", "API keys", is_of_account=True),
    Section("team", "/app/team", "Team", is_of_account=True),
    Section("billing", "/app/billing", "Plan and billing", is_of_account=True),
    Section("audit", "/app/audit", "Audit trail", is_of_account=True, is_for_owners=True),
    Section("settings", "/app/settings", "Settings", is_of_account=True),
)
"""The navigation of the account."""
for part in PARTS:
    router.include_router(part.router)


def error_page(request: Request, message: str, status: int, headers: Mapping[str, str]) -> Response:
    """An error as a page for people, or as a fragment if the script asked for one. Needs no database."""
    template = "error_fragment.html" if FRAGMENT_HEADER in request.headers else "error.html"
    extra_headers = link_pages.NO_REFERRER if request.url.path.startswith(link_pages.PATHS) else {}
    return unindexed_page(
        request,
        template,
        status,
        {**headers, **extra_headers},
        heading=HEADINGS.get(status, UNEXPECTED),
        message=message,
        retry_after=headers.get("Retry-After"),
        request_id=current_request_id() if status == 500 else None,
    )
