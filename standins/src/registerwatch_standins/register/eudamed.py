"""The routes of the register's JSON interface."""

from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registerwatch_standins.register.filters import CertificateFilter, DeviceFilter
from registerwatch_standins.register.generation.vocabulary import nomenclature_codes
from registerwatch_standins.register.queries import (
    actor_query,
    certificate_query,
    device_query,
    envelope,
    require,
    window,
)
from registerwatch_standins.register.records import Registration
from registerwatch_standins.register.responses import json_response, no_such_record, page_not_found, wrong_path
from registerwatch_standins.register.wire import actors, basic_records, certificates, devices, documents
from registerwatch_standins.register.wire.interface import application_info, configuration_parameters
from registerwatch_standins.register.world import World

_KEPT_KEYS = 100_000


class Eudamed:
    """The register's endpoints over a world.

    `basic_udi_filter_works` says whether the certificate search heeds `basicUdi` or silently ignores it:
    nobody has proved either of the live service.
    """

    def __init__(self, world: World, *, basic_udi_filter_works: bool = True) -> None:
        self._world = world
        self.basic_udi_filter_works = basic_udi_filter_works
        self._basic_udis: dict[str, str] = {}
        """The Basic UDI-DIs of records that were sent lately, by their keys."""

    def routes(self) -> list[Route]:
        """The routes, relative to the interface's base. Any other path is wrong, which is a 404."""
        return [
            Route("/devices/udiDiData", self.search_devices),
            Route("/devices/udiDiData/{uuid}", self.device),
            Route("/devices/basicUdiData/udiDiData/{uuid}", self.basic_udi_record),
            Route("/devices/basicUdiData/{uuid}/udiDiData", self.devices_of_basic_udi),
            Route("/devices/nomenclatures/", self.nomenclature),
            Route("/eos", self.search_actors),
            Route("/actors/{uuid}/publicInformation", self.actor),
            Route("/certificates/search/", self.search_certificates),
            Route("/certificates/{uuid}", self.certificate),
            Route("/documents/{uuid}", self.document),
            Route("/documents/{uuid}/", self.document),
            Route("/applications/search/", self.search_refusals),
            Route("/ses/notifiedBodies", self.notified_bodies),
            Route("/applicationInfo", self.build),
            Route("/configurationParameters", self.flags),
            Route("/page-not-found", page_not_found),
            Route("/{path:path}", self.unknown),
        ]

    async def search_devices(self, request: Request) -> Response:
        """A page of the device search."""
        wanted, window = device_query(request.query_params)
        search = self._world.search
        if wanted.also:
            total, records = await run_in_threadpool(search, wanted, window.offset, window.size)
        else:
            total, records = search(wanted, window.offset, window.size)
        return json_response(envelope([devices.search_row(record) for record in records], total, window))

    async def device(self, request: Request) -> Response:
        """The detail of a device."""
        return self._record(request, self._world.detail, devices.detail)

    async def basic_udi_record(self, request: Request) -> Response:
        """The Basic UDI-DI record of a device; the uuid is the device's."""
        return self._record(request, self._world.by_uuid, self._basic)

    async def devices_of_basic_udi(self, request: Request) -> Response:
        """The devices under a Basic UDI-DI, by the key of its record, which somebody has to have read before."""
        require(request.query_params, "languageIso2Code", 400)
        basic_udi = self._basic_udis.get(request.path_params["uuid"])
        if basic_udi is None:
            return no_such_record()
        page = window(request.query_params)
        total, records = self._world.search(DeviceFilter(basic_udi=basic_udi), page.offset, page.size)
        return json_response(envelope([devices.search_row(record) for record in records], total, page))

    async def nomenclature(self, request: Request) -> Response:
        """A page of the nomenclature. The form of the real answer was never published."""
        wanted = window(request.query_params)
        codes = nomenclature_codes()
        terms = [devices.nomenclature_term(code) for code in codes[wanted.offset : wanted.offset + wanted.size]]
        return json_response(envelope(terms, len(codes), wanted))

    async def search_actors(self, request: Request) -> Response:
        """A page of the actor search."""
        wanted, window = actor_query(request.query_params)
        total, found = await run_in_threadpool(self._world.search_actors, wanted, window.offset, window.size)
        return json_response(envelope([actors.search_row(actor) for actor in found], total, window))

    async def actor(self, request: Request) -> Response:
        """The detail of an actor."""
        require(request.query_params, "languageIso2Code", 400)
        found = await run_in_threadpool(self._world.actor_by_uuid, request.path_params["uuid"])
        return no_such_record() if found is None else json_response(actors.public_information(found))

    async def search_certificates(self, request: Request) -> Response:
        """A page of the certificate search."""
        works = self.basic_udi_filter_works
        wanted, window = certificate_query(request.query_params, basic_udi_filter_works=works)
        total, found = await run_in_threadpool(self._world.search_certificates, wanted, window.offset, window.size)
        return json_response(envelope([certificates.listing_row(row) for row in found], total, window))

    async def certificate(self, request: Request) -> Response:
        """The detail of a certificate, which needs no language."""
        row = await run_in_threadpool(self._world.certificate, request.path_params["uuid"])
        if row is None:
            return no_such_record()
        srn = row.manufacturer.srn
        holder, representative = self._world.actor(srn), self._world.representative_of(srn)
        return json_response(certificates.detail(row, holder, representative, self._world.scope(row)))

    async def document(self, request: Request) -> Response:
        """The document of a certificate."""
        uuid, everything = request.path_params["uuid"], CertificateFilter()
        rows = (await run_in_threadpool(self._world.search_certificates, everything, 0, 1_000_000))[1]
        found = next((row for row in rows if documents.document_uuid(row) == uuid), None)
        return no_such_record() if found is None else Response(documents.document(found), media_type=documents.PDF)

    async def search_refusals(self, request: Request) -> Response:
        """A page of the refused applications."""
        wanted = window(request.query_params, "size", "pageSize")
        total, found = await run_in_threadpool(self._world.refusals, wanted.offset, wanted.size)
        return json_response(envelope([certificates.refused_application(each) for each in found], total, wanted))

    async def notified_bodies(self, request: Request) -> Response:
        """All notified bodies, as a bare list."""
        bodies = self._world.notified_bodies()
        return json_response([actors.listed_body(number, name) for number, name in bodies.items()])

    async def build(self, request: Request) -> Response:
        """Which build of the interface answers."""
        return json_response(application_info(self._world.build_version))

    async def flags(self, request: Request) -> Response:
        """What is switched on for the public."""
        return json_response(configuration_parameters(self._world.feature_flags))

    async def unknown(self, request: Request) -> Response:
        """Any other path."""
        return wrong_path(request)

    def _record(
        self,
        request: Request,
        find: Callable[[str], Registration | None],
        render: Callable[[Registration], object],
    ) -> Response:
        require(request.query_params, "languageIso2Code", 400)
        record = find(request.path_params["uuid"])
        return no_such_record() if record is None else json_response(render(record))

    def _basic(self, record: Registration) -> dict[str, object]:
        if record.basic_udi:
            self._basic_udis[basic_records.basic_uuid(record.basic_udi)] = record.basic_udi
            if len(self._basic_udis) > _KEPT_KEYS:
                del self._basic_udis[next(iter(self._basic_udis))]
        representative = record.authorised_representative
        return basic_records.basic_udi_record(
            record,
            self._world.actor(record.manufacturer.srn),
            self._world.actor(representative.srn) if representative else None,
        )
