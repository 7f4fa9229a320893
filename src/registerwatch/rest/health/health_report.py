"""The answer of `/health`, which is rendered again only if one of its facts has changed."""

from typing import Annotated, Literal

import msgspec
from starlette.responses import Response

from registerwatch import __version__
from registerwatch.bootstrap import Service
from registerwatch.copy.records import CopyState
from registerwatch.errors import DatabaseUnavailable, Overloaded
from registerwatch.ingest.checks.register_status import RegisterStatus
from registerwatch.platform.db.engine import SLOW
from registerwatch.platform.health import all_of
from registerwatch.rest.answers.status_answers import (
    HealthPace,
    HealthRegisterChecks,
    HealthSweeps,
    health_checks,
    health_paces,
    health_sweeps,
)
from registerwatch.rest.health.index_health import HealthIndex, index_health
from registerwatch.sources.source import CertificateSearch
from registerwatch.web.answers.answers import Answer, doc, instant, iso_or_none
from registerwatch.web.limits.forwarded_headers import ForwardedHeaders
from registerwatch.web.responses import NOT_CACHED, json_response

Status = Literal["ok", "failing"]


class HealthDatabase(Answer):
    """The database behind the service."""

    kind: Annotated[Literal["sqlite", "postgresql"], doc("Which database it is.")]


class HealthCopy(Answer):
    """The stored copy."""

    devices: Annotated[int, doc("Stored registrations.", 3200000)]
    revision: Annotated[int, doc("Number of the last stored change or read.", 3200417)]
    filled_at: Annotated[str | None, instant("End of the last fill, UTC, null when there was none.")]
    age_seconds: Annotated[int | None, doc("Seconds since the copy was last brought up to date, null when never.", 840)]


class HealthRegister(Answer):
    """Reading the register."""

    last_read_at: Annotated[
        str | None, instant("Last successful read, UTC, null when there was none or it is not known.")
    ]
    reads: Annotated[
        dict[str, int], doc("Reads of this process by result: found, not_found, unreadable.", {"found": 12})
    ]
    certificate_search: Annotated[
        CertificateSearch,
        doc(
            "`read` when certificates that only the certificate search lists are read; `ignored` while the register"
            " ignores the filter by Basic UDI-DI, so that they are not (it is probed every five minutes); `unknown`"
            " before this process first asked.",
            "read",
        ),
    ]
    paces: Annotated[
        dict[str, HealthPace] | None,
        doc(
            "How fast requests are sent to each host of the register, by its name: `register`, `data_lake`. The pace"
            " falls where the host throttles, and rises while it answers. Null while the database cannot be read.",
            {"register": {"requests_per_minute": 30, "most": 60, "paused_until": None}},
        ),
    ]


class HealthPart(Answer):
    """Whether one part of the service works."""

    status: Annotated[Status, doc("`failing` when it does not work.", "ok")]
    error: Annotated[str | None, doc("What is wrong, null when it works.", "The data folder cannot be written.")]


class HealthProxy(Answer):
    """Reverse proxies in front of the service."""

    is_trusted: Annotated[bool, doc("Whether the settings name one, whose clients are counted one by one.", True)]
    warning: Annotated[
        str | None, doc("What the operator should look at, null for nothing.", "A request came with a header of …")
    ]


class Health(Answer):
    """Whether the service works, and with what."""

    status: Annotated[Status, doc("`ok` with status 200, `failing` with status 503.", "ok")]
    error: Annotated[str | None, doc("What is wrong, null when all works.", "The data folder cannot be written.")]
    version: Annotated[str, doc("Version of the program.", "1.0.0")]
    parts: Annotated[
        dict[str, HealthPart],
        doc("Each part that is looked at, by its name.", {"database": {"status": "ok", "error": None}}),
    ]
    database: Annotated[HealthDatabase, doc("The database behind the service.")]
    stored_copy: Annotated[HealthCopy | None, doc("The stored copy, null while it cannot be read.")] = msgspec.field(
        name="copy"
    )
    index: Annotated[HealthIndex | None, doc("The search index of this node, null while the copy cannot be read.")]
    register: Annotated[HealthRegister, doc("Reading the register.")]
    sweeps: Annotated[HealthSweeps | None, doc("How far the sweeps are, null while the database cannot be read.")]
    checks: Annotated[
        HealthRegisterChecks | None,
        doc(
            "What was verified of how the register answers, daily and at each new build; null while the database cannot"
            " be read. A change leaves `status` as it is: what is stored is served, and nothing is stored from a list"
            " that relies on what changed."
        ),
    ]
    proxy: Annotated[HealthProxy, doc("Reverse proxies in front of the service, as this process knows them.")]
    addresses: Annotated[
        Literal["confirmed-by-mail", "not-proven"],
        doc("`not-proven` where the service sends no mail: nobody has shown that an e-mail address is theirs."),
    ]


class _Stored(msgspec.Struct, frozen=True):
    """The facts in the database; `register` may be some seconds old."""

    copy: CopyState
    index: HealthIndex
    register: RegisterStatus


class _Facts(msgspec.Struct, frozen=True):
    """All facts of the answer; `stored` is None while the database cannot be read."""

    at: int
    problems: dict[str, str | None]
    stored: _Stored | None
    reads: dict[str, int]
    certificate_search: CertificateSearch
    proxy_warning: str | None
    can_mail: bool


class HealthReport:
    """Answers `/health`. Facts are looked up for each request, and rendered again if one has changed.

    Any client may ask without a limit, and rendering costs as much as looking up all facts.
    """

    def __init__(self, service: Service, forwarded: ForwardedHeaders) -> None:
        self._service = service
        self._forwarded = forwarded
        self._rendered: tuple[_Facts, Response] | None = None

    async def answer(self) -> Response:
        """Status 200 if all parts work, else 503."""
        facts = await self._facts()
        if self._rendered is None or self._rendered[0] != facts:
            content = self._content(facts)
            status = 200 if content.status == "ok" else 503
            self._rendered = facts, json_response(content, status, {"Cache-Control": NOT_CACHED})
        return self._rendered[1]

    async def _facts(self) -> _Facts:
        service = self._service
        problems = {**await service.health.problems(), "index": service.indexer.fault()}
        try:
            stored = await self._stored()
        except DatabaseUnavailable as failure:
            stored = None
            problems["database"] = problems.get("database") or failure.summary
        except Overloaded:
            stored = None
            problems["database"] = problems.get("database") or SLOW
        return _Facts(
            at=int(service.clock.now()),
            problems=problems,
            stored=stored,
            reads=dict(service.refresher.results),
            certificate_search=service.eudamed.certificate_search,
            proxy_warning=self._forwarded.warning,
            can_mail=service.accounts.confirmations.can_mail,
        )

    async def _stored(self) -> _Stored:
        """Read stored facts. Raises `DatabaseUnavailable`."""
        service = self._service
        copy = await service.records.state()
        return _Stored(copy, index_health(service, copy), await service.register_status.status())

    def _content(self, facts: _Facts) -> Health:
        service, stored = self._service, facts.stored
        error = all_of(facts.problems)
        return Health(
            status=_status(error),
            error=error,
            version=__version__,
            parts={name: HealthPart(_status(problem), problem) for name, problem in facts.problems.items()},
            database=HealthDatabase(service.database.kind),
            stored_copy=_health_copy(stored.copy, facts.at) if stored else None,
            index=stored.index if stored else None,
            register=HealthRegister(
                iso_or_none(stored.copy.last_read_at) if stored else None,
                facts.reads,
                facts.certificate_search,
                health_paces(stored.register) if stored else None,
            ),
            sweeps=health_sweeps(stored.register) if stored else None,
            checks=health_checks(stored.register) if stored else None,
            proxy=HealthProxy(self._forwarded.are_trusted, facts.proxy_warning),
            addresses="confirmed-by-mail" if facts.can_mail else "not-proven",
        )


def _health_copy(copy: CopyState, now: int) -> HealthCopy:
    return HealthCopy(
        devices=copy.devices,
        revision=copy.revision,
        filled_at=iso_or_none(copy.filled_at),
        age_seconds=None if copy.updated_at is None else max(0, now - copy.updated_at),
    )


def _status(problem: str | None) -> Status:
    return "ok" if problem is None else "failing"
