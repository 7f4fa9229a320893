"""Answers of REST and the tools about devices, actors and searches."""

from collections.abc import Awaitable, Callable
from datetime import date
from typing import Annotated, Literal
from urllib.parse import quote

import msgspec

from registerwatch.copy.certificates.certificate_queries import CertificatesWithNumber
from registerwatch.copy.search.queries import SearchPage
from registerwatch.errors import InvalidInput
from registerwatch.lookup.actors import ActorAnswer, ActorService
from registerwatch.lookup.certificate_summary import CertificateOfDevices, CertificateSummary, ReadOfList, summaries
from registerwatch.lookup.devices import NoDevice
from registerwatch.register.identifiers import MAX_LENGTH, subject
from registerwatch.register.models import SearchRow
from registerwatch.web.answers.answers import NOT_FOUND, Answer, AnyError, doc
from registerwatch.web.answers.code_answers import CodeOfDevice, codes_of_devices
from registerwatch.web.facets import FacetAnswer
from registerwatch.web.filters import filters_of, page_of


class SearchAnswer(Answer):
    """One page of a search in the stored copy."""

    results: Annotated[list[SearchRow], doc("8 rows by name or reference, 20 by SRN, the device itself by UDI-DI.")]
    total: Annotated[
        int, doc("Exact number of all results over all pages. It counts what is stored: see `complete`.", 42)
    ]
    match: Annotated[
        Literal["udi", "srn", "name", "reference"],
        doc("Which way of looking found the results; `name` when only filters were given."),
    ]
    refresh: Annotated[
        str | None,
        doc(
            "Set when `q` is one UDI-DI or one SRN: the address that reads this code from the register anew.",
            "/v1/refresh?q=04012345678901",
        ),
    ]
    error: Annotated[
        str | None, doc("Why the answer may be incomplete, null when it is not.", "The index is being built.")
    ]
    certificates: Annotated[
        list[CertificateSummary] | msgspec.UnsetType,
        doc("Only where `q` is the number of stored certificates: at most 10 of them, beside what `match` says."),
    ] = msgspec.UNSET
    named_by_devices: Annotated[
        list[CertificateOfDevices] | msgspec.UnsetType,
        doc(
            "Only where `q` is the number of certificates that records of devices name and the register’s list does not"
            " have: at most 10 of them."
        ),
    ] = msgspec.UNSET
    certificate_list: Annotated[
        ReadOfList | msgspec.UnsetType,
        doc(
            "Only where `q` was looked for among the numbers of certificates, since it has a digit and is no code of a"
            " device here: how the register’s list was read that `certificates` are of."
        ),
    ] = msgspec.UNSET
    code_of: Annotated[
        list[CodeOfDevice] | msgspec.UnsetType,
        doc("Only where `q` is no UDI-DI but another code of the results: what it is to each of these devices."),
    ] = msgspec.UNSET
    facets: Annotated[
        dict[str, FacetAnswer] | msgspec.UnsetType,
        doc("Only where `facets` was sent: by the names that it has, the values of all results over all pages."),
    ] = msgspec.UNSET
    complete: Annotated[
        bool | msgspec.UnsetType,
        doc(
            "Only for devices of one manufacturer (`q` is an SRN, or `manufacturer` is sent): whether every device is"
            " stored that the register lists of it. While it is false, `total` counts those that are known so far;"
            " `error` says why they could not be read, null where nobody has tried. `GET /v1/actors/{srn}` reads them."
        ),
    ] = msgspec.UNSET
    devices_registered: Annotated[
        int | msgspec.UnsetType | None,
        doc("Likewise: the register's own count of its registrations, null where it was never asked.", 638),
    ] = msgspec.UNSET
    devices_known: Annotated[
        int | msgspec.UnsetType | None,
        doc(
            "Likewise: how many of its devices are stored, whatever the filters; null where the index cannot be read.",
            638,
        ),
    ] = msgspec.UNSET

    @classmethod
    def of(cls, page: SearchPage, today: date, facets: dict[str, FacetAnswer] | None = None) -> "SearchAnswer":
        """A page of results on a day, with the address of the code that was searched for."""
        refresh = f"/v1/refresh?q={quote(page.code, safe='')}" if page.code else None
        code_of = codes_of_devices(page.coded) or msgspec.UNSET
        state = page.maker_list
        answer = cls(
            page.results,
            page.total,
            page.match,
            refresh,
            page.error,
            code_of=code_of,
            facets=facets or msgspec.UNSET,
            complete=msgspec.UNSET if state is None else state.is_whole,
            devices_registered=msgspec.UNSET if state is None else state.registered,
            devices_known=msgspec.UNSET if state is None else state.known,
        )
        if page.numbered is not None:
            answer._set_certificates(page.numbered, today)
        return answer

    def _set_certificates(self, numbered: CertificatesWithNumber, today: date) -> None:
        of_devices = [CertificateOfDevices.of(each, today) for each in numbered.of_devices]
        self.certificates = summaries(numbered.listed, today) or msgspec.UNSET
        self.named_by_devices = of_devices or msgspec.UNSET
        self.certificate_list = ReadOfList.of(numbered.walk)


_NotThere = Annotated[Literal[False], doc("Always false with status 404.")]
_AskedFor = Annotated[str, doc("What was asked for.", "04012345678901")]
_WhyNone = Annotated[
    str,
    doc(
        "Whether the register has no such device or could not be read.", "The register has no device with this UDI-DI."
    ),
]


class MissingDevice(Answer):
    """There is no such device to show."""

    found: _NotThere
    udi: _AskedFor
    error: _WhyNone

    @classmethod
    def of(cls, answer: NoDevice) -> "MissingDevice":
        """A device that cannot be shown, and why."""
        return cls(found=False, udi=answer.udi, error=answer.reason)


class DeviceNotFound(AnyError):
    """The same as an error of REST."""

    found: _NotThere
    udi: _AskedFor
    error: _WhyNone

    @classmethod
    def of(cls, answer: NoDevice) -> "DeviceNotFound":
        """A device that cannot be shown, and why."""
        return cls(found=False, udi=answer.udi, error=answer.reason, code=NOT_FOUND)


class ActorNotFound(AnyError):
    """There is no such actor to show."""

    srn: Annotated[str, doc("What was asked for.", "DE-MF-000006413")]
    error: Annotated[
        str,
        doc("Whether the register has no such actor or could not be read.", "The register has no actor with this SRN."),
    ]


async def actor_answer(
    actors: ActorService,
    srn: str,
    count: Callable[[], Awaitable[None]],
    *,
    client: Callable[[], str],
    status: str = "",
    risk: str = "",
    page: str = "",
    wait_seconds: float = 0,
) -> ActorAnswer:
    """An actor; invalid parameters are reported in `error`. `count` is awaited before the register is read.

    `client` gives the network that it is read for.
    """
    try:
        code, filters, number = subject(srn), filters_of(status, risk), page_of(page)
    except InvalidInput as error:
        return ActorAnswer(srn[:MAX_LENGTH], error=str(error))
    return await actors.read(code, filters, page=number, before_read=count, client=client, wait_seconds=wait_seconds)
