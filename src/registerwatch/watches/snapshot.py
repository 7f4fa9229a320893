"""Snapshots of devices and actors: the compared fields as they were last seen.

An empty value means that the register had none; `former`, `former_status` and `former_revision` have the last one
before. `None` for certificates means that they were never read.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal

import msgspec

from registerwatch.platform.structs import replace
from registerwatch.register.certificate_reads import OtherCertificate
from registerwatch.register.codes import label as label_of_code
from registerwatch.register.device_names import given_name
from registerwatch.register.models import Actor, Certificate, CertificateLocation, Device
from registerwatch.register.observation import ActorObservation, Observation

Kind = Literal["udi", "srn"]


class SeenCertificate(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True, gc=False):
    """A certificate in a snapshot. It is stored as an array: a new field goes to the end and has a default."""

    number: str
    revision: str = ""
    expiry: str = ""
    status: str = ""
    status_code: str = ""
    is_gone: bool = False
    """Whether the register no longer lists it."""
    notified_body: str = ""
    listed_in: CertificateLocation = ""
    is_unconfirmed: bool = False
    """Whether only an earlier search named it, and the last read could not search."""
    is_scoped: bool = False
    """Whether only its own scope names the device."""
    is_undated: bool = False
    """Whether the register gave it no end date when it was last read; `expiry` is the last that it had."""
    valid_from: str = ""
    """Its first day, which is shown and not compared."""
    type_code: str = ""
    """The register's code of its kind, which is not compared; empty where the register gives none."""
    former_status: str = ""
    """The last status that the register gave, where it gives none now: the next one is compared with it."""
    former_status_code: str = ""
    former_revision: str = ""
    """The last revision that the register gave, where it gives none now: reports of its end go by it."""
    other_as_of: int = 0
    """When the record that names it was read, unix seconds, where that is another record of the UDI-DI than the one
    that answers for it; else 0.
    """

    @property
    def ends(self) -> str:
        """Its end date, empty where it has none now."""
        return "" if self.is_undated else self.expiry

    @property
    def identity(self) -> tuple[str, str, str]:
        """Identifies it; certificates that are alike share one."""
        return self.notified_body, self.number, self.revision

    @property
    def values(self) -> tuple[str, str, str]:
        """The values that can change."""
        return self.expiry, self.status, self.status_code

    @property
    def order(self) -> tuple[str | bool, ...]:
        """Sort key of number, revision, then all other fields except the first day and the kind."""
        body_and_flags = self.notified_body, self.listed_in, self.is_gone, self.is_unconfirmed, self.is_undated
        former = self.former_status, self.former_status_code, self.former_revision
        return self.number, self.revision, *self.values, *body_and_flags, self.is_scoped, *former


def in_order(certificates: Iterable[SeenCertificate]) -> list[SeenCertificate]:
    """Certificates by number and revision, in whatever order the register has them."""
    return sorted(certificates, key=lambda each: each.order)


def listed_certificates(certificates: Iterable[SeenCertificate]) -> list[SeenCertificate]:
    """The certificates that the register lists in the record that answers; only these count for a device's standing."""
    return [each for each in certificates if not each.is_gone and not each.other_as_of]


def shown_certificates(certificates: Sequence[SeenCertificate]) -> Sequence[SeenCertificate]:
    """The listed certificates, also of other records; where the record that answers lists none, those that are gone
    too, shown as such.
    """
    return [each for each in certificates if not each.is_gone] if listed_certificates(certificates) else certificates


class Snapshot(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """The fields of one subject as they were last seen. Fields of the other kind of subject are empty."""

    status: str = ""
    status_date: str = ""
    trade_name: str = ""
    risk_class: str = ""
    reference: str = ""
    manufacturer_status: str = ""
    version: str = ""
    name: str = ""
    device_total: str = ""
    certs: tuple[SeenCertificate, ...] | None = None
    searched: bool = False
    """Whether `certs` includes the certificate search; if not, a certificate that it adds may be old."""
    scoped: bool = False
    """Whether `certs` includes the scopes of the manufacturer's certificates."""
    is_partial: bool = False
    """Whether the device's own certificates were never all read: `certs` has only those that are known."""
    status_code: str = ""
    risk_class_code: str = ""
    manufacturer_status_code: str = ""
    """The register's codes of three of the texts: the same code in other words is not a change."""
    manufacturer_name: str = ""
    manufacturer_srn: str = ""
    other_name: str = ""
    """The name of a device without a trade name. These three are shown, not compared."""
    is_status_undated: bool = False
    """Whether the date of the market status was not read yet: `status_date` is that of the status before."""
    field_set: int = 1
    """`FIELD_SET` when it was made; 0 for a read of only a part of a record."""
    former: tuple[tuple[str, str], ...] = ()
    """Fields that the last whole read had empty, with the last value, which the next one is compared with."""

    @property
    def has_all_certs(self) -> bool:
        """Whether all locations of certificates were read: until then a first search is part of the baseline."""
        return self.certs is not None and self.searched

    @property
    def shown_certs(self) -> Sequence[SeenCertificate]:
        """The listed certificates, also of other records; where the record that answers lists none, those gone too."""
        return shown_certificates(self.certs or ())

    @property
    def other_certs(self) -> Sequence[SeenCertificate]:
        """The certificates of other records of the UDI-DI than the one that answers for it."""
        return [each for each in self.certs or () if each.other_as_of]

    @property
    def unlisted_certs(self) -> Sequence[SeenCertificate]:
        """The certificates that the register listed before, where the record that answers lists none now."""
        return [each for each in self.shown_certs if each.is_gone]


FIELD_SET = 2
"""Number of the present set of compared fields; one more whenever a field is added, or filled where it was not before.
Set 2 filled the status of actors that have no registered device.
"""

COMPARED = {
    "status": 1,
    "status_date": 1,
    "trade_name": 1,
    "risk_class": 1,
    "reference": 1,
    "manufacturer_status": 2,
    "version": 1,
    "name": 1,
    "device_total": 1,
}
"""Fields that are compared one by one, with the set since which an empty value says that the register had none.

In a snapshot of an older set the field was not read: its first value is a baseline, not a change.
Certificates have rules of their own.
"""

CODED = {
    "status": "status_code",
    "risk_class": "risk_class_code",
    "manufacturer_status": "manufacturer_status_code",
}
"""Fields with the text of a code, and the field of the code."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Snapshot)


def snapshot_of_device(device: Device, *, certificates_read: bool, searched: bool, scoped: bool = False) -> Snapshot:
    """The snapshot of a device. Where its certificates were not read, `certs` has those that are known, None where
    there are none.
    """
    dated = device.dated_status
    is_known = certificates_read or bool(device.certs)
    return Snapshot(
        status=device.status,
        status_date=dated.date if dated else "",
        is_status_undated=device.former_status is not msgspec.UNSET,
        trade_name=device.trade_name,
        risk_class=device.risk_class,
        reference=device.reference,
        manufacturer_status=device.manufacturer_status,
        version="" if device.version is None else str(device.version),
        certs=_seen_once(device.certs) if is_known else None,
        searched=certificates_read and searched,
        scoped=is_known and scoped,
        is_partial=is_known and not certificates_read,
        status_code=device.status_code,
        risk_class_code=device.risk_class_code,
        manufacturer_status_code=device.manufacturer_status_code,
        manufacturer_name=device.manufacturer_name,
        manufacturer_srn=device.manufacturer_srn,
        other_name="" if device.trade_name else given_name(device),
        field_set=FIELD_SET,
    )


def snapshot_of_actor(actor: Actor, status: str) -> Snapshot:
    """The snapshot of an actor. `status` is the English label of its status."""
    return Snapshot(
        name=actor.name,
        manufacturer_status=status,
        device_total="" if actor.device_total is None else str(actor.device_total),
        manufacturer_status_code=actor.status_code,
        manufacturer_name=actor.name,
        manufacturer_srn=actor.srn,
        field_set=FIELD_SET if actor.complete else 0,
    )


def snapshot_of(observation: Observation) -> Snapshot:
    """The snapshot of an observation."""
    if isinstance(observation, ActorObservation):
        return snapshot_of_actor(observation.actor, label_of_code(observation.actor.status_code))
    device = snapshot_of_device(
        observation.device,
        certificates_read=observation.certificates_read,
        searched=observation.searched,
        scoped=observation.scoped,
    )
    if device.certs is not None:
        others = map(_seen_in_other, observation.others)
        device = replace(device, certs=tuple(in_order((*device.certs, *others))))
    return device if observation.in_full else replace(device, field_set=0)


def label_of(snapshot: Snapshot, subject: str) -> str:
    """The label of a watch without a name of its own: the device's or the actor's name, else its subject."""
    return snapshot.trade_name or snapshot.other_name or snapshot.name or subject


def encoded(snapshot: Snapshot) -> str:
    """A snapshot as it is stored. Equal snapshots have equal texts."""
    return _encoder.encode(snapshot).decode()


def decoded(text: str) -> Snapshot:
    """A stored snapshot."""
    return _decoder.decode(text)


def _seen_once(certificates: Iterable[Certificate]) -> tuple[SeenCertificate, ...]:
    """Certificates for a snapshot, in order. Of those that differ only in first day or kind the earliest is kept."""
    seen = sorted(map(_seen, certificates), key=lambda each: (each.order, each.valid_from, each.type_code))
    return tuple(next(alike) for _, alike in groupby(seen, key=lambda each: each.order))


def _seen_in_other(other: OtherCertificate) -> SeenCertificate:
    return replace(_seen(other.certificate), is_scoped=False, other_as_of=other.as_of)


def _seen(certificate: Certificate) -> SeenCertificate:
    return SeenCertificate(
        certificate.number,
        certificate.revision,
        certificate.expiry or "",
        certificate.status,
        certificate.status_code,
        notified_body=certificate.notified_body,
        listed_in=certificate.listed_in,
        is_unconfirmed=not certificate.confirmed,
        is_scoped=certificate.scoped,
        valid_from=certificate.valid_from or "",
        type_code=certificate.type_code,
    )
