"""Reads the documents of certificates from EUDAMED."""

from collections.abc import Sequence

import msgspec

from registerwatch.register.outcomes import NoSuchRecord, RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.request_budget import SlotWait
from registerwatch.sources.requester_queue import Requester
from registerwatch.sources.requests import ApiRequest, RegisterHttpClient
from registerwatch.sources.wire import UnreadField

PDF = "application/pdf"
PDF_BEGIN = b"%PDF-"


class PdfReader:
    """Takes a PDF unchanged, without looking into it."""

    name = "document"

    def decode(self, content: bytes) -> bytes:
        """The content. Raises `msgspec.ValidationError` where it does not begin as a PDF does."""
        if not content.startswith(PDF_BEGIN):
            raise msgspec.ValidationError("Expected a PDF")
        return content

    def unread_of(self, answer: bytes) -> Sequence[UnreadField]:
        """Always empty: a document has no fields."""
        return ()


class EudamedDocuments:
    """Reads documents at `base_url` through the shared sender of requests, which bounds their size."""

    def __init__(self, requests: RegisterHttpClient, base_url: str) -> None:
        self._requests = requests
        self._base = base_url.rstrip("/")

    async def document(self, uuid: str, *, requester: Requester | None = None) -> bytes:
        """The content of a document. `uuid` has the form of a key. Raises `RegisterFailure`."""
        request = ApiRequest(f"{self._base}/documents/{uuid}", {}, PdfReader(), accept=PDF)
        deadline = self._requests.deadline(RequestPriority.READER)
        slot_wait = SlotWait.until(deadline, requester)
        try:
            return await self._requests.get(
                request, priority=RequestPriority.READER, deadline=deadline, slot_wait=slot_wait
            )
        except NoSuchRecord as redirect:
            raise RegisterFailure("The register has no such document.") from redirect
