"""Storing certificates as long as the register's rows may be."""

from random import Random

from registerwatch.copy.certificates import certificates as store
from registerwatch.copy.certificates.certificate_queries import CertificateQueries
from registerwatch.copy.certificates.certificates import ReadScopes
from registerwatch.copy.certificates.device_certificates import OwnCertificates
from registerwatch.platform.db.engine import Database
from registerwatch.register.certificates import (
    MAX_BODY,
    MAX_NUMBER,
    MAX_REVISION,
    RegisteredCertificate,
    Scope,
    WrittenCertificate,
)
from registerwatch.register.identifiers import MAX_LENGTH
from registerwatch.register.models import Certificate, Device
from registerwatch.sources.eudamed.convert_certificates import MAX_CODE


async def test_the_longest_values_fit_into_every_index(database: Database) -> None:
    draw = Random(1)

    def words(length: int) -> str:
        """Letters that no database can compress, of three bytes each."""
        return "".join(chr(draw.randrange(0x4E00, 0x9FFF)) for _ in range(length))

    longest = RegisteredCertificate(
        id="A",
        uuid="u-1",
        srn=words(MAX_LENGTH),
        notified_body=words(MAX_BODY),
        number=words(MAX_NUMBER - 20) + "ΐ" * 20,
        revision=words(MAX_REVISION),
        status_code=words(MAX_CODE),
    )

    own = OwnCertificates()
    listed = longest.number, longest.revision, longest.notified_body
    certificate = Certificate(listed[0], revision=listed[1], notified_body=listed[2], expiry="2030-01-01")
    own.add(Device(udi="0401", uuid="u-1", manufacturer_srn=longest.srn, certs=(certificate,)), 1)

    async with database.transaction() as connection:
        await own.write(connection, 1)
        await store.write_certificates(connection, [WrittenCertificate(longest, None, 1)], 1, since=0)
        await store.write_scopes(connection, {"A": ReadScopes([Scope(words(MAX_LENGTH))], 1, 2)})
        found = await store.stored_certificates(connection)

    assert found["A"].certificate == longest
    [read] = [each.read for each in await CertificateQueries(database).with_number(longest.number, 2)]
    assert read is not None
    assert read.certificates == (certificate,)
