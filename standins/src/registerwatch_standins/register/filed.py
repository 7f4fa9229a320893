"""A world over a file of records: one JSON object a line, plain or gzipped. All of it is held in memory."""

import gzip
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from registerwatch_standins.register.identifiers import is_gtin14
from registerwatch_standins.register.places import COUNTRIES, country_of_srn
from registerwatch_standins.register.records import (
    Actor,
    Certificate,
    CertificateListing,
    IssuingAgency,
    Party,
    Registration,
)
from registerwatch_standins.register.world import World, brussels_now


class FiledParty(Struct):
    """An actor in a file of records."""

    srn: str
    name: str


class FiledCertificate(Struct):
    """A certificate in a file of records."""

    number: str
    revision: str | None
    expiry: str | None
    starting_validity: str | None
    notified_body: str
    notified_body_name: str
    type: str


class FiledRecord(Struct):
    """A line of a file of records. Codes carry their `refdata.…` prefix."""

    uuid: str
    primary_di: str
    basic_udi: str | None
    device_name: str | None
    trade_names: dict[str, str] | None
    reference: str | None
    model: str | None
    risk_class: str
    legislation: str
    status: str
    emdn: tuple[str, ...]
    manufacturer: FiledParty
    authorised_representative: FiledParty | None
    certificates: tuple[FiledCertificate, ...]
    version_date: str


class FiledArchive:
    """The registrations of a file, in the order of their version dates."""

    def __init__(self, records: Iterable[Registration]) -> None:
        self._records = sorted(records, key=lambda record: record.version_date)
        self._by_uuid = {record.uuid: position for position, record in enumerate(self._records)}
        if len(self._by_uuid) != len(self._records):
            raise ValueError("a uuid occurs twice in the file of records")
        self._by_primary_di: dict[str, list[int]] = {}
        self._by_basic_udi: dict[str, list[int]] = {}
        self._by_srn: dict[str, list[int]] = {}
        self._parties: dict[str, Party] = {}
        for position, record in enumerate(self._records):
            self._index(position, record)
        self._srn_by_uuid = {_actor_uuid(srn): srn for srn in self._parties}
        self._listings = _listings(self._records)

    @classmethod
    def read(cls, path: Path) -> "FiledArchive":
        """The archive of a file.

        Raises `OSError`, or `msgspec.ValidationError` for a line of another form.
        """
        return cls(_registration(record) for record in filed_records(path))

    @property
    def count(self) -> int:
        """How many registrations there are."""
        return len(self._records)

    def registration(self, position: int) -> Registration:
        """The registration at this position."""
        return self._records[position]

    def oldest(self, rank: int) -> int:
        """The position of the registration that was made as the `rank`-th."""
        return rank

    def position_of_uuid(self, uuid: str) -> int | None:
        """Where the registration with this key is."""
        return self._by_uuid.get(uuid)

    def positions_of_primary_di(self, primary_di: str) -> Sequence[int]:
        """Where the registrations of this UDI-DI are."""
        return self._by_primary_di.get(primary_di, ())

    def positions_of_basic_udi(self, basic_udi: str) -> Sequence[int]:
        """Where the registrations under this Basic UDI-DI are."""
        return self._by_basic_udi.get(basic_udi, ())

    def positions_of_srn(self, srn: str) -> Sequence[int]:
        """Where the registrations of this manufacturer, or of this authorised representative, are."""
        return self._by_srn.get(srn, ())

    def srns(self) -> Sequence[str]:
        """The SRNs of all actors, ascending."""
        return sorted(self._parties)

    def actor(self, srn: str) -> Actor | None:
        """The actor with this SRN; the file knows SRN and name alone, the rest is made up."""
        party = self._parties.get(srn)
        return _actor(party) if party else None

    def srn_of_actor(self, uuid: str) -> str | None:
        """The SRN of the actor with this key."""
        return self._srn_by_uuid.get(uuid)

    def listings(self) -> Sequence[CertificateListing]:
        """All rows of the certificate search: the certificates under a regulation, each once."""
        return self._listings

    def _index(self, position: int, record: Registration) -> None:
        self._by_primary_di.setdefault(record.primary_di, []).append(position)
        if record.basic_udi:
            self._by_basic_udi.setdefault(record.basic_udi, []).append(position)
        for party in (record.manufacturer, record.authorised_representative):
            if party:
                self._by_srn.setdefault(party.srn, []).append(position)
                self._parties.setdefault(party.srn, party)


class FiledWorld(World):
    """A world over the records of a file."""

    def __init__(self, path: Path | str, *, clock: Callable[[], datetime] = brussels_now) -> None:
        super().__init__(FiledArchive.read(Path(path)), clock)


def filed_records(path: Path) -> Iterator[FiledRecord]:
    """The lines of a file of records, gzipped (`.gz`) or plain."""
    decoder = msgspec.json.Decoder(FiledRecord)
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        for line in lines:
            if line.strip():
                yield decoder.decode(line)


def issuing_agency(primary_di: str) -> IssuingAgency:
    """Which agency's rules a UDI-DI follows, by its looks."""
    if is_gtin14(primary_di) or primary_di.isdigit():
        return "gs1"
    return "iccbba" if len(primary_di) == 16 and primary_di[1:5].isdigit() else "hibcc"


def _registration(record: FiledRecord) -> Registration:
    representative = record.authorised_representative
    return Registration(
        uuid=record.uuid,
        primary_di=record.primary_di,
        issuing_agency=issuing_agency(record.primary_di),
        basic_udi=record.basic_udi,
        device_name=record.device_name,
        model=record.model,
        trade_names=record.trade_names,
        reference=record.reference,
        risk_class=record.risk_class.rpartition(".")[2],
        legislation=record.legislation.rpartition(".")[2],
        status=record.status.rpartition(".")[2],
        status_date=record.version_date[:10],
        emdn=record.emdn,
        manufacturer=Party(record.manufacturer.srn, record.manufacturer.name),
        authorised_representative=Party(representative.srn, representative.name) if representative else None,
        certificates=tuple(_certificate(each) for each in record.certificates),
        version_number=1,
        latest_version=True,
        version_date=record.version_date,
        last_updated=record.version_date,
    )


def _certificate(filed: FiledCertificate) -> Certificate:
    regulation = filed.type.startswith(("MDR_", "IVDR_"))
    return Certificate(
        number=filed.number,
        revision=filed.revision,
        expiry=filed.expiry,
        starting_validity=filed.starting_validity,
        issue_date=filed.starting_validity,
        notified_body=filed.notified_body,
        notified_body_name=filed.notified_body_name,
        type=filed.type,
        status="issued",
        listed_in="certificate-search" if regulation else "basic-udi-record",
    )


def _listings(records: Iterable[Registration]) -> list[CertificateListing]:
    """Each certificate of the certificate search once a manufacturer, with the Basic UDI-DIs that it is named
    for.
    """
    covered: dict[tuple[str, str, str | None], tuple[Certificate, Party, dict[str, None]]] = {}
    for record in records:
        for certificate in record.certificates:
            if certificate.listed_in == "certificate-search":
                key = (record.manufacturer.srn, certificate.number, certificate.revision)
                entry = covered.setdefault(key, (certificate, record.manufacturer, {}))
                entry[2][record.basic_udi or ""] = None
    return [
        CertificateListing(_uuid("certificate", *map(str, key)), certificate, party, tuple(filter(None, basic_udis)))
        for key, (certificate, party, basic_udis) in covered.items()
    ]


def _actor(party: Party) -> Actor:
    iso2 = country_of_srn(party.srn)
    place = COUNTRIES.get(iso2)
    return Actor(
        uuid=_actor_uuid(party.srn),
        srn=party.srn,
        type=party.srn[3:5],
        name=party.name,
        language=place.language if place else None,
        country=iso2,
        status=party.status,
        registered="2020-12-15T10:31:03.233",
        last_updated="2024-02-20T09:12:44.108",
        version_number=1,
        street="Park Road",
        building="1",
        postal_zone="10000",
        city=place.cities[0] if place else "Capital",
        website=None,
    )


def _actor_uuid(srn: str) -> str:
    return _uuid("actor", srn)


def _uuid(*parts: str) -> str:
    digits = blake2b("/".join(parts).encode(), digest_size=16).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
