"""Hostile texts on every page of the account: shown as texts, never run, never markup, never a formula or a header."""

import csv
import io
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from openpyxl import load_workbook

from tests.billing.plain_provider import SETTINGS
from tests.pages.account.filled_account import REGISTRATIONS, FilledAccount, filled_account
from tests.pages.account.page_walk import State
from tests.pages.account.visited_account import INJECTED_HEADER, hostile_states, visited_states
from tests.pages.conftest import SiteMaker
from tests.pages.markup import Markup, accessibility_problems
from tests.pages.markup_checker import markup_problems

DIRECTIONS = re.compile(r"[\u202a-\u202e\u2066\u2067]")
"""Characters that change the direction of the text behind them."""
ISOLATED = re.compile("\u2068[^\u2069]*(\u2069|$)")
ISOLATES = {"bdi", "textarea", "option", "pre"}
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
NOT_SET_UP = 503
"""Of pages that need what this service lacks: a provider that signs in."""
NUMBER = re.compile(r"-\d+")
FILE_NAME = re.compile(r'attachment; filename="[\w-]+\.(csv|xlsx|txt|ics|json)"')


GIVEN_BACK = re.compile(
    "Bad value .* for attribute “value” on element “input”|Element “input” is missing .* “multiple”, “type”", re.DOTALL
)
"""A form gives back what was typed, though no browser would send such a date or address."""


class ShownTexts(Markup):
    """A page that knows which texts can turn the direction of others."""

    def __init__(self, html: str) -> None:
        self.turning: list[str] = []
        super().__init__(html)

    def handle_data(self, data: str) -> None:
        """Called by the parser."""
        super().handle_data(data)
        if DIRECTIONS.search(ISOLATED.sub("", data)) and not any(each.tag in ISOLATES for each in self._open):
            self.turning.append(data)


@pytest.fixture
async def account_and_states(site: SiteMaker, is_nightly: bool) -> AsyncIterator[tuple[FilledAccount, list[State]]]:
    async with site(*REGISTRATIONS, **SETTINGS) as harness:
        account = await filled_account(harness)
        yield account, await (visited_states if is_nightly else hostile_states)(harness, account)


async def test_hostile_texts_stay_texts_on_every_page_and_in_every_file(
    account_and_states: tuple[FilledAccount, list[State]], tmp_path: Path
) -> None:
    account, states = account_and_states
    wrong = [problem for state in states for problem in problems_of(state)]
    wrong += [
        f"{each.name} shows a secret" for each in states for told in account.secrets if told in each.response.text
    ]
    pages = {f"{number}.html": each.response.text for number, each in enumerate(states) if each.is_html}
    for problem in markup_problems(pages, tmp_path):
        number, _, words = problem.partition(".html: ")
        if not GIVEN_BACK.match(words):
            wrong.append(f"{states[int(number)].name}: {words}")

    assert len(states) > 30
    assert not wrong, "\n".join(dict.fromkeys(wrong))


def problems_of(state: State) -> list[str]:
    """What is wrong with an answer."""
    response, found = state.response, []
    if (response.status_code >= 500 and response.status_code != NOT_SET_UP) or INJECTED_HEADER in response.headers:
        found.append(f"status {response.status_code}, {dict(response.headers)}")
    if state.is_html:
        found += page_problems(response.text)
    elif "attachment" in response.headers.get("content-disposition", ""):
        found += file_problems(state)
    return [f"{state.name}: {each}" for each in found]


def page_problems(html: str) -> list[str]:
    """Markup that a text has become, and what a person would miss."""
    page = ShownTexts(html)
    found = [f"<{each.tag} {each.attributes}>" for each in page.elements if is_injected(each.tag, each.attributes)]
    found += [f"turns the direction: {each[:80]!r}" for each in page.turning]
    return found + accessibility_problems(page)


def is_injected(tag: str, attributes: dict[str, str | None]) -> bool:
    """Whether no template of ours has it."""
    scripted = any(name.startswith("on") for name in attributes) or attributes.get("src") == "x"
    address = (attributes.get("href") or attributes.get("action") or "").strip().lower()
    return scripted or tag == "iframe" or address.startswith(("javascript:", "data:"))


def file_problems(state: State) -> list[str]:
    """A cell that a spreadsheet would calculate, and a name that a visitor has chosen."""
    response = state.response
    found = [] if FILE_NAME.fullmatch(response.headers["content-disposition"]) else ["the file's name is not ours"]
    kind = response.headers["content-type"].partition(";")[0]
    if kind == "text/csv":
        cells = [cell for row in csv.reader(io.StringIO(response.text)) for cell in row]
        found += [f"a formula: {each[:40]!r}" for each in cells if FORMULA.match(each) and not NUMBER.fullmatch(each)]
    elif kind.endswith("spreadsheetml.sheet"):
        book = load_workbook(io.BytesIO(response.content))
        found += [
            f"a formula: {cell.coordinate}" for row in book.worksheets[0] for cell in row if cell.data_type == "f"
        ]
    return found
