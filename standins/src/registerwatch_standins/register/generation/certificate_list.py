"""What the certificate search of a generated world lists beside the certificates of device families.

Most real certificates name no device. So the largest manufacturers hold more than their families need, some rows are
there twice under other keys, and some numbers are there with earlier dates.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from registerwatch_standins.register.generation.certification import NOTIFIED_BODIES, certificate_number
from registerwatch_standins.register.generation.keys import Keys
from registerwatch_standins.register.generation.operators import Manufacturer
from registerwatch_standins.register.listings import listing
from registerwatch_standins.register.records import Certificate, CertificateListing, RefusedApplication
from registerwatch_standins.register.wire.codes import derived_ulid

MAX_HOLDERS = 250
"""So many of the largest manufacturers hold more certificates than their families need."""
_REVISED, _TWIN, _CYCLE = 3, 7, 20
"""Of so many rows, which is an earlier revision and which is a twin; of a small world's, of rows without devices."""
_FIRST_KEY, _FIRST_SERIAL = 1 << 31, 900
MANUFACTURERS_PER_REFUSAL, MAX_REFUSED = 10, 290
_KINDS = ("QUALITY_MANAGEMENT_SYSTEM", "QUALITY_MANAGEMENT_SYSTEM", "TECHNICAL_DOCUMENTATION", "QUALITY_ASSURANCE")
_STATUSES = (
    *("issued",) * 9,
    "supplemented",
    "amended",
    "reissued",
    "suspended",
    "withdrawn",
    "cancelled",
    "restricted",
)
_PROCEDURES = ("annex-ix-chapters-i-iii", "annex-ix-chapters-i-iii", "annex-ix-chapter-ii", "annex-xi-part-a")


def more_listings(
    covered: Sequence[CertificateListing], holders: Sequence[Manufacturer], count: int, keys: Keys
) -> list[CertificateListing]:
    """So many more rows beside those that cover devices."""
    own: list[CertificateListing] = []
    more: list[CertificateListing] = []
    for place in range(count):
        number = _FIRST_KEY + place
        draws = keys.draws(number)
        uuid = keys.uuid(number, draws)
        known = covered if len(covered) >= _CYCLE else own
        other = known[int.from_bytes(draws[:2]) % len(known)] if known else None
        if other and place % _CYCLE == _TWIN:
            more.append(replace(other, uuid=uuid, ulid=derived_ulid(uuid)))
        elif other and place % _CYCLE == _REVISED:
            more.append(listing(uuid, _earlier(other.certificate), other.manufacturer))
        else:
            holder = holders[place % len(holders)]
            serial = _FIRST_SERIAL + place // len(holders)
            own.append(listing(uuid, _certificate(holder, serial, draws), holder.party))
    return [*own, *more]


def refusals(holders: Sequence[Manufacturer], keys: Keys) -> list[RefusedApplication]:
    """A refused application of each of these manufacturers, the latest refused first."""
    found = []
    for number, holder in enumerate(holders):
        draws = keys.draws(number)
        uuid = keys.uuid(number, draws)
        body = NOTIFIED_BODIES[draws[0] % len(NOTIFIED_BODIES)][0]
        found.append(
            RefusedApplication(
                uuid=uuid,
                ulid=derived_ulid(uuid),
                reference=f"APP-{body}-{10_000 + number}",
                procedure=_PROCEDURES[draws[1] % len(_PROCEDURES)],
                refused_on=f"{2023 + draws[2] % 3}-{1 + draws[3] % 12:02d}-{1 + draws[4] % 28:02d}",
                manufacturer=holder.party,
                notified_body=body,
            )
        )
    return sorted(found, key=lambda each: (each.refused_on, each.uuid), reverse=True)


def _earlier(certificate: Certificate) -> Certificate:
    """The one before it: of three years earlier, and without an end where this one has none."""
    back = {
        field: f"{int(day[:4]) - 3}{day[4:]}"
        for field in ("issue_date", "starting_validity", "expiry")
        if (day := getattr(certificate, field))
    }
    return replace(certificate, status="issued", **back)


def _certificate(holder: Manufacturer, serial: int, draws: bytes) -> Certificate:
    """A certificate of the holder; one in fifteen has no end."""
    body, name = NOTIFIED_BODIES[draws[2] % len(NOTIFIED_BODIES)]
    legislation = "IVDR" if holder.group == "lab" else "MDR"
    status = _STATUSES[draws[3] % len(_STATUSES)]
    year = (2018 if draws[7] < 20 else 2021) + draws[4] % 3
    month, day = 1 + draws[5] % 12, 2 + draws[6] % 27
    issued = f"{year}-{month:02d}-{day:02d}"
    return Certificate(
        number=certificate_number(body, holder.index, serial, directive=False),
        revision=None,
        expiry=f"{year + 5}-{month:02d}-{day - 1:02d}" if draws[8] % 15 else None,
        starting_validity=issued,
        issue_date=issued,
        notified_body=body,
        notified_body_name=name,
        type=f"{legislation}_{_KINDS[draws[9] % len(_KINDS)]}",
        status=status,
        listed_in="certificate-search",
    )
