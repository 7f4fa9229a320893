"""Searches of the index, held against a count over the devices themselves."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.copy.search import index as index_module
from registerwatch.copy.search.fields import udi_order
from registerwatch.copy.search.filters import Filters
from registerwatch.copy.search.hits import Hits
from registerwatch.copy.search.index import SearchIndex
from registerwatch.copy.search.names import COMMON, MAX_EXPANSIONS
from registerwatch.errors import IndexUnavailable
from registerwatch.register.codes import RISK_PREFIX, STATUS_PREFIX, RiskFilter, StatusFilter
from registerwatch.register.models import Device
from registerwatch_standins.register.generated import GeneratedWorld
from tests.copy.search.index_folder import EVERYTHING, indexed, page_through
from tests.register.builders import FEW, a_device

ON, OFF, NOT_EU = (status.code for status in StatusFilter)
NO_FILTERS = Filters()
EVERY_FILTER = [Filters(status, risk) for status in (None, *StatusFilter) for risk in (None, *RiskFilter)]


def register_of(world: GeneratedWorld) -> list[Device]:
    """The world's registrations as devices, one for each UDI-DI, statuses and risk classes mixed up."""
    records = {record.primary_di: record for record in world.newest(0, world.count)}
    statuses = [ON, ON, ON, OFF, NOT_EU, STATUS_PREFIX + "temporarily-suspended", ""]
    risks = [*(risk.code for risk in RiskFilter), RISK_PREFIX + "ivd-general", ""]
    return [
        a_device(
            record.uuid,
            record.primary_di,
            basic_udi=record.basic_udi or "",
            trade_name=record.trade_name or "",
            trade_names=record.trade_names or {},
            device_name=record.device_name or "",
            device_model=record.model or "",
            manufacturer_name=record.manufacturer.name,
            manufacturer_srn=record.manufacturer.srn,
            reference=record.reference or "",
            status_code=statuses[number * 5 % len(statuses)],
            risk_class_code=risks[number * 3 % len(risks)],
        )
        for number, record in enumerate(records.values())
    ]


class Shelf:
    """Devices, their index, and what a search over all of them one by one finds."""

    def __init__(self, index: SearchIndex, devices: list[Device]) -> None:
        self.index = index
        self.devices = devices
        self.words = [set(index.words(_names(device))) for device in devices]
        self.vocabulary = sorted(set().union(*self.words))

    def having(self, filters: Filters, test: Callable[[int, Device], bool] = lambda _number, _device: True) -> set[int]:
        """Ids of the devices that the filters let through and that pass a test of place and device."""
        return {
            number
            for number, device in enumerate(self.devices, start=1)
            if (filters.status is None or device.status_code == filters.status.code)
            and (filters.risk is None or device.risk_class_code == filters.risk.code)
            and test(number, device)
        }

    def in_order(self, ids: list[int]) -> list[int]:
        """These ids in the order of the UDI-DIs of their devices."""
        return sorted(ids, key=lambda number: udi_order(self.devices[number - 1].udi))

    def named(self, text: str, filters: Filters) -> set[int]:
        """Ids of the devices whose names have every word, the last one as the beginning of a word."""
        *firsts, last = self.index.words(text)
        whole = len(last) <= 2 and last in self.vocabulary  # too short to begin another word as well

        def has(number: int, _device: Device) -> bool:
            words = self.words[number - 1]
            ends = last in words if whole else any(word.startswith(last) for word in words)
            return set(firsts) <= words and ends

        return self.having(filters, has)


def _names(device: Device) -> str:
    return " ".join(
        (
            device.trade_name,
            *device.trade_names.values(),
            device.device_name,
            device.device_model,
            device.manufacturer_name,
        )
    )


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """Six hundred devices of the stand-in register, in three segments."""
    devices = register_of(GeneratedWorld(600, seed=7))
    return Shelf(indexed(tmp_path_factory.mktemp("shelf"), devices, batches=3), devices)


@pytest.mark.parametrize("filters", EVERY_FILTER)
def test_filters_alone_and_together_find_exactly_what_they_let_through(shelf: Shelf, filters: Filters) -> None:
    hits = shelf.index.by_filters(filters, limit=EVERYTHING, offset=0)

    assert set(hits.ids) == shelf.having(filters)
    assert hits.total == len(hits.ids)
    assert hits.ids == shelf.in_order(hits.ids), "in the order of their UDI-DIs"


@FEW
@given(st.data())
def test_words_and_filters_together_find_exactly_the_devices_that_have_both(shelf: Shelf, data: st.DataObject) -> None:
    filters = data.draw(st.sampled_from(EVERY_FILTER))
    device = data.draw(st.sampled_from(shelf.words))
    chosen = data.draw(st.lists(st.sampled_from(sorted(device)), min_size=1, max_size=3))
    last = chosen[-1][: data.draw(st.integers(1, len(chosen[-1])))]
    query = " ".join([*chosen[:-1], last])

    hits = shelf.index.by_name(query, filters, limit=EVERYTHING, offset=0)

    assert set(hits.ids) == shelf.named(query, filters), query
    assert hits.total == len(hits.ids) == len(set(hits.ids))


def test_every_beginning_of_every_word_finds_the_devices_that_have_it(shelf: Shelf) -> None:
    for word in shelf.vocabulary[::7]:
        for length in {1, 2, 3, len(word)}:
            hits = shelf.index.by_name(word[:length], NO_FILTERS, limit=EVERYTHING, offset=0)
            assert set(hits.ids) == shelf.named(word[:length], NO_FILTERS), word[:length]
            assert hits.total == len(hits.ids)


@pytest.mark.parametrize("size", [1, 8, 25])
@pytest.mark.parametrize("filters", [NO_FILTERS, Filters(StatusFilter.ON), Filters(StatusFilter.ON, RiskFilter.IIA)])
def test_pages_have_every_device_once_and_all_tell_the_same_total(shelf: Shelf, size: int, filters: Filters) -> None:
    word, _ = Counter(word for words in shelf.words for word in words if len(word) > 3).most_common(1)[0]
    searches: list[Callable[[int, int], Hits]] = [
        lambda limit, offset: shelf.index.by_filters(filters, limit=limit, offset=offset),
        lambda limit, offset: shelf.index.by_name(word, filters, limit=limit, offset=offset),
        lambda limit, offset: shelf.index.by_name(word[:3], filters, limit=limit, offset=offset),
        lambda limit, offset: shelf.index.by_similar_name(word[:-1] + "#", filters, limit=limit, offset=offset),
    ]
    for search in searches:
        ids, totals = page_through(search, size)
        assert len(ids) == len(set(ids))
        assert totals == {len(ids)}


def test_pages_of_a_manufacturer_have_every_device_once(shelf: Shelf) -> None:
    for srn, count in Counter(device.manufacturer_srn for device in shelf.devices).items():
        ids, totals = page_through(
            lambda limit, offset, srn=srn: shelf.index.by_srn(srn, NO_FILTERS, limit=limit, offset=offset),  # type: ignore[misc]
            20,
        )
        assert set(ids) == shelf.having(NO_FILTERS, lambda _number, device, srn=srn: device.manufacturer_srn == srn)  # type: ignore[misc]
        assert totals == {count}
        assert ids == shelf.in_order(ids)


def test_every_device_is_found_by_its_udi_and_by_its_basic_udi(shelf: Shelf) -> None:
    for number, device in list(enumerate(shelf.devices, start=1))[::10]:
        by_udi = shelf.index.by_identifier([device.udi], NO_FILTERS, limit=10, offset=0)
        assert (by_udi.ids, by_udi.total) == ([number], 1)
        if device.basic_udi:
            for spelling in (device.basic_udi, device.basic_udi.lower(), device.basic_udi.lstrip("+")):
                by_basic = shelf.index.by_identifier([spelling], NO_FILTERS, limit=EVERYTHING, offset=0)
                basic = device.basic_udi
                assert set(by_basic.ids) == shelf.having(
                    NO_FILTERS,
                    lambda _number, other, basic=basic: other.basic_udi == basic,  # type: ignore[misc]
                )


def test_every_device_is_found_by_its_reference_in_any_case_and_spacing(shelf: Shelf) -> None:
    for number, device in list(enumerate(shelf.devices, start=1))[::10]:
        if not device.reference:
            continue
        for spelling in (device.reference, device.reference.lower(), f" {device.reference[:2]} {device.reference[2:]}"):
            hits = shelf.index.by_reference(spelling, NO_FILTERS, limit=EVERYTHING, offset=0)
            assert number in hits.ids
            assert {shelf.devices[each - 1].reference for each in hits.ids} == {device.reference}


@pytest.mark.parametrize("text", ["", " ", "+", "®", "((", "a" * 200, "\x00", "names:* OR udi:*", "*", "ti?an", "🦷"])
def test_what_is_no_word_finds_nothing_and_breaks_nothing(shelf: Shelf, text: str) -> None:
    expected = len(shelf.named(text, NO_FILTERS)) if shelf.index.words(text) else 0
    assert shelf.index.by_name(text, NO_FILTERS, limit=8, offset=0).total == expected
    assert shelf.index.by_reference(text, NO_FILTERS, limit=8, offset=0).total == 0
    assert shelf.index.by_identifier([text], NO_FILTERS, limit=8, offset=0).total == 0
    assert shelf.index.by_srn(text, NO_FILTERS, limit=8, offset=0).total == 0


def test_an_index_that_is_not_there_finds_nothing(tmp_path: Path) -> None:
    index = SearchIndex(tmp_path)

    assert not index.refresh()
    assert index.documents == 0
    assert index.by_name("titan", NO_FILTERS, limit=8, offset=0) == Hits([], 0)
    assert index.by_filters(Filters(StatusFilter.ON), limit=8, offset=0) == Hits([], 0)
    assert index.by_similar_name("titan", NO_FILTERS, limit=8, offset=0) == Hits([], 0)


def test_an_index_whose_folder_cannot_be_read_has_no_devices_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "index").touch()
    index = SearchIndex(tmp_path / "index")

    assert index.documents == 0
    with pytest.raises(IndexUnavailable, match="cannot be read"):
        index.refresh()


@pytest.mark.parametrize("filters", [NO_FILTERS, Filters(StatusFilter.ON), Filters(StatusFilter.ON, RiskFilter.IIA)])
@pytest.mark.parametrize(
    "word",
    [
        "Polyetheretherketonhydroxylapatitverbundwerkstoffzwischenwirbelscheibenprothese",
        "ορθοπαιδικόςηλεκτροεγκεφαλογράφος",
        "электроэнцефалографическийрегистратор",
        "人工股関節用セメントレス寛骨臼コンポーネントおよびライナー",
    ],
)
def test_a_device_is_found_by_a_word_however_long_and_by_its_beginnings(
    tmp_path: Path, word: str, filters: Filters
) -> None:
    named = a_device(trade_name=f"Titan {word} plate", status_code=ON, risk_class_code=RiskFilter.IIA.code)
    index = indexed(tmp_path, [a_device("u-2", "di-2", trade_name="Titan"), named])

    for typed in (word, word.upper(), word[:25], f"titan {word}", f"{word} plate"):
        hits = index.by_name(typed, filters, limit=8, offset=0)
        assert (hits.ids, hits.total) == ([2], 1), typed
    assert index.by_similar_name(f"x{word[1:]}", filters, limit=8, offset=0).total == 1


# Order


def test_a_trade_name_goes_before_a_device_name_and_before_a_manufacturer(tmp_path: Path) -> None:
    index = indexed(
        tmp_path,
        [
            a_device("u-1", "di-1", trade_name="Screw", manufacturer_name="Zolid GmbH"),
            a_device("u-2", "di-2", trade_name="Disc", device_name="Zolid"),
            a_device("u-3", "di-3", trade_name="Zolid"),
            a_device("u-4", "di-4", trade_names={"de": "Scheibe", "fr": "Zolid"}),
            a_device("u-5", "di-5", trade_name="Plate"),
        ],
    )

    hits = index.by_name("zolid", NO_FILTERS, limit=8, offset=0)

    assert set(hits.ids[:2]) == {3, 4}
    assert set(hits.ids[2:]) == {1, 2}


def test_a_whole_word_goes_before_a_longer_one(tmp_path: Path) -> None:
    index = indexed(
        tmp_path, [a_device(f"u-{name}", f"di-{name}", trade_name=name) for name in ("Titanium", "Titan", "Titania")]
    )

    hits = index.by_name("titan", NO_FILTERS, limit=8, offset=0)

    assert hits.ids[0] == 2
    assert hits.total == 3


def test_one_typo_in_each_longer_word_is_forgiven_when_similar_names_are_asked_for(tmp_path: Path) -> None:
    index = indexed(tmp_path, [a_device(trade_name="Ceramill Zolid FX")])

    def similar(text: str) -> int:
        return index.by_similar_name(text, NO_FILTERS, limit=8, offset=0).total

    for typed in ("ceramil", "ceramiil zolit", "zlid", "zoldi", "ceramill zolid fx"):
        assert similar(typed) == 1, typed
    for typed in ("ceramxyz", "zoxyd", "fz", "ceramill fz", "ceramil zolid gx"):
        assert similar(typed) == 0, typed


# More devices with a word than fill the first pages


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    """More devices named «titan» than fill the first pages, some of them rare, and a few with a longer word."""

    def named(number: int, name: str, risk: RiskFilter = RiskFilter.I) -> Device:
        return a_device(f"u-{number}", f"di-{number}", trade_name=name, status_code=ON, risk_class_code=risk.code)

    names = ["Titan screw"] * (COMMON + 40) + ["Titanium screw"] * 30
    devices = [named(number, name) for number, name in enumerate(names)]
    start = len(devices)
    devices += [named(start + each, "Titan plate", RiskFilter.IIB) for each in range(20)]
    start = len(devices)
    devices += [named(start + each, "Titanium plate", RiskFilter.IIB) for each in range(15)]
    return indexed(tmp_path_factory.mktemp("crowd"), devices)


@pytest.mark.parametrize(
    ("query", "filters", "total"),
    [
        ("plate titan", NO_FILTERS, 35),
        ("titan", Filters(risk=RiskFilter.IIB), 35),
        ("titan", Filters(StatusFilter.ON, RiskFilter.IIB), 35),
        ("titan", NO_FILTERS, COMMON + 105),
    ],
)
def test_pages_of_a_common_word_have_every_device_once(
    crowd: SearchIndex, query: str, filters: Filters, total: int
) -> None:
    ids, totals = page_through(
        lambda limit, offset: crowd.by_name(query, filters, limit=limit, offset=offset), 100 if total > 100 else 8
    )

    assert totals == {total}
    assert len(ids) == total
    assert len(set(ids)) == total, "no device comes twice, none is left out"


def test_a_beginning_with_more_words_than_are_spelled_out_finds_all_of_them(tmp_path: Path) -> None:
    count = 3 * MAX_EXPANSIONS
    index = indexed(
        tmp_path, [a_device(f"u-{each}", f"di-{each}", trade_name=f"Tita{each:03}") for each in range(count)]
    )

    ids, totals = page_through(lambda limit, offset: index.by_name("tita", NO_FILTERS, limit=limit, offset=offset), 8)

    assert totals == {count}
    assert sorted(ids) == list(range(1, count + 1))


# Hits that are kept


def test_hits_that_are_kept_are_those_of_the_index_that_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "MANY", 2)
    titans = [a_device(f"u-{each}", f"di-{each}", trade_name="Titan") for each in range(5)]
    index = indexed(tmp_path, titans)

    def found() -> tuple[int, list[int]]:
        hits = index.by_name("titan", NO_FILTERS, limit=8, offset=0)
        return hits.total, hits.ids

    assert found() == found() == (5, [1, 2, 3, 4, 5])
    indexed(
        tmp_path, [a_device("u-0", "di-0", trade_name="Disc"), *titans[1:], a_device("u-9", "di-9", trade_name="Titan")]
    )
    assert found()[0] == 5, "not loaded yet"
    assert index.refresh()

    assert found() == (5, [2, 3, 4, 5, 6])


def test_hits_of_no_more_than_so_many_searches_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "MANY", 0)
    monkeypatch.setattr(index_module, "MAX_KEPT", 3)
    index = indexed(tmp_path, [a_device("u-1", "di-1", trade_name="Titan screw")])

    for length in range(1, 6):
        assert index.by_name("titan"[:length], NO_FILTERS, limit=8, offset=0).total == 1
        assert len(index._state.hits) <= 3
