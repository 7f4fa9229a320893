"""The filters of the register's searches that name something exactly."""

from msgspec import Struct

from registerwatch_standins.register.records import CertificateListing, Registration


class DeviceFilter(Struct, frozen=True):
    """The filters of the device search. A registration passes when it passes all that are set."""

    primary_di: str | None = None
    basic_udi: str | None = None
    srn: str | None = None
    """Of the manufacturer or the authorised representative."""

    @property
    def is_empty(self) -> bool:
        """Whether everything passes."""
        return not (self.primary_di or self.basic_udi or self.srn)

    def passes(self, record: Registration) -> bool:
        representative = record.authorised_representative
        return (
            self.primary_di in (None, record.primary_di)
            and self.basic_udi in (None, record.basic_udi)
            and self.srn in (None, record.manufacturer.srn, representative.srn if representative else None)
        )


class CertificateFilter(Struct, frozen=True):
    """The filters of the certificate search."""

    actor_srn: str | None = None
    notified_body: str | None = None
    number: str | None = None
    basic_udi: str | None = None

    def passes(self, listing: CertificateListing) -> bool:
        certificate = listing.certificate
        return (
            self.actor_srn in (None, listing.manufacturer.srn)
            and self.notified_body in (None, certificate.notified_body)
            and self.number in (None, certificate.number)
            and (self.basic_udi is None or self.basic_udi in listing.basic_udis)
        )
