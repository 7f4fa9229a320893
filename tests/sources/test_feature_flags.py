"""What is switched on in the register, in whichever form it says so."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.sources.checks.feature_flags import KNOWN_FLAGS, judge_flags, read_flags
from tests.register.builders import PROPERTY

AS_KNOWN = "9 on, 3 off: ffDeviceSubStatus, ffSponsor, ffVigFsn."


def in_every_form(flags: dict[str, Any]) -> list[Any]:
    """The forms in which the same flags may come."""
    return [
        *([{key: name, "value": value} for name, value in flags.items()] for key in ("name", "code", "key")),
        [{"name": name, "enable": value, "value": None, "description": "On."} for name, value in flags.items()],
        flags,
        {"flags": flags},
        {"content": [{"name": name, "value": value} for name, value in flags.items()], "totalElements": 12},
        {name: {"value": value} for name, value in flags.items()},
    ]


@pytest.mark.parametrize(
    "words", [(True, False), (1, 0), (1.0, 0.0), ("true", "false"), ("TRUE", " off "), ("1", "0")], ids=str
)
def test_the_same_flags_are_read_in_every_form(words: tuple[Any, Any]) -> None:
    flags = {name: words[0] if is_on else words[1] for name, is_on in KNOWN_FLAGS.items()}

    for answer in in_every_form(flags):
        assert read_flags(answer) == dict(KNOWN_FLAGS)
        assert (judge_flags(answer).is_ok, judge_flags(answer).found) == (True, AS_KNOWN)


def test_a_flag_that_turns_is_named_and_safety_notices_first_with_what_it_means() -> None:
    flags = {**KNOWN_FLAGS, "ffVigFsn": True, "ffNews": False, "ffRecall": True}
    flags.pop("ffSscpi")

    assert judge_flags(flags).found == (
        "ffVigFsn is on (it was off): EUDAMED publishes field safety notices now, and this release does not read them."
        " ffNews is off (it was on). ffSscpi is missing (it was on). ffRecall is new and on."
    )
    assert not judge_flags(flags).is_ok


def test_parameters_that_are_no_flags_are_not_watched() -> None:
    assert judge_flags({**KNOWN_FLAGS, "maxUploadSize": 20, "isMaintenance": False, "banner": "Hello"}).is_ok


KEYS = st.sampled_from(["name", "value", "flags", "ffVigFsn", "x"])
SCALARS = st.none() | st.booleans() | st.floats() | st.text()


@PROPERTY
@given(st.recursive(SCALARS, lambda each: st.lists(each) | st.dictionaries(KEYS, each)))
def test_an_answer_of_any_form_is_judged(answer: Any) -> None:
    assert len(judge_flags(answer).found) <= 500
