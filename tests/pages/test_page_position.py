"""Where a page stands among the others."""

import pytest

from registerwatch.pages.page_position import PagePosition


def test_the_first_page_has_no_previous_and_the_last_no_next() -> None:
    assert (PagePosition(1, 8, 17).previous, PagePosition(1, 8, 17).next) == (None, 2)
    assert (PagePosition(2, 8, 17).previous, PagePosition(2, 8, 17).next) == (1, 3)
    assert (PagePosition(3, 8, 17).previous, PagePosition(3, 8, 17).next) == (2, None)


@pytest.mark.parametrize(("total", "pages"), [(0, 1), (1, 1), (8, 1), (9, 2), (3_200_000, 400_000)])
def test_a_page_that_is_not_full_counts_as_a_page(total: int, pages: int) -> None:
    assert PagePosition(1, 8, total).pages == pages


def test_rows_are_numbered_through_all_pages() -> None:
    assert (PagePosition(1, 8, 17).first_row, PagePosition(1, 8, 17).last_row) == (1, 8)
    assert (PagePosition(3, 8, 17).first_row, PagePosition(3, 8, 17).last_row) == (17, 17)


def test_from_beyond_the_end_one_goes_back_to_the_last_page() -> None:
    lost = PagePosition(40, 8, 17)

    assert lost.is_beyond
    assert lost.previous == 3
    assert lost.next is None
    assert not PagePosition(3, 8, 17).is_beyond


def test_pages_lead_no_further_than_rows_have_pages() -> None:
    last = PagePosition(2, 8, 40, most=20)

    assert (last.next, last.ends_early, last.last) == (None, True, 2)
    assert (PagePosition(1, 8, 40, most=20).next, PagePosition(1, 8, 40, most=20).ends_early) == (2, False)
    assert PagePosition(9, 8, 40, most=20).previous == 2
    assert not PagePosition(2, 8, 16, most=20).ends_early
