"""What lists of a manufacturer's devices tell: whatever they leave out, show twice or in another order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.copy.portfolio import ListedDevice, PortfolioChange, StoredListing
from registerwatch.ingest.portfolio_changes import MarketJudgement, judged, newly_registered
from registerwatch.platform.structs import replace
from registerwatch.register.codes import STATUS_PREFIX
from registerwatch.register.models import RecordPrecedence
from tests.register.builders import PROPERTY

ON, OFF, UNINTENDED = (
    STATUS_PREFIX + each for each in ("on-the-market", "no-longer-on-the-market", "not-intended-for-eu-market")
)


def a_listing(
    status_code: str = ON,
    *,
    udi: str = "1",
    uuid: str = "u-1",
    is_latest: bool = True,
    legislation: str = "mdr",
    version: int = 1,
    is_listed: bool = True,
    was_on_market: bool | None = True,
    is_settled: bool = True,
) -> StoredListing:
    precedence = RecordPrecedence(uuid, is_latest, legislation, version)
    return StoredListing(udi, status_code, precedence, is_listed, was_on_market, is_settled)


def change_of(*rows: StoredListing, is_one_page: bool = False) -> PortfolioChange | None:
    return judged(rows, is_one_page=is_one_page).changes.get("1")


def test_a_device_leaves_the_market_when_its_record_does() -> None:
    assert change_of(a_listing(OFF)) is PortfolioChange.OFF_MARKET
    assert change_of(a_listing(OFF, is_latest=False)) is PortfolioChange.OFF_MARKET
    assert change_of(a_listing(UNINTENDED)) is PortfolioChange.OFF_MARKET
    assert change_of(a_listing(ON, was_on_market=False)) is PortfolioChange.ON_MARKET


@pytest.mark.parametrize(
    "other",
    [{"is_latest": False}, {"legislation": "mdd"}, {"version": 0}, {"uuid": "u-2"}],
    ids=["the latest version", "the regulation", "the higher version", "the smaller uuid"],
)
def test_of_several_records_the_one_that_answers_for_the_device_decides(other: dict[str, Any]) -> None:
    behind = {"uuid": "u-0", **other}

    assert change_of(a_listing(OFF), a_listing(ON, **behind)) is PortfolioChange.OFF_MARKET
    assert change_of(a_listing(ON), a_listing(OFF, **behind)) is None


def test_where_legislation_that_is_not_known_may_decide_the_records_that_may_answer_have_to_agree() -> None:
    unknown, behind = a_listing(OFF, legislation=""), a_listing(ON, uuid="u-2", legislation="")

    assert change_of(unknown, behind) is None, "either may be the one under a regulation"
    assert change_of(unknown, a_listing(ON, uuid="u-0", legislation="mdd", version=9)) is None
    assert change_of(unknown, a_listing(ON, uuid="u-2", legislation="mdr")) is None
    assert change_of(unknown, replace(behind, status_code=UNINTENDED)) is PortfolioChange.OFF_MARKET
    assert change_of(a_listing(OFF), behind) is PortfolioChange.OFF_MARKET, "it answers whatever the other one is"
    assert change_of(unknown, a_listing(ON, uuid="u-2", is_latest=False, legislation="mdr")) is (
        PortfolioChange.OFF_MARKET
    )


def test_what_a_list_does_not_tell_changes_nothing() -> None:
    assert change_of(a_listing(OFF, is_listed=False)) is None
    assert change_of(a_listing("")) is None
    assert change_of(a_listing(OFF, uuid="u-2"), a_listing("")) is None
    assert change_of(a_listing(OFF, was_on_market=None)) is None
    assert judged([a_listing(OFF, was_on_market=None)], is_one_page=False).on_market == {"1": False}


def test_a_record_that_replaces_another_one_has_its_standing() -> None:
    gone, new = a_listing(ON, is_listed=False), a_listing(OFF, uuid="u-2", was_on_market=None)

    assert change_of(gone, new) is PortfolioChange.OFF_MARKET
    assert change_of(gone, a_listing(ON, was_on_market=None)) is None


@pytest.mark.parametrize("is_on", [True, False])
def test_records_that_pages_showed_one_after_the_other_prove_a_change_when_two_walks_found_it(is_on: bool) -> None:
    status, change = (ON, PortfolioChange.ON_MARKET) if is_on else (OFF, PortfolioChange.OFF_MARKET)
    first, second = (a_listing(status, uuid=uuid, was_on_market=not is_on) for uuid in ("u-1", "u-2"))
    after = replace(second, is_settled=False)

    assert change_of(first, after) is None, "the first one may have changed since its page was read"
    assert judged([first, after], is_one_page=False).on_market == {}
    assert change_of(first, second) is change
    assert change_of(first, after, is_one_page=True) is change
    assert change_of(after) is change, "one record is read at one moment"


def test_records_that_agree_are_a_first_standing_at_once_and_others_when_two_walks_found_it() -> None:
    first, second = (a_listing(OFF, uuid=uuid, was_on_market=None, is_settled=False) for uuid in ("u-1", "u-2"))
    other = replace(second, status_code=ON)

    assert judged([first, second], is_one_page=False) == MarketJudgement({"1": False}, {})
    assert judged([first, other], is_one_page=False) == MarketJudgement({}, {})
    settled = [replace(each, is_settled=True) for each in (first, other)]
    assert judged(settled, is_one_page=False) == MarketJudgement({"1": False}, {})


def test_a_udi_di_is_newly_registered_once_however_many_records_it_has() -> None:
    rows = [ListedDevice(f"u-{place}", udi, "", ON, True, 1) for place, udi in enumerate(["1", "2", "2", "3"])]

    assert [row.udi for row in newly_registered(rows, {"1"})] == ["2", "3"]


Register = Mapping[str, tuple[str, str, bool, str, int]]
"""Records by uuid: UDI-DI, status, whether it is the latest version, legislation, version."""

records = st.dictionaries(
    st.sampled_from([f"u-{place}" for place in range(6)]),
    st.tuples(
        st.sampled_from(["1", "2", "3"]),
        st.sampled_from([ON, OFF, UNINTENDED]),
        st.booleans(),
        st.sampled_from(["mdr", "mdd"]),
        st.integers(1, 2),
    ),
    max_size=6,
)


@dataclass
class Walks:
    """A plain model of what `copy/portfolio.py` keeps, and of what was told."""

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

    def _show(self, uuid: str, udi: str, status_code: str, is_latest: bool, legislation: str, version: int) -> None:
        known = {row.udi for row in self.rows.values()}
        new = newly_registered([ListedDevice(uuid, udi, "", status_code, is_latest, version)], known)
        if self.has_baseline:
            self.told += [(row.udi, PortfolioChange.REGISTERED) for row in new]
        before = self.rows.get(uuid)
        was = before.was_on_market if before is not None else None
        self.rows[uuid] = StoredListing(
            udi, status_code, RecordPrecedence(uuid, is_latest, legislation, version), True, was, False
        )


def standing(register: Register, udi: str) -> bool:
    """Whether the device's own record is on the market."""
    ranks = {
        RecordPrecedence(uuid, is_latest, legislation, version).rank: status
        for uuid, (of, status, is_latest, legislation, version) in register.items()
        if of == udi
    }
    return ranks[min(ranks)] == ON


@PROPERTY
@given(st.data())
def test_whatever_walks_show_nothing_is_told_that_is_not_so_and_nothing_twice(data: st.DataObject) -> None:
    walks, ever = Walks(), set[str]()
    udi_of = {f"u-{place}": str(place % 3 + 1) for place in range(6)}
    for _ in range(data.draw(st.integers(1, 6))):
        drawn = data.draw(records)
        register = {uuid: (udi_of[uuid], *of_uuid[1:]) for uuid, of_uuid in drawn.items()}
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
