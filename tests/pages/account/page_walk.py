"""Every page of an account that can be reached from another one: links are followed, forms are sent.

So a new page is looked at without being named anywhere. What no page leads to is in `UNLINKED`.
"""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from re import Pattern
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx2
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.routing import compile_path

from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import Element, Markup

SAFE = {"GET", "HEAD", "OPTIONS"}
PAGES_OF_A_ROUTE = 8
"""So many addresses of one route are opened; of two with the same names of parameters only so many, too."""
PAGES_OF_A_QUERY = 2
NO_TEXT = {"hidden", "checkbox", "radio", "submit", "button", "file", "image", "reset"}


@dataclass(frozen=True, slots=True)
class PageRoute:
    """A method and a path of the pages, and what matches it."""

    method: str
    path: str
    pattern: Pattern[str]
    module: str

    @property
    def label(self) -> str:
        """Such as `GET /app/watches/{watch_id}`."""
        return f"{self.method} {self.path}"

    @property
    def is_of_account(self) -> bool:
        """Whether it belongs to the pages that need a session or open one."""
        return self.module.startswith("registerwatch.pages.account")


def page_routes(app: FastAPI) -> list[PageRoute]:
    """Every route of the pages."""
    return [
        PageRoute(method, str(context.path_format), compile_path(str(context.path))[0], context.endpoint.__module__)
        for context in iter_route_contexts(app.routes)
        if context.endpoint is not None and context.endpoint.__module__.startswith("registerwatch.pages")
        for method in sorted(context.methods or ())
    ]


@dataclass(frozen=True, slots=True)
class PageForm:
    """A form that posts, with the fields as a browser would send them untouched."""

    action: str
    fields: tuple[tuple[str, str], ...]
    texts: frozenset[str] = frozenset()
    """The names of those that somebody types into."""
    has_file: bool = False

    def filled(self, text: str) -> dict[str, list[str]]:
        """What is sent where somebody types this into every field."""
        sent: dict[str, list[str]] = {}
        for name, value in self.fields:
            sent.setdefault(name, []).append(text if name in self.texts else value)
        return sent


@dataclass(frozen=True, slots=True)
class State:
    """What a page answered to one request."""

    method: str
    address: str
    response: httpx2.Response

    @property
    def name(self) -> str:
        """Such as `GET /app?x=1`."""
        return f"{self.method} {self.address}"

    @property
    def is_html(self) -> bool:
        """Whether it is a page, not a download and no redirection."""
        return self.response.headers.get("content-type", "").startswith("text/html")

    @property
    def markup(self) -> "MarkupWithForms":
        """The page as it was read."""
        return MarkupWithForms(self.response.text)


class MarkupWithForms(Markup):
    """A page of which it is known which field belongs to which form."""

    def __init__(self, html: str) -> None:
        self._fields: list[tuple[int, Element]] = []
        super().__init__(html)

    @cached_property
    def forms(self) -> list[PageForm]:
        """The forms that post, one more for each button with an action of its own."""
        found: list[PageForm] = []
        for form in self.all("form"):
            if (form.attributes.get("method") or "get").lower() != "post":
                continue
            inside = [each for owner, each in self._fields if owner == id(form)]
            inside += [
                each for each in self.elements if each.attributes.get("form", "") == form.attributes.get("id", 0)
            ]
            found += _forms(form, inside)
        return found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by the parser."""
        owner = next((each for each in reversed(self._open) if each.tag == "form"), None)
        super().handle_starttag(tag, attrs)
        if owner is not None and tag in ("input", "select", "textarea", "button", "option"):
            self._fields.append((id(owner), self.elements[-1]))


def _forms(form: Element, inside: Sequence[Element]) -> Iterator[PageForm]:
    fields, texts = _values(inside)
    has_file = any(each.attributes.get("type") == "file" for each in inside)
    buttons = [each for each in inside if each.tag == "button" and each.attributes.get("type", "submit") == "submit"]
    for button in buttons or [form]:
        named = ((button["name"], button.attributes.get("value") or ""),) if button.attributes.get("name") else ()
        action = button.attributes.get("formaction") or form.attributes.get("action") or ""
        yield PageForm(action, (*fields, *(named if button is not form else ())), texts, has_file)


def _values(inside: Sequence[Element]) -> tuple[tuple[tuple[str, str], ...], frozenset[str]]:
    """The fields with their values, and the names of those for text. Every checkbox is checked."""
    fields: list[tuple[str, str]] = []
    texts: set[str] = set()
    select = ""
    for each in inside:
        name, kind = each.attributes.get("name") or "", each.attributes.get("type") or "text"
        if each.tag == "select":
            select = name
        elif each.tag == "option" and select:
            fields.append((select, each.attributes.get("value") or ""))
            select = ""
        elif name and each.tag == "textarea":
            fields.append((name, each.text))
            texts.add(name)
        elif name and each.tag == "input" and kind not in ("submit", "file"):
            fields.append((name, each.attributes.get("value") or ""))
            texts |= set() if kind in NO_TEXT else {name}
    return tuple(fields), frozenset(texts)


@dataclass
class PageWalk:
    """What a visitor finds who follows every link, and the forms that they find on the way."""

    pages: PagesClient
    states: dict[str, State] = field(default_factory=dict)
    forms: dict[str, PageForm] = field(default_factory=dict)
    """By label of their route."""
    _seen: Counter[object] = field(default_factory=Counter)

    @cached_property
    def routes(self) -> list[PageRoute]:
        """Every route of the pages."""
        return page_routes(self.pages.harness.app)

    def route_of(self, method: str, address: str) -> PageRoute | None:
        """The route that answers a request."""
        path = urlsplit(address).path
        return next((each for each in self.routes if each.method == method and each.pattern.match(path)), None)

    async def follow_links(self, *starts: str) -> None:
        """Open these pages of the account, and what they link to."""
        queue = deque(starts)
        while queue:
            address = queue.popleft()
            if not self._is_new(address):
                continue
            state = State("GET", address, await self.pages.get(address))
            self.states[state.name] = state
            location = state.response.headers.get("location")
            queue += [urljoin(address, location)] if location else self._read(state)

    def _is_new(self, address: str) -> bool:
        route = self.route_of("GET", address)
        if route is None or not route.is_of_account or f"GET {address}" in self.states:
            return False
        query = frozenset(name for name, _ in parse_qsl(urlsplit(address).query, keep_blank_values=True))
        self._seen[route.path] += 1
        self._seen[route.path, query, urlsplit(address).path] += 1
        return (
            self._seen[route.path] <= PAGES_OF_A_ROUTE * (len(query) + 2)
            and self._seen[route.path, query, urlsplit(address).path] <= PAGES_OF_A_QUERY
        )

    def _read(self, state: State) -> list[str]:
        """The addresses that a page links to; its forms are kept."""
        if not state.is_html:
            return []
        page = state.markup
        for form in page.forms:
            action = urljoin(state.address, form.action)
            route = self.route_of("POST", action)
            assert route is not None, f"{state.name} has a form that posts to {action}, which takes none"
            found = PageForm(action, form.fields, form.texts, form.has_file)
            known = self.forms.get(route.label)
            if known is None or (len(found.fields), len(found.texts)) > (len(known.fields), len(known.texts)):
                self.forms[route.label] = found
        links = [urljoin(state.address, each["href"]) for each in page.all("a") if each.attributes.get("href")]
        return [each.partition("#")[0] for each in links if each.startswith("/")]
