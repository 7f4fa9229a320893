"""What lists of a manufacturer's devices tell: whatever they leave out, show twice or in another order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from registerwatch.register.codes import STATUS_PREFIX
from registerwatch.register.ingest.portfolio_changes import is_on_market, judged, newly_registered
from registerwatch.register.store.portfolio import ListedDevice, PortfolioChange, StoredListing
from registerwatch.structs import replace
from tests.register.builders import PROPERTY

ON, OFF, UNINTENDED = (
    STATUS_PREFIX + each for each in ("on-the-market", "no-longer-on-the-market", "not-intended-for-eu-market")
)


def a_listing(
    status_code: str = ON,
    *,
    udi: str = "1",
    is_latest: bool = True,
    is_listed: bool = True,
    was_on_market: bool | None = True,
    is_settled: bool = True,
) -> StoredListing:
    return StoredListing(udi, status_code, is_latest, is_listed, was_on_market, is_settled)


def change_of(*rows: StoredListing, is_one_page: bool = False) -> PortfolioChange | None:
    return judged(rows, is_one_page=is_one_page).changes.get("1")


def test_a_device_leaves_the_market_when_none_of_its_latest_records_is_on_it() -> None:
    assert change_of(a_listing(OFF)) is PortfolioChange.OFF_MARKET
    assert change_of(a_listing(OFF), a_listing(ON)) is None
    assert change_of(a_listing(OFF), a_listing(ON, is_latest=False)) is PortfolioChange.OFF_MARKET
    assert change_of(a_listing(UNINTENDED)) is PortfolioChange.OFF_MARKET
    assert change_of(a_listing(ON, was_on_market=False)) is PortfolioChange.ON_MARKET


def test_what_a_list_does_not_tell_changes_nothing() -> None:
    assert change_of(a_listing(OFF, is_listed=False)) is None
    assert change_of(a_listing(OFF, is_latest=False)) is None
    assert change_of(a_listing("")) is None
    assert change_of(a_listing(OFF), a_listing("")) is None
    assert change_of(a_listing(OFF, was_on_market=None)) is None
    assert judged([a_listing(OFF, was_on_market=None)], is_one_page=False).on_market == {"1": False}


def test_a_record_that_replaces_another_one_has_its_standing() -> None:
    gone, new = a_listing(ON, is_listed=False), a_listing(OFF, was_on_market=None)

    assert change_of(gone, new) is PortfolioChange.OFF_MARKET
    assert change_of(gone, a_listing(ON, was_on_market=None)) is None


def test_records_that_pages_showed_one_after_the_other_prove_that_none_is_on_the_market_when_two_walks_found_it() -> (
    None
):
    before, after = a_listing(OFF), a_listing(OFF, is_settled=False)

    assert change_of(before, after) is None, "the first one may have come on the market since its page was read"
    assert judged([before, after], is_one_page=False).on_market == {}
    assert change_of(before, before) is PortfolioChange.OFF_MARKET
    assert change_of(before, after, is_one_page=True) is PortfolioChange.OFF_MARKET
    assert change_of(after) is PortfolioChange.OFF_MARKET, "one record is read at one moment"
    assert change_of(a_listing(ON, was_on_market=False), after) is PortfolioChange.ON_MARKET


def test_a_udi_di_is_newly_registered_once_however_many_records_it_has() -> None:
    rows = [ListedDevice(f"u-{place}", udi, "", ON, True) for place, udi in enumerate(["1", "2", "2", "3"])]

    assert [row.udi for row in newly_registered(rows, {"1"})] == ["2", "3"]


Register = Mapping[str, tuple[str, str, bool]]
"""Records by uuid: UDI-DI, status, whether it is the latest version."""

records = st.dictionaries(
    st.sampled_from([f"u-{place}" for place in range(6)]),
    st.tuples(st.sampled_from(["1", "2", "3"]), st.sampled_from([ON, OFF, UNINTENDED]), st.booleans()),
    max_size=6,
)


@dataclass
class Walks:
    """A plain model of what `store/portfolio.py` keeps, and of what was told."""

    rows: dict[str, StoredListing] = field(default_factory=dict)
    told: list[tuple[str, PortfolioChange]] = field(default_factory=list)
    has_baseline: bool = False

    def walk(self, register: Register, shown: Sequence[str]) -> None:
        """A walk that shows records of a register, in this order; complete where it shows all."""
        self.rows = {uuid: replace(row, is_listed=False) for uuid, row in self.rows.items()}
        for uuid in shown:
            self._show(uuid, *register[uuid])
        if set(shown) == set(register):
            judgement = judged(list(self.rows.values()), is_one_page=True)
            self.told += judgement.changes.items()
            listed = {row.udi for row in self.rows.values() if row.is_listed}
            self.rows = {
                uuid: replace(row, was_on_market=judgement.on_market.get(row.udi, row.was_on_market))
                for uuid, row in self.rows.items()
                if row.is_listed or row.udi not in listed
            }
            self.has_baseline = True

    def _show(self, uuid: str, udi: str, status_code: str, is_latest: bool) -> None:
        known = {row.udi for row in self.rows.values()}
        new = newly_registered([ListedDevice(uuid, udi, "", status_code, is_latest)], known)
        if self.has_baseline:
            self.told += [(row.udi, PortfolioChange.REGISTERED) for row in new]
        before = self.rows.get(uuid)
        was = before.was_on_market if before is not None else None
        self.rows[uuid] = StoredListing(udi, status_code, is_latest, True, was, False)


def standing(register: Register, udi: str) -> bool | None:
    return is_on_market([StoredListing(*each, True, None, False) for each in register.values() if each[0] == udi])


@PROPERTY
@given(st.data())
def test_whatever_walks_show_nothing_is_told_that_is_not_so_and_nothing_twice(data: st.DataObject) -> None:
    walks, ever = Walks(), set[str]()
    udi_of = {f"u-{place}": str(place % 3 + 1) for place in range(6)}
    for _ in range(data.draw(st.integers(1, 6))):
        drawn = data.draw(records)
        register = {uuid: (udi_of[uuid], status, latest) for uuid, (_, status, latest) in drawn.items()}
        shown = data.draw(st.lists(st.sampled_from(sorted(register)), max_size=12)) if register else []
        if data.draw(st.booleans()):
            shown = [*shown, *data.draw(st.permutations(sorted(register)))]
        before, had_baseline, already = len(walks.told), walks.has_baseline, set(ever)
        walks.walk(register, shown)
        told = walks.told[before:]
        ever |= {udi_of[uuid] for uuid in shown}

        assert len(told) == len(set(told))
        assert had_baseline or not told
        for udi, change in told:
            if change is PortfolioChange.REGISTERED:
                assert udi in {udi_of[uuid] for uuid in shown} - already
            else:
                assert standing(register, udi) is (change is PortfolioChange.ON_MARKET)
    for udi in udi_of.values():
        of_market = [change for told, change in walks.told if told == udi and change is not PortfolioChange.REGISTERED]
        assert all(one is not other for one, other in pairwise(of_market))
