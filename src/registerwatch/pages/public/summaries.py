"""Summaries of pages for search results, previews of links and the heads of prints."""

from typing import TYPE_CHECKING

import msgspec
from markupsafe import Markup

from registerwatch.pages.addresses import actor_address, certificate_address, device_address, search_address
from registerwatch.pages.rendering import day, isolated
from registerwatch.platform.clock import date_in_words
from registerwatch.register.standing import DELISTED
from registerwatch.settings import Settings

if TYPE_CHECKING:
    from registerwatch.pages.public.actor import ActorView
    from registerwatch.pages.public.certificates.certificate import CertificateView
    from registerwatch.pages.public.device import DeviceView
    from registerwatch.pages.public.search import Results

MAX_NAME = 100
"""Characters of a name: some trade names are as long as a paragraph."""


class Origin(msgspec.Struct, frozen=True):
    """The address of the service, and whether its records are EUDAMED's."""

    public_url: str
    is_eudamed: bool
    name: str
    """The source's name in a sentence."""


def origin_of(settings: Settings) -> Origin:
    """The origin that these settings make."""
    return Origin(settings.public_url, settings.reads_real_register, settings.source_name)


class PageSummary(msgspec.Struct, frozen=True):
    """The title and text of a page, and its address. Its record was read at `read_at` or later; None without one."""

    title: str
    text: str
    address: str
    origin: Origin
    read_at: str | None = None
    part: str = ""
    """The address of this part, if filters or a page number change it."""
    is_canonical: bool = True
    """Whether search engines may keep it under this address."""


def device_summary(view: "DeviceView", origin: Origin) -> PageSummary:
    """Summarise a device."""
    device = view.device
    kind = f"{device.risk_class} medical device" if device.risk_class else "medical device"
    maker = f" of {_name(device.manufacturer_name)}" if device.manufacturer_name else ""
    status = (device.status if view.is_listed else DELISTED[0]) or "not known"
    text = f"{_name(view.name)}: {kind}{maker}, UDI-DI {device.udi}. Market status: {status}."
    return PageSummary(
        title=f"{_name(view.name)} · {device.udi}",
        text=" ".join(filter(None, (text, _reading(device.read_at, origin, in_full=view.in_full), device.error))),
        address=origin.public_url + device_address(device.udi),
        origin=origin,
        read_at=device.read_at,
    )


def actor_summary(view: "ActorView", origin: Origin) -> PageSummary:
    """Summarise an actor."""
    actor = view.actor
    role = (view.role or "Actor") + (f" in {view.country}" if view.country else "")
    shown = actor.manufacturer_status if view.is_listed else DELISTED[0]
    status = f" Status: {shown}." if shown else ""
    return PageSummary(
        title=f"{_name(view.name)} · {actor.srn}",
        text=f"{_name(view.name)}: {role}, SRN {actor.srn}.{status} {_reading(actor.read_at, origin)}",
        address=origin.public_url + actor_address(actor.srn),
        origin=origin,
        read_at=actor.read_at,
        part=origin.public_url + view.address_of(view.parameters.page),
    )


def certificate_summary(view: "CertificateView", origin: Origin) -> PageSummary:
    """Summarise a certificate."""
    certificate, row = view.certificate, view.row
    holder = f" of {_name(certificate.actor_name)}" if certificate.actor_name else ""
    expiry = row.shown.certificate.expiry
    end = f" Expiry: {date_in_words(expiry)}." if expiry else ""
    text = f"Certificate {_name(view.name)}{holder}. Standing: {row.shown.words}.{end} {row.proves}"
    return PageSummary(
        title=f"{_name(view.name)} · Certificate",
        text=f"{text} {_reading(view.as_of, origin)}",
        address=origin.public_url + certificate_address(certificate.id),
        origin=origin,
        read_at=view.as_of,
    )


def search_summary(results: "Results | None", origin: Origin) -> PageSummary:
    """Summarise the search page."""
    if results is None:
        about = "EUDAMED, the public EU register of medical devices" if origin.is_eudamed else origin.name
        text = f"Search a stored copy of {about}, by name, UDI-DI, SRN or catalogue reference."
        return PageSummary("Registerwatch", text, f"{origin.public_url}/", origin)
    asked = results.parameters
    title = _name(asked.query) or "Devices"
    text = f"{results.headline}, in a stored copy of {origin.name}."
    address = origin.public_url + search_address(asked.query, asked.filters, asked.page)
    return PageSummary(title, text, address, origin, is_canonical=False)


def _reading(read_at: str | None, origin: Origin, *, in_full: bool = True) -> str:
    on = f" on {Markup(day(read_at[:10])).striptags()} or later" if read_at else ""  # noqa: S704  # a day, escaped
    return f"Read {'' if in_full else 'in part '}from {origin.name}{on}."


def _name(text: str) -> str:
    whole = " ".join(text.split())
    return isolated(whole if len(whole) <= MAX_NAME else whole[: MAX_NAME - 1].rstrip() + "…")
