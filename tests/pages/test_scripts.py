"""What the scripts of the pages can do, read from their text: a browser's test sees only what it makes them do."""

import re
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[2] / "src" / "registerwatch" / "pages" / "static"
SCRIPTS = sorted(STATIC.glob("*.js"))
FORBIDDEN = (
    r"\beval\b|\bFunction\s*\(|\bdocument\.write|\bouterHTML\b|\binsertAdjacentHTML\b|\bpostMessage\b"
    r"|['\"]message['\"]|\bsessionStorage\b|\bindexedDB\b|\bdocument\.cookie\b|\b__proto__\b|\bprototype\b"
    r"|setTimeout\(\s*['\"`]|https?://(?!www\.w3\.org)"
)


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 4


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_runs_no_text_takes_no_messages_and_asks_no_other_site(script: Path) -> None:
    assert re.findall(FORBIDDEN, script.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_stores_nothing_but_which_time_zone_a_user_keeps(script: Path) -> None:
    stored = re.findall(r"\blocalStorage\b[^;]*", script.read_text(encoding="utf-8"))
    assert [each for each in stored if not re.search(r"\.(?:get|set)Item\(ZONE_KEPT\b", each)] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_puts_in_markup_of_the_server_alone(script: Path) -> None:
    put_in = re.findall(r"\binnerHTML\b\s*=\s*([^;]+);", script.read_text(encoding="utf-8"))
    assert set(put_in) <= {"html"}
