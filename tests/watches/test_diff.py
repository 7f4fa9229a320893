"""What counts as a change, and what is kept to compare with next time."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.platform.structs import replace
from registerwatch.register.models import Certificate, DatedStatus
from registerwatch.watches.diff import EXPIRY, NUMBER, STATUS, FieldChange, compare, summary_of
from registerwatch.watches.snapshot import (
    COMPARED,
    FIELD_SET,
    SeenCertificate,
    Snapshot,
    decoded,
    encoded,
    snapshot_of_device,
)
from tests.register.builders import PROPERTY, a_device
from tests.watches.builders import (
    ISSUED,
    OFF,
    ON,
    WITHDRAWN,
    a_certificate,
    a_snapshot,
    alike,
    certificate_lists,
    snapshots,
    without_certificates,
)

NOT_ASKED = "device_total"
"""Empty only where the register was not asked for it."""

# Plain fields


def only(name: str, value: str) -> Snapshot:
    """A snapshot with nothing but this field."""
    changed: dict[str, Any] = {name: value}
    return replace(a_snapshot(), **changed)


@pytest.mark.parametrize("name", COMPARED)
def test_a_field_with_a_new_value_is_a_change_and_the_new_value_is_kept(name: str) -> None:
    changes, kept = compare(only(name, "before"), only(name, "after"))

    assert changes == [FieldChange(name, "before", "after")]
    assert getattr(kept, name) == "after"


@pytest.mark.parametrize("name", COMPARED)
def test_a_field_that_vanishes_and_returns_makes_no_noise(name: str) -> None:
    there, empty = only(name, "before"), a_snapshot()

    gone, without = compare(there, empty)
    still_gone, _ = compare(without, empty)
    back, kept = compare(without, there)

    assert (gone, still_gone, back) == ([], [], [])
    assert getattr(without, name) == ("before" if name == NOT_ASKED else "")
    assert kept == there


def test_a_read_of_a_part_of_a_record_empties_no_field_and_forgets_no_former_value() -> None:
    _, kept = compare(only("reference", "R-1"), a_snapshot(status_code=ON))
    changes, in_part = compare(kept, replace(a_snapshot(), field_set=0))

    assert changes == []
    assert in_part == kept
    assert compare(in_part, only("reference", "R-2"))[0] == [FieldChange("reference", "R-1", "R-2")]


@pytest.mark.parametrize("name", COMPARED)
def test_a_field_that_vanishes_and_returns_otherwise_is_a_change_from_what_it_was(name: str) -> None:
    _, kept = compare(only(name, "before"), a_snapshot())

    assert compare(kept, only(name, "after"))[0] == [FieldChange(name, "before", "after")]


def test_a_field_that_had_nothing_is_a_change_from_nothing() -> None:
    assert compare(a_snapshot(), a_snapshot(reference="R-1"))[0] == [FieldChange("reference", "", "R-1")]


def test_the_same_code_in_other_words_is_no_change_and_the_new_words_are_kept() -> None:
    seen = a_snapshot(status_code=ON)
    reworded = a_snapshot(status_code=ON, status="Placed on the market")

    changes, kept = compare(seen, reworded)

    assert changes == []
    assert kept.status == "Placed on the market"


def test_another_code_is_a_change_in_words() -> None:
    changes, _ = compare(a_snapshot(status_code=ON), a_snapshot(status_code=OFF))

    assert changes == [FieldChange("status", "On the EU market", "No longer placed on the EU market")]
    assert summary_of(changes) == "status: On the EU market → No longer placed on the EU market"


def test_a_watch_that_began_while_the_date_of_a_status_was_not_read_is_told_no_date_that_was_there_before() -> None:
    on = DatedStatus("On the EU market", "on", "2024-03-23")
    off = a_device(status="Off the EU market", status_code="off")
    seen = snapshot_of_device(replace(off, former_status=on), certificates_read=False, searched=False)
    same, later = (
        snapshot_of_device(replace(off, status_date=date), certificates_read=False, searched=False)
        for date in ("2024-03-23", "2027-01-14")
    )

    assert seen.is_status_undated
    assert compare(seen, same)[0] == []
    changes, kept = compare(seen, later)
    assert changes == [FieldChange("status_date", "2024-03-23", "2027-01-14")]
    assert (kept.status_date, kept.is_status_undated) == ("2027-01-14", False)


def test_names_that_are_shown_alone_are_as_last_read_and_no_change() -> None:
    changes, kept = compare(
        a_snapshot(manufacturer_name="A", manufacturer_srn="DE-MF-1"), a_snapshot(manufacturer_name="B")
    )

    assert changes == []
    assert (kept.manufacturer_name, kept.manufacturer_srn) == ("B", "")


def test_several_changes_stand_in_one_summary() -> None:
    changes, _ = compare(a_snapshot(reference="1", version="1"), a_snapshot(reference="2", version="2"))

    assert summary_of(changes) == "reference: 1 → 2; version: 1 → 2"


# Certificates

Z1, Z2, D3 = a_certificate("Z-1"), a_certificate("Z-2"), a_certificate("D-3")

STATUSES = "refdata.certificate-status."
NOT_PLAINLY_VALID = {
    "suspended": "Suspended",
    "cancelled": "Cancelled",
    "restricted": "Restricted",
    "expired": "Expired",
    "held-back": "Held back",
}

TABLE = {
    "a new expiry": (
        [a_certificate(expiry="2030-01-01")],
        [a_certificate(expiry="2031-01-01")],
        [FieldChange("cert_expiry", "2030-01-01", "2031-01-01", "Z-1")],
    ),
    "an expiry where there was none": (
        [Z1],
        [a_certificate(expiry="2030-01-01")],
        [FieldChange("cert_expiry", "", "2030-01-01", "Z-1")],
    ),
    "no expiry any more": ([a_certificate(expiry="2030-01-01")], [Z1], []),
    "a new status": (
        [a_certificate(status_code=ISSUED)],
        [a_certificate(status_code=WITHDRAWN)],
        [FieldChange("cert_status", "Issued", "Withdrawn", "Z-1")],
    ),
    "the same status in other words": (
        [a_certificate(status_code=ISSUED)],
        [replace(a_certificate(status_code=ISSUED), status="Given")],
        [],
    ),
    "a new certificate": ([Z1], [Z1, Z2], [FieldChange("certificate", "", "Z-2", "Z-2")]),
    "a new certificate that is in force": (
        [],
        [a_certificate(status_code=ISSUED)],
        [FieldChange("certificate", "", "Z-1", "Z-1")],
    ),
    "a new certificate that is withdrawn": (
        [Z1],
        [Z1, a_certificate("Z-2", revision="01", status_code=WITHDRAWN)],
        [FieldChange("certificate", "", "Z-2", "Z-2", revision="01", standing="Withdrawn")],
    ),
    "new certificates that are suspended, cancelled, restricted, expired or nobody knows what": (
        [],
        [a_certificate(each, expiry="2099-01-01", status_code=STATUSES + each) for each in NOT_PLAINLY_VALID],
        [FieldChange("certificate", "", each, each, standing=words) for each, words in NOT_PLAINLY_VALID.items()],
    ),
    "one gone and one come that is withdrawn": (
        [a_certificate(status_code=ISSUED)],
        [a_certificate("Z-2", status_code=WITHDRAWN)],
        [FieldChange("certificate", "Z-1", "Z-2", "Z-2"), FieldChange("cert_status", "Issued", "Withdrawn", "Z-2")],
    ),
    "a first certificate": ([], [Z1], [FieldChange("certificate", "", "Z-1", "Z-1")]),
    "two new ones": (
        [Z1],
        [Z1, Z2, D3],
        [FieldChange("certificate", "", "Z-2", "Z-2"), FieldChange("certificate", "", "D-3", "D-3")],
    ),
    "one gone": ([Z1, Z2], [Z1], []),
    "all gone": ([Z1, Z2], [], []),
    "one gone and one come": ([Z1, Z2], [Z1, D3], [FieldChange("certificate", "Z-2", "D-3", "D-3")]),
    "one gone and two come": (
        [Z1],
        [Z2, D3],
        [FieldChange("certificate", "", "Z-2", "Z-2"), FieldChange("certificate", "", "D-3", "D-3")],
    ),
    "a new revision": (
        [a_certificate(revision="01", expiry="2030-01-01")],
        [a_certificate(revision="02", expiry="2031-01-01")],
        [FieldChange("cert_expiry", "2030-01-01", "2031-01-01", "Z-1")],
    ),
    "a new revision of one, beside another of the same number": (
        [a_certificate(revision="01", expiry="2030-01-01"), a_certificate(revision="05")],
        [a_certificate(revision="02", expiry="2031-01-01"), a_certificate(revision="05")],
        [FieldChange("cert_expiry", "2030-01-01", "2031-01-01", "Z-1")],
    ),
    "number and revision go before number alone": (
        [a_certificate(revision="01", expiry="2030-01-01"), a_certificate(revision="02", expiry="2031-01-01")],
        [a_certificate(revision="02", expiry="2032-01-01")],
        [FieldChange("cert_expiry", "2031-01-01", "2032-01-01", "Z-1")],
    ),
    "two revisions in place of one": (
        [a_certificate(revision="01"), Z2],
        [a_certificate(revision="02"), a_certificate(revision="03"), Z2],
        [FieldChange("certificate", "", "Z-1", "Z-1"), FieldChange("certificate", "", "Z-1", "Z-1")],
    ),
}


@pytest.mark.parametrize(("before", "after", "expected"), TABLE.values(), ids=TABLE)
def test_certificates_change_by_the_table(
    before: list[SeenCertificate], after: list[SeenCertificate], expected: list[FieldChange]
) -> None:
    changes, _ = compare(a_snapshot(certs=tuple(before)), a_snapshot(certs=tuple(after)))

    assert _sorted(changes) == _sorted(expected)


def test_a_certificate_that_is_gone_is_silent_when_it_returns_and_its_changes_are_told() -> None:
    _, kept = compare(a_snapshot(a_certificate(expiry="2030-01-01"), Z2), a_snapshot(Z2))

    assert compare(kept, a_snapshot(a_certificate(expiry="2030-01-01"), Z2))[0] == []
    assert compare(kept, a_snapshot(a_certificate(expiry="2031-01-01"), Z2))[0] == [
        FieldChange("cert_expiry", "2030-01-01", "2031-01-01", "Z-1")
    ]


@pytest.mark.parametrize(("before", "after", "former"), [("", "04", ""), ("04", "", "04")])
def test_a_revision_that_becomes_known_or_vanishes_is_no_news_and_no_second_row(
    before: str, after: str, former: str
) -> None:
    first, now = a_certificate(revision=before, expiry="2030-01-01"), a_certificate(revision=after, expiry="2031-01-01")
    other = a_certificate(number="Z-2", revision="01")

    changes, kept = compare(a_snapshot(first, other), a_snapshot(now, other))

    now_seen = replace(now, former_revision=former), other
    assert changes == [FieldChange("cert_expiry", "2030-01-01", "2031-01-01", "Z-1", revision=after or None)]
    assert kept.certs == now_seen
    _, without = compare(a_snapshot(first, other), a_snapshot(other))
    back, kept = compare(without, a_snapshot(now, other))
    assert (back, kept.certs) == (changes, now_seen), "once it is back"


def test_a_revision_that_is_not_told_is_one_of_several_only_where_the_others_are_there() -> None:
    third, fourth, unknown = (a_certificate(revision=each) for each in ("03", "04", ""))

    assert compare(a_snapshot(third, fourth), a_snapshot(third, unknown))[0] == []
    assert compare(a_snapshot(third), a_snapshot(third, unknown))[0] == [FieldChange("certificate", "", "Z-1", "Z-1")]
    assert compare(a_snapshot(unknown), a_snapshot(third, fourth))[0] == [
        FieldChange("certificate", "", "Z-1", "Z-1", revision="03"),
        FieldChange("certificate", "", "Z-1", "Z-1", revision="04"),
    ]


@PROPERTY
@given(st.dictionaries(st.sampled_from(["Z-1", "Z-2", "D-3"]), st.lists(st.sampled_from(["", "01", "02"]), min_size=4)))
def test_whenever_revisions_come_and_go_certificates_of_one_number_each_are_never_new(
    read: dict[str, list[str]],
) -> None:
    reads = [[a_certificate(number, revisions[place]) for number, revisions in read.items()] for place in range(4)]
    kept = a_snapshot(*reads[0])

    for each in reads[1:]:
        changes, kept = compare(kept, a_snapshot(*reversed(each)))
        assert changes == []
        assert [cert.number for cert in kept.certs or ()] == sorted(read)


def test_a_certificate_whose_end_date_vanishes_has_no_end_and_makes_no_noise_when_it_returns() -> None:
    ending, undated = a_snapshot(a_certificate(expiry="2030-01-01")), a_snapshot(a_certificate())

    changes, kept = compare(ending, undated)
    assert (changes, [(each.ends, each.expiry) for each in kept.certs or ()]) == ([], [("", "2030-01-01")])
    changes, kept = compare(kept, undated)
    assert (changes, [each.ends for each in kept.certs or ()]) == ([], [""])
    changes, kept = compare(decoded(encoded(kept)), ending)
    assert (changes, kept) == ([], ending)


def test_a_status_that_leaves_a_certificate_valid_makes_no_noise_when_it_returns() -> None:
    issued = a_snapshot(a_certificate(status_code=ISSUED))

    lost, kept = compare(issued, a_snapshot(Z1))
    back, _ = compare(kept, issued)

    assert (lost, back) == ([], [])


def test_a_certificate_whose_status_vanishes_has_none_and_the_next_is_told_by_how_it_stood_meanwhile() -> None:
    withdrawn = a_snapshot(a_certificate(status_code=WITHDRAWN))

    changes, kept = compare(withdrawn, a_snapshot(Z1))
    [lost] = kept.certs or ()
    assert (changes, lost.status, lost.status_code, lost.former_status) == ([], "", "", "Withdrawn")
    assert compare(kept, a_snapshot(Z1)) == ([], kept)
    kept = decoded(encoded(kept))
    told, back = compare(kept, withdrawn)
    assert (told, back) == ([FieldChange("cert_status", "", "Withdrawn", "Z-1")], withdrawn)
    told, _ = compare(kept, a_snapshot(a_certificate(status_code=ISSUED)))
    assert told == [FieldChange("cert_status", "Withdrawn", "Issued", "Z-1")]


def test_certificates_that_were_not_read_are_left_alone() -> None:
    seen = a_snapshot(Z1, Z2)

    changes, kept = compare(seen, without_certificates(reference="R-2"))

    assert changes == [FieldChange("reference", "", "R-2")]
    assert (kept.certs, kept.searched) == (seen.certs, True)


def test_the_first_read_of_certificates_after_a_partial_baseline_is_silent() -> None:
    changes, kept = compare(without_certificates(), a_snapshot(Z1))

    assert changes == []
    assert kept.certs == (Z1,)
    assert compare(kept, a_snapshot(Z1, Z2))[0] == [FieldChange("certificate", "", "Z-2", "Z-2")]


def test_what_the_first_search_finds_is_silent_while_changes_of_known_ones_are_told() -> None:
    seen = a_snapshot(a_certificate(expiry="2030-01-01"), Z2, searched=False)

    changes, kept = compare(seen, a_snapshot(a_certificate(expiry="2031-01-01"), D3, searched=True))

    assert changes == [FieldChange("cert_expiry", "2030-01-01", "2031-01-01", "Z-1")], "neither D-3 nor Z-2 → D-3"
    assert kept.searched
    assert compare(kept, a_snapshot(*(kept.certs or ()), a_certificate("N-9")))[0] == [
        FieldChange("certificate", "", "N-9", "N-9")
    ]


def test_without_any_search_a_certificate_that_the_record_lists_anew_is_told() -> None:
    changes, _ = compare(a_snapshot(Z1, searched=False), a_snapshot(Z1, Z2, searched=False))

    assert changes == [FieldChange("certificate", "", "Z-2", "Z-2")]


def test_a_search_that_fails_later_forgets_nothing() -> None:
    _, kept = compare(a_snapshot(Z1, searched=True), a_snapshot(Z1, searched=False))

    assert kept.searched


def test_no_expiry_in_the_source_means_none_in_the_change_and_none_is_made_up() -> None:
    changes, kept = compare(a_snapshot(a_certificate("Z-1", expiry="2030-01-01")), a_snapshot(D3))

    assert changes == [FieldChange("certificate", "Z-1", "D-3", "D-3")]
    assert kept.certs == (D3,), "the date of one certificate is no date of another"


# Properties


@PROPERTY
@given(snapshots())
def test_comparing_a_snapshot_with_itself_gives_nothing(snapshot: Snapshot) -> None:
    changes, kept = compare(snapshot, snapshot)

    assert changes == []
    assert _settled(kept) == _settled(snapshot)


@PROPERTY
@given(snapshots(), snapshots())
def test_the_same_read_twice_gives_nothing_the_second_time(seen: Snapshot, now: Snapshot) -> None:
    _, kept = compare(seen, now)

    assert compare(kept, now) == ([], kept)


@PROPERTY
@given(snapshots(), snapshots())
def test_every_change_has_a_new_value_that_differs_from_the_old_one(seen: Snapshot, now: Snapshot) -> None:
    changes, _ = compare(seen, now)

    assert all(change.new and change.new != change.old for change in changes)
    assert all((change.certificate is not None) == (change.field in {NUMBER, EXPIRY, STATUS}) for change in changes)


@PROPERTY
@given(snapshots(certificate_lists), snapshots(certificate_lists), st.randoms(use_true_random=False))
def test_the_order_of_certificates_does_not_matter(seen: Snapshot, now: Snapshot, random: Random) -> None:
    now = replace(now, is_partial=False)  # else what is kept is what was given
    changes, kept = compare(seen, now)

    others, also_kept = compare(_shuffled(seen, random), _shuffled(now, random))

    assert _sorted(others) == _sorted(changes)
    assert also_kept == kept


@PROPERTY
@given(snapshots(alike), snapshots(alike), st.randoms(use_true_random=False))
def test_the_order_of_certificates_that_are_alike_does_not_matter(
    seen: Snapshot, now: Snapshot, random: Random
) -> None:
    now = replace(now, is_partial=False)  # else what is kept is what was given
    changes, kept = compare(seen, now)

    others, also_kept = compare(_shuffled(seen, random), _shuffled(now, random))

    assert _sorted(others) == _sorted(changes)
    assert also_kept == kept


def test_of_certificates_that_are_alike_and_all_changed_the_latest_is_the_latest_still() -> None:
    before = replace(
        a_snapshot(), certs=tuple(SeenCertificate("D-1", expiry=day) for day in ("2027-01-01", "2030-01-01"))
    )
    now = replace(a_snapshot(), certs=tuple(SeenCertificate("D-1", expiry=day) for day in ("2031-01-01", "2028-01-01")))

    changes, _ = compare(before, now)

    told = sorted((change.old, change.new) for change in changes)
    assert told == [("2027-01-01", "2028-01-01"), ("2030-01-01", "2031-01-01")]


@PROPERTY
@given(st.lists(snapshots(alike), min_size=2, max_size=4))
def test_reading_certificates_that_are_alike_twice_gives_nothing_the_second_time(reads: list[Snapshot]) -> None:
    kept = reads[0]
    for read in reads[1:]:
        _, kept = compare(kept, read)

    assert compare(kept, reads[-1]) == ([], kept)
    assert compare(kept, _shuffled(reads[-1], Random(1)))[0] == []


@PROPERTY
@given(snapshots(alike))
def test_certificates_that_are_alike_and_the_same_as_before_are_no_change(snapshot: Snapshot) -> None:
    assert compare(snapshot, snapshot)[0] == []


LATER_FIELDS: dict[str, Any] = {"notified_body": "0123", "listed_in": "record", "type_code": "mdr-type.qms"}


def test_a_snapshot_of_an_earlier_release_knows_neither_body_nor_kind_nor_place_and_makes_no_change() -> None:
    earlier = a_snapshot(Z1, Z2), a_snapshot(replace(Z1, **LATER_FIELDS), replace(Z2, **LATER_FIELDS))
    assert decoded('{"certs":[["Z-1"],["Z-2"]],"searched":true,"field_set":2}') == earlier[0]

    changes, kept = compare(*earlier)

    assert changes == []
    assert kept.certs == earlier[1].certs


@pytest.mark.parametrize("field", ["notified_body", "type_code"])
def test_one_gone_and_one_come_are_two_certificates_where_two_bodies_or_kinds_are_known(field: str) -> None:
    def seen(number: str, value: str) -> Snapshot:
        return a_snapshot(a_certificate(number, **{field: value}))

    number, new = FieldChange(NUMBER, "Z-1", "Z-2", "Z-2"), FieldChange(NUMBER, "", "Z-2", "Z-2")

    for before, after in (("A", "A"), ("", "A"), ("A", ""), ("", "")):
        assert compare(seen("Z-1", before), seen("Z-2", after))[0] == [number]
    changes, kept = compare(seen("Z-1", "A"), seen("Z-2", "B"))
    assert changes == [new]
    assert [(each.number, each.is_gone) for each in kept.certs or ()] == [("Z-1", True), ("Z-2", False)]
    assert [each.number for each in kept.shown_certs] == ["Z-2"]


def test_what_the_record_lists_is_new_and_replaced_whether_or_not_the_search_was_read() -> None:
    old, new = (a_certificate(number, listed_in="record") for number in ("OLD", "NEW"))
    found = a_certificate("Z-9", listed_in="search")
    marked = replace(found, is_unconfirmed=True)

    assert compare(a_snapshot(old, found), a_snapshot(new, marked, searched=False))[0] == [
        FieldChange(NUMBER, "OLD", "NEW", "NEW")
    ]
    assert compare(a_snapshot(old, searched=False), a_snapshot(old, new, found))[0] == [
        FieldChange(NUMBER, "", "NEW", "NEW")
    ], "the search may have had Z-9 all the time"


def test_what_a_search_found_is_neither_gone_nor_replaced_in_a_read_that_could_not_search() -> None:
    marked, new = a_certificate("Z-9", listed_in="search", is_unconfirmed=True), a_certificate("N", listed_in="record")

    changes, kept = compare(a_snapshot(marked), a_snapshot(new, searched=False))

    assert changes == [FieldChange(NUMBER, "", "N", "N")]
    assert [each.number for each in kept.shown_certs] == ["N", "Z-9"]


def test_a_certificate_that_went_long_ago_is_not_what_a_new_one_replaces() -> None:
    old, stays, new = a_certificate("A"), a_certificate("B"), a_certificate("C")
    changes, kept = compare(a_snapshot(old, stays), a_snapshot(stays))
    assert changes == []

    changes, kept = compare(kept, a_snapshot(stays, new))

    assert changes == [FieldChange(NUMBER, "", "C", "C")]
    assert [each.number for each in kept.shown_certs] == ["B", "C"]


def test_a_certificate_that_returns_is_compared_with_what_it_was() -> None:
    old, stays = a_certificate("A", expiry="2027-01-01"), a_certificate("B")
    _, kept = compare(a_snapshot(old, stays), a_snapshot(stays))

    changes, kept = compare(kept, a_snapshot(replace(old, expiry="2028-01-01"), stays))

    assert changes == [FieldChange(EXPIRY, "2027-01-01", "2028-01-01", "A")]
    assert [each.number for each in kept.shown_certs] == ["A", "B"]


def test_certificates_that_are_gone_are_shown_only_where_no_other_is_listed() -> None:
    two = a_certificate("A"), a_certificate("B")
    changes, kept = compare(a_snapshot(*two), a_snapshot())
    assert (changes, [each.number for each in kept.shown_certs]) == ([], ["A", "B"])

    changes, kept = compare(kept, a_snapshot(a_certificate("C"), a_certificate("D")))

    assert [change.new for change in changes] == ["C", "D"]
    assert [each.number for each in kept.shown_certs] == ["C", "D"]


@PROPERTY
@given(snapshots(), st.lists(snapshots(), max_size=4))
def test_what_was_ever_seen_is_never_forgotten(first: Snapshot, reads: list[Snapshot]) -> None:
    kept = first
    for read in reads:
        _, kept = compare(kept, read)

    assert all(getattr(kept, name) or name in dict(kept.former) for name in COMPARED if getattr(first, name))
    assert all(
        getattr(kept, name) == getattr(read, name) for read in reads[-1:] for name in COMPARED.keys() - {NOT_ASKED}
    )


@PROPERTY
@given(snapshots())
def test_a_snapshot_comes_back_from_its_text_as_it_was(snapshot: Snapshot) -> None:
    assert decoded(encoded(snapshot)) == snapshot


def _sorted(changes: list[FieldChange]) -> list[tuple[str, str, str, str]]:
    return sorted((each.field, each.old, each.new, each.certificate or "") for each in changes)


def _settled(snapshot: Snapshot) -> Snapshot:
    if snapshot.certs is None:
        return snapshot
    return replace(snapshot, certs=tuple(sorted(snapshot.certs, key=lambda each: (each.number, each.revision))))


def _shuffled(snapshot: Snapshot, random: Random) -> Snapshot:
    certs = list(snapshot.certs or ())
    random.shuffle(certs)
    return replace(snapshot, certs=tuple(certs))


@PROPERTY
@given(snapshots(), snapshots())
def test_the_first_values_of_fields_that_were_not_compared_before_are_their_baseline(
    earlier: Snapshot, now: Snapshot
) -> None:
    earlier = replace(earlier, field_set=0, certs=None)

    changes, kept = compare(earlier, replace(now, certs=None))

    assert all(change.old for change in changes)
    assert changes == [each for each in compare(replace(earlier, field_set=FIELD_SET), now)[0] if each.old]
    assert kept.field_set == FIELD_SET
    last = {name: getattr(now, name) or getattr(earlier, name) for name in COMPARED}
    assert {name: dict(kept.former).get(name) or getattr(kept, name) for name in COMPARED} == last


def test_a_part_of_a_record_is_no_baseline_of_fields_that_were_not_compared_before() -> None:
    _, kept = compare(Snapshot(status="On", field_set=0), Snapshot(reference="R-1", field_set=0))

    assert kept.field_set == 0


def test_entries_that_differ_in_their_first_day_alone_are_one_certificate_in_whatever_order_they_are_read() -> None:
    days = "2027-01-01", "2025-01-01"
    twins = tuple(Certificate("Z-1", expiry="2030-01-01", listed_in="record", valid_from=day) for day in days)

    def read(*certs: Certificate) -> Snapshot:
        return snapshot_of_device(a_device(certs=certs), certificates_read=True, searched=True)

    stored = decoded(encoded(read(Certificate("Z-1", expiry="2030-01-01", listed_in="record"))))
    changes, kept = compare(stored, read(*twins))

    assert changes == []
    assert [each.valid_from for each in kept.certs or ()] == ["2025-01-01"]
    assert encoded(read(*twins)) == encoded(read(*reversed(twins))) == encoded(kept)
