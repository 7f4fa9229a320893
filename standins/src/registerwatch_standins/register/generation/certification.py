"""Notified bodies, and the certificates that generated manufacturers hold from them."""

from registerwatch_standins.register.generation.operators import Manufacturer
from registerwatch_standins.register.records import Certificate, CertificateListing

NOTIFIED_BODIES = (
    ("0123", "TÜV SÜD Product Service GmbH"),
    ("0051", "IMQ ISTITUTO ITALIANO DEL MARCHIO DI QUALITÀ S.P.A."),
    ("2797", "BSI Group The Netherlands B.V."),
    ("0197", "TÜV Rheinland LGA Products GmbH"),
    ("0124", "DEKRA Certification GmbH"),
    ("0344", "DEKRA Certification B.V."),
    ("2265", "3EC International a.s."),
    ("0459", "GMED SAS"),
    ("1639", "SGS Belgium NV"),
    ("0483", "mdc medical device certification GmbH"),
    ("0482", "DNV MEDCERT GmbH"),
    ("0633", "Berlin Cert Prüf- und Zertifizierstelle für Medizinprodukte GmbH"),
)
_REVISIONS = (None,) * 11 + ("00", "02", "03", "Rev. 0", "Rev. 1", "1")
_STATUSES = (
    ("issued",) * 16 + ("supplemented",) * 5 + ("amended",) * 2 + ("reissued", "restricted", "withdrawn", "cancelled")
)
_DIRECTIVE_EXPIRIES = ("2023-09-03", "2024-05-25", *("2024-05-26",) * 3, "2027-12-31", "2028-12-31")


def directive_certificate(maker: Manufacturer, legislation: str, serial: int) -> Certificate:
    """A certificate under a directive, as the Basic UDI-DI record lists it; one in twelve without an expiry."""
    draws = maker.draws
    body, name = _notified_body(draws)
    salt = draws[30 + serial % 8]
    kind = ("II_EX_4", "II_EX_4", "II_EX_4", "V", "II_4")[(draws[31] + serial) % 5]
    month = 1 + salt % 12
    return Certificate(
        number=certificate_number(body, maker.index, serial, directive=True),
        revision=_REVISIONS[salt % len(_REVISIONS)],
        expiry=None if salt % 12 == 5 else _DIRECTIVE_EXPIRIES[(salt >> 2) % len(_DIRECTIVE_EXPIRIES)],
        starting_validity=f"2021-{month:02d}-{1 + draws[32] % 28:02d}" if salt % 4 == 0 else None,
        issue_date=f"2020-{month:02d}-{1 + draws[33] % 28:02d}" if salt % 3 == 0 else None,
        notified_body=body,
        notified_body_name=name,
        type=f"{legislation.upper()}_{kind}",
        status="issued",
        listed_in="basic-udi-record",
    )


def regulation_certificate(maker: Manufacturer, legislation: str, kind: str, serial: int) -> Certificate:
    """A certificate under a regulation, as the certificate search lists it, for five years; one in twenty undated."""
    draws = maker.draws
    body, name = _notified_body(draws)
    salt = draws[30 + serial % 8]
    year, month, day = 2021 + salt % 6, 1 + draws[32] % 9, 1 + draws[33] % 28
    issued, dated = f"{year}-{month:02d}-{day:02d}", salt % 20 != 7
    return Certificate(
        number=certificate_number(body, maker.index, serial, directive=False),
        revision=None,
        expiry=f"{year + 5}-{month:02d}-{max(1, day - 1):02d}" if dated else None,
        starting_validity=issued if dated else None,
        issue_date=issued,
        notified_body=body,
        notified_body_name=name,
        type=f"{legislation.upper()}_{kind}",
        status=_STATUSES[(draws[34] + serial) % len(_STATUSES)],
        listed_in="certificate-search",
    )


def newest_first(listings: list[CertificateListing]) -> list[CertificateListing]:
    """Listings by their issue date, the latest first."""
    return sorted(listings, key=lambda row: (row.certificate.issue_date or "", row.uuid), reverse=True)


def _notified_body(draws: bytes) -> tuple[str, str]:
    return NOTIFIED_BODIES[draws[29] % len(NOTIFIED_BODIES)]


def certificate_number(body: str, holder: int, serial: int, *, directive: bool) -> str:
    """A certificate number in the manner of its notified body."""
    client = 10_000 + holder
    if body == "0123":
        return f"{'G1' if directive else 'G10'} {client:06d} {serial:04d}"
    if body in ("0051", "0459", "1639"):
        return f"{client}/{'MDD' if directive else 'MDR'}{serial or ''}"
    if body == "2797":
        return f"{'CE' if directive else 'MDR'} {600_000 + client * 4 + serial}"
    return f"{'D' if directive else 'Z'}-{body}-{client:06d}-{serial:02d}"
