"""A world over a file of records. All of it is held in memory."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from registerwatch_standins.register.countries import COUNTRIES, country_of_srn
from registerwatch_standins.register.generation.certification import newest_first
from registerwatch_standins.register.listings import listing
from registerwatch_standins.register.record_file import read_records
from registerwatch_standins.register.records import (
    Actor,
    Certificate,
    CertificateListing,
    Party,
    RefusedApplication,
    Registration,
)
from registerwatch_standins.register.wire.codes import derived_uuid
from registerwatch_standins.register.world import World, brussels_now, following


class FileArchive:
    """The registrations of a file, in the order of their version dates. It has the methods of `Archive`."""

    def __init__(self, records: Iterable[Registration]) -> None:
        self._records = _agreeing(sorted(records, key=lambda record: record.version_date))
        self._by_uuid = {record.uuid: position for position, record in enumerate(self._records)}
        if len(self._by_uuid) != len(self._records):
            raise ValueError("a uuid occurs twice in the file of records")
        self._by_primary_di: dict[str, list[int]] = {}
        self._by_basic_udi: dict[str, list[int]] = {}
        self._by_srn: dict[str, list[int]] = {}
        self._parties: dict[str, Party] = {}
        for position, record in enumerate(self._records):
            self._index(position, record)
        self._listings = newest_first(_listings(self._records))

    @property
    def count(self) -> int:
        return len(self._records)

    def registration(self, position: int) -> Registration:
        return self._records[position]

    def oldest(self, rank: int) -> int:
        return rank

    def position_of_uuid(self, uuid: str) -> int | None:
        return self._by_uuid.get(uuid)

    def positions_of_primary_di(self, primary_di: str) -> Sequence[int]:
        return self._by_primary_di.get(primary_di, ())

    def positions_of_basic_udi(self, basic_udi: str) -> Sequence[int]:
        return self._by_basic_udi.get(basic_udi, ())

    def positions_of_srn(self, srn: str) -> Sequence[int]:
        return self._by_srn.get(srn, ())

    def srns(self) -> Sequence[str]:
        return sorted(self._parties)

    def actor(self, srn: str) -> Actor | None:
        party = self._parties.get(srn)
        return _actor(party) if party else None

    def listings(self) -> Sequence[CertificateListing]:
        return self._listings

    def refusals(self) -> Sequence[RefusedApplication]:
        """None: the file does not have them."""
        return ()

    def notified_bodies(self) -> Mapping[str, str]:
        certificates = (each for record in self._records for each in record.certificates)
        return {each.notified_body: each.notified_body_name for each in certificates}

    def _index(self, position: int, record: Registration) -> None:
        self._by_primary_di.setdefault(record.primary_di, []).append(position)
        if record.basic_udi:
            self._by_basic_udi.setdefault(record.basic_udi, []).append(position)
        for party in (record.manufacturer, record.authorised_representative):
            if party:
                self._by_srn.setdefault(party.srn, []).append(position)
                self._parties.setdefault(party.srn, party)


class FileWorld(World):
    """A world over the records of a file."""

    def __init__(self, path: Path | str, *, clock: Callable[[], datetime] = brussels_now) -> None:
        super().__init__(FileArchive(read_records(Path(path))), clock)


def _agreeing(records: list[Registration]) -> list[Registration]:
    """Registrations in this order, with the Basic UDI-DI record of the latest of those that share it.

    Records of a file may have been read at different times.
    """
    latest = {record.basic_code: record for record in records}
    return [following(record, latest[record.basic_code]) for record in records]


def _listings(records: Iterable[Registration]) -> list[CertificateListing]:
    """Each certificate of the certificate search once a manufacturer, with all Basic UDI-DIs that it covers."""
    covered: dict[tuple[str, str, str | None], tuple[Certificate, Party, dict[str, None]]] = {}
    for record in records:
        for certificate in record.certificates:
            if certificate.listed_in == "certificate-search":
                key = (record.manufacturer.srn, certificate.number, certificate.revision)
                entry = covered.setdefault(key, (certificate, record.manufacturer, {}))
                entry[2][record.basic_udi or ""] = None
    return [
        listing(derived_uuid("certificate", *map(str, key)), certificate, party, tuple(filter(None, codes)))
        for key, (certificate, party, codes) in covered.items()
    ]


def _actor(party: Party) -> Actor:
    """An actor; the file knows SRN and name alone, the rest is made up."""
    iso2 = country_of_srn(party.srn)
    place = COUNTRIES.get(iso2)
    return Actor(
        uuid=derived_uuid("actor", party.srn),
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
