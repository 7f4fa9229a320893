"""The answer that passes a document through. It comes from strangers, so no browser may show it as a page of ours."""

import re
from base64 import b64encode
from urllib.parse import quote

from starlette.responses import Response

from registerwatch.register.certificate_documents import FetchedDocument
from registerwatch.web.responses import NOT_CACHED

PDF = "application/pdf"
MAX_FILENAME = 100
_NOT_PLAIN = re.compile(r"[^0-9A-Za-z._-]+")


def document_response(found: FetchedDocument) -> Response:
    """The document as a download, with the digest of its content."""
    digest = b64encode(bytes.fromhex(found.sha256)).decode()
    headers = {
        "Content-Disposition": _attachment(found.document.name, found.document.uuid),
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Repr-Digest": f"sha-256=:{digest}:",
        "Cache-Control": NOT_CACHED,
    }
    return Response(found.content, 200, headers, PDF)


def _attachment(name: str, uuid: str) -> str:
    """The file's name in plain letters, and as it is for clients that can take it (RFC 6266)."""
    stem = name.removesuffix(".pdf").removesuffix(".PDF")[:MAX_FILENAME].strip() or uuid
    plain = _NOT_PLAIN.sub("_", stem).strip("._") or uuid
    return f"attachment; filename=\"{plain}.pdf\"; filename*=UTF-8''{quote(stem, safe='')}.pdf"
