"""Which certificate of one list is which of another, where one of them has no revision."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from registerwatch.register.basic_records import together
from registerwatch.register.certificate_identity import has_same_number, same_certificates, same_together
from registerwatch.register.models import Certificate
from tests.register.builders import PROPERTY

REVISIONS = st.sampled_from(["", "", "03", "04"])


def a_certificate(number: str = "Z-1", revision: str = "", body: str = "0123", **differs: str) -> Certificate:
    return Certificate(number, revision=revision, notified_body=body, **differs)  # type: ignore[arg-type]  # texts alone


places = st.lists(
    st.builds(
        a_certificate,
        number=st.sampled_from(["Z-1", "Z-1", "Z-2"]),
        revision=REVISIONS,
        body=st.sampled_from(["0123", "0123", "0482", ""]),
        expiry=st.sampled_from(["2030-01-01", "2031-01-01"]),
    ),
    max_size=5,
)
of_one_body = st.lists(st.builds(a_certificate, number=st.sampled_from(["Z-1", "Z-2"]), revision=REVISIONS), max_size=5)


def may_be_same(one: Certificate, other: Certificate) -> bool:
    return has_same_number(one, other) and (one.revision == other.revision or not (one.revision and other.revision))


def test_a_certificate_without_a_revision_is_the_only_one_of_its_number_and_body() -> None:
    known, unknown = a_certificate(revision="04"), a_certificate()

    assert same_certificates([unknown], [known]) == [[known]]
    assert same_certificates([known], [unknown]) == [[unknown]]
    assert same_certificates([unknown], [a_certificate("Z-2", "04"), a_certificate(revision="04", body="0482")]) == [[]]


def test_where_it_could_be_one_of_several_it_is_none_and_two_revisions_stay_two() -> None:
    third, fourth, unknown = a_certificate(revision="03"), a_certificate(revision="04"), a_certificate()

    assert same_certificates([unknown], [third, fourth]) == [[]]
    assert same_certificates([third, fourth], [unknown]) == [[], []]
    assert same_certificates([third], [fourth]) == [[]]
    assert same_certificates([unknown, third], [third, fourth]) == [[fourth], [third]], "what is known is taken first"
    assert same_certificates([unknown, fourth], [fourth]) == [[], [fourth]], "one place lists both, so they are two"


def test_certificates_of_several_lists_without_a_number_are_not_one() -> None:
    def together_of(*certificates: Certificate) -> list[int]:
        return [len(same) for _, same in same_together(certificates, lambda _one, _other: False)]

    assert together_of(a_certificate(revision="04"), a_certificate()) == [2]
    assert together_of(a_certificate(), a_certificate(body="")) == [2]
    assert together_of(a_certificate("", revision="04"), a_certificate("")) == [1, 1]
    assert together_of(a_certificate(""), a_certificate("", body="")) == [1, 1]


@PROPERTY
@given(places, places)
def test_one_is_the_same_as_another_from_both_sides_and_only_where_it_can_be(
    these: list[Certificate], those: list[Certificate]
) -> None:
    there = {(i, id(other)) for i, same in enumerate(same_certificates(these, those)) for other in same}
    back = {(id(other), j) for j, same in enumerate(same_certificates(those, these)) for other in same}

    for i, one in enumerate(these):
        for j, other in enumerate(those):
            is_same = (i, id(other)) in there
            assert is_same == ((id(one), j) in back)
            assert may_be_same(one, other) or not is_same
            assert is_same or (one.number, one.revision, one.notified_body) != (*other.key, other.notified_body)


@PROPERTY
@given(places, places, places, st.randoms(use_true_random=False))
def test_places_together_lose_no_certificate_and_their_order_of_rows_decides_nothing(
    kept: list[Certificate], record: list[Certificate], search: list[Certificate], random: Random
) -> None:
    found = together(kept, record, search)

    shuffled = [random.sample(each, len(each)) for each in (kept, record, search)]
    assert together(*shuffled) == found
    for each in (*kept, *record, *search):
        assert any(may_be_same(each, other) for other in found), each
    revisions = {(each.number, each.revision) for each in (*kept, *record, *search) if each.revision}
    assert {(each.number, each.revision) for each in found if each.revision} == revisions, "none is lost or made up"


@PROPERTY
@given(of_one_body, of_one_body)
def test_no_certificate_of_two_places_is_shown_twice(record: list[Certificate], search: list[Certificate]) -> None:
    found = together(record, search)

    for number in ("Z-1", "Z-2"):
        rows = [{each.revision for each in place if each.number == number} for place in (record, search)]
        shown = [each.revision for each in found if each.number == number]
        assert len(shown) == len(set(shown))
        left, free = rows[0] - rows[1], rows[1] - rows[0]
        is_one = ("" in left and len(free) == 1) or ("" in free and len(left) == 1)
        without = (left | free) - {""} | (rows[0] & rows[1])
        assert set(shown) == (without if is_one else rows[0] | rows[1])


def test_a_certificate_without_a_body_is_one_of_two_bodies_only_where_it_can_only_be_one() -> None:
    first, second, unknown = a_certificate(), a_certificate(body="0482"), a_certificate(body="")

    assert together([first], [unknown], [second]) == (first, second), "what is known of its body stays"
    assert together([first, second], [unknown]) == (unknown, first, second)


def test_what_the_search_says_goes_first_and_keeps_the_revision_of_the_record() -> None:
    record, search = a_certificate(revision="04", status="Issued"), a_certificate(status="Suspended")

    assert together([record], [search]) == (a_certificate(revision="04", status="Suspended"),)
    assert together([search], [record]) == (record,)
