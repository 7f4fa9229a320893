"""Names of countries and languages, dates, numbers, words that differ."""

import re
from importlib.resources import files

import pytest
from markupsafe import Markup

from registerwatch.pages.languages import language_name, language_tag
from registerwatch.pages.rendering import count, day, isolated, moment
from registerwatch.web.countries import NAMES, country_name
from registerwatch_standins.register.countries import COUNTRIES, MARKET_COUNTRIES


@pytest.mark.parametrize(
    ("code", "name"),
    [("DE", "Germany"), ("EL", "Greece"), ("gr", "Greece"), ("UK", "United Kingdom"), ("ZZ", "ZZ"), ("", "")],
)
def test_countries_are_written_out(code: str, name: str) -> None:
    assert country_name(code) == name


def test_every_country_that_registers_devices_has_a_name() -> None:
    assert {*COUNTRIES, *MARKET_COUNTRIES} <= set(NAMES)
    assert all(len(code) == 2 and code.isupper() and name for code, name in NAMES.items())
    assert country_name("XI") == "United Kingdom (Northern Ireland)"
    assert country_name("CI") == "Côte d’Ivoire"
    assert len(NAMES) > 240


@pytest.mark.parametrize(
    ("code", "name", "tag"),
    [
        ("sv", "Swedish", "sv"),
        ("EN", "English", "en"),
        ("", "All languages", ""),
        ('x1"', 'x1"', ""),
        ("ja", "ja", "ja"),
    ],
)
def test_languages_are_written_out_and_only_codes_become_attributes(code: str, name: str, tag: str) -> None:
    assert language_name(code) == name
    assert language_tag(code) == tag


def test_dates_are_written_for_people_and_machines() -> None:
    assert day("2030-09-06") == Markup('<time datetime="2030-09-06">6 Sep 2030</time>')
    assert moment("2026-11-21T03:38:00Z") == Markup(
        '<time datetime="2026-11-21T03:38:00Z">21 Nov 2026, 03:38 UTC</time>'
    )


def test_what_is_no_date_stays_text_and_is_never_markup() -> None:
    for filtered in (day, moment):
        assert filtered(None) == ""
        assert not isinstance(filtered("<b>soon</b>"), Markup)


def test_large_numbers_are_grouped() -> None:
    assert count(3_200_000) == "3,200,000"


def test_a_foreign_text_cannot_turn_the_direction_of_what_follows() -> None:
    assert isolated("plain") == "plain"
    assert isolated("\u202etxt") == "\u2068\u202etxt\u2069"


@pytest.mark.parametrize("element", ["del", "ins"])
def test_words_that_differ_are_told_apart_without_a_colour_for_good_or_bad(element: str) -> None:
    css = files("registerwatch.pages").joinpath("static/style.css").read_text(encoding="utf-8")
    rules = "".join(re.findall(rf"^(?:{element}|del, ins) {{(.*?)}}", css, re.MULTILINE))

    assert {"del": "line-through", "ins": "underline"}[element] in rules
    assert re.findall(r"var\(--(\w+(?:-on)?)\)", rules) == ["text", "none-on"]


@pytest.mark.parametrize("name", ["style.css", "app.css", "docs.css"])
def test_a_selector_that_not_every_browser_knows_drops_its_own_rule_alone(name: str) -> None:
    css = files("registerwatch.pages").joinpath(f"static/{name}").read_text(encoding="utf-8")

    lists = [each for each in re.findall(r"([^{}]*)\{", css) if ":has(" in each]
    assert [each for each in lists if "," in each] == []
