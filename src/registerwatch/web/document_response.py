"""The answer that passes on a document. It is foreign content, so no browser may show it as a page of ours.

A document is in memory from its fetch until it was sent, so few are fetched at a time.
"""

import re
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.lookup.certificate_documents import FetchedDocument
from registerwatch.platform.account_slots import MAX_WAITING, enter_within
from registerwatch.platform.fair_queue import FairQueue
from registerwatch.web.held_answer import PIECE_BYTES, HeldAnswer
from registerwatch.web.injection import client_of
from registerwatch.web.responses import NOT_CACHED

PDF = "application/pdf"
MAX_DOCUMENTS, MAX_DOCUMENTS_OF_NETWORK = 4, 2
"""Documents that one process fetches and sends at a time, 80 MB at most; and for a network."""
WAIT_SECONDS = 20.0
"""How long a request waits for earlier ones: the register may need as long for one."""
BUSY = "Other documents are being fetched at the moment. Try again in a few seconds."
MAX_FILENAME = 100
_NOT_PLAIN = re.compile(r"[^0-9A-Za-z._-]+")


def document_slots() -> FairQueue:
    """Slots for an application's `state.documents`, shared fairly."""
    return FairQueue(MAX_DOCUMENTS, MAX_DOCUMENTS + MAX_WAITING, BUSY, most_of_party=MAX_DOCUMENTS_OF_NETWORK)


async def hold_document_slot(request: Request, held: AsyncExitStack) -> None:
    """Wait for a slot and hold it. Raises `Overloaded` where none is free in time."""
    slots: FairQueue = request.app.state.documents
    await enter_within(WAIT_SECONDS, held, slots.slot(client_of(request).network), otherwise=BUSY)


def document_response(found: FetchedDocument, held: AsyncExitStack) -> Response:
    """The document as a download, with the digest of its content. `held` is closed when it was sent."""
    digest = b64encode(bytes.fromhex(found.sha256)).decode()
    headers = {
        "Content-Disposition": _attachment(found.document.name, found.document.uuid),
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Repr-Digest": f"sha-256=:{digest}:",
        "Cache-Control": NOT_CACHED,
        "Content-Length": str(len(found.content)),
    }
    return HeldAnswer(_pieces(found.content), held, headers, PDF)


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), PIECE_BYTES):
        yield content[start : start + PIECE_BYTES]


def _attachment(name: str, uuid: str) -> str:
    """The file's name in plain letters, and unchanged for clients that accept it (RFC 6266)."""
    stem = name.removesuffix(".pdf").removesuffix(".PDF")[:MAX_FILENAME].strip() or uuid
    plain = _NOT_PLAIN.sub("_", stem).strip("._") or uuid
    return f"attachment; filename=\"{plain}.pdf\"; filename*=UTF-8''{quote(stem, safe='')}.pdf"
