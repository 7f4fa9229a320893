"""Filters and facets of the index, held against a plain count over the devices themselves."""

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.copy.search.filters import FLAG_FACETS, Facet, FacetCounts, Filters, counted, values_of_document
from registerwatch.copy.search.hits import Hits
from registerwatch.copy.search.index import SearchIndex
from registerwatch.platform.structs import replace
from registerwatch.register.codes import (
    LEGISLATION_PREFIX,
    RISK_PREFIX,
    STATUS_PREFIX,
    LegislationFilter,
    RiskFilter,
    StatusFilter,
    YesNo,
)
from registerwatch.register.models import Certificate, Device, document
from tests.copy.search.index_folder import EVERYTHING, indexed
from tests.register.builders import FEW, a_device, a_udi

SRNS = ["DE-MF-000000001", "DE-PR-000000002", "EL-MF-000000003", "GR-MF-000000004", "UK-MF-000000005", ""]
CODES = ["Q", "Q01", "Q0106", "Q010602", "Q0202", "P0908", "p090801", "P090801020304", "P09080102030405", "?", "Q0"]
BODIES = ["0123", "0483", "", "12"]
REGULATION, LEGACY = ("mdr", "ivdr"), ("mdd", "aimdd", "ivdd")
LEGISLATIONS = [*REGULATION, *LEGACY, "xyz"]
WORDS = ["titan", "titanium", "plate"]


class Devices(list[Device]):
    """Devices that a failing example does not print."""

    def __repr__(self) -> str:
        return f"{len(self)} devices"


def some_devices(number: int) -> Devices:
    """Devices of all kinds, the same every time."""
    pick = random.Random(number)
    statuses = [*(status.code for status in StatusFilter), STATUS_PREFIX + "suspended", ""]
    risks = [RiskFilter.I.code, RiskFilter.IIB.code, RISK_PREFIX + "ivd-general", ""]
    return Devices(
        a_device(
            f"u-{at}",
            a_udi(at),
            trade_name=" ".join(pick.sample(WORDS, 2)),
            manufacturer_srn=pick.choice(SRNS),
            status_code=pick.choice(statuses),
            risk_class_code=pick.choice(risks),
            legislation_code=pick.choice([*(LEGISLATION_PREFIX + each for each in LEGISLATIONS), ""]),
            emdn=tuple(pick.sample(CODES, pick.randrange(3))),
            certs=tuple(Certificate(number="N", notified_body=each) for each in pick.sample(BODIES, pick.randrange(3))),
            **{name.value: pick.choice([True, False, None]) for name in FLAG_FACETS},
        )
        for at in range(number)
    )


@pytest.fixture(scope="module")
def devices() -> list[Device]:
    return some_devices(400)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, devices: list[Device]) -> SearchIndex:
    """Of several segments, whose counts have to be summed."""
    return indexed(tmp_path_factory.mktemp("facets"), devices, batches=4)


def code_of(prefix: str, code: str, known: list[str]) -> str:
    name = code.removeprefix(prefix)
    return name if name in known else "other" if code else "unknown"


def emdn_of(device: Device) -> set[str]:
    """Every code that the device's codes lie below, with them."""
    whole = {code.upper() for code in device.emdn if len(code) % 2 and code.upper().isalnum() and len(code) < 14}
    return {code[:length] for code in whole for length in (1, 3, 5, 7, 9, 11, 13) if length <= len(code)} or {"unknown"}


def told(device: Device, facet: Facet) -> set[str]:
    """The values of a device, as its record has them."""
    if facet in FLAG_FACETS:
        flag = getattr(device, facet.value)
        return {"unknown" if flag is None else "yes" if flag else "no"}
    legislation = device.legislation_code.removeprefix(LEGISLATION_PREFIX)
    country = {"EL": "GR", "UK": "GB"}.get(device.manufacturer_srn[:2], device.manufacturer_srn[:2])
    bodies = {each.notified_body for each in device.certs if len(each.notified_body) == 4}
    statuses = {status.code: {status.value} for status in StatusFilter}
    risks = {risk.code: {risk.value} for risk in RiskFilter}
    legacy = "no" if legislation in REGULATION else "yes" if legislation in LEGACY else "unknown"
    return {
        Facet.STATUS: statuses.get(device.status_code, {"other" if device.status_code else "unknown"}),
        Facet.RISK: risks.get(device.risk_class_code, {"other" if device.risk_class_code else "unknown"}),
        Facet.MANUFACTURER: {device.manufacturer_srn or "unknown"},
        Facet.COUNTRY: {country or "unknown"},
        Facet.EMDN: emdn_of(device),
        Facet.LEGISLATION: {code_of(LEGISLATION_PREFIX, device.legislation_code, [*REGULATION, *LEGACY])},
        Facet.LEGACY: {legacy},
        Facet.NOTIFIED_BODY: bodies or {"unknown"},
    }[facet]


filters_of_all_kinds = st.builds(
    Filters,
    status=st.none() | st.sampled_from(StatusFilter),
    risk=st.none() | st.sampled_from([RiskFilter.I, RiskFilter.IIB]),
    manufacturer=st.none() | st.sampled_from([*SRNS[:-1], "unknown"]),
    country=st.none() | st.sampled_from(["DE", "GR", "GB", "FR", "unknown"]),
    emdn=st.none() | st.sampled_from(["Q", "Q01", "Q0106", "P", "P0908", "P090801020304", "unknown"]),
    legislation=st.none() | st.sampled_from(LegislationFilter),
    legacy=st.none() | st.sampled_from(YesNo),
    **{name.value: st.none() | st.sampled_from(YesNo) for name in FLAG_FACETS},
    notified_body=st.none() | st.sampled_from(["0123", "0483", "9999", "unknown"]),
)
"""Mostly several at once; `few` of them leave something to count."""


@st.composite
def few(draw: st.DrawFn) -> Filters:
    """At most two filters."""
    drawn = draw(filters_of_all_kinds)
    kept = draw(st.sets(st.sampled_from([facet.value for facet, _ in drawn.chosen] or ["status"]), max_size=2))
    return Filters(**{name: getattr(drawn, name) for name in kept})


def is_below(code: str, above: str | None) -> bool:
    """Whether a code is on the level below another one, or on the first."""
    if above in (None, "unknown"):
        return len(code) == 1 or code == "unknown"
    return above is not None and code.startswith(above) and len(code) == len(above) + 2


def plainly(devices: list[Device], filters: Filters) -> dict[Facet, Counter[str]]:
    """The values that are told of devices, counted."""
    return {
        facet: Counter(
            value
            for device in devices
            for value in told(device, facet)
            if facet is not Facet.EMDN
            or (is_below(value, filters.emdn) and (filters.emdn != "unknown" or value == "unknown"))
        )
        for facet in Facet
    }


def found(devices: list[Device], filters: Filters, words: list[str]) -> list[Device]:
    """The devices that have the words and pass the filters."""
    return [
        device
        for device in devices
        if set(words) <= set(device.trade_name.split())
        and all(value in told(device, facet) for facet, value in filters.chosen)
    ]


def everything(hits: Hits, filters: Filters) -> dict[Facet, FacetCounts]:
    return dict(hits.counts(list(Facet), filters))


@FEW
@given(filters=few() | filters_of_all_kinds, words=st.sets(st.sampled_from(["titan", "titanium", "plate"]), max_size=2))
def test_every_facet_counts_what_a_plain_count_over_the_devices_counts(
    index: SearchIndex, devices: list[Device], filters: Filters, words: set[str]
) -> None:
    asked = sorted(words, key="titan".__ne__)  # the last word is also a beginning: there `titan` finds both
    if asked == ["titan"]:
        asked = ["titanium"]
    text = " ".join(asked)
    search = index.by_filters if not text else lambda *args, **page: index.by_name(text, *args, **page)
    hits = search(filters, limit=EVERYTHING, offset=0)
    expected = found(devices, filters, asked)

    assert hits.total == len(hits.ids) == len(expected)
    assert {devices[number - 1].udi for number in hits.ids} == {device.udi for device in expected}
    counts = everything(hits, filters)
    for facet, plain in plainly(expected, filters).items():
        assert (facet, dict(counts[facet].values)) == (facet, dict(plain))
        assert counts[facet].others == 0


@FEW
@given(filters=few())
def test_devices_counted_one_by_one_count_as_those_of_the_index(
    index: SearchIndex, devices: list[Device], filters: Filters
) -> None:
    hits = index.by_filters(filters, limit=EVERYTHING, offset=0)
    values = [values_of_document(document(device)) for device in found(devices, filters, [])]

    assert counted(values, list(Facet), filters) == everything(hits, filters)


def test_what_nobody_told_is_a_value_of_its_own_and_no_no(tmp_path: Path) -> None:
    index = indexed(tmp_path, [a_device("u-1", a_udi(1)), a_device("u-2", a_udi(2), sterile=False)])
    counts = index.by_filters(Filters(), limit=1, offset=0).counts([Facet.STERILE, Facet.LATEX], Filters())

    assert counts[Facet.STERILE].values == (("no", 1), ("unknown", 1))
    assert counts[Facet.LATEX].values == (("unknown", 2),)
    assert index.by_filters(Filters(sterile=YesNo.NO), limit=9, offset=0).ids == [2]


def test_of_many_manufacturers_ten_are_told_and_the_rest_is_one_number(tmp_path: Path) -> None:
    devices = [
        a_device(f"u-{maker}-{at}", a_udi(maker * 20 + at), manufacturer_srn=f"DE-MF-{maker:09d}")
        for maker in range(15)
        for at in range(maker + 1)
    ]
    counts = indexed(tmp_path, devices, batches=5).by_filters(Filters(), limit=1, offset=0)
    told = counts.counts([Facet.MANUFACTURER], Filters())[Facet.MANUFACTURER]

    assert list(told.values) == [(f"DE-MF-{maker:09d}", maker + 1) for maker in range(14, 4, -1)]
    assert told.others == sum(range(1, 6))


def test_a_device_that_was_indexed_again_counts_once(tmp_path: Path) -> None:
    first = [a_device(f"u-{at}", a_udi(at), latex=True) for at in range(20)]
    again = [a_device(each.uuid, each.udi, latex=False) for each in first[:5]]
    counts = indexed(tmp_path, [*first, *again], batches=5).by_filters(Filters(), limit=1, offset=0)

    assert counts.counts([Facet.LATEX], Filters())[Facet.LATEX].values == (("yes", 15), ("no", 5))


def test_codes_below_the_last_level_are_not_asked_for(tmp_path: Path) -> None:
    index = indexed(tmp_path, [a_device("u-1", a_udi(1), emdn=("Q010203040506",))])
    filters = Filters(emdn="Q010203040506")
    hits = index.by_filters(filters, limit=1, offset=0)

    assert hits.total == 1
    assert hits.counts([Facet.EMDN], filters) == {Facet.EMDN: FacetCounts()}
    above = replace(filters, emdn="Q01")
    assert hits.counts([Facet.EMDN], above)[Facet.EMDN].values == (("Q0102", 1),)
