"""Small static charts as SVG, readable on light and on dark pages: lines over a logarithmic axis, bars, a course."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 330
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 36, 46
INK, GRID = "#7d8590", "#7d859055"
COLOURS = ("#2f81f7", "#e8590c", "#2f9e44", "#ae3ec9", "#b08800", "#e03131", "#1098ad", "#868e96")

FEW_TICKS = 300
"""How many times as much as its beginning a logarithmic axis may end with until powers of ten are marks enough."""

Point = tuple[float, float]
Lines = Mapping[str, Sequence[Point]]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its title with the unit, its least and greatest value, whether it is logarithmic."""

    title: str
    low: float
    high: float
    is_log: bool

    def part(self, value: float) -> float:
        """Where a value stands between the ends, from 0 to 1."""
        low, high, at = (math.log10(each) if self.is_log else each for each in (self.low, self.high, value))
        return (at - low) / (high - low) if high > low else 0.5

    def schedule(self) -> list[float]:
        """Values that are marked."""
        if self.is_log:
            exponents = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1,) if self.high / self.low > FEW_TICKS else (1, 2, 5)
            found = [step * 10.0**exponent for exponent in exponents for step in steps]
        else:
            step = _step((self.high - self.low) / 5)
            found = [step * number for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]
        return [each for each in found if self.low <= each * (1 + 1e-9) and each <= self.high * (1 + 1e-9)]


def log_axis(title: str, values: Sequence[float]) -> Axis:
    """A logarithmic axis with some room around the values, all of which are above zero."""
    return Axis(title, min(values) / 1.5, max(values) * 1.5, is_log=True)


def linear_axis(title: str, values: Sequence[float]) -> Axis:
    """A linear axis from zero on."""
    return Axis(title, 0.0, max(values) * 1.08 or 1.0, is_log=False)


def lines(title: str, across: Axis, up: Axis, drawn: Lines, schedule: Sequence[float] = ()) -> str:
    """Lines with a point at every value, named on the right. `schedule` are marked below instead of round numbers."""
    marks = [*_frame(title), *_across(across, schedule or across.schedule()), *_up(up)]
    for number, (name, points) in enumerate(drawn.items()):
        colour = COLOURS[number % len(COLOURS)]
        places = [(_x(across.part(x)), _y(up.part(y))) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        marks.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if len(places) <= 10:
            marks += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        marks += _legend(number, name, colour)
    return _whole(title, marks)


def bars(title: str, up: Axis, groups: Mapping[str, Mapping[str, float]]) -> str:
    """Bars side by side in groups, which are named below."""
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    marks = [*_frame(title), *_up(up)]
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    width = room * 0.8 / len(names)
    for place, (label, values) in enumerate(groups.items()):
        begin = LEFT + place * room + room * 0.1
        for number, name in enumerate(names):
            if name in values:
                top = _y(up.part(values[name]))
                size = f'width="{width - 1:.1f}" height="{HEIGHT - BOTTOM - top:.1f}"'
                marks.append(f'<rect x="{begin + number * width:.1f}" y="{top:.1f}" {size} fill="{COLOURS[number]}"/>')
        marks += _words(label, begin + room * 0.4)
    for number, name in enumerate(names):
        marks += _legend(number, name, COLOURS[number])
    return _whole(title, marks)


def shown(value: float) -> str:
    """A number at an axis."""
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{sign}"
    return f"{value:g}"


def _step(raw: float) -> float:
    size = 10.0 ** math.floor(math.log10(raw))
    return next(size * step for step in (1, 2, 5, 10) if size * step >= raw)


def _x(part: float) -> float:
    return LEFT + part * (WIDTH - LEFT - RIGHT)


def _y(part: float) -> float:
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


def _text(words: str, x: float, y: float, *, anchor: str = "middle", size: int = 12, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{more}>{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _frame(title: str) -> Iterator[str]:
    yield _text(title, LEFT, 20, anchor="start", size=14, more=' font-weight="bold"')
    yield _line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, INK)


def _across(axis: Axis, schedule: Sequence[float], write: Callable[[float], str] = shown) -> Iterator[str]:
    for tick in schedule:
        x = _x(axis.part(tick))
        yield _line(x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 4, INK)
        yield _text(write(tick), x, HEIGHT - BOTTOM + 17)
    yield _text(axis.title, _x(0.5), HEIGHT - 8)


def _up(axis: Axis) -> Iterator[str]:
    for tick in axis.schedule():
        y = _y(axis.part(tick))
        yield _line(LEFT, y, WIDTH - RIGHT, y, GRID)
        yield _text(shown(tick), LEFT - 6, y + 4, anchor="end")
    middle = _y(0.5)
    yield _text(axis.title, 16, middle, more=f' transform="rotate(-90 16 {middle:.1f})"')


def _legend(number: int, name: str, colour: str) -> Iterator[str]:
    x, y = WIDTH - RIGHT + 14, TOP + 8 + number * 19
    yield f'<rect x="{x}" y="{y}" width="11" height="11" fill="{colour}"/>'
    yield _text(name, x + 17, y + 10, anchor="start")


def _words(label: str, x: float) -> Iterator[str]:
    """A label below a group of bars, on two lines where it is long."""
    first, _, second = label.partition(", ")
    yield _text(first, x, HEIGHT - BOTTOM + 16, size=11)
    if second:
        yield _text(second, x, HEIGHT - BOTTOM + 30, size=11)


def _whole(title: str, marks: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{escape(title)}" font-family="sans-serif" fill="{INK}">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", *marks, "</svg>"]) + "\n"
