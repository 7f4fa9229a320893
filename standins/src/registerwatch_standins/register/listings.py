"""The certificate search's rows as they stand now: those of the archive, with what was changed since."""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from registerwatch_standins.register.archive import Archive
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.records import Certificate, CertificateListing, Registration

Key = tuple[str, str, str | None]


class Listings:
    """Certificates that the certificate search lists.

    A registration's own tuple of certificates names them too; what changes on one registration changes for
    all that share the certificate.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._replaced: dict[Key, Certificate | None] = {}
        self._added: list[CertificateListing] = []
        self._by_srn: dict[str, list[int]] = {}
        self._by_basic_udi: dict[str, list[int]] = {}

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
        rows = self._archive.listings()
        if wanted.basic_udi:
            self._by_basic_udi = self._by_basic_udi or _index(rows, lambda row: row.basic_udis)
            return [rows[at] for at in self._by_basic_udi.get(wanted.basic_udi, ())]
        if wanted.actor_srn:
            self._by_srn = self._by_srn or _index(rows, lambda row: (row.manufacturer.srn,))
            return [rows[at] for at in self._by_srn.get(wanted.actor_srn, ())]
        return rows

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


def _index(
    rows: Sequence[CertificateListing], terms: Callable[[CertificateListing], Iterable[str]]
) -> dict[str, list[int]]:
    index: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        for term in terms(row):
            index.setdefault(term, []).append(at)
    return index
