"""The output of `registerwatch copy fill`: expected time, progress, and fields that could not be read."""

from collections.abc import Callable

from registerwatch.commands.display.progress import ShowNote
from registerwatch.ingest.bulk_load import LoadForecast, LoadProgress
from registerwatch.sources.unread_fields import UnreadCounts

MAX_FIELDS = 20
"""Unread fields that are listed; further ones are counted."""


def forecast_line(forecast: LoadForecast) -> str | None:
    """How long a fill may take, None if it is short or nothing is known."""
    hours = forecast.hours
    if forecast.records is None or forecast.seconds_per_thousand is None or hours is None:
        return None
    stored = f", {forecast.stored:,} of them stored" if forecast.stored else ""
    least, most = forecast.seconds_per_thousand
    return (
        f"About {forecast.records:,} devices{stored}, in pages of 1,000. The live service has taken {least} to {most} s"
        f" a page: {hours[0]:.0f} to {hours[1]:.0f} hours are left. It can be stopped at any time; the same command"
        " goes on after the last stored page."
    )


class FillProgress:
    """The note beside the progress bar: the received size of the next page, and the time left.

    `monotonic` gives seconds. `show` is called with the note, and for a stored batch with records and total.
    """

    def __init__(self, monotonic: Callable[[], float], show: ShowNote) -> None:
        self._monotonic = monotonic
        self._show = show
        self._began_at = monotonic()
        self._first: int | None = None
        self._progress: LoadProgress | None = None

    def stored(self, progress: LoadProgress) -> None:
        """Show that a batch was stored."""
        if self._first is None:
            self._first = progress.records
            self._began_at = self._monotonic()
        self._progress = progress
        self._show(self._note(0), progress.records, progress.total)

    def received(self, size: int) -> None:
        """Show how many bytes of the next batch were received."""
        self._show(self._note(size), None, None)

    def _note(self, size: int) -> str:
        parts = []
        if self._progress is not None and self._progress.actors:
            parts.append(f"{self._progress.actors:,} actors")
        if size:
            parts.append(f"{size / 1e6:.1f} MB of the next page")
        left = self._hours_left()
        if left is not None:
            parts.append(f"about {left:.1f} h left" if left >= 1 else f"about {left * 60:.0f} min left")
        return ", ".join(parts)

    def _hours_left(self) -> float | None:
        progress, seconds = self._progress, self._monotonic() - self._began_at
        if progress is None or progress.total is None or self._first is None or progress.records <= self._first:
            return None
        rate = (progress.records - self._first) / max(seconds, 0.001)
        return max(0, progress.total - progress.records) / rate / 3_600


def unread_lines(unread: UnreadCounts) -> list[str]:
    """The fields that could not be read in a fill, a line each."""
    if not unread:
        return []
    lines = ["Fields that could not be read are unknown for these records:"]
    for field, count in list(unread.items())[:MAX_FIELDS]:
        records = "1 record" if count.records == 1 else f"{count.records:,} records"
        lines.append(f"  {field.field} of {field.record}: {records}, such as {count.example}")
    if len(unread) > MAX_FIELDS:
        lines.append(f"  and {len(unread) - MAX_FIELDS} more fields; `/health` lists all.")
    return lines
