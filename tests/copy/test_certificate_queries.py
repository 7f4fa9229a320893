"""Reading stored certificates: a certificate and its history are of one instant."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import update

from registerwatch.copy.certificates.certificate_queries import CertificateQueries
from registerwatch.copy.tables import certificates
from registerwatch.lookup.certificate_service import CertificateDetails, CertificateService
from registerwatch.platform.db.engine import Database
from tests.register.certificate_rows import STATUS, a_certificate, certificate_id, note_history, store_certificates


async def test_a_change_that_is_stored_while_a_certificate_is_read_is_not_among_its_changes(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store_certificates(database, a_certificate(1, "suspended"))
    await note_history(database, 1, status_code=f"{STATUS}issued")
    queries = CertificateQueries(database)
    real = queries.basic_udis

    async def withdraw_and_read(*asked: Any) -> Sequence[str]:
        async with database.transaction() as connection:
            await connection.execute(update(certificates).values(status_code=f"{STATUS}withdrawn"))
        await note_history(database, 1, status_code=f"{STATUS}suspended")
        return await real(*asked)

    monkeypatch.setattr(queries, "basic_udis", withdraw_and_read)

    found = await CertificateService(queries).read(certificate_id(1))

    assert isinstance(found, CertificateDetails)
    assert found.certificate.status_code == f"{STATUS}suspended"
    changes = [(each.old, each.new) for change in found.history for each in change.fields]
    assert changes == [("Issued", "Suspended")]
