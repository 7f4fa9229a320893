"""What a walk through the list of certificates changes, and what of it is news."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.ingest.list_walk import MISSED, Listed, WalkedList
from registerwatch.ingest.sweeps.certificate_changes import CertificateChanges, compare_certificates, compare_refusals
from registerwatch.platform.structs import replace
from registerwatch.register.certificates import (
    EXPIRY,
    NUMBER,
    REFUSED,
    REVISION,
    STATUS,
    CertificateChange,
    Refusal,
    RegisteredCertificate,
    StoredCertificate,
)
from registerwatch.register.codes import CERTIFICATE_STATUS_PREFIX, label
from tests.register.builders import PROPERTY

SRN, OTHER_SRN = "DE-MF-000000001", "DE-MF-000000002"
ISSUED, SUSPENDED, WITHDRAWN = (CERTIFICATE_STATUS_PREFIX + each for each in ("issued", "suspended", "withdrawn"))
Stored = Mapping[str, StoredCertificate]
Told = tuple[str, str, str]


def a_certificate(number: str = "Z-1", uid: str = "c-1", **differs: Any) -> RegisteredCertificate:
    fields = {
        "id": uid,
        "uuid": f"{uid}-uuid",
        "srn": SRN,
        "notified_body": "0123",
        "number": number,
        "status_code": ISSUED,
        "expiry": "2030-01-01",
        "version": 1,
    }
    return RegisteredCertificate(**{**fields, **differs})


def changed(certificate: RegisteredCertificate, **differs: Any) -> RegisteredCertificate:
    return replace(certificate, **{"version": (certificate.version or 0) + 1, **differs})


def a_walk(*rows: RegisteredCertificate, problem: str = "", unreadable: int = 0) -> WalkedList[RegisteredCertificate]:
    return WalkedList([Listed(row, 100) for row in rows], len(rows), unreadable, problem)


def in_part(*rows: RegisteredCertificate) -> WalkedList[RegisteredCertificate]:
    return a_walk(*rows, problem=MISSED)


def after(stored: Stored, changes: CertificateChanges) -> dict[str, StoredCertificate]:
    """What is stored once the changes are written."""
    written = {each.certificate.id: StoredCertificate(each.certificate, each.last_expiry) for each in changes.written}
    gone = {uid: replace(stored[uid], unlisted_at=100) for uid in changes.unlisted}
    return {**stored, **written, **gone}


def stored_of(*rows: RegisteredCertificate) -> dict[str, StoredCertificate]:
    return after({}, compare_certificates({}, a_walk(*rows), has_baseline=False))


def told(stored: Stored, walked: WalkedList[RegisteredCertificate]) -> list[Told]:
    return told_by(compare_certificates(stored, walked, has_baseline=True))


def told_by(changes: CertificateChanges) -> list[Told]:
    return [(change.field, change.old, change.new) for each in changes.news for change in each.changes]


def test_the_first_complete_walk_is_the_baseline() -> None:
    changes = compare_certificates({}, a_walk(a_certificate()), has_baseline=False)

    assert [each.certificate.id for each in changes.written] == ["c-1"]
    assert changes.news == []


def test_a_list_that_more_than_doubles_was_not_whole_before() -> None:
    few = stored_of(a_certificate())
    many = [a_certificate(f"Z-{number}", f"c-{number}") for number in range(1, 60)]

    assert told(few, a_walk(*many)) == []
    assert told(few, a_walk(*many[:3])) == [(NUMBER, "", "Z-2"), (NUMBER, "", "Z-3")]


def test_a_new_certificate_is_told_with_its_number_and_revision() -> None:
    stored = stored_of(a_certificate())
    new = a_certificate("Z-2", "c-2", revision="01")

    changes = compare_certificates(stored, a_walk(a_certificate(), new), has_baseline=True)

    [news] = changes.news
    assert (news.srn, news.certificate_id, news.visible_at) == (SRN, "c-2", 100)
    assert news.changes == (CertificateChange(NUMBER, "", "Z-2", "Z-2", "01"),)
    assert told(after(stored, changes), a_walk(a_certificate(), new)) == []


def test_a_new_certificate_that_its_status_does_not_leave_in_force_is_told_with_how_it_stands() -> None:
    elsewhere = a_certificate(srn=OTHER_SRN, status_code=WITHDRAWN)
    stored = stored_of(elsewhere)

    walked = a_walk(replace(elsewhere, srn=SRN), a_certificate("Z-2", "c-2", status_code=SUSPENDED))

    changes = compare_certificates(stored, walked, has_baseline=True)
    assert [each.changes for each in changes.news] == [
        (CertificateChange(NUMBER, "", "Z-1", "Z-1", standing="Withdrawn"),),
        (CertificateChange(NUMBER, "", "Z-2", "Z-2", standing="Suspended"),),
    ]


def test_a_next_revision_of_another_status_is_told_with_how_it_stands() -> None:
    before = a_certificate(revision="1")
    withdrawn = a_certificate(uid="c-2", revision="2", status_code=WITHDRAWN)

    changes = compare_certificates(stored_of(before), a_walk(withdrawn), has_baseline=True)
    assert [each.changes for each in changes.news] == [
        (CertificateChange(REVISION, "1", "2", "Z-1", standing="Withdrawn"),)
    ]
    beside = compare_certificates(stored_of(before), a_walk(before, withdrawn), has_baseline=True)
    assert [each.changes for each in beside.news] == [
        (CertificateChange(NUMBER, "", "Z-1", "Z-1", "2", standing="Withdrawn"),)
    ]
    was_withdrawn = stored_of(changed(before, status_code=WITHDRAWN))
    again = compare_certificates(was_withdrawn, a_walk(withdrawn), has_baseline=True)
    assert [each.changes for each in again.news] == [(CertificateChange(REVISION, "1", "2", "Z-1"),)]


def test_of_twins_that_come_together_the_one_in_force_does_not_hide_the_withdrawn_one() -> None:
    walked = a_walk(a_certificate(), a_certificate(uid="c-2", status_code=WITHDRAWN), a_certificate(uid="c-3"))

    changes = compare_certificates(stored_of(a_certificate("Z-2", "c-9")), walked, has_baseline=True)

    found = [(change.new, change.standing) for each in changes.news for change in each.changes]
    assert found == [("Z-1", None), ("Z-1", "Withdrawn")]


def test_a_version_under_another_uuid_is_the_same_certificate() -> None:
    before = a_certificate()

    assert told(stored_of(before), a_walk(changed(before, uuid="other"))) == []
    assert told(stored_of(before), a_walk(changed(before, uuid="other", status_code=SUSPENDED))) == [
        (STATUS, "Issued", "Suspended")
    ]


def test_an_old_version_beside_the_present_one_says_nothing() -> None:
    before = a_certificate()
    now = changed(before, uuid="other", status_code=SUSPENDED)
    old = replace(before, is_latest=False)

    for rows in ((now, old), (old, now)):
        assert told(stored_of(before), a_walk(*rows)) == [(STATUS, "Issued", "Suspended")]
    alone = compare_certificates(stored_of(now), in_part(old), has_baseline=True)
    assert (alone.written, alone.news) == ([], [])
    unknown = compare_certificates(stored_of(a_certificate("Z-2", "c-2")), in_part(old), has_baseline=True)
    assert (unknown.written, unknown.news) == ([], [])


def test_a_page_that_came_twice_with_a_change_in_between_counts_as_it_came_last() -> None:
    before = a_certificate()

    assert told(stored_of(before), in_part(before, changed(before, status_code=SUSPENDED))) == [
        (STATUS, "Issued", "Suspended")
    ]


def test_each_field_that_matters_is_told_and_no_other() -> None:
    before = a_certificate(revision="1")
    now = changed(before, number="Z-9", revision="2", status_code=WITHDRAWN, expiry="2031-01-01", actor_name="Other")

    assert told(stored_of(before), a_walk(now)) == [
        (NUMBER, "Z-1", "Z-9"),
        (REVISION, "1", "2"),
        (STATUS, "Issued", "Withdrawn"),
        (EXPIRY, "2030-01-01", "2031-01-01"),
    ]
    other = changed(before, actor_name="Other", type_code="refdata.certificate-mdr-type.x", issue_date="2026-01-01")
    changes = compare_certificates(stored_of(before), a_walk(other), has_baseline=True)
    assert ([each.certificate for each in changes.written], changes.news) == ([other], [])


def test_an_empty_value_is_no_change_and_neither_is_its_return() -> None:
    before = a_certificate(revision="1")
    empty = changed(before, revision="", status_code="", expiry=None, srn="")
    stored = stored_of(before)

    vanished = compare_certificates(stored, a_walk(empty), has_baseline=True)
    stored = after(stored, vanished)

    assert vanished.news == []
    assert stored["c-1"].certificate.expiry is None, "the register has none"
    assert told(stored, a_walk(before)) == []
    assert told(stored, a_walk(changed(before, expiry="2031-01-01"))) == [(EXPIRY, "2030-01-01", "2031-01-01")]


def test_a_value_that_was_never_there_comes_from_nothing() -> None:
    undated = a_certificate(expiry=None, status_code="", revision="")

    assert told(stored_of(undated), a_walk(a_certificate(revision="1"))) == [
        (REVISION, "", "1"),
        (STATUS, "", "Issued"),
        (EXPIRY, "", "2030-01-01"),
    ]


def test_an_unknown_status_is_told_readable() -> None:
    before = a_certificate()

    assert told(stored_of(before), a_walk(changed(before, status_code="refdata.certificate-status.on-hold"))) == [
        (STATUS, "Issued", "On hold")
    ]


def test_a_new_record_in_the_stead_of_one_under_its_number_is_its_next_revision_and_beside_it_a_new_certificate() -> (
    None
):
    before, now = a_certificate(revision="1"), a_certificate(uid="c-2", revision="2", expiry="2032-01-01")
    revised = [(REVISION, "1", "2"), (EXPIRY, "2030-01-01", "2032-01-01")]

    assert told(stored_of(before), a_walk(now)) == revised
    unlisted = after(stored_of(before), compare_certificates(stored_of(before), a_walk(), has_baseline=True))
    assert told(unlisted, a_walk(now)) == revised
    assert told(stored_of(before), a_walk(before, now)) == [(NUMBER, "", "Z-1")], "no end was moved"
    assert told(stored_of(before), in_part(before, now)) == [(NUMBER, "", "Z-1")]
    assert told(stored_of(before), in_part(now)) == [], "the old one may be what the new one is by now"
    both = stored_of(before, a_certificate(uid="c-3", revision="1a"))
    assert told(both, a_walk(before, both["c-3"].certificate, now)) == [(NUMBER, "", "Z-1")], "of which one?"
    more = a_certificate(uid="c-4", revision="3")
    assert told(stored_of(before), a_walk(before, now, more)) == [(NUMBER, "", "Z-1")] * 2, "which came first?"


@pytest.mark.parametrize(
    ("end", "changes"),
    [
        ("2032-01-01", (CertificateChange(EXPIRY, "2030-01-01", "2032-01-01", "Z-1", "2"),)),
        ("2030-01-01", ()),
        (None, ()),
    ],
    ids=["another end", "the same end", "no end"],
)
def test_the_end_of_a_next_revision_is_compared_with_that_of_the_one_before(
    end: str | None, changes: Sequence[CertificateChange]
) -> None:
    before, now = a_certificate(revision="1"), a_certificate(uid="c-2", revision="2", expiry=end)
    revised = (CertificateChange(REVISION, "1", "2", "Z-1"), *changes)

    [news] = compare_certificates(stored_of(before), a_walk(now), has_baseline=True).news
    assert news.changes == revised
    undated = after(
        stored_of(before),
        compare_certificates(stored_of(before), a_walk(replace(before, expiry=None)), has_baseline=True),
    )
    [news] = compare_certificates(undated, a_walk(now), has_baseline=True).news
    assert news.changes == revised, "the last end that the one before had counts"
    twin = a_certificate(uid="c-3", revision="1", expiry="2031-01-01")
    [news] = compare_certificates(stored_of(before, twin), a_walk(now), has_baseline=True).news
    assert news.changes == revised[:1], "of two ends, which one was replaced?"


def test_the_same_number_of_another_body_or_manufacturer_is_another_certificate() -> None:
    before = a_certificate()

    for other in (a_certificate(uid="c-2", notified_body="0999"), a_certificate(uid="c-2", srn=OTHER_SRN)):
        assert told(stored_of(before), a_walk(before, other)) == [(NUMBER, "", "Z-1")]


def test_an_identical_twin_is_no_news_and_a_different_one_is() -> None:
    before = a_certificate()
    twin, other = a_certificate(uid="c-2"), a_certificate(uid="c-2", status_code=SUSPENDED)

    assert told(stored_of(before), a_walk(before, twin)) == []
    assert told(stored_of(before), a_walk(before, other)) == [(NUMBER, "", "Z-1")]
    assert told(stored_of(a_certificate("Z-2", "c-9")), a_walk(before, twin)) == [(NUMBER, "", "Z-1")]


def test_twins_that_change_alike_at_the_same_time_are_told_once() -> None:
    one, two = a_certificate(), a_certificate(uid="c-2")
    now = [changed(each, status_code=SUSPENDED) for each in (one, two)]

    assert told(stored_of(one, two), a_walk(*now)) == [(STATUS, "Issued", "Suspended")]
    assert told(stored_of(one, two), a_walk(now[0], two)) == [(STATUS, "Issued", "Suspended")]


def test_a_twin_that_took_the_place_of_another_is_a_change_of_it() -> None:
    before, now = a_certificate(), a_certificate(uid="c-2", status_code=WITHDRAWN)
    stored = stored_of(before)

    assert told(stored, a_walk(now)) == [(STATUS, "Issued", "Withdrawn")]
    part = compare_certificates(stored, in_part(now), has_baseline=True)
    assert (part.written, part.news) == ([], []), "nobody knows whether the old one is gone"
    gone = after(stored, compare_certificates(stored, a_walk(), has_baseline=True))
    assert told(gone, a_walk(now)) == [(STATUS, "Issued", "Withdrawn")]


@pytest.mark.parametrize(("before", "now"), [("", "04"), ("04", "")])
def test_a_record_in_the_stead_of_one_whose_revision_becomes_known_or_vanishes_is_no_new_certificate(
    before: str, now: str
) -> None:
    other = a_certificate("Z-2", "c-9")
    stored = stored_of(a_certificate(revision=before), other)

    assert told(stored, a_walk(a_certificate(revision=now, uid="c-2"), other)) == []
    suspended = told(stored, a_walk(a_certificate(revision=now, uid="c-2", status_code=SUSPENDED), other))
    assert (STATUS, "Issued", "Suspended") in suspended
    assert NUMBER not in {field for field, _, _ in suspended}
    waits = compare_certificates(
        stored, in_part(a_certificate(revision=now, uid="c-2", expiry="2031-01-01")), has_baseline=True
    )
    assert (waits.news, [each for each in waits.written if each.certificate.id == "c-2"]) == ([], [])


def test_a_record_without_a_revision_beside_those_that_have_one_is_a_new_certificate() -> None:
    third, fourth, unknown = (a_certificate(uid=f"c-{each}", revision=each) for each in ("03", "04", ""))

    assert told(stored_of(third), a_walk(third, unknown)) == [(NUMBER, "", "Z-1")]
    assert told(stored_of(third, fourth), a_walk(unknown)) == [(NUMBER, "", "Z-1")], "it may be either"
    for rows in ((third, fourth), (fourth, third)):
        assert told(stored_of(unknown), a_walk(*rows)) == [(NUMBER, "", "Z-1")] * 2


def test_what_is_gone_is_no_news_and_neither_is_its_return() -> None:
    before, other = a_certificate(), a_certificate("Z-2", "c-2")
    stored = stored_of(before, other)

    assert compare_certificates(stored, in_part(other), has_baseline=True).unlisted == []
    assert compare_certificates(stored, a_walk(other, unreadable=1), has_baseline=True).unlisted == []
    gone = compare_certificates(stored, a_walk(other), has_baseline=True)
    assert (gone.unlisted, gone.news) == (["c-1"], [])
    back = compare_certificates(after(stored, gone), a_walk(before, other), has_baseline=True)
    assert ([each.certificate.id for each in back.written], back.news) == (["c-1"], [])
    assert not back.written[0].is_changed
    assert told(after(stored, gone), a_walk(changed(before, status_code=WITHDRAWN), other)) == [
        (STATUS, "Issued", "Withdrawn")
    ]


def test_a_certificate_that_went_to_another_manufacturer_is_new_there() -> None:
    before = a_certificate()

    [news] = compare_certificates(stored_of(before), a_walk(changed(before, srn=OTHER_SRN)), has_baseline=True).news

    assert (news.srn, [each.field for each in news.changes]) == (OTHER_SRN, [NUMBER])


def test_a_certificate_of_nobody_is_stored_and_told_to_nobody() -> None:
    changes = compare_certificates(
        stored_of(a_certificate()), in_part(a_certificate("Z-2", "c-2", srn="")), has_baseline=True
    )

    assert ([each.certificate.id for each in changes.written], changes.news) == (["c-2"], [])


def test_what_comes_under_the_number_of_a_record_that_was_not_shown_waits_for_a_whole_walk() -> None:
    before, other = a_certificate(), a_certificate("Z-2", "c-2")
    now = changed(before, revision="2")
    twin = replace(now, id="c-3", uuid="c-3-uuid")
    stored = stored_of(before, other)

    assert told(stored, in_part(other, twin)) == []
    part = compare_certificates(stored, in_part(other, twin), has_baseline=True)
    assert told(after(stored, part), a_walk(now, other, twin)) == [(REVISION, "", "2")], "once for both"


def test_a_refused_application_is_told_once() -> None:
    old = Refusal(id="r-1", srn=SRN, notified_body="0123", reference="APP-1")
    new = Refusal(id="r-2", srn=SRN, notified_body="0123", reference="APP-2")
    again = replace(new, id="r-3")
    walked = WalkedList([Listed(each, 100) for each in (new, old, again)], 3)

    baseline = compare_refusals({}, walked, has_baseline=False)
    changes = compare_refusals({"r-1": (old, True)}, walked, has_baseline=True)
    gone = compare_refusals({"r-1": (old, True)}, WalkedList([Listed(new, 100)], 1), has_baseline=True)

    assert (len(baseline.written), baseline.news) == (3, [])
    assert [(each.certificate_id, each.changes) for each in changes.news] == [
        ("r-2", (CertificateChange(REFUSED, "", "APP-2"),))
    ]
    assert gone.unlisted == ["r-1"]


# Any sequence of changes, any walks

statuses = st.sampled_from([ISSUED, SUSPENDED, WITHDRAWN])
dates = st.sampled_from([None, "2030-01-01", "2031-01-01"])
steps = st.lists(
    st.tuples(
        st.sampled_from(["list", "change", "change", "renumber", "unlist", "relist"]),
        st.integers(0, 4),
        statuses,
        dates,
        st.sampled_from(["", "1", "2"]),
    ),
    max_size=4,
)
pages = st.tuples(st.booleans(), st.randoms(use_true_random=False))
histories = st.lists(st.tuples(steps, pages), min_size=1, max_size=8)


class Register:
    """A register whose certificates change. `numbers` is how many numbers there are."""

    def __init__(self, numbers: int) -> None:
        self.numbers = numbers
        self.rows: dict[str, RegisteredCertificate] = {}
        self.gone: dict[str, RegisteredCertificate] = {}

    def step(self, action: str, which: int, status: str, expiry: str | None, revision: str) -> None:
        if action == "list":
            made = len(self.rows) + len(self.gone)
            number = f"Z-{made if self.numbers == 0 else made % self.numbers}"
            self.rows[f"c-{made}"] = a_certificate(
                number, f"c-{made}", status_code=status, expiry=expiry, revision=revision
            )
            return
        listed, gone = list(self.rows), list(self.gone)
        if action == "relist" and gone:
            uid = gone[which % len(gone)]
            self.rows[uid] = self.gone.pop(uid)
        if not listed or action == "relist":
            return
        uid = listed[which % len(listed)]
        if action == "unlist":
            self.gone[uid] = self.rows.pop(uid)
        elif action == "renumber":
            self.rows[uid] = changed(self.rows[uid], revision=revision, uuid=f"{uid}-{which}")
        else:
            self.rows[uid] = changed(self.rows[uid], status_code=status, expiry=expiry)

    def walked(self, complete: bool, random: Any) -> WalkedList[RegisteredCertificate]:
        """The rows in any order, some twice; of a walk that is not complete some are missing."""
        rows = list(self.rows.values())
        seen = rows if complete else [row for row in rows if random.random() < 0.6]
        seen = seen + [row for row in seen if random.random() < 0.2]
        random.shuffle(seen)
        return WalkedList([Listed(row, 100) for row in seen], len(rows), 0, "" if complete else MISSED)


def values(row: RegisteredCertificate) -> dict[str, str]:
    return {NUMBER: row.number, REVISION: row.revision, STATUS: label(row.status_code), EXPIRY: row.expiry or ""}


@PROPERTY
@given(histories)
def test_whatever_is_seen_of_it_every_change_is_told_once_and_nothing_else(history: Any) -> None:
    register, stored, has_baseline = Register(numbers=0), dict[str, StoredCertificate](), False
    known: dict[str, dict[str, str]] = {}
    """What whoever was told everything thinks of each certificate."""
    for changes_of_step, (complete, random) in [*history, ([], (True, None))]:
        for each in changes_of_step:
            register.step(*each)
        walked = a_walk(*register.rows.values()) if random is None else register.walked(complete, random)
        changes = compare_certificates(stored, walked, has_baseline=has_baseline)
        for news in changes.news:
            for change in news.changes:
                _believe(known, register.rows[news.certificate_id], change)
        stored = after(stored, changes)
        if not has_baseline and walked.is_complete:
            has_baseline = True
            known = {uid: values(each.certificate) for uid, each in stored.items()}
        assert compare_certificates(stored, walked, has_baseline=has_baseline).news == [], "told once"
    for uid, row in register.rows.items():
        present = values(row)
        assert {name: known[uid][name] for name, value in present.items() if value} == {
            name: value for name, value in present.items() if value
        }


def _believe(known: dict[str, dict[str, str]], row: RegisteredCertificate, change: CertificateChange) -> None:
    """Take a change as true: it must follow from what was told before, and be what the register says."""
    present = values(row)
    assert change.new == present[change.field]
    assert change.certificate == row.number
    if change.field == NUMBER and not change.old:
        assert row.id not in known
        known[row.id] = present
    else:
        assert known[row.id][change.field] == change.old != change.new
        known[row.id][change.field] = change.new


@PROPERTY
@given(histories)
def test_twins_and_revisions_are_never_told_twice_and_never_wrongly(history: Any) -> None:
    register, stored = Register(numbers=2), dict[str, StoredCertificate]()
    for changes_of_step, (complete, random) in history:
        for each in changes_of_step:
            register.step(*each)
        walked = register.walked(complete, random)
        changes = compare_certificates(stored, walked, has_baseline=True)
        _are_true(changes, register.rows)
        stored = after(stored, changes)
        assert compare_certificates(stored, walked, has_baseline=True).news == []
    final = compare_certificates(stored, a_walk(*register.rows.values()), has_baseline=True)
    stored = after(stored, final)
    for uid, row in register.rows.items():
        kept = stored[uid].certificate
        assert (kept.number, kept.status_code, kept.expiry) == (row.number, row.status_code, row.expiry)
        assert stored[uid].is_listed


def _are_true(changes: CertificateChanges, rows: Mapping[str, RegisteredCertificate]) -> None:
    alike: set[tuple[Any, ...]] = set()
    for news in changes.news:
        row = rows[news.certificate_id]
        for change in news.changes:
            assert change.new == values(row)[change.field] != change.old
            if change.field != NUMBER:
                same = (*row.identity, change)
                assert same not in alike
                alike.add(same)
