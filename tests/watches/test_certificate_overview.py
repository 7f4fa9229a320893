"""The certificates of all watched devices: groups by day, devices that share one, what nobody could read."""

from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from registerwatch.platform.structs import replace
from registerwatch.watches import repository
from registerwatch.watches.models import NOT_REGISTERED
from registerwatch.watches.questions.certificates import (
    CertificateFilter,
    CertificateGroup,
    CertifiedDevice,
    ReadState,
    by_manufacturer,
    overview,
)
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.snapshot import SeenCertificate, encoded
from tests.register.builders import PROPERTY, a_udi
from tests.support.harness import SRN, ServiceHarness
from tests.watches.builders import a_certificate, a_snapshot, certificate_lists, without_certificates

TODAY = date(2026, 11, 22)
SUSPENDED = "refdata.certificate-status.suspended"
MAKER = "DE-MF-000000007"


def in_days(days: int) -> str:
    return str(TODAY + timedelta(days=days))


def a_device(
    *certs: SeenCertificate,
    number: int = 1,
    read: bool = True,
    searched: bool = True,
    error: str = "",
    maker: str = MAKER,
    read_at: int = 9,
) -> CertifiedDevice:
    return CertifiedDevice(
        number,
        a_udi(number),
        f"Device {number}",
        certs if read else None,
        searched,
        "Acme",
        maker,
        read_at,
        error,
        was_read=read,
    )


def groups(*expiries: str) -> list[CertificateGroup]:
    found = overview(
        [a_device(*(a_certificate(f"Z-{each}", expiry=each) for each in expiries))], CertificateFilter(), TODAY
    )
    return [each.group for each in found.certificates]


def test_a_certificate_ends_today_on_its_last_day_and_has_ended_the_day_after() -> None:
    assert groups(*map(in_days, [-1, 0, 30, 31, 90, 91, 180, 181]), "", "soon") == [
        CertificateGroup.ENDED,
        *[CertificateGroup.WITHIN_30] * 2,
        *[CertificateGroup.WITHIN_90] * 2,
        *[CertificateGroup.WITHIN_180] * 2,
        CertificateGroup.LATER,
        *[CertificateGroup.UNDATED] * 2,
    ]


def test_devices_share_a_certificate_also_where_they_were_read_at_different_times() -> None:
    same, renewed = a_certificate("Z-1", expiry=in_days(9)), a_certificate("Z-1", expiry=in_days(900))
    unsure = a_certificate("Z-1", expiry=in_days(9), is_unconfirmed=True)

    def rows(*devices: CertifiedDevice) -> list[tuple[int | None, list[int], int, list[tuple[int | None, int]]]]:
        return [
            (
                each.days,
                [one.device.watch_id for one in each.devices],
                each.unconfirmed,
                [(reading.shown.remaining, reading.devices) for reading in each.readings],
            )
            for each in overview(devices, CertificateFilter(), TODAY).matching
        ]

    early = a_device(same, read_at=5), a_device(unsure, number=2, read_at=6)
    assert rows(*early) == [(9, [1, 2], 1, [])]
    late = a_device(renewed, number=3, read_at=7)
    assert rows(*early, late) == rows(late, *early) == [(900, [1, 2, 3], 1, [(900, 1), (9, 2)])]
    both = a_device(same, renewed, number=4, read_at=8)
    assert rows(*early, both) == [(9, [1, 2, 4], 1, []), (900, [4], 0, [])], "one device lists both, so they are two"


def test_a_certificate_that_the_register_still_lists_for_a_device_is_not_called_gone() -> None:
    listed, gone = a_certificate("Z-1", expiry=in_days(900)), a_certificate("Z-1", expiry=in_days(900), is_gone=True)

    [found] = overview(
        [a_device(listed, read_at=5), a_device(gone, number=2, read_at=6)], CertificateFilter(), TODAY
    ).matching

    assert found.shown.words == "Valid"
    assert [(each.shown.words, each.devices, each.read_at) for each in found.readings] == [
        ("Valid", 1, 5),
        ("No longer listed", 1, 6),
    ]


def test_a_certificate_stands_as_a_device_has_it_that_the_register_still_lists() -> None:
    left = a_device(a_certificate("Z-1", expiry=in_days(900)), read_at=6, error=f"{NOT_REGISTERED} It is tired.")
    read = a_device(a_certificate("Z-1", expiry=in_days(900), status_code=SUSPENDED), number=2, read_at=5)

    [found] = overview([left, read], CertificateFilter(), TODAY).matching

    assert found.shown.words == "Suspended"


def test_the_same_status_in_other_words_is_no_disagreement_of_reads() -> None:
    def read(words: str, number: int, revision: str = "01") -> CertifiedDevice:
        seen = replace(a_certificate("Z-1", revision, in_days(9), SUSPENDED), status=words)
        return a_device(seen, number=number, read_at=number)

    [found] = overview([read("Suspended", 1), read("On hold", 2)], CertificateFilter(), TODAY).matching
    [other] = overview([read("Suspended", 1), read("On hold", 2, "")], CertificateFilter(), TODAY).matching

    assert (len(found.devices), found.readings) == (2, ())
    assert (len(other.devices), other.readings, other.seen.revision) == (2, (), "01")


def test_a_certificate_whose_revision_the_register_gives_for_one_device_alone_is_one_row() -> None:
    unknown, third, fourth = (a_certificate("Z-1", each, expiry=in_days(9)) for each in ("", "03", "04"))

    def rows(*devices: CertifiedDevice) -> dict[str, list[int]]:
        found = overview(devices, CertificateFilter(), TODAY).certificates
        return {each.seen.revision: [one.device.watch_id for one in each.devices] for each in found}

    one, two, three = a_device(unknown), a_device(fourth, number=2), a_device(third, number=3)
    assert rows(one, two) == rows(two, one) == {"04": [1, 2]}
    assert rows(one, two, three) == {"": [1], "04": [2], "03": [3]}, "nobody knows which one it is"
    assert rows(a_device(unknown, fourth)) == {"": [1], "04": [1]}, "the register lists two"


def test_a_certificate_whose_identity_is_known_in_part_and_that_was_read_differently_is_one_row() -> None:
    def read(number: int, revision: str, body: str, status_code: str = "") -> CertifiedDevice:
        seen = a_certificate("Z-1", revision, in_days(9), status_code, notified_body=body)
        return a_device(seen, number=number, read_at=number)

    def rows(*devices: CertifiedDevice) -> list[tuple[str, str, int, int]]:
        found = overview(devices, CertificateFilter(), TODAY).certificates
        return sorted(
            (each.seen.revision, each.seen.notified_body, len(each.devices), len(each.readings)) for each in found
        )

    suspended = read(1, "04", "0123", SUSPENDED)
    assert rows(suspended, read(2, "", "0123")) == [("04", "0123", 2, 2)]
    assert rows(suspended, read(2, "04", "")) == [("04", "0123", 2, 2)]
    assert rows(suspended, read(2, "", ""), read(3, "", "0123")) == [("04", "0123", 3, 2)]
    assert rows(read(1, "", "0123", SUSPENDED), read(2, "04", "")) == [("04", "0123", 2, 2)]
    of_two = rows(suspended, read(2, "", "0456"), read(3, "04", "0456"))
    assert of_two == [("04", "0123", 1, 0), ("04", "0456", 2, 0)], "two bodies have two certificates"
    in_doubt = rows(suspended, read(2, "04", "0456"), read(3, "04", ""))
    assert in_doubt == [("04", "", 1, 0), ("04", "0123", 1, 0), ("04", "0456", 1, 0)]


def test_certificates_with_different_ends_are_two_where_only_one_has_a_revision_or_a_body() -> None:
    def rows(*read: tuple[str, str, str, int | None]) -> list[tuple[str, str, list[int]]]:
        """Number, revision and devices of rows, of number, revision, body and days left that devices have."""
        certificates = [
            a_certificate(number, revision, "" if days is None else in_days(days), notified_body=body)
            for number, revision, body, days in read
        ]
        devices = [a_device(each, number=place, read_at=place) for place, each in enumerate(certificates, 1)]
        orders = [overview(each, CertificateFilter(), TODAY).certificates for each in (devices, devices[::-1])]
        found, again = (
            sorted(
                (row.seen.number, row.seen.revision, sorted(each.device.watch_id for each in row.devices))
                for row in order
            )
            for order in orders
        )
        assert found == again, "the order of devices decides nothing"
        return found

    ended, renewed = ("HZ 1", "1", "0123", -700), ("HZ 1", "", "0123", 1_100)
    assert rows(ended, renewed, renewed) == [("HZ 1", "", [2, 3]), ("HZ 1", "1", [1])]
    assert rows(ended, ("HZ 1", "1", "", 1_100)) == [("HZ 1", "1", [1]), ("HZ 1", "1", [2])]
    assert rows(ended, ("HZ 1", "", "0123", None)) == [("HZ 1", "", [2]), ("HZ 1", "1", [1])], "it has no end"
    assert rows(ended, ("HZ 1", "", "0123", -700), renewed) == [("HZ 1", "", [2, 3]), ("HZ 1", "1", [1])]
    assert rows(ended, ("HZ 1", "", "", -700)) == [("HZ 1", "1", [1, 2])]
    assert rows(("HZ 1", "1", "0123", None), ("HZ 1", "", "0123", None)) == [("HZ 1", "1", [1, 2])]
    assert rows(("", "1", "0123", 9), ("", "", "0123", 9)) == [("", "", [2]), ("", "1", [1])], "without a number"
    assert rows(("", "", "0123", 9), ("", "", "0123", 99), ("", "", "0123", 9)) == [("", "", [1, 3]), ("", "", [2])]


def test_what_ends_next_comes_first_and_what_ended_long_ago_last() -> None:
    days = [200, -400, 5, -31, -30, 0]
    certs = [a_certificate(f"Z{each}", expiry=in_days(each)) for each in days]

    found = overview([a_device(*certs, a_certificate("undated"))], CertificateFilter(), TODAY)

    assert [each.days for each in found.matching] == [-30, 0, 5, 200, None, -31, -400]


def test_what_was_not_read_is_told_apart_from_what_has_none() -> None:
    devices = [
        a_device(a_certificate("Z-1")),
        a_device(number=2),
        a_device(number=3, read=False),
        a_device(number=4, read=False, error="The register could not be read."),
        a_device(a_certificate("Z-1"), number=5, searched=False),
        a_device(a_certificate("Z-1"), number=6, error="The register could not be read."),
        a_device(a_certificate("Z-1"), number=7, error=NOT_REGISTERED),
        a_device(number=8, read=False, error=NOT_REGISTERED),
    ]

    found = overview(devices, CertificateFilter(), TODAY)

    assert found.by_state == {
        ReadState.COMPLETE: 2,
        ReadState.UNREAD: 1,
        ReadState.FAILED: 1,
        ReadState.PARTIAL: 1,
        ReadState.OUTDATED: 1,
        ReadState.DELISTED: 1,
        ReadState.UNKNOWN: 1,
    }
    assert [each.watch_id for each in found.gaps] == [4, 3, 8, 5, 6, 7, 2]
    assert (found.without, found.oldest_read) == (1, 9)


def test_a_filter_leaves_counts_of_groups_that_can_be_chosen_next() -> None:
    devices = [
        a_device(
            a_certificate("Z-1", expiry=in_days(5), notified_body="0123"), a_certificate("Z-2", expiry=in_days(50))
        ),
        a_device(a_certificate("Q-3", expiry=in_days(5), status_code=SUSPENDED), number=2, maker="FR-MF-000000001"),
    ]

    chosen = CertificateFilter("ACME z", MAKER, CertificateGroup.WITHIN_30)
    found = overview(devices, chosen, TODAY)

    assert [each.seen.number for each in found.matching] == ["Z-1"]
    assert found.by_group == {CertificateGroup.WITHIN_30: 1, CertificateGroup.WITHIN_90: 1}
    everything = overview(devices, CertificateFilter(), TODAY)
    rows = by_manufacturer(everything.matching)
    assert [(row.srn, row.total, row.standing.words, row.first_days) for row in rows] == [
        ("FR-MF-000000001", 1, "Suspended", 5),
        (MAKER, 2, "Ends within 90 days", 5),
    ]
    assert [each.seen.number for each in overview(devices, CertificateFilter("suspended"), TODAY).matching] == ["Q-3"]
    assert [each.seen.number for each in overview(devices, CertificateFilter(a_udi(2)), TODAY).matching] == ["Q-3"]


@PROPERTY
@given(st.lists(certificate_lists | st.none(), max_size=6))
def test_every_shown_certificate_of_every_device_is_listed_once(
    lists: list[tuple[SeenCertificate, ...] | None],
) -> None:
    devices = [a_device(*(each or ()), number=place, read=each is not None) for place, each in enumerate(lists)]

    found = overview(devices, CertificateFilter(), TODAY)

    shown = [(one.device.watch_id, one.seen) for each in found.matching for one in each.devices]
    listed = [(place, seen) for place, each in enumerate(lists) for seen in each or ()]
    assert sorted(shown, key=repr) == sorted(listed, key=repr)
    assert sum(found.by_group.values()) == len(found.matching)


async def test_the_devices_of_the_account_alone_are_shown_with_what_their_snapshots_tell(
    harness: ServiceHarness,
) -> None:
    harness.clock.move(datetime(2027, 1, 15, 23, 59, tzinfo=UTC).timestamp() - harness.clock.now())
    caller, other = await harness.owner(), await harness.owner("other@acme.example")
    certificate = a_certificate("Z-1", expiry="2027-01-16")
    read = encoded(a_snapshot(certificate, manufacturer_name="Acme", manufacturer_srn=SRN))
    new = [
        NewWatch(a_udi(1), "Stent", read, 7),
        NewWatch(a_udi(2), "", encoded(without_certificates(trade_name="Clamp")), 8),
        NewWatch(a_udi(3)),
        NewWatch(SRN),
    ]
    async with harness.database.transaction() as connection:
        await repository.add(connection, caller.account.id, new, harness.now)
        await repository.add(connection, other.account.id, [NewWatch(a_udi(4), "x", read, 7)], harness.now)

    found = await harness.service.watches.certificates.overview(caller, CertificateFilter())

    assert [(each.subject, each.state) for each in found.devices] == [
        (a_udi(1), ReadState.COMPLETE),
        (a_udi(2), ReadState.UNREAD),
        (a_udi(3), ReadState.UNREAD),
    ]
    [only] = found.matching
    assert (only.seen, only.days, only.manufacturer_name, only.manufacturer_srn) == (certificate, 1, "Acme", SRN)
