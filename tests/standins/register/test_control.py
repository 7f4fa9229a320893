"""Steering the stand-in from another process."""

from typing import Any

import httpx2
import pytest

from .conftest import Register

pytestmark = pytest.mark.anyio


async def order(register: Register, path: str, body: object, status: int = 200) -> dict[str, Any]:
    """The answer to a POST to the control interface."""
    response = await register.client.post(f"/_control{path}", json=body)
    assert response.status_code == status, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def told(register: Register, path: str, **query: Any) -> dict[str, Any]:
    """The answer to a GET from the control interface."""
    response: httpx2.Response = await register.client.get(f"/_control{path}", params=query)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def test_a_change_is_made_and_logged(register: Register) -> None:
    record = register.world.newest(0, 1)[0]
    after = await order(register, "/change", {"uuid": record.uuid, "fields": {"reference": "R-2"}})
    assert after["reference"] == "R-2"
    log = await told(register, "/changes")
    assert {change["field"] for change in log["changes"]} == {"reference", "version_number"}
    assert (await told(register, "/changes", since=log["written"]))["changes"] == []


@pytest.mark.parametrize(
    "body",
    [
        {"uuid": "unknown", "fields": {"reference": "x"}},
        {"fields": {}},
        {"uuid": "x", "field": {}},
    ],
)
async def test_an_order_that_cannot_be_carried_out_is_400(register: Register, body: dict[str, Any]) -> None:
    assert "error" in await order(register, "/change", body, 400)


async def test_a_sample_is_spread_over_the_register(register: Register) -> None:
    sample = await told(register, "/sample", n=70)
    assert sample["count"] == 700
    assert len({record["uuid"] for record in sample["records"]}) == 70
    assert len({record["version_date"][:4] for record in sample["records"]}) > 3
