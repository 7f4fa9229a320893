"""The pages of the history of a device or an actor: all changes, and the record as of a day."""

from datetime import date
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from registerwatch.bootstrap import Service
from registerwatch.copy.history.record_history import device_of
from registerwatch.lookup.devices import NoDevice, ServedDevice
from registerwatch.lookup.history_service import AsOf, HistoryPage, as_of
from registerwatch.pages.addresses import actor_address, device_address
from registerwatch.pages.public.actor import no_actor
from registerwatch.pages.public.comparison.history_view import HistoryView
from registerwatch.pages.public.device import DeviceView, is_gone, no_device
from registerwatch.pages.public.own_watches import own_watches
from registerwatch.pages.rendering import unindexed_page
from registerwatch.platform.clock import day_of, iso_utc
from registerwatch.register.identifiers import subject
from registerwatch.register.models import Device
from registerwatch.web.answers.history_answers import actor_then, parts_missing, was_listed
from registerwatch.web.countries import country_name
from registerwatch.web.injection import InjectedService, limits_of
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.register_reads import actor_for, device_for

ENTRIES = 50
"""Changes on one page."""

router = APIRouter()


@router.get("/d/{udi:path}/history")
async def device_history(request: Request, udi: str, service: InjectedService) -> Response:
    """The observed history of a device; with `at`, the device as of a day."""
    await limits_of(request).check(request, Limit.PAGES)
    code, at = await service.codes.subject(udi), request.query_params.get("at", "").strip()
    instant = service.history.instant(at) if at else None
    found = await device_for(request, service, code)
    if isinstance(found, NoDevice):
        return no_device(request, found)
    before = request.query_params.get("before", "")
    page = await service.history.device(code, limit=ENTRIES, before=before, only_changes=True)
    if instant is not None:
        return await _device_then(request, service, code, as_of(page.history, instant))
    name = await service.records.name_of(code)
    return _history(
        request, service, name or code, device_address(code), page, found.problem, code, is_listed=found.is_listed
    )


@router.get("/a/{srn:path}/history")
async def actor_history(request: Request, srn: str, service: InjectedService) -> Response:
    """The observed history of an actor; with `at`, the actor as of a day."""
    await limits_of(request).check(request, Limit.PAGES)
    code, at = subject(srn), request.query_params.get("at", "").strip()
    instant = service.history.instant(at) if at else None
    found = await actor_for(request, service, code)
    if found.read_at is None:
        return no_actor(request, found)
    before = request.query_params.get("before", "")
    is_watched = bool(await own_watches(request, service, [code]))
    page = await service.history.actor(code, limit=ENTRIES, before=before, only_changes=True, is_watched=is_watched)
    if instant is not None:
        return _actor_then(request, service, code, as_of(page.history, instant))
    return _history(
        request,
        service,
        found.name or code,
        actor_address(code),
        page,
        found.error,
        is_listed=found.listed is not False,
    )


def today_of(service: Service) -> date:
    """The present day in UTC."""
    return day_of(service.clock.now())


def _history(
    request: Request,
    service: Service,
    name: str,
    address: str,
    page: HistoryPage,
    problem: str | None,
    udi: str = "",
    *,
    is_listed: bool,
) -> Response:
    return unindexed_page(
        request,
        "history.html",
        200,
        name=name,
        address=address,
        history=HistoryView(page, f"{address}/history"),
        is_first="before" not in request.query_params,
        problem=problem,
        is_listed=is_listed,
        today=today_of(service),
        compared_udi=udi,
    )


def _then(request: Request, service: Service, template: str, address: str, past: AsOf, **shown: Any) -> Response:
    return unindexed_page(
        request,
        template,
        200,
        address=address,
        instant=iso_utc(past.instant),
        day=day_of(past.instant),
        today=today_of(service),
        note=past.note,
        **shown,
    )


async def device_view_then(service: Service, past: AsOf) -> DeviceView | None:
    """The device as of an instant, None if not known. Its read time is when it was first observed like this."""
    current = past.states.current
    if current is None:
        return None
    state = past.states.states[current]
    missing = parts_missing(state)
    served = ServedDevice(
        **{name: getattr(device_of(state), name) for name in Device.__struct_fields__},
        read_at=iso_utc(past.states.observed_at[current]),
        certs_read_at=None,
        complete=not missing,
        missing=missing,
    )
    return DeviceView(
        served,
        today=day_of(past.instant),
        is_past=True,
        is_listed=was_listed(state),
        is_maker_gone=await is_gone(service, served.manufacturer_srn, past.instant),
    )


async def _device_then(request: Request, service: Service, udi: str, past: AsOf) -> Response:
    address, view = device_address(udi), await device_view_then(service, past)
    if view is None:
        return _then(request, service, "unknown_then.html", address, past, name=udi)
    return _then(
        request,
        service,
        "device_then.html",
        address,
        past,
        view=view,
        device=view.device,
        since=view.device.read_at,
        structured="",
        in_eudamed=None,
    )


def _actor_then(request: Request, service: Service, srn: str, past: AsOf) -> Response:
    address, current = actor_address(srn), past.states.current
    if current is None:
        return _then(request, service, "unknown_then.html", address, past, name=srn)
    state = past.states.states[current]
    actor = actor_then(state)
    return _then(
        request,
        service,
        "actor_then.html",
        address,
        past,
        actor=actor,
        is_listed=was_listed(state),
        country=country_name(actor.country),
        since=iso_utc(past.states.observed_at[current]),
    )
