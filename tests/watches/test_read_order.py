"""In which order watched subjects are read."""

from hypothesis import given
from hypothesis import strategies as st

from registerwatch.watches.reading.read_order import DueSubject, Family, ReadGroup, grouped, most_first
from tests.register.builders import PROPERTY

ALPHA, BETA = "DE-MF-000000001", "DE-MF-000000002"
FAMILIES = {
    "di-1": Family(ALPHA, "B-1"),
    "di-2": Family(ALPHA, "B-2"),
    "di-3": Family(ALPHA, "B-2"),
    "di-4": Family(BETA, "B-4"),
    "di-5": Family(),
}
SUBJECTS = [*FAMILIES, ALPHA, BETA, "unknown"]


def test_devices_of_a_manufacturer_are_one_group_with_those_of_one_basic_udi_di_together() -> None:
    groups = grouped(["di-1", "di-4", "di-2", "di-3"], FAMILIES)

    assert [(each.manufacturer_srn, read_of(each)) for each in groups] == [
        (ALPHA, ["di-2", "di-3", "di-1"]),
        ("", ["di-4"]),
    ]


def test_a_manufacturer_that_is_watched_beside_its_devices_is_read_by_itself() -> None:
    groups = grouped([ALPHA, "di-1", "di-2"], FAMILIES)

    assert [(each.manufacturer_srn, read_of(each)) for each in groups] == [("", [ALPHA]), (ALPHA, ["di-1", "di-2"])]


@PROPERTY
@given(
    st.lists(st.builds(DueSubject, st.sampled_from(SUBJECTS), st.integers(0, 1_000)), unique_by=lambda each: each.name)
)
def test_every_subject_is_read_once_and_lists_are_of_devices_alone(due: list[DueSubject]) -> None:
    groups = most_first(due, FAMILIES)

    read = [subject for group in groups for subject in read_of(group)]
    assert sorted(read) == sorted(each.name for each in due)
    for group in groups:
        assert group.size == 1 or all(
            FAMILIES[each].manufacturer_srn == group.manufacturer_srn for each in read_of(group)
        )


def read_of(group: ReadGroup) -> list[str]:
    return [*group.subjects, *group.later]
