"""The page of an actor and its devices."""

from collections.abc import Mapping

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from registerwatch.bootstrap import Service
from registerwatch.copy.search.filters import Filters
from registerwatch.ingest.refresh import limits_for
from registerwatch.lookup.actors import DEVICE_ROWS, NOT_REGISTERED, ActorAnswer
from registerwatch.lookup.history_service import HistoryPage
from registerwatch.pages.addresses import actor_address
from registerwatch.pages.page_position import PagePosition
from registerwatch.pages.public.certificates.listed_certificates import CertificateSection, section_of_actor
from registerwatch.pages.public.comparison.history_view import HistoryView
from registerwatch.pages.public.other_names import other_names
from registerwatch.pages.public.own_watches import own_watches
from registerwatch.pages.public.parameters import PageQuery, query_of
from registerwatch.pages.public.structured_data import organization, script_text
from registerwatch.pages.public.summaries import actor_summary, origin_of
from registerwatch.pages.rendering import count as counted
from registerwatch.pages.rendering import not_found, page
from registerwatch.platform.clock import day_of
from registerwatch.register.identifiers import is_actor_of_devices, kind, subject
from registerwatch.register.models import ActorReference
from registerwatch.web.countries import country_name
from registerwatch.web.injection import InjectedService, address_of, limits_of
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.register_reads import actor_for

ROLES = {
    "MF": "Manufacturer",
    "AR": "Authorised representative",
    "IM": "Importer",
    "PR": "Producer of systems and procedure packs",
}

EUDAMED_ACTORS = "https://ec.europa.eu/tools/eudamed/#/screen/search-eo"
"""The register's search of actors. An actor's page there has its uuid in the address, which the copy does not have."""


class ActorView(msgspec.Struct, frozen=True):
    """The data of an actor's page, with one page of its devices."""

    actor: ActorAnswer
    parameters: PageQuery
    certificates: CertificateSection | None = None
    """The certificates; None for an actor without listed devices."""
    other_names: Mapping[str, str] = {}
    """Names of its devices without a trade name, by UDI-DI."""

    @property
    def name(self) -> str:
        """Its name, or its SRN."""
        return self.actor.name or self.actor.srn

    @property
    def role(self) -> str:
        """Its role, from its SRN; empty if that is not known."""
        return ROLES.get(self.actor.srn[3:5], "")

    @property
    def is_manufacturer(self) -> bool:
        """Whether it is a manufacturer."""
        return self.actor.srn[3:5] == "MF"

    @property
    def country(self) -> str:
        """The name of its country, empty if it was not read."""
        return country_name(self.actor.country)

    @property
    def is_listed(self) -> bool:
        """Whether the register had it when it was last asked."""
        return self.actor.listed is not False

    @property
    def lists_devices(self) -> bool:
        """Whether devices are registered under this actor."""
        return is_actor_of_devices(self.actor.srn)

    @property
    def is_filtered(self) -> bool:
        """Whether filters restrict its devices."""
        return self.parameters.filters != Filters()

    @property
    def is_whole(self) -> bool:
        """Whether all of its devices in the register are known."""
        return "devices" not in self.actor.missing

    @property
    def known_so_far(self) -> str:
        """How much of its list of devices is known, in a sentence; empty if all is known."""
        known, registered = self.actor.devices_known, self.actor.devices_registered
        if self.is_whole or known is None:
            return ""
        devices = f"{counted(known)} device{'' if known == 1 else 's'}"
        if registered is None:
            return f"{devices} known so far; the register was not asked yet how many there are."
        return f"{devices} of {counted(registered)} registrations known so far."

    @property
    def listed(self) -> int:
        """The number of devices to list now: those in the copy that match the filters."""
        return self.actor.device_total if self.is_filtered else self.actor.devices_known or 0

    @property
    def span(self) -> str:
        """The range of devices on the page, and their total."""
        first = self.paging.first_row
        shown = f"Devices {counted(first)} to {counted(first + len(self.actor.devices) - 1)} of {counted(self.listed)}"
        known = f"{shown} in the copy" if self.is_whole and not self.is_filtered else shown
        return f"{known}{'' if self.is_whole else ' known so far'}{' with these filters' if self.is_filtered else ''}"

    @property
    def paging(self) -> PagePosition:
        """The position of the page of devices. Pages of unread devices count too: they are read on request."""
        unread = 0 if self.is_whole or self.is_filtered else self.actor.devices_registered or 0
        return PagePosition(self.parameters.page, DEVICE_ROWS, max(self.listed, unread))

    def address_of(self, number: int) -> str:
        """The address of another page of its devices."""
        return actor_address(self.actor.srn, self.parameters.filters, number)


router = APIRouter()


@router.get("/a/{srn:path}")
async def actor(request: Request, srn: str, service: InjectedService) -> Response:
    """The actor; read from the register within the request if the copy does not have it."""
    await limits_of(request).check(request, Limit.PAGES)
    code, query = subject(srn), query_of(request.query_params)
    answer = await actor_for(request, service, code, query.filters, query.page)
    if answer.read_at is None:
        return no_actor(request, answer)
    today = day_of(service.clock.now())
    certificates = await section_of_actor(service, code, today) if is_actor_of_devices(code) else None
    watched = await own_watches(request, service, [code, *(each.udi for each in answer.devices)])
    history = await service.history.actor(code, only_changes=True, is_watched=code in watched)
    view = ActorView(answer, query, certificates, await other_names(service, answer.devices))
    return _actor_page(request, service, view, history, watched)


@router.post("/a/{srn:path}")
async def read_again(request: Request, srn: str, service: InjectedService) -> Response:
    """Read the actor from the register now, then show it."""
    code = subject(srn)
    await limits_of(request).check(request, Limit.REGISTER_READ)
    await service.refresher.refresh(code, limits=limits_for(lambda: address_of(request)))
    return RedirectResponse(actor_address(code), 303)


def _actor_page(
    request: Request, service: Service, view: ActorView, history: HistoryPage, watched: Mapping[str, int]
) -> Response:
    actor, summary = view.actor, actor_summary(view, origin_of(service.settings))
    described = organization(ActorReference(actor.srn, actor.name), actor.country, summary)
    return page(
        request,
        "actor.html",
        settled=actor.error is None and actor.complete,
        view=view,
        own_watches=watched,
        actor=actor,
        parameters=view.parameters,
        history=HistoryView(history, f"{actor_address(actor.srn)}/history"),
        today=day_of(service.clock.now()),
        summary=summary,
        structured=script_text(described) if actor.name else None,
        eudamed_search=EUDAMED_ACTORS if service.settings.reads_real_register else None,
    )


def no_actor(request: Request, answer: ActorAnswer) -> Response:
    """The page without an actor, which says why."""
    unreadable = kind(answer.srn) == "srn" and answer.error != NOT_REGISTERED
    heading = "This actor cannot be read" if unreadable else "No such actor"
    return not_found(request, "SRN", answer.srn, heading, answer.error, may_work_later=unreadable)
