"""The filters of the register's searches."""

from collections.abc import Callable

from msgspec import Struct

from registerwatch_standins.register.records import Actor, CertificateListing, Registration

Also = Callable[[Registration], bool]


class DeviceFilter(Struct, frozen=True):
    """The filters of the device search. A registration passes when it passes all that are set."""

    primary_di: str | None = None
    basic_udi: str | None = None
    srn: str | None = None
    """Of the manufacturer or the authorised representative."""
    also: Also | None = None
    """What else has to hold, for which all registrations are looked at that pass the others."""

    @property
    def is_empty(self) -> bool:
        """Whether everything passes."""
        return not (self.primary_di or self.basic_udi or self.srn or self.also)

    @property
    def is_plain(self) -> bool:
        """Whether one name decides, so that no registration has to be looked at."""
        return self.also is None and (self.primary_di, self.basic_udi, self.srn).count(None) == 2

    def passes(self, record: Registration) -> bool:
        representative = record.authorised_representative
        return (
            self.primary_di in (None, record.primary_di)
            and self.basic_udi in (None, record.basic_udi)
            and self.srn in (None, record.manufacturer.srn, representative.srn if representative else None)
            and (self.also is None or self.also(record))
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


class ActorFilter(Struct, frozen=True):
    """The filters of the actor search."""

    srn: str | None = None
    name: str | None = None
    """A part of it, in any case."""
    country: str | None = None
    type: str | None = None
    """The middle part of an SRN."""

    @property
    def is_empty(self) -> bool:
        """Whether everything but the SRN passes."""
        return not (self.name or self.country or self.type)

    def passes(self, actor: Actor) -> bool:
        return (
            self.srn in (None, actor.srn)
            and (self.name is None or self.name.lower() in actor.name.lower())
            and self.country in (None, actor.country)
            and self.type in (None, actor.type)
        )
