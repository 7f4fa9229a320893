"""Snapshots of which a test says only what matters, and generated ones."""

from typing import Any

from hypothesis import strategies as st

from registerwatch.register.codes import RISK_PREFIX, STATUS_PREFIX, label
from registerwatch.watches.snapshot import CODED, COMPARED, FIELD_SET, SeenCertificate, Snapshot

ON, OFF = STATUS_PREFIX + "on-the-market", STATUS_PREFIX + "no-longer-on-the-market"
ISSUED, WITHDRAWN = "refdata.certificate-status.issued", "refdata.certificate-status.withdrawn"


def a_certificate(
    number: str = "Z-1", revision: str = "", expiry: str = "", status_code: str = "", **more: Any
) -> SeenCertificate:
    """A certificate with nothing but its number and what is given; a code brings its label along."""
    return SeenCertificate(number, revision, expiry, label(status_code), status_code, **more)


def a_snapshot(*certs: SeenCertificate, searched: bool = True, **differs: Any) -> Snapshot:
    """A snapshot of a device whose certificates were read; a code brings its label along."""
    for name, code in CODED.items():
        if code in differs:
            differs.setdefault(name, label(differs[code]))
    return Snapshot(**{"certs": certs, "searched": searched, "field_set": FIELD_SET, **differs})


def without_certificates(**differs: Any) -> Snapshot:
    """A snapshot of a read that could not read certificates."""
    return a_snapshot(searched=False, **{**differs, "certs": None})


values = st.sampled_from(["", "Alpha", "Beta", "Γάμμα", "→"])
certificates = st.builds(
    a_certificate,
    number=st.sampled_from(["Z-1", "Z-2", "D-3"]),
    revision=st.sampled_from(["", "01", "02"]),
    expiry=st.sampled_from(["", "2030-01-01", "2031-01-01"]),
    status_code=st.sampled_from(["", ISSUED, WITHDRAWN]),
    notified_body=st.sampled_from(["", "0123", "0482"]),
    type_code=st.sampled_from(["", "mdr-type.qms", "mdd-type.qa"]),
    is_scoped=st.booleans(),
)
certificate_lists = st.lists(certificates, max_size=4, unique_by=lambda each: (each.number, each.revision)).map(tuple)


alike = st.lists(
    st.builds(
        a_certificate,
        number=st.sampled_from(["Z-1", "Z-1", "Z-2"]),
        revision=st.sampled_from(["", "", "01"]),
        expiry=st.sampled_from(["", "2030-01-01", "2031-01-01", "2032-01-01"]),
        status_code=st.sampled_from(["", ISSUED, WITHDRAWN]),
        notified_body=st.sampled_from(["0123", "0123", "0482"]),
        listed_in=st.sampled_from(["record", "search", ""]),
        type_code=st.sampled_from(["", "mdr-type.qms", "mdd-type.qa"]),
    ),
    max_size=6,
    unique_by=lambda each: (each.identity, each.values),
).map(tuple)
"""Certificates of which several have the same notified body, number and revision."""


read_or_not = certificate_lists | st.none()


@st.composite
def snapshots(draw: st.DrawFn, certs: st.SearchStrategy[Any] = read_or_not) -> Snapshot:
    """A snapshot whose fields are there or not."""
    codes = {
        "status_code": draw(st.sampled_from(["", ON, OFF])),
        "risk_class_code": draw(st.sampled_from(["", RISK_PREFIX + "class-i"])),
        "manufacturer_status_code": draw(st.sampled_from(["", "refdata.actor-status.active"])),
    }
    plain = {name: draw(values) for name in COMPARED if name not in CODED}
    found = draw(certs)
    if found is None:
        return a_snapshot(**codes, **plain, certs=None, searched=False)
    searched, is_partial = draw(st.sampled_from([(True, False), (False, False), (False, True)]))
    known: dict[str, Any] = {**codes, **plain, "certs": found, "scoped": draw(st.booleans()), "is_partial": is_partial}
    return a_snapshot(searched=searched, **known)
