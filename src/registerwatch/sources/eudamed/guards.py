"""Guards against the register's most dangerous property: it ignores a filter that it does not know.

An ignored filter answers with other devices and status 200. So every exact filter is guarded three ways. Each row must
carry the requested value. A filter that claims more than 100,000 rows is not believed. A control probe with a made-up
value must find nothing: before a filter is first relied on, once a day, and after an answer that it cannot have given.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from registerwatch.register.models import DeviceReading
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.eudamed.wire import BasicUdiRecord, Page, Row
from registerwatch.sources.fields import text

MAX_ROWS = 100_000
PROBE_SECONDS = 24 * 3600
REPROBE_SECONDS = 300
"""A filter that one probe refuted is probed again after this long: that answer may have been an exception."""
PROBE_VALUE = "RW-CONTROL-00000000"

EMPTY_PAGE = "The register is throttling requests (an empty page)."
OTHER_BASIC_RECORD = "The register answered with another device's Basic UDI-DI record; nothing of it was used."
EMPTY_BASIC_RECORD = "The register's Basic UDI-DI record of this device is empty."
EUDAMED_DI = "B-"
"""Prefix of a legacy device's Basic UDI-DI, which is made of its UDI-DI."""
IGNORED_FILTER = "The register ignored the filter and answered with other records; nothing of the answer was used."


def check_page(page: "Page[Row]", *, matches: Callable[[Row], bool] | None) -> None:
    """Check one page of an exact filter. `matches` says whether a row has the value, None if rows do not show it.

    Raises `RegisterFailure`.
    """
    if page.total_elements > MAX_ROWS:
        raise RegisterFailure(IGNORED_FILTER)
    check_answered(page)
    if page.sent > page.total_elements:
        raise RegisterFailure("The register's answer contradicts itself (more rows than its total).")
    if matches is not None:
        check_rows(page.content, matches)


def check_basic_record(row: DeviceReading, basic: BasicUdiRecord) -> None:
    """Check that a Basic UDI-DI record is the row's: it has the key and the manufacturer that the row names.

    Another Basic UDI-DI means another device, unless the key shows that the record is the right one, or it is the
    EUDAMED DI of this legacy device. Another risk class proves nothing. Raises `RegisterFailure`.
    """
    device = row.device
    code = text(basic.basic_udi.code) if basic.basic_udi else ""
    srn = text(basic.manufacturer.srn) if basic.manufacturer else ""
    if _differs(text(basic.ulid), row.basic_key) or _differs(srn, device.manufacturer_srn):
        raise RegisterFailure(OTHER_BASIC_RECORD)
    is_proven = bool(basic.ulid and row.basic_key)
    if not is_proven and _differs(code, device.basic_udi) and code != EUDAMED_DI + device.udi:
        raise RegisterFailure(OTHER_BASIC_RECORD)
    if not (code or srn or basic.legislation):
        raise RegisterFailure(EMPTY_BASIC_RECORD, transient=True)


def _differs(one: str, other: str) -> bool:
    """Whether both are known and differ."""
    return bool(one and other) and one != other


def check_rows(rows: Sequence[Row], matches: Callable[[Row], bool]) -> None:
    """Check that every row carries the requested value. Raises `RegisterFailure`."""
    if not all(matches(row) for row in rows):
        raise RegisterFailure(IGNORED_FILTER)


def check_answered(page: "Page[Row]") -> None:
    """Refuse a page that counts rows but shows none: the register throttles so. Raises `RegisterFailure`."""
    if page.total_elements and not page.sent:
        raise RegisterFailure(EMPTY_PAGE, transient=True, throttled=True)


def check_probe(page: "Page[Row]") -> None:
    """Check that a control probe found nothing. Raises `RegisterFailure` when the filter does not filter."""
    check_answered(page)
    if not finds_nothing(page):
        raise RegisterFailure(IGNORED_FILTER)


def finds_nothing(page: "Page[Row]") -> bool:
    """Whether a search found nothing, as a working filter's control probe does."""
    return not page.sent and not page.total_elements


@dataclass
class FilterProofs:
    """Filters that a control probe has proven, and until when, by the monotonic clock. Each process has its own."""

    _until: dict[str, float] = field(default_factory=dict)
    _refuted_until: dict[str, float] = field(default_factory=dict)
    last: dict[str, bool] = field(default_factory=dict)
    """Whether the last probe of a filter, if any, showed that it filters."""

    def is_proven(self, filter_name: str, now: float) -> bool:
        """Whether the last probe of this filter is less than a day old and found nothing."""
        return now < self._until.get(filter_name, 0.0) <= now + PROBE_SECONDS

    def is_refuted(self, filter_name: str, now: float) -> bool:
        """Whether the last probe showed, a moment ago, that this filter does not filter."""
        return now < self._refuted_until.get(filter_name, 0.0) <= now + REPROBE_SECONDS

    def prove(self, filter_name: str, now: float) -> None:
        """Note a probe that found nothing."""
        self._until[filter_name] = now + PROBE_SECONDS
        self.last[filter_name] = True
        self._refuted_until.pop(filter_name, None)

    def refute(self, filter_name: str, now: float) -> None:
        """Note a probe that found something."""
        self._refuted_until[filter_name] = now + REPROBE_SECONDS
        self.last[filter_name] = False
        self.doubt(filter_name)

    def doubt(self, filter_name: str) -> None:
        """Note an impossible answer of a filter: it is probed before it is relied on again."""
        self._until.pop(filter_name, None)
