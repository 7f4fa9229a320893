"""The public status page: the age of the copy and the sweeps, and the checks of the register."""

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from registerwatch.ingest.checks.check_rules import RegisterCheck
from registerwatch.ingest.checks.register_status import CheckState, RegisterStatus, state_of
from registerwatch.pages.public.summaries import PageSummary, origin_of
from registerwatch.pages.rendering import page
from registerwatch.platform.clock import iso_utc
from registerwatch.sources.budget_row import Host
from registerwatch.sources.checks.assumptions import ASSUMPTIONS
from registerwatch.sources.checks.names import CheckName
from registerwatch.web.injection import limits_of, service_of
from registerwatch.web.limits.rate_limits import Limit

PATH = "/status"
WALK_TITLES = {
    "certificates": "Certificates",
    "refusals": "Refused applications",
    "notified bodies": "Notified bodies",
}
HOST_TITLES = {Host.REGISTER: "EUDAMED", Host.DATA_LAKE: "Data Lake"}
WORDS = {
    CheckState.FINE: ("Fine", "good"),
    CheckState.CHANGED: ("Changed", "bad"),
    CheckState.UNANSWERED: ("Could not look", "warn"),
    CheckState.NOT_LOOKED: ("Not looked yet", "none"),
}

router = APIRouter()


class ShownCheck(msgspec.Struct, frozen=True):
    """A check on the page. Instants are ISO 8601, None for never."""

    title: str
    words: str
    tone: str
    found: str
    checked_at: str | None
    unanswered_since: str | None
    reason: str
    was_fine: bool


class ShownWalk(msgspec.Struct, frozen=True):
    """A list of the register on the page: how completely it was last read."""

    title: str
    age: str
    complete_at: str | None
    listed: int
    total: int | None
    problem: str


class ShownUnreadField(msgspec.Struct, frozen=True):
    """A field that could not be read, on the page."""

    record: str
    field: str
    records: int
    example: str
    last_at: str


class ShownPace(msgspec.Struct, frozen=True):
    """The pace of requests to a host on the page: in a minute now, and at most."""

    title: str
    per_minute: int
    most: int
    paused_until: str | None


class StatusView(msgspec.Struct, frozen=True):
    """The data of the page."""

    status: RegisterStatus
    updated: str
    filled_at: str | None
    updated_at: str | None
    oldest: str
    oldest_at: str | None
    walks: list[ShownWalk]
    checks: list[ShownCheck]
    unread_fields: list[ShownUnreadField]
    paces: list[ShownPace]
    build_changed_at: str | None
    """When another build of the register was seen, None if never."""


@router.get(PATH)
async def status_page(request: Request) -> Response:
    """The status page. Counts the request."""
    await limits_of(request).check(request, Limit.PAGES)
    service = service_of(request)
    view = view_of(await service.register_status.status())
    origin = origin_of(service.settings)
    about = "How old the stored copy is, how far changes are followed, and what was last verified of the register."
    summary = PageSummary("Status", about, origin.public_url + PATH, origin)
    return page(request, "status.html", settled=False, summary=summary, view=view)


def view_of(status: RegisterStatus) -> StatusView:
    """The data of the page for a status."""
    oldest_at = status.sweeps.devices.oldest_at
    changed_at = status.checks[CheckName.BUILD].changed_at
    return StatusView(
        status=status,
        updated=_ago(status.copy.updated_at, status.at),
        filled_at=_iso(status.copy.filled_at),
        updated_at=_iso(status.copy.updated_at),
        oldest=_ago(oldest_at, status.at),
        oldest_at=_iso(oldest_at),
        walks=[
            ShownWalk(
                WALK_TITLES.get(name, name.capitalize()),
                _ago(walk.complete_at, status.at),
                _iso(walk.complete_at),
                walk.listed,
                walk.total,
                walk.problem,
            )
            for name, walk in status.sweeps.walks.items()
        ],
        checks=[_shown(check) for check in status.checks.values()],
        unread_fields=[
            ShownUnreadField(each.record, each.field, each.records, each.example, iso_utc(each.last_at))
            for each in status.unread_fields
        ],
        paces=[
            ShownPace(HOST_TITLES[host], pace.per_minute, pace.most, _iso(pace.paused_until))
            for host, pace in status.paces.items()
        ],
        build_changed_at=_iso(changed_at),
    )


def _shown(check: RegisterCheck) -> ShownCheck:
    words, tone = WORDS[state_of(check)]
    return ShownCheck(
        ASSUMPTIONS[check.name].title,
        words,
        tone,
        check.found,
        _iso(check.checked_at),
        _iso(check.unanswered_since),
        check.reason,
        was_fine=check.is_ok is True,
    )


def _iso(at: int | None) -> str | None:
    return None if at is None else iso_utc(at)


def _ago(at: int | None, now: int) -> str:
    """`12 minutes ago`, empty for never."""
    if at is None:
        return ""
    seconds = max(0, now - at)
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * length or (unit == "minute" and seconds >= length):
            count = seconds // length
            return f"{count:,} {unit}{'' if count == 1 else 's'} ago"
    return "less than a minute ago"
