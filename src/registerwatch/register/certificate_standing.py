"""How the certificates of a device stand together on a day: which count as valid, until when, what is worst."""

from collections.abc import Sequence

import msgspec

from registerwatch.register.certificate_states import CertificateState, ShownCertificate

NOT_LISTED = "No longer listed"
_ORDER = list(CertificateState)


class CertificateStanding(msgspec.Struct, frozen=True):
    """The certificates of a device. `are_gone`: the register lists none of them any more."""

    certificates: Sequence[ShownCertificate]
    are_gone: bool = False

    @property
    def counted(self) -> list[ShownCertificate]:
        """Those that count as valid: not ended by date or status, with an end date."""
        return [] if self.are_gone else [each for each in self.certificates if each.counts]

    @property
    def next_end(self) -> str:
        """The first end date of those that count, empty where none does."""
        return min((each.certificate.expiry or "" for each in self.counted), default="")

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
        """Until when, as words and a date, which can be empty: `("Valid until", "2031-11-21")`."""
        if self.counted:
            return "Valid until", self.next_end
        states = {each.state for each in self.certificates}
        if not states or self.are_gone:
            return "", ""
        if CertificateState.UNDATED in states:
            return "No end date", ""
        if states != {CertificateState.EXPIRED}:
            return "None valid today", ""
        if any(each.remaining is None or each.remaining >= 0 for each in self.certificates):
            return "Expired by status", ""
        return "Expired since", max(each.certificate.expiry or "" for each in self.certificates)

    @property
    def note(self) -> str:
        """Which ones the date is of, where that is not plain."""
        counted, others = len(self.counted), len(self.certificates) - len(self.counted)
        if not counted:
            return ""
        first = (
            f"First end of {counted} that count as valid" if counted > 1 else "One counts as valid" if others else ""
        )
        return f"{first}, {others} {'does' if others == 1 else 'do'} not" if others else first

    @property
    def _worst(self) -> ShownCertificate:
        return min(self.certificates, key=lambda each: _ORDER.index(each.state))
