"""Short forms of manufacturers' certificates, beside actors and searches."""

from collections.abc import Iterable
from datetime import date
from typing import Annotated, Any, Literal

import msgspec

from registerwatch.copy.certificates.certificate_queries import StoredCertificate, StoredWalk
from registerwatch.lookup.certificate_service import CERTIFICATES, CertificatesOfActor, ListKnowledge
from registerwatch.platform.clock import iso_utc
from registerwatch.register.certificate_kinds import kind_of_certificate
from registerwatch.register.certificate_reads import ListedStanding, NamedCertificate
from registerwatch.register.certificate_states import ShownCertificate
from registerwatch.register.codes import label
from registerwatch.register.models import field_doc

StateOfList = Literal["complete", "outdated", "failed", "unread"]
INSTANT, DATE = "date-time", "date"
KnownState = Annotated[
    StateOfList,
    field_doc(
        "What is known of the register’s list: `complete`, it was read whole at the last attempt, so what is not here"
        " is not listed; `outdated`, the last attempt failed, and this is of an earlier one; `failed`, it could never"
        " be read whole; `unread`, nobody has read it yet. With the last two an empty answer says nothing.",
        "complete",
    ),
]
AsOf = Annotated[
    str | None,
    field_doc(
        "When the reading of the list began that saw all of it last, UTC; null where none did.",
        "2026-11-22T19:00:04Z",
        form=INSTANT,
    ),
]
ErrorOfList = Annotated[
    str | None,
    field_doc(
        "Why there may be others or why these may be outdated, null where `state` is `complete`.",
        "The register’s list of certificates has not been read yet.",
    ),
]


class ReadOfDevice(msgspec.Struct, frozen=True, gc=False):
    """A certificate as the record of a device has it that was read after the list."""

    udi: Annotated[str, field_doc("UDI-DI of the device.", "04012345678901")]
    read_at: Annotated[str, field_doc("When that read began, UTC.", "2026-11-22T19:30:11Z", form=INSTANT)]
    standing: Annotated[str, field_doc("How it stands then today, in words.", "Withdrawn")]
    status: Annotated[str, field_doc("Status in English, empty when the record has none.", "Withdrawn")]
    status_code: Annotated[str, field_doc("The register's code of it.", "refdata.certificate-status.withdrawn")]
    expiry: Annotated[str | None, field_doc("Date of expiry; null when it has no end date.", "2030-09-16", form=DATE)]

    @classmethod
    def of(cls, standing: ListedStanding) -> "ReadOfDevice | msgspec.UnsetType":
        """The read that is newer than the list, if there is one."""
        other = standing.other
        if other is None:
            return msgspec.UNSET
        return cls.of_shown(other.udi, other.as_of, other.shown)

    @classmethod
    def of_shown(cls, udi: str, read_at: str, shown: ShownCertificate) -> "ReadOfDevice":
        """The certificate as the record of a device has it."""
        certificate = shown.certificate
        code = certificate.status_code
        return cls(udi, read_at, shown.words, shown.register_word, code, certificate.expiry)


class CertificateSummary(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A certificate that the register lists for a manufacturer."""

    id: Annotated[str, field_doc("The register's own id, for `/v1/certificates/{id}`.", "01KTRNZDXJ464K52YBH502R56Q")]
    number: Annotated[str, field_doc("Certificate number.", "Z-25-052-S-IX-E")]
    revision: Annotated[str, field_doc("Revision, empty when the register has none.", "2")]
    srn: Annotated[str, field_doc("SRN of the manufacturer, empty when the register has none.", "DE-MF-000006413")]
    manufacturer_name: Annotated[str, field_doc("Manufacturer's name.", "AIRAmed GmbH")]
    notified_body: Annotated[str, field_doc("Number of the notified body.", "0633")]
    notified_body_name: Annotated[
        str, field_doc("Name of the notified body, empty where it was not read.", "DNV MEDCERT GmbH")
    ]
    type: Annotated[str, field_doc("Kind of certificate in English.", "MDR quality management system")]
    type_code: Annotated[
        str, field_doc("The register's code of it.", "refdata.certificate-mdr-type.quality-management-system")
    ]
    status: Annotated[str, field_doc("Status in English, empty when the register has none.", "Issued")]
    status_code: Annotated[str, field_doc("The register's code of it.", "refdata.certificate-status.issued")]
    expiry: Annotated[str | None, field_doc("Date of expiry; null when it has no end date.", "2030-09-16", form=DATE)]
    names_devices: Annotated[
        bool | None,
        field_doc(
            "Whether its scope names devices, by Basic UDI-DIs: most name none. Null until its scope was read.", False
        ),
    ]
    seen_at: Annotated[
        str, field_doc("The last reading of the list that had it, UTC.", "2026-11-22T19:00:04Z", form=INSTANT)
    ]
    unlisted_at: Annotated[
        str | None,
        field_doc(
            "The first whole reading of the list in which it was missing, UTC; null while it is listed.",
            "2026-11-22T19:00:04Z",
            form=INSTANT,
        ),
    ]
    device_read: Annotated[
        ReadOfDevice | msgspec.UnsetType,
        field_doc(
            "Where the record of a device that lists it was read after the list, and has it otherwise: what that says."
            " The other fields are the list’s. A read that may be of another certificate with its number, as one"
            " without a revision, is here where it is the newest and worse. Left out where there is no such read.",
        ),
    ] = msgspec.UNSET


class CertificateOfDevices(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A certificate that records of devices name and the register's list of certificates does not have."""

    number: Annotated[str, field_doc("Certificate number.", "Z-25-052-S-IX-E")]
    revision: Annotated[str, field_doc("Revision, empty when the record has none.", "2")]
    srn: Annotated[str, field_doc("SRN of the devices' manufacturer.", "DE-MF-000006413")]
    notified_body: Annotated[str, field_doc("Number of the notified body, empty when the record has none.", "0633")]
    type: Annotated[str, field_doc("Kind of certificate in English.", "MDR quality management system")]
    type_code: Annotated[
        str, field_doc("The register's code of it.", "refdata.certificate-mdr-type.quality-management-system")
    ]
    device_read: Annotated[ReadOfDevice, field_doc("What the record says that was last read with it.")]
    dropped_at: Annotated[
        str | msgspec.UnsetType,
        field_doc(
            "When the record of that device was read without it, UTC. Left out where it was not.",
            "2026-11-23T19:30:11Z",
            form=INSTANT,
        ),
    ] = msgspec.UNSET
    device_unlisted_at: Annotated[
        str | msgspec.UnsetType,
        field_doc(
            "When the register no longer listed that device, UTC. Left out while it does.",
            "2026-11-23T19:30:11Z",
            form=INSTANT,
        ),
    ] = msgspec.UNSET
    other_record_as_of: Annotated[
        str | msgspec.UnsetType,
        field_doc(
            "When the record that names it was read, UTC, where that is another record of the UDI-DI than the one that"
            " answers for it now. Left out otherwise.",
            "2026-11-23T19:30:11Z",
            form=INSTANT,
        ),
    ] = msgspec.UNSET

    @classmethod
    def of(cls, found: NamedCertificate, today: date) -> "CertificateOfDevices":
        """The read of a device as of a day."""
        shown = found.shown(today)
        type_code = shown.certificate.type_code
        return cls(
            number=found.number,
            revision=found.revision,
            srn=found.srn,
            notified_body=found.notified_body,
            type=kind_of_certificate(type_code),
            type_code=type_code,
            device_read=ReadOfDevice.of_shown(found.read.udi, found.read.as_of, shown),
            dropped_at=found.dropped_at or msgspec.UNSET,
            device_unlisted_at=found.device_unlisted_at or msgspec.UNSET,
            other_record_as_of=found.read.as_of if found.is_of_other else msgspec.UNSET,
        )


class ReadOfList(msgspec.Struct, frozen=True, gc=False):
    """How the register's list of certificates was read last."""

    state: KnownState
    as_of: AsOf
    error: ErrorOfList

    @classmethod
    def of(cls, walk: StoredWalk | None) -> "ReadOfList":
        """The read from a stored walk, None where none has begun."""
        return cls(*knowledge_fields(ListKnowledge.of(CERTIFICATES, walk)))


class ActorCertificates(msgspec.Struct, frozen=True, gc=False):
    """The certificates of a manufacturer in short: at most 20, and how many there are."""

    newest: Annotated[list[CertificateSummary], field_doc("Those that were registered last, at most 20.")]
    total: Annotated[int, field_doc("How many there are; `/v1/actors/{srn}/certificates` lists all of them.", 3)]
    state: KnownState
    as_of: AsOf
    error: ErrorOfList

    @classmethod
    def of(cls, found: CertificatesOfActor, today: date) -> "ActorCertificates":
        """The certificates as shown on a day."""
        knowledge = found.knowledge
        return cls(summaries(found.certificates, today), found.total, *knowledge_fields(knowledge))


def summaries(certificates: Iterable[StoredCertificate], today: date) -> list[CertificateSummary]:
    """Stored certificates in short, as shown on a day."""
    return [CertificateSummary(**summary_fields(each, today)) for each in certificates]


def summary_fields(certificate: StoredCertificate, today: date) -> dict[str, Any]:
    """The fields of a summary."""
    return {
        "id": certificate.id,
        "number": certificate.number,
        "revision": certificate.revision,
        "srn": certificate.srn,
        "manufacturer_name": certificate.actor_name,
        "notified_body": certificate.notified_body,
        "notified_body_name": certificate.notified_body_name,
        "type": kind_of_certificate(certificate.type_code),
        "type_code": certificate.type_code,
        "status": label(certificate.status_code),
        "status_code": certificate.status_code,
        "expiry": certificate.expiry,
        "names_devices": None if certificate.scopes_read_at is None else certificate.named > 0,
        "seen_at": iso_utc(certificate.seen_at),
        "unlisted_at": instant_or_none(certificate.unlisted_at),
        "device_read": ReadOfDevice.of(certificate.standing(today))
        if certificate.read or certificate.possible
        else msgspec.UNSET,
    }


def knowledge_fields(knowledge: ListKnowledge) -> tuple[StateOfList, str | None, str | None]:
    """State, `as_of` and `error` of a list."""
    return knowledge.state.value, instant_or_none(knowledge.as_of), knowledge.error


def instant_or_none(unix_seconds: int | None) -> str | None:
    """An instant for answers; None stays None."""
    return None if unix_seconds is None else iso_utc(unix_seconds)
