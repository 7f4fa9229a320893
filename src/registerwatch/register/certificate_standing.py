"""How the certificates of a device stand together on a day: which count as valid, until when, what is worst."""

from collections.abc import Sequence

import msgspec

from registerwatch.register.certificate_states import NO_END_DATE, CertificateState, ShownCertificate

NOT_LISTED = "No longer listed"
VALID_UNTIL = "Valid until"
_ORDER = list(CertificateState)


class CertificateStanding(msgspec.Struct, frozen=True):
    """The certificates of a device. `are_gone`: the register lists none of them any more."""

    certificates: Sequence[ShownCertificate]
    are_gone: bool = False

    @property
    def counted(self) -> list[ShownCertificate]:
        """Those that count as valid: not ended by date or status, also without an end date."""
        return [] if self.are_gone else [each for each in self.certificates if each.counts]

    @property
    def next_end(self) -> str:
        """The first end date of those that count, empty where none has one."""
        return min((each.certificate.expiry for each in self.counted if each.certificate.expiry), default="")

    @property
    def words(self) -> str:
        """The worst standing: `Expired`, or `Expired (1 of 2)` where others stand better; empty without any."""
        if self.are_gone or not self.certificates:
            return NOT_LISTED if self.are_gone else ""
        number = sum(each.state is self._worst.state for each in self.certificates)
        return self._worst.words + (
            f" ({number} of {len(self.certificates)})" if number < len(self.certificates) else ""
        )

    @property
    def tone(self) -> str:
        """Of the worst; a certificate that has ended is not as bad where another counts."""
        if self.are_gone or not self.certificates:
            return "bad" if self.are_gone else "none"
        tone = self._worst.state.tone
        return "warn" if tone == "bad" and self.counted else tone

    @property
    def until(self) -> tuple[str, str]:
        """Until when, as words and a date, which is empty for `No end date`: `("Valid until", "2031-11-21")`."""
        if self.counted:
            return (VALID_UNTIL, self.next_end) if self.next_end else (NO_END_DATE, "")
        states = {each.state for each in self.certificates}
        if not states or self.are_gone:
            return "", ""
        if CertificateState.UNKNOWN in states:
            return "Not known whether valid today", ""
        if states != {CertificateState.EXPIRED}:
            return "None valid today", ""
        if any(each.remaining is None or each.remaining >= 0 for each in self.certificates):
            return "Expired by status", ""
        return "Expired since", max(each.certificate.expiry or "" for each in self.certificates)

    @property
    def note(self) -> str:
        """Which ones the date is of, where that is not plain: `First end of 2 that count as valid, 1 does not`."""
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
        return min(self.certificates, key=lambda each: _ORDER.index(each.state))


def _of_counted(counted: Sequence[ShownCertificate], *, has_others: bool) -> str:
    """What the end date is of. Certificates without an end date are named beside the first end of the others."""
    if len(counted) == 1:
        return "One counts as valid" if has_others else ""
    undated = sum(each.state is CertificateState.UNDATED for each in counted)
    if undated == len(counted):
        return f"{len(counted)} count as valid"
    of_undated = f", of which {undated} {'has' if undated == 1 else 'have'} no end date" if undated else ""
    return f"First end of {len(counted)} that count as valid{of_undated}"
