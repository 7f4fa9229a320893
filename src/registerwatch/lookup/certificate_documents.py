"""Fetches documents of certificates from the register on request. They are served, not stored.

Only the SHA-256 of a document's content is kept, which later proves what the register had.
"""

import asyncio
from collections.abc import Mapping
from hashlib import sha256

import msgspec
import structlog

from registerwatch.copy.certificates.certificate_documents import SeenDocument, SeenDocuments
from registerwatch.errors import RegisterUnavailable
from registerwatch.lookup.certificate_service import CertificateDetails, CertificateService, NoCertificate
from registerwatch.platform.clock import Clock
from registerwatch.register.certificates import CertificateDocument
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.requester_queue import Requester
from registerwatch.sources.source import DocumentSource

log = structlog.get_logger(__name__)

NOT_OF_CERTIFICATE = "The record of this certificate, as it was last read, names no document with this id."
NOT_READ_YET = "The record of this certificate has not been read yet, so its documents are not known."


class FetchedDocument(msgspec.Struct, frozen=True):
    """A document with its content."""

    document: CertificateDocument
    content: bytes
    sha256: str


class NoDocument(msgspec.Struct, frozen=True):
    """There is no such document. `reason` says whether its certificate has none or is not known."""

    uuid: str
    reason: str


class CertificateDocuments:
    """Documents of the certificates of one copy."""

    def __init__(
        self, certificates: CertificateService, source: DocumentSource, seen: SeenDocuments, clock: Clock
    ) -> None:
        self._certificates = certificates
        self._source = source
        self._seen = seen
        self._clock = clock

    async def seen(self, details: CertificateDetails) -> Mapping[str, SeenDocument]:
        """A certificate's documents that were fetched before, by uuid."""
        return await self._seen.of([each.uuid for each in details.documents])

    async def fetch(
        self, certificate_id: str, uuid: str, requester: Requester | None = None
    ) -> FetchedDocument | NoDocument:
        """A document of a certificate, as the register has it now: up to 20 MB in memory.

        Raises `InvalidInput` for an invalid id of a certificate, `RegisterUnavailable` where the document could not be
        read.
        """
        found = await self._certificates.read(certificate_id)
        if isinstance(found, NoCertificate):
            return NoDocument(uuid, found.reason)
        document = next((each for each in found.documents if each.uuid == uuid), None)
        if document is None:
            return NoDocument(uuid, NOT_READ_YET if found.facts is None else NOT_OF_CERTIFICATE)
        content = await self._content(uuid, requester)
        digest = await asyncio.to_thread(lambda: sha256(content).hexdigest())
        first_seen = await self._seen.note(SeenDocument(uuid, digest, len(content), int(self._clock.now())))
        if first_seen.sha256 != digest:
            log.warning("a document of a certificate has another content than before", uuid=uuid)
        return FetchedDocument(document, content, digest)

    async def _content(self, uuid: str, requester: Requester | None) -> bytes:
        try:
            return await self._source.document(uuid, requester=requester)
        except RegisterFailure as failure:
            raise RegisterUnavailable(f"The document could not be read. {failure.reason}") from failure
