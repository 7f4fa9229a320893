"""The register sends contact data of real persons; none of it is kept anywhere."""

import logging
from pathlib import Path

import pytest
from sqlalchemy import text

from registerwatch.all_tables import metadata
from registerwatch.platform.db.engine import Database
from registerwatch_standins.register.faults import Kind
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.wire.actors import EMAIL, TELEPHONE
from tests.support.harness import REGISTER, ServiceHarness, ServiceStarter

PERSONAL = [value.encode() for value in (EMAIL, TELEPHONE)]
KINDS: tuple[Kind, ...] = ("search", "detail", "basic", "certificates", "actor-search")


async def test_no_contact_of_a_person_reaches_the_database_the_index_the_answers_or_the_log(
    start_service: ServiceStarter, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    async with start_service(world=GeneratedWorld(400, seed=7)) as harness:
        await harness.fill_copy()
        record = next(
            each for each in harness.world.newest(0, 400) if each.basic_udi and each.authorised_representative
        )
        assert record.authorised_representative is not None
        srns = (record.manufacturer.srn, record.authorised_representative.srn)
        await _the_register_does_send_it(harness, srns[0], record.uuid)

        answers = [await _asked(harness, record.primary_di, srns)]
        for kind in KINDS:
            harness.faults.clear()
            harness.faults.fail(kind, "json-of-wrong-shape", skip=1)
            harness.clock.move(7 * 3600)
            answers.append(await _asked(harness, record.primary_di, srns))
        assert await harness.service.certificate_sweep.run_where_due() is not None
        assert await harness.service.certificate_sweep.read_due_scopes() > 0
        await harness.update_index()

        assert all(record.manufacturer.name.encode() in answer for answer in answers)
        _has_none(b"".join(answers), "the answers")
        _has_none(await _everything_stored(harness.database), "the tables")
    for path in tmp_path.rglob("*"):
        if path.is_file():
            _has_none(path.read_bytes(), str(path))
    logged = caplog.text + "".join(capsys.readouterr())
    assert "certificate search could not be read" in logged
    _has_none(logged.encode(), "the log")


async def _the_register_does_send_it(harness: ServiceHarness, srn: str, uuid: str) -> None:
    certificate = harness.world.search_certificates(CertificateFilter(), 0, 1)[1][0].uuid
    for address in (
        f"{REGISTER}/eudamed/eos?srn={srn}&languageIso2Code=en",
        f"{REGISTER}/eudamed/devices/basicUdiData/udiDiData/{uuid}?languageIso2Code=en",
        f"{REGISTER}/eudamed/certificates/{certificate}",
        f"{REGISTER}/datalake/actors?api-version=v1.0&format=json",
    ):
        sent = (await harness.service.http.get(address, headers={"user-agent": "a test"})).text
        assert EMAIL in sent
        assert TELEPHONE in sent


async def _asked(harness: ServiceHarness, udi: str, srns: tuple[str, ...]) -> bytes:
    """Everything that reads the register, and what it answers."""
    paths = [f"/v1/devices/{udi}", *(f"/v1/actors/{srn}" for srn in srns)]
    refreshed = [(await harness.get("/v1/refresh", q=code)).content for code in (udi, *srns)]
    return b"".join([*refreshed, *[(await harness.get(path)).content for path in paths]])


async def _everything_stored(database: Database) -> bytes:
    async with database.reading() as connection:
        rows = [
            row
            for table in metadata.sorted_tables
            for row in (await connection.execute(text(f'SELECT * FROM "{table.name}"'))).all()
        ]
    assert len(rows) > 400
    return repr(rows).encode()


def _has_none(content: bytes, where: str) -> None:
    for value in PERSONAL:
        assert value not in content, f"{value!r} is in {where}"
