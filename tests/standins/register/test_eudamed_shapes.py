"""The shapes of the register's answers: the keys of real replies."""

import json
from pathlib import Path
from typing import Any

import pytest

from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.records import Registration

from .conftest import LANGUAGE, Register

pytestmark = pytest.mark.anyio

CAPTURES = Path(__file__).parents[4] / "shared" / "upstream" / "captures"

SINCE_ADDED = {"manufacturerStatus", "authorisedRepresentativeSrn", "authorisedRepresentativeName"}
_FILLED = """
basicUdi primaryDi uuid ulid basicUdiDiDataUlid riskClass tradeName manufacturerName manufacturerSrn manufacturerStatus
deviceStatusType reference latestVersion versionNumber basicUdiDataVersionNumber containerPackageCount
"""
FILLED = set(_FILLED.split())


def find(register: Register, **fields: Any) -> Registration:
    """The first registration with these values."""
    for record in register.world.newest(0, register.world.count):
        if all(getattr(record, field) == value for field, value in fields.items()):
            return record
    raise AssertionError(f"no registration with {fields}")


async def test_all_of_a_search_row_that_the_register_does_not_send_is_null(register: Register) -> None:
    page = await register.search(size=300, pageSize=300)
    for row in page["content"]:
        assert {key for key, value in row.items() if value is not None} <= FILLED


@pytest.mark.skipif(not CAPTURES.exists(), reason="the captures of real replies are not here")
class TestAgainstCaptures:
    """The same keys, level by level, as real replies have."""

    async def test_device_search(self, register: Register) -> None:
        for name in ("device_search_page", "device_search_by_primary_di"):
            real = capture(name)
            page = await register.search()
            assert set(page) == set(real)
            assert set(page["content"][0]) - set(real["content"][0]) == SINCE_ADDED
            assert set(real["content"][0]) <= set(page["content"][0])

    async def test_device_detail(self, register: Register) -> None:
        detail = await register.record("/devices/udiDiData", find(register, legislation="mdr").uuid)
        assert_same_keys(detail, capture("device_detail"))

    async def test_actor_search(self, register: Register) -> None:
        page = (await register.get("/eos", **LANGUAGE)).json()
        assert_same_keys({**page, "sort": None}, {**capture("eos_search_page"), "sort": None})

    async def test_actor_detail(self, register: Register) -> None:
        uuid = (await register.get("/eos", **LANGUAGE)).json()["content"][0]["uuid"]
        detail = (await register.get(f"/actors/{uuid}/publicInformation", **LANGUAGE)).json()
        record = detail["actorDataPublicView"]
        assert record.pop("actorStatus")["code"].startswith("refdata.actor-status.")
        assert record.pop("actorStatusFromDate")
        record["regulatoryComplianceResponsibles"] = []
        assert_same_keys(detail, capture("actor_public_information"))

    async def test_certificate_search(self, register: Register) -> None:
        srn = register.world.search_certificates(CertificateFilter(), 0, 1)[1][0].manufacturer.srn
        assert set((await register.get("/certificates/search/")).json()) == set(capture("certificate_search_page"))
        page = (await register.get("/certificates/search/", actorSrn=srn)).json()
        real = json.dumps(capture("certificate_search_page")).replace("DE-MF-000006413", srn)
        assert_same_keys(page, json.loads(real))


def capture(name: str) -> dict[str, Any]:
    """A real reply."""
    reply: dict[str, Any] = json.loads((CAPTURES / f"{name}.json").read_text(encoding="utf-8"))
    return reply


def assert_same_keys(mine: Any, real: Any, path: str = "") -> None:
    """Objects have the same keys at every level that both have."""
    if isinstance(mine, dict) and isinstance(real, dict):
        assert set(mine) == set(real), path
        for key in mine:
            assert_same_keys(mine[key], real[key], f"{path}.{key}")
    elif isinstance(mine, list) and isinstance(real, list) and mine and real:
        assert_same_keys(mine[0], real[0], f"{path}[0]")
