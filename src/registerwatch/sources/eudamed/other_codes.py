"""Other codes of a device from its detail.

`unitOfUse`, `directMarkingDi` and `secondaryDi` are identifiers such as `primaryDi`. `containedItem` is a tree that
begins with the device itself. The `containedItems` of an item are the packages that hold it, each with an
`itemIdentifier` and, as `numberOfItems`, how many of the item it holds. No device in real replies had any of them: the
tree is known from programs that others wrote for it. So any form is accepted, and what cannot be read is left out.
"""

from collections.abc import Iterator
from typing import Any

from registerwatch.register.other_codes import MAX_CODES, CodeKind, OtherCode, distinct_codes
from registerwatch.sources.eudamed import wire
from registerwatch.sources.fields import MAX_NUMBER


def other_codes_of(detail: wire.DeviceDetail) -> tuple[OtherCode, ...]:
    """The codes in a detail beside the UDI-DI."""
    udi = ((detail.primary_di.code if detail.primary_di else None) or "").strip()
    identifiers: tuple[tuple[CodeKind, Any], ...] = (
        ("unit_of_use", detail.unit_of_use),
        ("direct_marking", detail.direct_marking_di),
        ("secondary", detail.secondary_di),
    )
    single = (OtherCode(_code(each), kind, _agency(each)) for kind, value in identifiers for each in _objects(value))
    return distinct_codes((*single, *_packages(detail.contained_item, udi)), udi)


def _packages(device: Any, udi: str) -> Iterator[OtherCode]:
    """The packages around a device, the innermost first. A tree that begins with another device is not read.

    A package with the device's own code is not another code; the package around it holds as many devices.
    """
    if not isinstance(device, dict) or _code(device.get("itemIdentifier")) not in ("", udi):
        return
    pending: list[tuple[dict[str, Any], str, int | None]] = [(device, udi, 1)]
    seen = 0
    while pending and seen < MAX_CODES:
        item, contained, devices = pending.pop(0)
        for package in _objects(item.get("containedItems")):
            identifier = package.get("itemIdentifier")
            code, quantity = _code(identifier), _times(_quantity(package), devices)
            if code:
                seen += 1
                yield OtherCode(code, "container_package", _agency(identifier), quantity, contained)
                pending.append((package, code, quantity if code == udi else 1))


def _objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a value, which is one or a list of them."""
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]


def _code(identifier: Any) -> str:
    code = identifier.get("code") if isinstance(identifier, dict) else None
    return code.strip() if isinstance(code, str) else ""


def _agency(identifier: Any) -> str:
    """`refdata.issuing-agency.gs1`, empty for another form."""
    code = _code(identifier.get("issuingAgency")) if isinstance(identifier, dict) else ""
    return code if code.startswith("refdata.issuing-agency.") and len(code) < 100 and code.isprintable() else ""


def _times(quantity: int | None, devices: int | None) -> int | None:
    """How many devices a number of packages hold, None where either is unknown."""
    number = quantity * devices if quantity and devices else None
    return number if number is None or number <= MAX_NUMBER else None


def _quantity(package: dict[str, Any]) -> int | None:
    number = package.get("numberOfItems")
    return number if type(number) is int and 0 < number <= MAX_NUMBER else None
