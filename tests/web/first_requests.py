"""What the first requests of a process load while all others wait: `python -m tests.web.first_requests FOLDER`.

It prints, in JSON, the modules that each request has loaded in the thread of the event loop.
"""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi.routing import iter_route_contexts

from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.migrate import upgrade
from tests.billing.plain_provider import SETTINGS, event, signed
from tests.support.harness import EMAIL, PASSWORD, ServiceHarness, auth_headers, built_harness

CODE = "(01)04099999999992(17)290101(10)A1"
LIST = "Article;GTIN\n4711;04099999999992\n"


class LoadedModules:
    """Notes which modules this thread looks for, while it is to."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._noted: list[str] | None = None
        sys.addaudithook(self._note)

    @contextmanager
    def noted(self) -> Iterator[list[str]]:
        """The modules that are looked for while the block goes on."""
        found: list[str] = []
        self._noted = found
        yield found
        self._noted = None

    def _note(self, kind: str, arguments: tuple[object, ...]) -> None:
        if kind == "import" and self._noted is not None and threading.get_ident() == self._thread:
            self._noted.append(str(arguments[0]))


async def loaded_by_requests(folder: Path) -> dict[str, list[str]]:
    """What each request has loaded."""
    url = f"sqlite:///{folder}/registerwatch.db"
    database = Database(url)
    await upgrade(database)
    await database.close()
    async with built_harness(url, folder, public_url="https://rw.example", **SETTINGS) as harness:
        return await _loaded(harness)


async def _loaded(harness: ServiceHarness) -> dict[str, list[str]]:
    owner = await harness.sign_up()
    feed = (await harness.post("/v1/feeds", owner.api_key)).json()["feed"]
    cookies = {"Cookie": f"__Host-session={await harness.browser_session(EMAIL, PASSWORD)}"}
    key = auth_headers(owner.api_key)
    requests: list[tuple[str, str, dict[str, str], object]] = [
        *(("GET", path, cookies if path.startswith("/app") else key, None) for path in _paths(harness)),
        ("GET", f"/v1/parse?code={CODE}", key, None),
        ("GET", feed["expiring"].removeprefix("https://rw.example"), {}, None),
        ("POST", "/v1/watches", key, {"subject": CODE}),
        ("POST", "/v1/import", key, {"csv": CODE}),
        ("GET", f"/?q={CODE}", {}, None),
        ("POST", "/login/passkey/options", {"Sec-Fetch-Site": "same-origin"}, None),
    ]
    noted, loaded = LoadedModules(), {}
    for method, path, headers, fields in requests:
        with noted.noted() as found:
            answer = await harness.client.request(method, path, headers=headers, json=fields)
        loaded[f"{method} {path} {answer.status_code}"] = found
    body = event("customer.subscription.updated", {"id": "sub_1"})
    headers = {"Payment-Signature": signed(body, harness.now)}
    with noted.noted() as found:
        answer = await harness.client.post("/v1/billing/webhook", content=body, headers=headers)
    loaded[f"POST /v1/billing/webhook {answer.status_code}"] = found
    return loaded


def _paths(harness: ServiceHarness) -> list[str]:
    """Everything that can be read and needs no number or code."""
    routes = [each for each in iter_route_contexts(harness.app.routes) if "GET" in (each.methods or ())]
    return sorted({str(each.path) for each in routes if "{" not in str(each.path)})


if __name__ == "__main__":
    print(json.dumps(asyncio.run(loaded_by_requests(Path(sys.argv[1])))))
