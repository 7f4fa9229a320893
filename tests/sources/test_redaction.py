"""What is kept of answers: nothing of persons."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from registerwatch.sources.checks.redaction import MAX_ROWS, Redaction, is_personal
from tests.register.builders import PROPERTY

PERSONAL = """
electronicMail telephone validatorName validatorEmail validatorTelephone validatorAddress lastUpdatedByUser
regulatoryComplianceResponsibles PRRC_FIRST_NAME PRRC_FAMILY_NAME ACT_EMAIL ACT_TELEPHONE contactPersons firstName
"""
KEPT = """
name names srn actorDataPublicView tradeName versionDate geographicalAddress associatedToUser ACT_COUNTRY_NAME MF_NAME
notifiedBody manufacturer deviceName cityName website
"""
SECRET = "Maria Example"

answers = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(SECRET),
    lambda each: st.lists(each, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "name"]), each, max_size=3),
    max_leaves=8,
)


def test_fields_of_persons_are_known_by_name_and_others_are_kept() -> None:
    assert [name for name in PERSONAL.split() if not is_personal(name)] == []
    assert [name for name in KEPT.split() if is_personal(name)] == []


@PROPERTY
@given(st.sampled_from(PERSONAL.split()), answers)
def test_whatever_lies_below_a_field_of_a_person_is_gone_and_the_field_is_named(name: str, value: Any) -> None:
    redaction = Redaction()

    kept = redaction.of({"content": [{"uuid": "u", "actor": {name: value}}]})

    assert kept == {"content": [{"uuid": "u", "actor": {name: None}}]}
    assert redaction.removed == (set() if value is None else {name})


def test_a_text_that_looks_like_an_address_is_gone_wherever_it_is() -> None:
    redaction = Redaction()

    kept = redaction.of(
        {
            "website": "mailto:prrc%40acme.example",
            "note": "Write to prrc@acme.example, please",
            "at": "5 @ 3 units",
            "prrc@acme.example": 1,
            "MF_ACTOR_NAMES": json.dumps({"texts": [{"text": "Acme"}], "electronicMail": "prrc@acme.example"}),
            "TEXTS": '{"texts":[{"text":"Acmé"}]}',
        }
    )

    assert kept == {
        "website": None,
        "note": None,
        "at": "5 @ 3 units",
        "MF_ACTOR_NAMES": json.dumps({"texts": [{"text": "Acme"}], "electronicMail": None}),
        "TEXTS": '{"texts":[{"text":"Acmé"}]}',
    }
    assert redaction.removed == {"website", "note", "electronicMail"}


def test_lists_are_cut_and_keys_of_subscriptions_are_gone() -> None:
    redaction = Redaction()

    kept = redaction.of(
        {"value": list(range(900)), "nextLink": "https://lake.example/udi?subscription-key=abc&$after=x"}
    )

    assert (len(kept["value"]), redaction.is_cut) == (MAX_ROWS, True)
    assert kept["nextLink"] == "https://lake.example/udi?subscription-key=removed&$after=x"


def test_an_answer_that_lies_too_deep_is_cut_and_costs_no_process() -> None:
    deep: Any = SECRET
    for _ in range(500):
        deep = [deep]

    assert SECRET not in json.dumps(Redaction().of(deep))
