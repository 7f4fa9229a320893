"""Dates of bar codes, which leave out the century, the day or the month."""

from calendar import monthrange
from datetime import date, timedelta
from typing import Literal

from registerwatch.register.identifiers.check_digits import is_number

DateForm = Literal["YYMMDD", "YYYYMMDD", "YYMMDDHH", "MMDDYY", "MMYY", "YYJJJ", "YYJJJHH", "CYYJJJ", "CYYJJJHHMM"]
"""`JJJ` is the day of the year, `C` the second digit of the year; `00` as the day leaves it open."""


def read_date(digits: str, form: DateForm, this_year: int) -> str | None:
    """A date in ISO 8601 (`2028-01-31`, `2028-01`, `2028-01-31T22`), None where the digits are not one."""
    if len(digits) != len(form) or not is_number(digits):
        return None
    named = {letter: _digits_of(digits, form, letter) for letter in "CYMDJ"}
    year = _year(named["C"], named["Y"], this_year)
    of_year = named["J"]
    day = _day_of_year(year, int(of_year)) if of_year else _day(year, int(named["M"]), int(named["D"] or 0))
    return _with_time(day, digits, form)


def _digits_of(digits: str, form: str, letter: str) -> str:
    return "".join(digit for digit, expected in zip(digits, form, strict=True) if expected == letter)


def _year(century: str, digits: str, this_year: int) -> int:
    """A year of two digits is at most 50 years ahead and 49 past (GS1 General Specifications 7.12)."""
    if century:
        return (1000 if century == "9" else 2000) + int(century + digits)
    if len(digits) == 4:
        return int(digits)
    years_ahead = (int(digits) - this_year + 49) % 100 - 49
    return this_year + years_ahead


def _day_of_year(year: int, number: int) -> str | None:
    first = date(year, 1, 1)
    day = first + timedelta(days=number - 1)
    return day.isoformat() if number and day.year == year else None


def _day(year: int, month: int, day: int) -> str | None:
    if not (1 <= month <= 12 and year):
        return None
    if not day:
        return f"{year:04}-{month:02}"
    return f"{year:04}-{month:02}-{day:02}" if day <= monthrange(year, month)[1] else None


def _with_time(day: str | None, digits: str, form: str) -> str | None:
    if day is None or "H" not in form:
        return day
    time = digits[form.index("H") :]
    is_time = int(time[:2]) < 24 and int(time[2:] or 0) < 60
    return f"{day}T{time[:2]}{':' + time[2:] if time[2:] else ''}" if is_time else None
