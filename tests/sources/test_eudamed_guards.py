"""The guards against a filter that the register silently ignores."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.eudamed.guards import MAX_ROWS, REPROBE_SECONDS, FilterProofs, check_page, check_probe
from registerwatch.sources.eudamed.wire import DeviceRow, Page
from tests.register.builders import PROPERTY

DAY = 24 * 3600
ASKED = "04099999999992"


def a_page(*udis: str, total: int | None = None) -> Page[DeviceRow]:
    rows = [DeviceRow(uuid=f"u-{number}", primary_di=udi) for number, udi in enumerate(udis)]
    return Page(content=rows, total_elements=len(rows) if total is None else total)


def carries_asked(row: DeviceRow) -> bool:
    return row.primary_di == ASKED


@pytest.mark.parametrize("total", [2, 3, MAX_ROWS])
def test_rows_that_all_carry_the_asked_value_are_believed(total: int) -> None:
    check_page(a_page(ASKED, ASKED, total=total), matches=carries_asked)


def test_finding_nothing_is_believed() -> None:
    check_page(a_page(), matches=carries_asked)


@pytest.mark.parametrize("udis", [("other",), (ASKED, "other"), ("",), (ASKED + " ",), (ASKED[1:],)])
def test_one_row_of_another_value_discredits_the_page(udis: tuple[str, ...]) -> None:
    with pytest.raises(RegisterFailure, match="ignored the filter") as caught:
        check_page(a_page(*udis), matches=carries_asked)

    assert not caught.value.transient


def test_more_than_a_hundred_thousand_rows_are_not_believed_even_where_rows_cannot_tell() -> None:
    check_page(a_page(ASKED, total=MAX_ROWS), matches=None)
    with pytest.raises(RegisterFailure, match="ignored the filter"):
        check_page(a_page(ASKED, total=MAX_ROWS + 1), matches=None)
    with pytest.raises(RegisterFailure, match="ignored the filter"):
        check_page(a_page(ASKED, total=MAX_ROWS + 1), matches=carries_asked)


def test_an_empty_page_that_contradicts_its_total_is_throttling_and_no_empty_answer() -> None:
    with pytest.raises(RegisterFailure) as caught:
        check_page(a_page(total=1), matches=carries_asked)

    assert caught.value.throttled
    assert caught.value.transient


@PROPERTY
@given(st.lists(st.sampled_from([ASKED, "other"]), max_size=4), st.integers(-5, 200_000))
def test_a_page_is_believed_only_if_its_rows_and_its_total_agree(udis: list[str], total: int) -> None:
    believable = len(udis) <= total <= MAX_ROWS and set(udis) <= {ASKED} and (bool(udis) or total == 0)
    try:
        check_page(a_page(*udis, total=total), matches=carries_asked)
    except RegisterFailure:
        assert not believable
    else:
        assert believable


def test_a_probe_that_finds_anything_or_claims_to_is_a_failure() -> None:
    check_probe(a_page())
    for page in (a_page("other"), a_page("other", total=3_200_000), a_page("other", total=0)):
        with pytest.raises(RegisterFailure, match="ignored the filter"):
            check_probe(page)


def test_a_probe_that_counts_rows_and_shows_none_is_throttled_and_proves_and_refutes_nothing() -> None:
    with pytest.raises(RegisterFailure) as caught:
        check_probe(a_page(total=3_200_000))

    assert caught.value.throttled


def test_a_proof_holds_for_a_day_and_for_its_own_filter() -> None:
    proofs = FilterProofs()
    assert not proofs.is_proven("primaryDi", 1_000.0)

    proofs.prove("primaryDi", 1_000.0)

    assert proofs.is_proven("primaryDi", 1_000.0 + DAY - 1)
    assert not proofs.is_proven("primaryDi", 1_000.0 + DAY)
    assert not proofs.is_proven("srn", 1_000.0)


def test_a_clock_that_was_put_back_lets_every_filter_be_probed_again() -> None:
    proofs = FilterProofs()
    proofs.prove("primaryDi", 10 * DAY)
    proofs.refute("basicUdi", 10 * DAY)

    assert not proofs.is_proven("primaryDi", 2 * DAY)
    assert not proofs.is_refuted("basicUdi", 2 * DAY)


def test_a_refutation_holds_for_minutes_and_replaces_the_proof() -> None:
    proofs = FilterProofs()
    proofs.prove("basicUdi", 1_000.0)

    proofs.refute("basicUdi", 2_000.0)

    assert not proofs.is_proven("basicUdi", 2_000.0)
    assert proofs.is_refuted("basicUdi", 2_000.0 + REPROBE_SECONDS - 1)
    assert not proofs.is_refuted("basicUdi", 2_000.0 + REPROBE_SECONDS)
    proofs.prove("basicUdi", 3_000.0)
    assert not proofs.is_refuted("basicUdi", 3_000.0)
