"""Devices like another one: on the market, of the same risk class, under the same code of the nomenclature."""

from collections.abc import Sequence

import msgspec

from registerwatch.bootstrap import Service
from registerwatch.copy.search.filters import Filters
from registerwatch.lookup.devices import ServedDevice
from registerwatch.pages.addresses import search_address
from registerwatch.register.codes import RISK_BY_CODE, StatusFilter
from registerwatch.register.models import SearchRow
from registerwatch.register.nomenclature import EMDN_CODE

ROWS = 5


class SimilarDevices(msgspec.Struct, frozen=True):
    """The first similar devices, their number, and the search for all, which also finds the device itself.

    `code` is the device's first code of the nomenclature; devices under a code below it count, too. `error` says why
    there may be more.
    """

    rows: Sequence[SearchRow]
    total: int
    code: str
    risk_class: str
    address: str
    error: str | None


async def similar_devices(service: Service, device: ServedDevice) -> SimilarDevices | None:
    """Devices like this one; None if its code or class is not known, or the class is a legacy one."""
    code = next((code.upper() for code in device.emdn if EMDN_CODE.fullmatch(code.upper())), None)
    risk = RISK_BY_CODE.get(device.risk_class_code)
    if code is None or risk is None:
        return None
    filters = Filters(StatusFilter.ON, risk, emdn=code)
    found = await service.search.similar(filters, device.udi, ROWS)
    return SimilarDevices(found.results, found.total, code, device.risk_class, search_address("", filters), found.error)
