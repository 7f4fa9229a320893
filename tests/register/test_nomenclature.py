"""Lists of terms of the nomenclature: which are stored in place of others."""

import pytest

from registerwatch.errors import InvalidInput
from registerwatch.register.nomenclature import Nomenclature, Term, check_replaces, nomenclature_of

MANY = Nomenclature({f"Q{number:04}": "Plates" for number in range(100)})


def test_codes_of_seven_levels_and_blanks_are_read_and_what_is_no_term_is_named() -> None:
    terms = [
        Term("Line 2", " a020102010101 ", "SYRINGES,  WITH NEEDLE "),
        Term("Line 3", "A02\u00a0", "SYRINGES"),
        Term("Line 4", "A02", "SYRINGES "),
        Term("Line 5", "A0", "HALF A LEVEL"),
        Term("Line 6", "A03", " "),
        Term("Line 7", "A04", "x" * 501),
        Term("Line 8", "A02", "NEEDLES"),
        Term("Line 9", "A0201020101010", "EIGHT LEVELS"),
    ]

    read = nomenclature_of(terms)

    assert read.names == {"A020102010101": "SYRINGES, WITH NEEDLE", "A02": "SYRINGES"}
    assert read.problems == (
        "Line 5: “A0” is no EMDN code, which is a letter and pairs of digits.",
        "Line 6: A03 needs a name of 1 to 500 characters.",
        "Line 7: A04 needs a name of 1 to 500 characters.",
        "Line 8: A02 has another name in an earlier entry.",
        "Line 9: “A0201020101010” is no EMDN code, which is a letter and pairs of digits.",
    )


@pytest.mark.parametrize(
    ("read", "stored", "reason"),
    [
        (Nomenclature({}, ("Line 2: “x” is no EMDN code.",)), 0, "no term with an EMDN code. Line 2: “x”"),
        (Nomenclature({"Q": "A"}, ("Line 3: bad.",)), 0, "One term of 2 cannot be read. Line 3: bad."),
        (Nomenclature({"Q": "A"}, ("Line 3: bad.", "Line 4: bad.")), 0, "2 terms of 3 cannot be read. Line 3"),
        (MANY, 112, "It has 100 of about 112 terms: so many are loaded."),
    ],
)
def test_a_list_that_lacks_terms_takes_the_place_of_another_only_by_force(
    read: Nomenclature, stored: int, reason: str
) -> None:
    with pytest.raises(InvalidInput, match=reason):
        check_replaces(read, stored)

    if read.names:
        check_replaces(read, stored, is_forced=True)
    else:
        with pytest.raises(InvalidInput):
            check_replaces(read, stored, is_forced=True)


def test_a_list_with_a_few_terms_less_is_the_next_version() -> None:
    check_replaces(MANY, 111)
    check_replaces(MANY, 0)
