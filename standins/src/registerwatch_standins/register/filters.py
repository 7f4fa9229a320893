"""The filters of the register's searches, and which registration, actor or certificate passes them."""

from msgspec import Struct

from registerwatch_standins.register.records import Actor, CertificateListing, Registration


class DeviceFilter(Struct, frozen=True):
    """The filters of the device search. Codes come without their `refdata.…` prefix."""

    primary_di: str | None = None
    basic_udi: str | None = None
    srn: str | None = None
    trade_name: str | None = None
    reference: str | None = None
    device_model: str | None = None
    emdn_prefix: str | None = None
    risk_class: str | None = None
    status: str | None = None
    legislation: str | None = None
    device_type: str | None = None
    criterion: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether everything passes."""
        return self == _EVERY_DEVICE

    @property
    def is_indexed(self) -> bool:
        """Whether an exact filter finds the few candidates, so that nothing has to be scanned."""
        return bool(self.primary_di or self.basic_udi or self.srn)

    @property
    def is_exact_only(self) -> bool:
        """Whether one exact filter stands alone: its candidates all pass."""
        exact = [value for value in (self.primary_di, self.basic_udi, self.srn) if value]
        return len(exact) == 1 and DeviceFilter(self.primary_di, self.basic_udi, self.srn) == self

    def passes(self, record: Registration) -> bool:
        """Whether this registration passes every filter that is set."""
        return self._passes_exact(record) and self._passes_codes(record) and self._passes_text(record)

    def _passes_exact(self, record: Registration) -> bool:
        representative = record.authorised_representative
        srns = (record.manufacturer.srn, representative.srn if representative else None)
        return (
            (self.primary_di is None or record.primary_di == self.primary_di)
            and (self.basic_udi is None or record.basic_udi == self.basic_udi)
            and (self.srn is None or self.srn in srns)
        )

    def _passes_codes(self, record: Registration) -> bool:
        return (
            (self.risk_class is None or record.risk_class == self.risk_class)
            and (self.status is None or record.status == self.status)
            and (self.legislation is None or record.legislation == self.legislation)
            and (self.device_type is None or record.special_device_type == self.device_type)
            and (self.criterion is None or record.criterion == self.criterion)
            and (self.emdn_prefix is None or any(code.startswith(self.emdn_prefix) for code in record.emdn))
        )

    def _passes_text(self, record: Registration) -> bool:
        return (
            (self.reference is None or self.reference in (record.reference or ""))
            and (self.device_model is None or self.device_model in (record.model or ""))
            and (self.trade_name is None or self._in_trade_name(record))
        )

    def _in_trade_name(self, record: Registration) -> bool:
        """Without regard to case, but `künstlich` is not `kunstlich`."""
        wanted = (self.trade_name or "").lower()
        return any(wanted in name.lower() for name in (record.trade_names or {}).values())


_EVERY_DEVICE = DeviceFilter()


class ActorFilter(Struct, frozen=True):
    """The filters of the actor search; `type` is the SRN's middle part, such as `MF`."""

    srn: str | None = None
    name: str | None = None
    country: str | None = None
    type: str | None = None

    def passes(self, actor: Actor) -> bool:
        """Whether this actor passes every filter that is set."""
        return (
            (self.srn is None or actor.srn == self.srn)
            and (self.country is None or actor.country == self.country)
            and (self.type is None or actor.type == self.type)
            and (self.name is None or self.name.lower() in actor.name.lower())
        )


class CertificateFilter(Struct, frozen=True):
    """The filters of the certificate search."""

    actor_srn: str | None = None
    notified_body: str | None = None
    number: str | None = None
    basic_udi: str | None = None

    def passes(self, listing: CertificateListing) -> bool:
        """Whether this certificate passes every filter that is set."""
        certificate = listing.certificate
        return (
            (self.actor_srn is None or listing.manufacturer.srn == self.actor_srn)
            and (self.notified_body is None or certificate.notified_body == self.notified_body)
            and (self.number is None or certificate.number == self.number)
            and (self.basic_udi is None or self.basic_udi in listing.basic_udis)
        )
