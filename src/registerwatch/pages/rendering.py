"""Rendering pages: templates, escaping, security headers, conditional requests."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from registerwatch.pages import addresses
from registerwatch.pages.cookies import has_session
from registerwatch.pages.site_files import asset_address
from registerwatch.platform.clock import day_in_words, iso_utc, utc_in_words, zone_in_words
from registerwatch.register.codes import RiskFilter, StatusFilter, label
from registerwatch.register.models import EUDAMED
from registerwatch.register.standing import actor_tone, market_tone
from registerwatch.web.injection import service_of
from registerwatch.web.responses import NOT_CACHED, matches, weak_tag

FRAGMENT_HEADER = "x-fragment"
"""The script's header with the name of the region that it requests instead of the whole page."""

REVALIDATED = "public, no-cache"
"""Clients store pages but revalidate them at each use, so that refreshed data is shown at once."""
REVALIDATED_BY_ONE = "private, no-cache"
"""As `REVALIDATED`, for signed-in users, whose pages link to their account."""
VARY = f"{FRAGMENT_HEADER}, Cookie"

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
}

UNINDEXED = {"X-Robots-Tag": "noindex"}
"""The header of pages without content, and of every page if records are not EUDAMED's."""

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
"""Characters that HTML forbids; texts of the register, of users or of files may contain them."""
REPLACEMENT = "\ufffd"
_INSTANT_IN_TEXT = re.compile(r"(?:(?<=\buntil )|(?<=\bsince )|(?<=\bends at ))(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")
"""An instant in the audit trail and in sentences about histories. Names that people give do not match."""

FIRST_STRONG_ISOLATE, POP_ISOLATE = "\u2068", "\u2069"


def page(request: Request, template: str, *, settled: bool = True, **context: Any) -> Response:
    """A page with an `ETag` of its content, or a 304. A page that is not `settled` will change soon: not cached."""
    shared_context = _shared_context(request)
    note = shared_context["source_note"]
    html = render(template, **shared_context, **context)
    tag = weak_tag(html.encode())
    shared = {
        **SECURITY_HEADERS,
        "ETag": tag,
        "Cache-Control": _kept(request) if settled else NOT_CACHED,
        "Vary": VARY,
        **(UNINDEXED if note else {}),
    }
    if matches(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=shared)
    return HTMLResponse(html, headers=shared)


def unindexed_page(
    request: Request, template: str, status: int, headers: Mapping[str, str] | None = None, **context: Any
) -> Response:
    """A page for caches and search engines not to store: something is missing or failed."""
    shared = {**SECURITY_HEADERS, "Cache-Control": NOT_CACHED, **UNINDEXED, "Vary": VARY}
    html = render(template, **_shared_context(request), **context)
    return HTMLResponse(html, status, {**shared, **(headers or {})})


def not_found(
    request: Request, kind: str, code: str, heading: str, reason: str | None, *, may_work_later: bool, **context: Any
) -> Response:
    """The page that says why a code has nothing to show. `kind` is the kind of code: `UDI-DI`."""
    shown: dict[str, Any] = {
        "kind": kind,
        "code": code,
        "heading": heading,
        "reason": reason,
        "may_work_later": may_work_later,
    }
    return unindexed_page(request, "not_found.html", 404, **shown, **context)


def render(template: str, **context: Any) -> str:
    """The text of a page. Characters that HTML forbids become �."""
    return _FORBIDDEN.sub(REPLACEMENT, _environment().get_template(template).render(**context))


def compile_templates() -> None:
    """Compile the templates of all pages, so that no request has to. Takes half a second of the processor."""
    environment = _environment()
    for name in environment.list_templates():
        environment.get_template(name)


def _shared_context(request: Request) -> dict[str, Any]:
    """The context of the frame of every page."""
    settings = service_of(request).settings
    return {
        "source_note": settings.source_note,
        "has_session": has_session(request),
        "may_sign_up": settings.signup == "open",
    }


def _kept(request: Request) -> str:
    return REVALIDATED_BY_ONE if has_session(request) else REVALIDATED


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("registerwatch.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals.update(
        asset=asset_address,
        device_address=addresses.device_address,
        actor_address=addresses.actor_address,
        certificate_address=addresses.certificate_address,
        search_address=addresses.search_address,
        compare_address=addresses.compare_address,
        statuses=[(status.value, label(status.code)) for status in StatusFilter],
        risks=[(risk.value, label(risk.code)) for risk in RiskFilter],
        since_or_from=since_or_from,
        label_of=label,
        market_tone=market_tone,
        actor_tone=actor_tone,
    )
    environment.filters.update(day=day, moment=moment_on_page, count=count, isolated=isolated)
    environment.filters.update(register_name=register_name)
    environment.filters.update(
        zone_words=zone_in_words, local=local, instants=instants, local_day=local_day, local_time=local_time
    )
    return environment


def day(iso: str | None) -> Markup | str:
    """`2030-09-16` as `<time>16 Sep 2030</time>`; any other text stays as it is."""
    try:
        value = date.fromisoformat(iso or "")
    except ValueError:
        return iso or ""
    return Markup('<time datetime="{}">{}</time>').format(value.isoformat(), day_in_words(value))


def register_name(source: str) -> str:
    """The name of a record's register on pages."""
    return "European Commission, EUDAMED" if source == EUDAMED else source


def since_or_from(iso: str, today: date) -> Markup | str:
    """`since 16 Sep 2025`; `from 16 Sep 2030` for a day in the future."""
    try:
        word = "from" if date.fromisoformat(iso) > today else "since"
    except ValueError:
        word = "since"
    return Markup("{} {}").format(word, day(iso))


def moment(iso: str | None) -> Markup | str:
    """`2026-11-21T03:38:00Z` as `<time>21 Nov 2026, 03:38 UTC</time>`; any other text stays as it is."""
    try:
        value = datetime.fromisoformat(iso or "")
    except ValueError:
        return iso or ""
    return Markup('<time datetime="{}">{}, {:%H:%M} UTC</time>').format(iso, day_in_words(value), value)


@pass_context
def moment_on_page(context: Context, iso: str | None) -> Markup | str:
    """`moment`, and on pages of an account the same instant as `local` writes it."""
    if not context.get("zone"):
        return moment(iso)
    try:
        return local(context, int(datetime.fromisoformat(iso or "").timestamp()))
    except (ValueError, OverflowError):
        return iso or ""


@pass_context
def local(context: Context, at: int | None) -> Markup | str:
    """Unix seconds as `<time title="21 Nov 2026, 03:38 UTC">21 Nov 2026, 04:38</time>`, in the page's `zone`."""
    if at is None:
        return ""
    shown = _in_zone(context, at)
    return _time(at, f"{day_in_words(shown)}, {shown:%H:%M}")


@pass_context
def local_time(context: Context, at: int) -> Markup:
    """Unix seconds as `<time title="21 Nov 2026, 03:38 UTC">04:38</time>`, for rows under a heading with the day."""
    return _time(at, f"{_in_zone(context, at):%H:%M}")


@pass_context
def local_day(context: Context, at: int | None) -> Markup | str:
    """Unix seconds as `<time>21 Nov 2026</time>`: the day in the page's `zone`."""
    if at is None:
        return ""
    return day(_in_zone(context, at).date().isoformat())


@pass_context
def instants(context: Context, text: str) -> Markup:
    """A sentence such as `standard until 2026-11-21T03:38:00Z` with its instants in the page's form."""
    return Markup("").join(
        moment_on_page(context, part) if number % 2 else part
        for number, part in enumerate(_INSTANT_IN_TEXT.split(text))
    )


def _in_zone(context: Context, at: int) -> datetime:
    return datetime.fromtimestamp(at, context.get("zone") or UTC)


def _time(at: int, words: str) -> Markup:
    return Markup('<time datetime="{}" title="{}">{}</time>').format(iso_utc(at), utc_in_words(at), words)


def count(number: int) -> str:
    """`1234567` as `1,234,567`."""
    return f"{number:,}"


def isolated(text: str) -> str:
    """A foreign text for contexts without markup, such as a page's title: its text direction ends with it."""
    return text if text.isascii() else f"{FIRST_STRONG_ISOLATE}{text}{POP_ISOLATE}"
