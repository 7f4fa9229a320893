"""The page of the audit trail, for owners: filters, pages, download."""

from collections.abc import AsyncIterator
from datetime import date
from zoneinfo import ZoneInfo

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.audit.audit import MAIL_SERVER, OPERATOR, PAYMENT_PROVIDER, UNKNOWN_PERSON, AuditEntry
from registerwatch.accounts.audit.audit_pages import ActionGroup, actions_of
from registerwatch.accounts.audit.audit_trail import TrailFilter
from registerwatch.accounts.validation import one_line
from registerwatch.errors import InvalidInput
from registerwatch.files.tables.csv_file import Row
from registerwatch.pages.account.days import day_of, end_of, start_of
from registerwatch.pages.account.downloads import COUNTED_DOWNLOAD
from registerwatch.pages.account.rendering import app_page
from registerwatch.pages.account.router import account_pages
from registerwatch.pages.account.visitor import OwnerSignedIn, Visitor
from registerwatch.pages.addresses import with_query
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.db.row_pages import row_id_of
from registerwatch.web.files.spreadsheet import csv_response
from registerwatch.web.injection import InjectedService, service_of

PATH = "/app/audit"
GROUPS = (
    (ActionGroup.ACCESS, "Sign-ins and passwords"),
    (ActionGroup.PEOPLE, "People"),
    (ActionGroup.KEYS, "API keys"),
    (ActionGroup.WEBHOOKS, "Webhooks and feeds"),
    (ActionGroup.BILLING, "Plan and billing"),
)
COLUMNS = ("Time (UTC)", "Who", "What", "To whom or what", "How often", "Last time (UTC)")
MAX_ACTOR_LENGTH = 300
BAD_GROUP = "`about` is one of: " + ", ".join(ActionGroup) + "."
BAD_LINE = "`before` and `after` are numbers of lines, and only one of them is given."

router = account_pages()


class AuditQuery(msgspec.Struct, frozen=True):
    """The filters in an address. Days are in the user's zone; both are included."""

    about: ActionGroup | None = None
    actor: str = ""
    first_day: date | None = None
    last_day: date | None = None
    before: int | None = None
    after: int | None = None

    @classmethod
    def of(cls, request: Request) -> "AuditQuery":
        """The query of a request. Raises `InvalidInput`."""
        asked = {name: request.query_params.get(name, "").strip() for name in ("about", "by", "from", "to")}
        if asked["about"] and asked["about"] not in list(ActionGroup):
            raise InvalidInput(BAD_GROUP)
        before, after = (_line(request.query_params.get(name, "")) for name in ("before", "after"))
        if before is not None and after is not None:
            raise InvalidInput(BAD_LINE)
        return cls(
            ActionGroup(asked["about"]) if asked["about"] else None,
            one_line(asked["by"])[:MAX_ACTOR_LENGTH],
            day_of(asked["from"]),
            day_of(asked["to"]),
            before,
            after,
        )

    def filter(self, zone: ZoneInfo) -> TrailFilter:
        """The filter for the trail."""
        return TrailFilter(
            actions=None if self.about is None else actions_of(self.about),
            actor=self.actor,
            since=start_of(self.first_day, zone),
            until=end_of(self.last_day, zone),
        )

    def address(self, *, path: str = PATH, **changed: str) -> str:
        """The address of the first page with these filters and changes."""
        parameters = {
            "about": self.about.value if self.about else "",
            "by": self.actor,
            "from": self.first_day.isoformat() if self.first_day else "",
            "to": self.last_day.isoformat() if self.last_day else "",
            **changed,
        }
        return with_query(path, parameters.items())

    @property
    def is_filtered(self) -> bool:
        """Whether any filter is set."""
        return self.address() != PATH


@router.get(PATH)
async def trail(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """A page of the trail, newest first."""
    query = AuditQuery.of(request)
    found = await service.accounts.trail.page(
        visitor.caller.account.id, query.filter(visitor.zone), before=query.before, after=query.after
    )
    entries = found.entries
    return app_page(
        request,
        visitor,
        "account/audit.html",
        section="audit",
        query=query,
        entries=[(each, query.address(by=each.actor)) for each in entries],
        chips=[(query.address(about=""), "All", None, query.about is None)]
        + [(query.address(about=group.value), words, None, query.about is group) for group, words in GROUPS],
        newer=query.address(after=str(entries[0].id)) if entries and found.has_newer else "",
        older=query.address(before=str(entries[-1].id)) if entries and found.has_older else "",
        actors=await _actors(request, visitor, query.actor),
        csv=query.address(path=f"{PATH}.csv"),
        words=action_words,
    )


@router.get(f"{PATH}.csv", dependencies=[COUNTED_DOWNLOAD])
async def trail_file(request: Request, service: InjectedService, visitor: OwnerSignedIn) -> Response:
    """Every matching line, as CSV."""
    found = service.accounts.trail.all(visitor.caller.account.id, AuditQuery.of(request).filter(visitor.zone))

    async def rows() -> AsyncIterator[Row]:
        async for entries in found:
            for entry in entries:
                yield _row(entry)

    return await csv_response("audit-trail.csv", COLUMNS, rows())


def action_words(action: str) -> str:
    """An action in words, capitalised."""
    return action[:1].upper() + action[1:]


async def _actors(request: Request, visitor: Visitor, chosen: str) -> list[str]:
    """The actors to choose from: present users and keys, other actors, and the one that is chosen."""
    profile = await service_of(request).accounts.members.profile(visitor.caller)
    known = [*(user.email for user in profile.users), *(key.prefix for key in profile.keys)]
    return list(
        dict.fromkeys([*([chosen] if chosen else []), *known, OPERATOR, PAYMENT_PROVIDER, MAIL_SERVER, UNKNOWN_PERSON])
    )


def _row(entry: AuditEntry) -> Row:
    last_at = None if entry.last_at is None else iso_utc(entry.last_at)
    return iso_utc(entry.created_at), entry.actor, entry.action, entry.subject, entry.repeated, last_at


def _line(text: str) -> int | None:
    line = row_id_of(text)
    if text and line is None:
        raise InvalidInput(BAD_LINE)
    return line
