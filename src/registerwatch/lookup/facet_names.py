"""Stored names of facet values: manufacturers, codes of the nomenclature, notified bodies."""

from collections.abc import Mapping

from registerwatch.copy.certificates.certificate_queries import CertificateQueries
from registerwatch.copy.documents.documents import DocumentReader
from registerwatch.copy.nomenclature import NomenclatureStore
from registerwatch.copy.search.filters import Counts, Facet
from registerwatch.register.nomenclature import emdn_levels

Names = Mapping[Facet, Mapping[str, str]]
"""The names of values, by facet and value."""


class FacetNames:
    """Names in one copy."""

    def __init__(
        self, documents: DocumentReader, nomenclature: NomenclatureStore, certificates: CertificateQueries
    ) -> None:
        self._documents = documents
        self._nomenclature = nomenclature
        self._certificates = certificates

    async def of(self, values: Mapping[Facet, list[str]]) -> Names:
        """The names of values that have one; for codes of the nomenclature also those of the codes above them."""
        codes = {level for code in values.get(Facet.EMDN, ()) for level in emdn_levels(code)}
        bodies = values.get(Facet.NOTIFIED_BODY, [])
        return {
            Facet.MANUFACTURER: await self._manufacturers(values.get(Facet.MANUFACTURER, [])),
            Facet.EMDN: await self._nomenclature.names(codes),
            Facet.NOTIFIED_BODY: await self._certificates.body_names(bodies),
        }

    async def _manufacturers(self, srns: list[str]) -> Mapping[str, str]:
        stored = [await self._documents.actor(srn) for srn in srns]
        return {each.actor.srn: each.actor.name for each in stored if each is not None and each.actor.name}


def shown_values(counts: Counts) -> dict[Facet, list[str]]:
    """The values that facets show."""
    return {facet: [value for value, _ in each.values] for facet, each in counts.items()}
