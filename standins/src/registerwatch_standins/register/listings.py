"""The certificate search's rows as they stand now: those of the archive, with what was changed since."""

from collections.abc import Iterable

from msgspec.structs import replace

from registerwatch_standins.register.archive import Archive
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.records import Certificate, CertificateListing, Registration

Key = tuple[str, str, str | None]


class Listings:
    """A certificate of a registration may be a row here; a change of it holds for all registrations that share it."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._replaced: dict[Key, Certificate | None] = {}
        self._added: list[CertificateListing] = []
        self._by_term: dict[str, list[CertificateListing]] = {}
        """Rows of the archive by SRN and by Basic UDI-DI."""

    def search(self, wanted: CertificateFilter) -> list[CertificateListing]:
        """The rows that pass this filter, newest first."""
        current = (self._now(row) for row in [*reversed(self._added), *self._candidates(wanted)])
        return [row for row in current if row is not None and wanted.passes(row)]

    def present(self, manufacturer: str, certificates: tuple[Certificate, ...]) -> tuple[Certificate, ...]:
        """A registration's certificates as they stand now."""
        if not self._replaced or not certificates:
            return certificates
        current = (self._current(manufacturer, certificate) for certificate in certificates)
        return tuple(certificate for certificate in current if certificate is not None)

    def replace(self, record: Registration, old: Certificate, new: Certificate | None) -> None:
        """A listed certificate of this registration becomes another, or is taken out."""
        self._replaced[(record.manufacturer.srn, old.number, old.revision)] = new

    def add(self, record: Registration, certificate: Certificate, uuid: str) -> None:
        """A certificate is newly listed for this registration's Basic UDI-DI, or listed again."""
        key = (record.manufacturer.srn, certificate.number, certificate.revision)
        if key in self._replaced and self._replaced[key] is None:
            self._replaced[key] = certificate
            return
        basic_udis = (record.basic_udi,) if record.basic_udi else ()
        self._added.append(CertificateListing(uuid, certificate, record.manufacturer, basic_udis))

    def _candidates(self, wanted: CertificateFilter) -> Iterable[CertificateListing]:
        """Rows of the archive among which those that pass must be."""
        if not (wanted.basic_udi or wanted.actor_srn):
            return self._archive.listings()
        if not self._by_term:
            by_term: dict[str, list[CertificateListing]] = {}
            for row in self._archive.listings():
                for term in (row.manufacturer.srn, *row.basic_udis):
                    by_term.setdefault(term, []).append(row)
            self._by_term = by_term  # at once: several threads answer
        return self._by_term.get(wanted.basic_udi or wanted.actor_srn or "", ())

    def _now(self, row: CertificateListing) -> CertificateListing | None:
        certificate = self._current(row.manufacturer.srn, row.certificate)
        if certificate is None:
            return None
        if certificate is row.certificate:
            return row
        return replace(row, certificate=certificate, version_number=row.version_number + 1)

    def _current(self, manufacturer: str, certificate: Certificate) -> Certificate | None:
        """What a certificate has become; a chain of changes of number or revision is followed to its end."""
        current: Certificate | None = certificate
        seen: set[Key] = set()
        while current is not None and current.listed_in == "certificate-search":
            key = (manufacturer, current.number, current.revision)
            if key in seen or key not in self._replaced:
                break
            seen.add(key)
            current = self._replaced[key]
        return current
