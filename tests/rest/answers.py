"""What every answer about an account has in common, and asking who one is."""

from typing import Any

import httpx2

from tests.support.harness import ERROR_FIELDS, ServiceHarness, auth_headers


def granted(response: httpx2.Response) -> dict[str, Any]:
    """What a 200 says; no cache may keep it."""
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    answer: dict[str, Any] = response.json()
    return answer


def refused(response: httpx2.Response, status: int) -> str:
    """The message of an error, which has the one shape that errors have."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers.get("www-authenticate") == ("Bearer" if status == 401 else None)
    assert set(response.json()) == ERROR_FIELDS
    message = response.json()["error"]
    assert isinstance(message, str)
    assert message
    return message


async def me(harness: ServiceHarness, credential: str) -> httpx2.Response:
    """The answer of `GET /v1/me`."""
    return await harness.client.get("/v1/me", headers=auth_headers(credential))
