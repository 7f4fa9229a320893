"""The plots of a report: how figures grow with the number of devices, both databases, memory over time."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from bench import databases, drawing, mixed
from bench.drawing import Point
from bench.figures import Figure, Report, Row

RECORDS = "generated records (logarithmic)"


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawn chart: the name of its file without ending, its title, the chart."""

    name: str
    title: str
    svg: str


@dataclass(frozen=True, slots=True)
class Growth:
    """A chart of one row over the sizes, ours beside its peers."""

    name: str
    title: str
    axis: str
    part: str
    key: str

    def drawn(self, report: Report) -> Plot | None:
        """The chart; None where there are not two sizes."""
        found = {
            size: row for size, section in report.of(self.part).items() for row in section.rows if row.key == self.key
        }
        ours = next((section.ours for section in report.of(self.part).values() if section.rows), "")
        lines = _by_name(found, ours)
        values = [value for points in lines.values() for _, value in points]
        if len(found) < 2 or not values:
            return None
        across = drawing.log_axis(RECORDS, list(found))
        up = drawing.log_axis(self.axis, values)
        return Plot(self.name, self.title, drawing.lines(self.title, across, up, lines, list(found)))


GROWTHS = (
    Growth(
        "growth-search",
        "Search for the worst common word, p50",
        "ms (logarithmic)",
        "search",
        "common word, no filter",
    ),
    Growth("growth-reads", "Device reads, one core", "requests/s (logarithmic)", "reads", "device, 200"),
    Growth(
        "growth-databases",
        "Device reads by database, one core",
        "CPU ms a request (logarithmic)",
        "databases",
        "device, 200: cost of a request",
    ),
    Growth(
        "growth-fill",
        "Filling a copy",
        "records/s (logarithmic)",
        "fill",
        "copy and index together, until the command ends",
    ),
    Growth(
        "growth-start",
        "From the start to the first search and device",
        "s (logarithmic)",
        "start",
        "until a search and a device are answered",
    ),
)


def drawn(report: Report) -> list[Plot]:
    """Every plot for which there are figures."""
    makers: list[Callable[[Report], Plot | None]] = [growth.drawn for growth in GROWTHS]
    return [plot for make in (*makers, _costs, _memory) if (plot := make(report)) is not None]


def _by_name(rows: Mapping[int, Row], ours: str) -> dict[str, list[Point]]:
    """The points of ours and of every peer; nothing where there is no figure above zero."""
    lines: dict[str, list[Point]] = {}
    for size, row in sorted(rows.items()):
        for name, figure in _named(row, ours):
            if figure is not None and figure.value > 0:
                lines.setdefault(name, []).append((size, figure.value))
    return lines


def _named(row: Row, ours: str) -> Iterator[tuple[str, Figure | None]]:
    yield ours, row.ours
    yield from row.peers.items()


def _costs(report: Report) -> Plot | None:
    """What a request costs on both databases, at the greatest size."""
    sections = [section for section in report.of(databases.PART).values() if section.rows]
    if not sections:
        return None
    costs = [row for row in sections[-1].rows if row.ours.unit == "CPU ms"]
    groups = {row.what.partition(":")[0]: _values(row) for row in costs}
    title = "What a request costs, both databases"
    values = [value for group in groups.values() for value in group.values()]
    kept = {_short(what): group for what, group in groups.items()}
    up = drawing.log_axis("CPU ms a request (logarithmic)", values)
    return Plot("databases", title, drawing.bars(title, up, kept))


def _values(row: Row) -> dict[str, float]:
    return {name: figure.value for name, figure in _named(row, databases.OURS) if figure is not None}


def _short(what: str) -> str:
    for long, short in SHORTER.items():
        what = what.replace(long, short)
    return what


SHORTER = {
    "`If-None-Match`": "304",
    "device, 200, one connection": "device, 1 conn.",
    "actor with its first 20 devices": "actor",
    "search, common words, on the market": "words, filter",
    "search, common words": "words",
    "search, rare words": "rare",
    "search by SRN": "by SRN",
}


def _memory(report: Report) -> Plot | None:
    """Memory of the service under the mixed load."""
    courses = {
        name: [_point(each) for each in course.split()]
        for section in report.of(mixed.PART).values()
        for name, course in mixed.memory_courses(section).items()
        if course
    }
    points = [point for course in courses.values() for point in course]
    if not points:
        return None
    title = "Memory of the service under the mixed load"
    across = drawing.linear_axis("seconds", [x for x, _ in points])
    up = drawing.linear_axis("MB resident", [y for _, y in points])
    return Plot("mixed-memory", title, drawing.lines(title, across, up, courses))


def _point(text: str) -> Point:
    seconds, _, megabytes = text.partition(":")
    return float(seconds), float(megabytes)
