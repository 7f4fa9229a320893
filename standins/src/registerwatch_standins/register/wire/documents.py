"""Documents of certificates: a made-up PDF of one page for each."""

from registerwatch_standins.register.records import CertificateListing
from registerwatch_standins.register.wire.codes import Fields, constant_fields, derived_uuid

PDF = "application/pdf"


def document_uuid(listing: CertificateListing) -> str:
    """The key of a certificate's document."""
    return derived_uuid(listing.uuid, "document")


def document_entry(listing: CertificateListing) -> Fields:
    """An entry of `documents[]` of a certificate."""
    number = "".join(each if each.isalnum() else "-" for each in listing.certificate.number)
    return {
        **constant_fields("document"),
        "uuid": document_uuid(listing),
        "originalFileName": f"{number}.pdf",
        "fileSize": len(document(listing)),
    }


def document(listing: CertificateListing) -> bytes:
    """The document itself."""
    number = listing.certificate.number.replace("\\", " ").replace("(", "[").replace(")", "]")
    content = f"BT /F1 14 Tf 60 760 Td (Made-up certificate {number}) Tj ET".encode("latin-1", "replace")
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 %s >> >> >>"
    )
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        page % b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
    ]
    return _file(objects)


def _file(objects: list[bytes]) -> bytes:
    """A PDF of these objects, with the table of where each begins."""
    body, starts = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        starts.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    size = len(objects) + 1
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + trailer
