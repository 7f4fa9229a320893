"""What a browser does with the pages of an account: it keeps cookies and says where a form comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from registerwatch.accounts.models import Caller
from registerwatch.accounts.sessions.credentials import browser_session_of
from tests.pages.markup import Markup
from tests.support.harness import EMAIL, PASSWORD, ServiceHarness

FROM_HERE = {"Sec-Fetch-Site": "same-origin"}
STRONG_PASSWORD = "a long phrase that nobody uses"  # of made-up users


@dataclass
class PagesClient:
    """A browser without script. It follows no redirection by itself."""

    harness: ServiceHarness
    client: httpx2.AsyncClient = field(init=False)
    _given: tuple[str, str] = ("", "")
    """Address and password of the last sign-in."""
    _rest_session: str = ""

    def __post_init__(self) -> None:
        transport = httpx2.ASGITransport(app=self.harness.app, raise_app_exceptions=False)
        self.client = httpx2.AsyncClient(transport=transport, base_url="http://localhost:8000")

    async def get(self, path: str, **params: str | int) -> httpx2.Response:
        """Open a page."""
        return await self.client.get(path, params=params or None)

    async def page(self, path: str, **params: str | int) -> Markup:
        """Open a page that is there."""
        response = await self.get(path, **params)
        assert response.status_code == 200, (path, response.status_code, response.text[:2000])
        return Markup.of(response)

    async def post(self, path: str, /, **fields: Any) -> httpx2.Response:
        """Send a form of the page. A list is a field with several values."""
        headers = {
            **FROM_HERE,
            "Content-Type": "application/x-www-form-urlencoded",
        }  # said of a form without fields too
        if path in ("/signup", "/login"):
            self._given = fields.get("email", ""), fields.get("password", "")
        return await self.client.post(path, data=fields, headers=headers)

    async def post_from(self, headers: Mapping[str, str], path: str, **fields: Any) -> httpx2.Response:
        """Send a form with these headers alone, which say where it comes from."""
        return await self.client.post(path, data=fields, headers=headers)

    async def upload(
        self, path: str, filename: str, content: bytes, /, *, field: str = "file", **fields: str
    ) -> httpx2.Response:
        """Send a form with a file in a field."""
        return await self.client.post(path, data=fields, files={field: (filename, content)}, headers=FROM_HERE)

    async def follow(self, response: httpx2.Response) -> Markup:
        """Open the page that a form leads to."""
        assert response.status_code == 303, (response.status_code, response.text[:2000])
        return await self.page(response.headers["location"])

    async def sign_up(self, email: str = EMAIL, password: str = STRONG_PASSWORD) -> None:
        """Open an account."""
        response = await self.post("/signup", email=email, password=password, company="Acme")
        assert response.status_code == 303, response.text

    async def sign_in(self, email: str = EMAIL, password: str = PASSWORD) -> None:
        """Sign in."""
        response = await self.post("/login", email=email, password=password)
        assert response.status_code == 303, response.text

    async def caller(self) -> Caller:
        """Who is signed in by the cookie, for use cases."""
        return await self.harness.service.accounts.sessions.caller(browser_session_of(self.session))

    async def rest_session(self) -> str:
        """A session of the same user for `/v1`, which takes none of a browser: one more sign-in, at the first call."""
        if not self._rest_session:
            self._rest_session = await self.harness.sign_in(*self._given)
        return self._rest_session

    @property
    def session(self) -> str:
        """The session in the cookie, empty without one."""
        return str(self.client.cookies.get("session") or "")
