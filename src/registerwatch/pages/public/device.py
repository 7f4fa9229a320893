"""The page of a device."""

from collections.abc import Mapping, Sequence
from datetime import date
from math import inf

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from registerwatch.bootstrap import Service
from registerwatch.copy.history.portfolio_history import MarketChange
from registerwatch.copy.search.filters import FLAG_FACETS, Facet
from registerwatch.ingest.refresh import limits_for
from registerwatch.lookup.code_service import meanings
from registerwatch.lookup.devices import DeviceAnswer, NoDevice, ServedDevice
from registerwatch.lookup.known_devices import AmbiguousCode
from registerwatch.pages.addresses import device_address, search_address
from registerwatch.pages.languages import language_name, language_tag
from registerwatch.pages.public.certificates.listed_certificates import CertificateSection, section_beside_device
from registerwatch.pages.public.code_view import CodeView
from registerwatch.pages.public.comparison.history_view import HistoryView
from registerwatch.pages.public.device_details import Country, DetailFact, countries_of, facts_of
from registerwatch.pages.public.facets import TITLES
from registerwatch.pages.public.other_names import other_names
from registerwatch.pages.public.own_watches import own_watches
from registerwatch.pages.public.similar_devices import similar_devices
from registerwatch.pages.public.structured_data import medical_device, script_text
from registerwatch.pages.public.summaries import device_summary, origin_of
from registerwatch.pages.rendering import not_found, page
from registerwatch.platform.clock import day_of, iso_utc
from registerwatch.register.certificate_reads import NewerRead, OtherCertificate
from registerwatch.register.certificate_states import (
    ShownCertificate,
    count_by_words,
    shown_certificate,
    shown_certificates,
)
from registerwatch.register.codes import REGULATIONS, segment
from registerwatch.register.device_names import given_name
from registerwatch.register.models import Certificate, Contradiction
from registerwatch.register.other_codes import OtherCode
from registerwatch.register.standing import NEWER_READ_DIFFERS, OF_OTHER_RECORD, Badge, CertificateStanding
from registerwatch.web.injection import InjectedService, address_of, limits_of
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.register_reads import device_for

LEGISLATIONS = {
    "mdr": "Regulation (EU) 2017/745 (MDR)",
    "ivdr": "Regulation (EU) 2017/746 (IVDR)",
    "mdd": "Directive 93/42/EEC (MDD)",
    "aimdd": "Directive 90/385/EEC (AIMDD)",
    "ivdd": "Directive 98/79/EC (IVDD)",
}
EUDAMED_DEVICE = "https://ec.europa.eu/tools/eudamed/#/screen/search-device/"
"""The address of a record on the register's public pages, without its uuid."""


_served = msgspec.json.Decoder(ServedDevice)


class TradeName(msgspec.Struct, frozen=True):
    """A trade name in one language; `tag` is the value of its `lang` attribute, empty for none."""

    language: str
    tag: str
    text: str


class DeviceView(msgspec.Struct, frozen=True):
    """The data of a device's page on a day."""

    device: ServedDevice
    today: date
    of_manufacturer: CertificateSection | None = None
    """The certificates of its manufacturer, None if they are not shown."""
    is_past: bool = False
    """Whether `today` is in the past, and the device as it was then."""
    is_listed: bool = True
    """Whether the register listed the device at the last read."""
    is_maker_gone: bool = False
    """Whether the register lists its manufacturer no more."""
    of_other_records: Sequence[OtherCertificate] = ()
    """The certificates of other listed records of its UDI-DI."""
    newer_reads: Mapping[Certificate, NewerRead] = msgspec.field(default_factory=dict)
    """Its certificates of which a newer read of another device, or of the register's list, differs."""

    @property
    def standing_title(self) -> str:
        """The title of the column with the standings of certificates."""
        return "Standing then" if self.is_past else "Standing today"

    @property
    def given_name(self) -> str:
        """Its trade name, else device name, else model; empty if none is known."""
        return given_name(self.device)

    @property
    def name(self) -> str:
        """Its name, else its UDI-DI."""
        return self.given_name or f"Device {self.device.udi}"

    @property
    def name_tag(self) -> str:
        """The language of the name as a `lang` attribute, empty if not known."""
        names = self.device.trade_names
        if names.get("") == self.name:
            return ""
        return next((language_tag(code) for code, text in names.items() if text == self.name), "")

    @property
    def trade_names(self) -> list[TradeName]:
        """Trade names by language, in the order of the languages' names."""
        names = [
            TradeName(language_name(code), language_tag(code), text) for code, text in self.device.trade_names.items()
        ]
        return sorted(names, key=lambda each: each.language)

    @property
    def legislation(self) -> str:
        """The legislation's full name, or the register's label."""
        return LEGISLATIONS.get(segment(self.device.legislation_code), self.device.legislation)

    @property
    def is_legacy(self) -> bool:
        """Whether it is registered under a directive."""
        code = segment(self.device.legislation_code)
        return code in LEGISLATIONS and code not in REGULATIONS

    @property
    def flags(self) -> list[tuple[str, bool | None]]:
        """Its properties; None if not known."""
        return [(title, getattr(self.device, name)) for name, title in FLAG_TITLES.items()]

    @property
    def certificates(self) -> list[ShownCertificate]:
        """Its certificates with their state."""
        return shown_certificates(self.device.certs, self.today)

    @property
    def others(self) -> Sequence[tuple[ShownCertificate, str]]:
        """The certificates of other records of its UDI-DI, each with when that was read."""
        return [
            (shown_certificate(each.certificate, self.today), iso_utc(each.as_of)) for each in self.of_other_records
        ]

    @property
    def has_eudamed_di(self) -> bool:
        """Whether EUDAMED made its Basic UDI-DI from the UDI-DI, as for legacy devices."""
        return self.device.basic_udi == f"B-{self.device.udi}"

    @property
    def other_codes(self) -> tuple[OtherCode, ...]:
        """Its codes in the register other than the UDI-DI."""
        return self.device.other_codes or ()

    @property
    def countries(self) -> Sequence[Country]:
        """The countries in which it is available."""
        return countries_of(self.device)

    @property
    def details(self) -> Sequence[DetailFact]:
        """Its further details."""
        return facts_of(self.device)

    @property
    def has_details(self) -> bool:
        """Whether any further detail is known."""
        device = self.device
        return bool(self.countries or self.details or device.linked_device or device.information_url)

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """Fields in which the register's search and its record differ."""
        return self.device.contradictions or ()

    @property
    def standing(self) -> CertificateStanding:
        """The common standing of its certificates."""
        return CertificateStanding(self.certificates)

    @property
    def doubts(self) -> Sequence[Badge]:
        """Badges beside the standing of its certificates: what may be otherwise by now, what another record names."""
        newer = [NEWER_READ_DIFFERS] if any(each.other for each in self.newer_reads.values()) else []
        return [*newer, *([OF_OTHER_RECORD] if self.of_other_records else [])]

    @property
    def count_by_words(self) -> list[tuple[str, str, int]]:
        """Its certificates counted by standing: words, tone, number."""
        return count_by_words(self.certificates)

    @property
    def in_full(self) -> bool:
        """Whether every part of its record was read."""
        return self.device.complete

    @property
    def has_detail(self) -> bool:
        """Whether its dates and its names in other languages were read."""
        return "dates" not in self.device.missing

    @property
    def certificates_unread(self) -> bool:
        """Whether its certificates were not read yet; some of them may be shown anyway."""
        return "certificates" in self.device.missing


FLAG_TITLES = {facet.value: TITLES[facet] for facet in FLAG_FACETS}

router = APIRouter()


@router.get("/d/{udi:path}")
async def device(request: Request, udi: str, service: InjectedService) -> Response:
    """The device; read from the register within the request if the copy does not have it."""
    await limits_of(request).check(request, Limit.PAGES)
    try:
        answer = await device_for(request, service, await service.codes.subject_to_read(udi))
    except AmbiguousCode:
        return RedirectResponse(search_address(udi), 303)
    said = CodeView.of(udi, service.clock)
    if isinstance(answer, NoDevice):
        return no_device(request, answer, said)
    return await _device_page(service, request, answer, said, udi)


@router.post("/d/{udi:path}")
async def read_again(request: Request, udi: str, service: InjectedService) -> Response:
    """Read the device from the register now, then show it."""
    code = await service.codes.subject(udi)
    await limits_of(request).check(request, Limit.REGISTER_READ)
    await service.refresher.refresh(code, limits=limits_for(lambda: address_of(request)))
    return RedirectResponse(device_address(code), 303)


async def is_gone(service: Service, srn: str, at: float = inf) -> bool:
    """Whether the copy knows an actor as no longer listed, and that it was so at an instant, if one is given."""
    actor = await service.documents.actor(srn) if srn else None
    return actor is not None and actor.delisted_at is not None and actor.delisted_at <= at


def served_device(answer: DeviceAnswer) -> ServedDevice:
    """The device in an answer."""
    return _served.decode(answer.body)


async def _device_page(
    service: Service, request: Request, answer: DeviceAnswer, said: CodeView | None, code: str
) -> Response:
    today = day_of(service.clock.now())
    served = served_device(answer)
    history = await service.history.device(served.udi, only_changes=True)
    view = DeviceView(
        served,
        today,
        await section_beside_device(service, served),
        is_listed=answer.is_listed,
        is_maker_gone=await is_gone(service, served.manufacturer_srn),
        of_other_records=await service.records.other_certificates(served.udi),
        newer_reads=await service.certificates.newer_reads(served, served.certs_read_at or served.basic_read_at, today),
    )
    similar = await similar_devices(service, served)
    summary = device_summary(view, origin_of(service.settings))
    watched = await own_watches(request, service, [served.udi, served.manufacturer_srn])
    return page(
        request,
        "device.html",
        settled=view.in_full and view.device.error is None,
        view=view,
        own_watches=watched,
        has_old_certificates=service.devices.has_old_certificates(answer.stored),
        newer_listing=await _newer_listing(service, served) if watched else None,
        said=said,
        is_of=meanings(code, served.udi, view.other_codes),
        device=view.device,
        similar=similar,
        other_names=await other_names(service, similar.rows if similar else []),
        emdn_names=(await service.facet_names.of({Facet.EMDN: list(served.emdn)}))[Facet.EMDN],
        history=HistoryView(history, f"{device_address(view.device.udi)}/history"),
        summary=summary,
        structured=script_text(medical_device(view.device, view.name, summary, is_listed=view.is_listed)),
        in_eudamed=EUDAMED_DEVICE + view.device.uuid if service.settings.reads_real_register else None,
    )


async def _newer_listing(service: Service, device: ServedDevice) -> MarketChange | None:
    """The differences in a list that is newer than the last read of the device."""
    last_read = await service.records.last_read(device.udi)
    return None if last_read is None else await service.history.newer_listing(device, last_read.read_at)


def no_device(request: Request, answer: NoDevice, said: CodeView | None = None) -> Response:
    """The page without a device, which says why."""
    heading = "This device cannot be read" if answer.is_unreadable else "No such device"
    may_work = answer.is_unreadable
    return not_found(request, "UDI-DI", answer.udi, heading, answer.reason, may_work_later=may_work, said=said)
