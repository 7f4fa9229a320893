"""The register's page envelope, in the manner of Spring."""

from collections.abc import Sequence

from msgspec import Struct

MOST_ROWS = 300


class Window(Struct, frozen=True):
    """Which page is asked for: 0-based, and how many rows a page has."""

    number: int
    size: int

    @property
    def offset(self) -> int:
        """How many rows lie before the page."""
        return self.number * self.size


def envelope(rows: Sequence[object], total: int, window: Window) -> dict[str, object]:
    """A page of rows and how it stands among all pages."""
    pages = -(-total // window.size)
    return {
        "content": list(rows),
        "totalPages": pages,
        "totalElements": total,
        "last": window.number >= pages - 1,
        "size": window.size,
        "number": window.number,
        "sort": None,
        "first": window.number == 0,
        "numberOfElements": len(rows),
    }
