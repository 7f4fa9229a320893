"""What tests of lists do: send a file, let it be matched, keep it."""

from dataclasses import dataclass
from typing import Any

import httpx2

from tests.support.harness import NewAccount, ServiceHarness, auth_headers
from tests.support.list_files import work_on_lists


@dataclass(frozen=True, slots=True)
class ListSteps:
    """What one account does over REST."""

    harness: ServiceHarness
    owner: NewAccount

    async def get(self, path: str, **params: str | int) -> dict[str, Any]:
        response = await self.harness.client.get(path, params=params, headers=auth_headers(self.owner.api_key))
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    async def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        return await self.harness.client.request(
            method, path, headers=auth_headers(self.owner.api_key) | options.pop("headers", {}), **options
        )

    async def send(self, content: bytes | str, name: str = "Stock", **params: Any) -> tuple[int, int]:
        """Send a file; the ids of list and upload."""
        response = await self.request("POST", "/v1/lists", params={"name": name, **params}, content=content)
        assert response.status_code == 202, response.text
        answer = response.json()
        return answer["list_id"], answer["upload_id"]

    async def matched(self, content: bytes | str, name: str = "Stock", **params: Any) -> tuple[int, dict[str, Any]]:
        """Send a file and let it be read and matched; the id of the list, and the upload as it is answered."""
        list_id, upload_id = await self.send(content, name, **params)
        await self.work()
        return list_id, await self.get(f"/v1/lists/{list_id}/uploads/{upload_id}")

    async def kept(self, content: bytes | str, name: str = "Stock", **params: Any) -> int:
        """The same, and keep it; the id of the list."""
        list_id, answer = await self.matched(content, name, keep=True, **params)
        assert answer["upload"]["state"] == "kept", answer
        return list_id

    async def work(self) -> None:
        await work_on_lists(self.harness)

    async def follow(self) -> None:
        await self.harness.service.lists.worker.follow()

    async def lines(self, list_id: int, **params: Any) -> list[dict[str, Any]]:
        answer = await self.get(f"/v1/lists/{list_id}/lines", **params)
        lines: list[dict[str, Any]] = answer["lines"]
        return lines

    async def coverage(self, list_id: int) -> dict[str, int]:
        """How its lines stand, without what is nought."""
        told: dict[str, int] = (await self.get(f"/v1/lists/{list_id}"))["list"]["coverage"]
        return {name: number for name, number in told.items() if number}
