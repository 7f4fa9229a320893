"""The position of a page of results among all pages."""

import msgspec

MAX_PAGE = 10_000


def page_number(text: str) -> int:
    """The page number in an address, from 1; 1 if it is not a possible number."""
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_PAGE))
    return min(max(1, int(text)), MAX_PAGE) if is_number else 1


class PagePosition(msgspec.Struct, frozen=True):
    """One page of `size` rows out of `total`; all counts begin at 1."""

    page: int
    size: int
    total: int
    most: int | None = None
    """The number of first rows that have pages; None for all."""

    @property
    def pages(self) -> int:
        """How many pages there are; at least one, which may be empty."""
        return max(1, -(-self.total // self.size))

    @property
    def last(self) -> int:
        """The last page that can be shown."""
        return self.pages if self.most is None else min(self.pages, self.most // self.size)

    @property
    def ends_early(self) -> bool:
        """Whether this is the last page that can be shown, though there are more rows."""
        return self.page == self.last < self.pages

    @property
    def is_beyond(self) -> bool:
        """Whether there are results, but this page is beyond the last."""
        return self.page > self.pages

    @property
    def previous(self) -> int | None:
        """The page before, or the last one from beyond the end; None on the first."""
        return min(self.page - 1, self.last) if self.page > 1 else None

    @property
    def next(self) -> int | None:
        """The page after, None on the last that can be shown."""
        return self.page + 1 if self.page < self.last else None

    @property
    def first_row(self) -> int:
        """Number of the first row on this page."""
        return (self.page - 1) * self.size + 1

    @property
    def last_row(self) -> int:
        """Number of the last row on this page."""
        return min(self.page * self.size, self.total)
