"""Standings of devices, their certificates and actors on a day: words, order and tone for every surface. Pure.

`certificate_states` has the state of one certificate, the most serious first. Several certificates together have two
dates: the *first end* is the earliest end date of those that count as valid, *covered until* is the latest.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from registerwatch.register.certificate_states import IN_FORCE, NO_END_DATE, CertificateState, ShownCertificate
from registerwatch.register.codes import StatusFilter, segment

Badge = tuple[str, str]
"""Words and a tone."""
EndFact = tuple[str, str]
"""Words and a date, which is empty where there are only words."""

FIRST_END, COVERED_UNTIL = "First end", "Covered until"
NOT_READ, NONE_LISTED = "Not read", "None listed"
"""Words in files that replace the standing of certificates."""
NOT_KNOWN = "Not known"
"""Words in files that replace a market status that the record does not give."""
MARKET_NOT_KNOWN: Badge = ("Market status not known", "none")
"""Badge of a device whose record gives no market status."""
CERTIFICATES_NOT_READ, CERTIFICATES_NOT_ALL_READ = "Certificates not read", "Certificates not all read"
"""Badges beside a device's status: whether its certificates, or the unread ones, are good is unknown."""
DELISTED: Badge = ("No longer listed", "warn")
"""Badge that replaces good ones of a device or an actor that the register no longer lists."""
NOT_IN_REGISTER: Badge = ("Not in the register", "warn")
"""Badge of a device or an actor that the register, when it was asked, did not have, and never had as far as known."""
EARLIER_UNLISTED: Badge = ("An earlier certificate is no longer listed", "warn")
"""Badge beside the standing of a device without listed certificates that is known to have had one."""
OTHER_RECORD = "another record of this UDI-DI"
"""A listed record beside the one that answers for a UDI-DI, in words for people."""
OF_OTHER_RECORD: Badge = (f"A certificate is of {OTHER_RECORD}", "warn")
"""Badge beside the standing of a device of which another listed record names a certificate that its own does not."""
NEWER_READ_DIFFERS: Badge = ("A newer read of another device differs", "warn")
"""Badge beside the standing of a device of which another device has a certificate otherwise by a newer read."""
NEEDS_ATTENTION = frozenset({"warn", "bad"})
"""Tones of standings that are known not to be good."""

_SAID_BY_DATE = frozenset({CertificateState.EXPIRED, CertificateState.ENDING, CertificateState.VALID})
"""States in which the end date of a certificate says all about its end."""
_MARKET: Mapping[str, str] = {
    StatusFilter.ON.code: "good",
    StatusFilter.OFF.code: "warn",
    StatusFilter.NOT_EU.code: "bad",
}
_ACTOR = {"active": "good", "inactive": "warn"}
_TONES = ("bad", "warn", "none", "good")
"""Tones, the worst first."""


def market_tone(code: str) -> str:
    """The tone of a market status. A device that is not intended for the EU may not be available to EU buyers."""
    return _MARKET.get(code, "none")


def actor_tone(code: str) -> str:
    """The tone of the status of an actor."""
    return _ACTOR.get(segment(code), "none")


class CertificateStanding(msgspec.Struct, frozen=True):
    """The certificates of a device, or of a manufacturer, together."""

    certificates: Sequence[ShownCertificate] = ()

    @property
    def counted(self) -> list[ShownCertificate]:
        """The certificates that count as valid: not ended by date or status, also without an end date."""
        return [each for each in self.certificates if each.counts]

    @property
    def first_end(self) -> str:
        """The first end date of those that count, empty where none has one."""
        return min((each.certificate.expiry for each in self.counted if each.certificate.expiry), default="")

    @property
    def covered_until(self) -> str:
        """The last end date of those that count; empty where none counts, one has no end or may count for longer."""
        return covered_until(self.certificates) or ""

    @property
    def words(self) -> str:
        """The worst standing: `Expired`, or `Expired (1 of 2)` where others are better; empty without any."""
        if not self.certificates:
            return ""
        worst = self._worst
        number = sum((each.state, each.words) == (worst.state, worst.words) for each in self.certificates)
        return worst.words + (f" ({number} of {len(self.certificates)})" if number < len(self.certificates) else "")

    def in_file(self, *, are_all_read: bool, were_all_read: bool = False) -> str:
        """The words for a file, which also says where there are none, and where the last read did not have all of them:
        `Not read`. `were_all_read`: whether an earlier read had all of them, so that only newer ones can be missing.
        """
        words = self.words or (NONE_LISTED if are_all_read or were_all_read else "")
        if not words:
            return NOT_READ
        return words if are_all_read else f"{words}, {'may be outdated' if were_all_read else 'not all read'}"

    @property
    def tone(self) -> str:
        """The worst tone. An unknown status keeps the whole from being good. A certificate that has ended is less bad
        where another counts.
        """
        tone = worst_tone(each.state.tone for each in self.certificates)
        return "warn" if tone == "bad" and self.counted else tone

    @property
    def badge(self) -> Badge:
        """Words and tone beside the status of the device: `("Certificate expired", "bad")`."""
        words = self.words
        return (f"Certificate {words[:1].lower()}{words[1:]}" if words else "", self.tone)

    @property
    def ends(self) -> list[EndFact]:
        """The dates with their names: `[("First end", "2031-11-21"), ("Covered until", "2032-01-01")]`. Where both are
        the same date, only the second.
        """
        if self.counted:
            first, last = self.first_end, self.covered_until
            is_undated = any(not each.certificate.expiry for each in self.counted)
            facts = [(FIRST_END, first)] if first and first != last else []
            return [*facts, *([(COVERED_UNTIL, last)] if last else [(NO_END_DATE, "")] if is_undated else [])]
        states = {each.state for each in self.certificates}
        if not states or states == {CertificateState.UNLISTED}:
            return []
        if CertificateState.UNKNOWN in states:
            return [("Not known whether valid today", "")]
        if states == {CertificateState.EXPIRED} and all(each.remaining is not None for each in self.certificates):
            return [("Ended", max(each.certificate.expiry or "" for each in self.certificates))]
        return [("None valid today", "")]

    @property
    def note(self) -> str:
        """How many of the certificates the dates apply to, if not to all: `2 count as valid, 1 does not`."""
        counted = self.counted
        unknown = sum(each.state is CertificateState.UNKNOWN for each in self.certificates)
        others = len(self.certificates) - len(counted) - unknown
        if not counted:
            return ""
        return ", ".join(
            filter(
                None,
                (
                    _of_counted(counted, has_others=others + unknown > 0),
                    f"{others} {'does' if others == 1 else 'do'} not" if others else "",
                    f"of {unknown} that is not known" if unknown else "",
                ),
            )
        )

    @property
    def _worst(self) -> ShownCertificate:
        return min(self.certificates, key=lambda each: each.state.rank)


class SubjectStanding(msgspec.Struct, frozen=True):
    """A device or an actor: its status as words and tone, and the certificates that the register lists of a device."""

    status: Badge
    certificates: CertificateStanding = CertificateStanding()
    has_unlisted: bool = False
    """Whether the register once listed a certificate and lists none now, as far as known."""
    has_others: bool = False
    """Whether another listed record of its UDI-DI names a certificate that its own does not."""
    has_unread: bool = False
    """Whether its certificates, or some of them, were not read yet."""
    has_newer_read: bool = False
    """Whether a newer read of another device has one of its certificates otherwise."""

    @property
    def status_in_file(self) -> str:
        """The words of its status for a file, in which a heading names it."""
        return NOT_KNOWN if self.status == MARKET_NOT_KNOWN else self.status[0]

    @property
    def badges(self) -> Sequence[Badge]:
        """Its status, the worst of its certificates, what is in doubt, what was not read; empty ones are left out."""
        beside = (
            (self.has_unlisted, EARLIER_UNLISTED),
            (self.has_others, OF_OTHER_RECORD),
            (self.has_newer_read, NEWER_READ_DIFFERS),
        )
        own = [each for each in (self.status, self.certificates.badge) if each[0]]
        return [*own, *(badge for is_so, badge in beside if is_so), *self._unread]

    @property
    def warnings(self) -> Sequence[Badge]:
        """The badges that are not good: some need attention, some are not known to be good."""
        return [each for each in self.badges if each[1] != "good"]

    @property
    def tone(self) -> str:
        """The worst tone of its badges."""
        return worst_tone(tone for _, tone in self.badges)

    @property
    def _unread(self) -> Sequence[Badge]:
        if not self.has_unread:
            return ()
        return [(CERTIFICATES_NOT_ALL_READ if self.certificates.certificates else CERTIFICATES_NOT_READ, "none")]


NOTHING_KNOWN = SubjectStanding(("", "none"))


def device_standing(status: str, status_code: str, certificates: Sequence[ShownCertificate] = ()) -> SubjectStanding:
    """A device of this market status (words and code; empty where its record gives none) with these certificates."""
    market = (status, market_tone(status_code)) if status else MARKET_NOT_KNOWN
    return SubjectStanding(market, CertificateStanding(certificates))


def actor_standing(status: str, status_code: str) -> SubjectStanding:
    """An actor of this status (words and code)."""
    return SubjectStanding((status, actor_tone(status_code)))


def words_beside_end(alike: Iterable[ShownCertificate]) -> str:
    """The standing of a certificate whose end date does not say all: `Withdrawn`, `Restricted` and alike. Of several
    with one number, revision and end date the worst counts; empty where the date says all about one.
    """
    worst_first = sorted(alike, key=lambda each: each.state.rank)
    is_said_by_date = any(each.state in _SAID_BY_DATE for each in worst_first)
    return "" if is_said_by_date or not worst_first else worst_first[0].words


def worst_tone(tones: Iterable[str]) -> str:
    """The worst of several tones, `none` for an empty collection."""
    return min(tones, key=_TONES.index, default="none")


def covered_until(
    certificates: Iterable[ShownCertificate], counting: Collection[CertificateState] = IN_FORCE
) -> str | None:
    """The last end date of the certificates in `counting` states, empty where no certificate is in one. `None` without
    certificates, where one of them has no end, and where one of unknown status may count for longer.
    """
    found = list(certificates)
    ends = [each.certificate.expiry for each in found if each.state in counting]
    unknown = [each.certificate.expiry for each in found if each.state is CertificateState.UNKNOWN]
    if not found or not all(ends) or not all(unknown):
        return None
    last = max(filter(None, ends), default="")
    return None if any((each or "") > last for each in unknown) else last


def _of_counted(counted: Sequence[ShownCertificate], *, has_others: bool) -> str:
    """How many count, and how many of these have no known end date."""
    if len(counted) == 1:
        return "One counts as valid" if has_others else ""
    undated = sum(not each.certificate.expiry for each in counted)
    of_undated = f", of which {undated} {'has' if undated == 1 else 'have'} no end date"
    return f"{len(counted)} count as valid{of_undated if 0 < undated < len(counted) else ''}"
