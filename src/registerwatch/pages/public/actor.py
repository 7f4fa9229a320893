"""The page of an actor: who it is, and its devices."""

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from registerwatch.bootstrap import Service
from registerwatch.clock import day_of
from registerwatch.pages.addresses import actor_address
from registerwatch.pages.page_position import PagePosition
from registerwatch.pages.public.history_view import HistoryView
from registerwatch.pages.public.listed_certificates import CertificateSection, section_of_actor
from registerwatch.pages.public.parameters import PageQuery, query_of
from registerwatch.pages.public.structured_data import organization, script_text
from registerwatch.pages.public.summaries import actor_summary, origin_of
from registerwatch.pages.rendering import page, unindexed_page
from registerwatch.register.actors import DEVICE_ROWS, NOT_REGISTERED, ActorAnswer
from registerwatch.register.history_service import HistoryPage
from registerwatch.register.identifiers import is_actor_of_devices, kind, subject
from registerwatch.register.ingest.refresh import limits_for
from registerwatch.register.models import ActorReference
from registerwatch.register.search.filters import Filters
from registerwatch.register.search.queries import SearchPage
from registerwatch.web.countries import country_name
from registerwatch.web.injection import InjectedService, address_of, limits_of
from registerwatch.web.rate_limits import Limit
from registerwatch.web.register_reads import actor_for

ROLES = {
    "MF": "Manufacturer",
    "AR": "Authorised representative",
    "IM": "Importer",
    "PR": "Producer of systems and procedure packs",
}

EUDAMED_ACTORS = "https://ec.europa.eu/tools/eudamed/#/screen/search-eo"
"""The register's own search of actors. The address of one actor's page there has its uuid, which the copy has not."""


class ActorView(msgspec.Struct, frozen=True):
    """An actor as it is shown, with one page of its devices."""

    actor: ActorAnswer
    devices: SearchPage
    parameters: PageQuery
    certificates: CertificateSection | None = None
    """None of an actor under which no device is listed."""

    @property
    def name(self) -> str:
        """Its name, or its SRN."""
        return self.actor.name or self.actor.srn

    @property
    def role(self) -> str:
        """What it is, by its SRN; empty for a role that is not known."""
        return ROLES.get(self.actor.srn[3:5], "")

    @property
    def is_manufacturer(self) -> bool:
        """Whether it makes devices."""
        return self.actor.srn[3:5] == "MF"

    @property
    def country(self) -> str:
        """Its country's name, empty when it was not read."""
        return country_name(self.actor.country)

    @property
    def lists_devices(self) -> bool:
        """Whether devices are registered under this actor."""
        return is_actor_of_devices(self.actor.srn)

    @property
    def is_filtered(self) -> bool:
        """Whether only some of its devices were asked for."""
        return self.parameters.filters != Filters()

    @property
    def paging(self) -> PagePosition:
        """Where the page of devices stands."""
        return PagePosition(self.parameters.page, DEVICE_ROWS, self.devices.total)

    def address_of(self, number: int) -> str:
        """The address of another page of its devices."""
        return actor_address(self.actor.srn, self.parameters.filters, number)


router = APIRouter()


@router.get("/a/{srn:path}")
async def actor(request: Request, srn: str, service: InjectedService) -> Response:
    """The actor; read from the register within the request where the copy has none."""
    await limits_of(request).check(request, Limit.PAGES)
    code, query = subject(srn), query_of(request.query_params)
    answer = await actor_for(request, service, code)
    if answer.read_at is None:
        return no_actor(request, answer)
    devices = await service.search.search(code, query.filters, page=query.page)
    certificates = await section_of_actor(service, code) if is_actor_of_devices(code) else None
    history = await service.history.actor(code, only_changes=True)
    return _actor_page(request, service, ActorView(answer, devices, query, certificates), history)


@router.post("/a/{srn:path}")
async def read_again(request: Request, srn: str, service: InjectedService) -> Response:
    """Read the actor from the register now, then show it."""
    code = subject(srn)
    await limits_of(request).check(request, Limit.REGISTER_READ)
    await service.refresher.refresh(code, limits=limits_for(lambda: address_of(request)))
    return RedirectResponse(actor_address(code), 303)


def _actor_page(request: Request, service: Service, view: ActorView, history: HistoryPage) -> Response:
    actor, summary = view.actor, actor_summary(view, origin_of(service.settings))
    described = organization(ActorReference(actor.srn, actor.name), actor.country, summary)
    return page(
        request,
        "actor.html",
        settled=actor.error is None and actor.complete,
        view=view,
        actor=actor,
        parameters=view.parameters,
        history=HistoryView(history, f"{actor_address(actor.srn)}/history"),
        today=day_of(service.clock.now()),
        summary=summary,
        structured=script_text(described) if actor.name else None,
        eudamed_search=EUDAMED_ACTORS if service.settings.reads_real_register else None,
    )


def no_actor(request: Request, answer: ActorAnswer) -> Response:
    """The page that says why there is no actor to show."""
    unreadable = kind(answer.srn) == "srn" and answer.error != NOT_REGISTERED
    return unindexed_page(
        request,
        "not_found.html",
        404,
        heading="This actor cannot be read" if unreadable else "No such actor",
        may_work_later=unreadable,
        kind="SRN",
        code=answer.srn,
        reason=answer.error,
    )
