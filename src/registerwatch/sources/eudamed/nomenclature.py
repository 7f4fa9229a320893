"""Reads the nomenclature (EMDN) from the register's own endpoint.

The form of its answer was never published, and for some it failed with status 500. So a bare list and the pages of
other lists are both accepted, with entries as in a device's detail: `{"code", "description": {"texts"}}`.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus

import msgspec

from registerwatch.register.nomenclature import Term
from registerwatch.register.outcomes import NoSuchRecord, RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.eudamed import wire
from registerwatch.sources.eudamed.guards import EMPTY_PAGE
from registerwatch.sources.fields import preferred_name, text
from registerwatch.sources.request_budget import SlotWait
from registerwatch.sources.requests import ApiRequest, RegisterHttpClient
from registerwatch.sources.wire import RecordReader, UnreadField

PATH = "/devices/nomenclatures/"
PAGE_SIZE = 300
DEFAULT_PAGE_SIZE = 20
"""Rows of a page where a request does not say how many."""
MAX_TERMS = 50_000
"""Far more terms than can exist."""
NO_PAGE = "The register has no list of the nomenclature at this address."
CUT_OFF = "The register's list of the nomenclature was cut off: {read:,} of {total:,} terms came."

_Names = dict[str, str] | None
"""A text in languages."""


class _Entry(wire.Record, frozen=True):
    code: wire.Code | None = None
    description: _Names = None
    term: _Names = None
    name: _Names = None


_entry = RecordReader(_Entry, "nomenclature term")


class _Reader:
    """Reads a bare list of entries, or one of its pages."""

    name = _entry.name
    _page, _list = wire.PageReader(_entry), wire.ListReader(_entry)

    def decode(self, content: bytes) -> wire.Page[_Entry]:
        """The answer. Raises `msgspec.DecodeError` where it is neither."""
        is_list = content.lstrip().startswith(b"[")
        page = self._list.decode(content) if is_list else self._page.decode(content)
        if is_list and page.sent in (0, DEFAULT_PAGE_SIZE, PAGE_SIZE):
            raise msgspec.ValidationError("a list that is empty or cut to a page")
        return page

    def unread_of(self, page: wire.Page[_Entry]) -> Sequence[UnreadField]:
        """The fields that could not be read."""
        return self._page.unread_of(page)


class EudamedNomenclature:
    """Reads the nomenclature at `base_url`, after all other requests to the register."""

    def __init__(self, requests: RegisterHttpClient, base_url: str) -> None:
        self._requests = requests
        self._url = base_url.rstrip("/") + PATH

    async def terms(self) -> list[Term]:
        """All terms, in English where they have an English name. Raises `RegisterFailure`."""
        terms: dict[tuple[str, str], None] = {}
        unread: dict[bytes, str] = {}
        total, number = 1, 0
        while len(terms) + len(unread) < total:
            page, before = await self._page(number, len(terms) + len(unread)), len(terms) + len(unread)
            terms |= dict.fromkeys(map(_term, page.content))
            unread |= {bytes(each.content): each.reason for each in page.unread}
            read, total, number = len(terms) + len(unread), page.total_elements, number + 1
            if page.sent == total:
                break  # all of it came at once; entries that are equal in code and name are one term
            if read == before or (page.last and read < total):
                raise RegisterFailure(CUT_OFF.format(read=read, total=total))
        return _checked(terms, unread)

    async def _page(self, number: int, read: int) -> wire.Page[_Entry]:
        def check(page: wire.Page[_Entry]) -> None:
            if page.total_elements > MAX_TERMS:
                raise RegisterFailure("The register's answer is implausible (far more terms than there can be).")
            if not page.sent and page.total_elements > read:
                raise RegisterFailure(EMPTY_PAGE, transient=True, throttled=True)

        params = {"page": str(number), "pageSize": str(PAGE_SIZE), "size": str(PAGE_SIZE), "iso2Code": "en"}
        request = ApiRequest(self._url, {**params, "languageIso2Code": "en"}, _Reader(), check)
        # A person waits at a terminal, and the endpoint may be broken for good: few tries, a long wait in the budget.
        deadline = self._requests.deadline(RequestPriority.REFRESH)
        until = self._requests.deadline(RequestPriority.BULK_LOAD)
        priority, wait = RequestPriority.BULK_LOAD, SlotWait(until, until)
        try:
            return await self._requests.get(request, priority=priority, deadline=deadline, slot_wait=wait)
        except NoSuchRecord as redirect:
            raise RegisterFailure(NO_PAGE) from redirect
        except RegisterFailure as failure:
            if failure.status == HTTPStatus.NOT_FOUND:
                raise RegisterFailure(NO_PAGE, status=failure.status) from failure
            raise


def _term(entry: _Entry) -> tuple[str, str]:
    """Code and name of an entry: the English name, else the one for all languages, else the first."""
    names: Mapping[str, str] = next(filter(None, (entry.description, entry.term, entry.name)), {})
    code = entry.code.code if entry.code else ""
    return text(code), text(names.get("en") or preferred_name(names))


def _checked(read: Mapping[tuple[str, str], None], unread: Mapping[bytes, str]) -> list[Term]:
    """The entries of a list. Raises `RegisterFailure` where most of them are of another form."""
    terms = [Term(f"Entry “{code or name}”", code, name) for code, name in read]
    terms += [Term(f"An entry that cannot be read ({reason})", "", "") for reason in unread.values()]
    if sum(bool(term.code and term.name) for term in terms) * 2 <= len(terms):
        raise RegisterFailure("The register's list of the nomenclature has an unexpected form (entries without terms).")
    return terms
