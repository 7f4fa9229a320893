"""ID tokens that are not genuine, keys that change, providers that fail. The real one is in test_provider_sign_in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from registerwatch.accounts.provider.provider_client import KEPT_SECONDS, ProviderClient
from registerwatch.errors import ProviderSignInFailed
from tests.support.fakes import SteppedClock

ISSUER, CLIENT, SECRET, NONCE = "https://login.example", "registerwatch", "the client's own secret", "a nonce"


@dataclass
class ForgingProvider:
    """Answers what a test has it say."""

    clock: SteppedClock
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "1", "use": "sig"}))
    listed: RSAKey | None = None
    """The key that it lists, where that is another one."""
    token: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    user: dict[str, Any] = field(default_factory=lambda: {"sub": "1", "email": "a@b.example", "email_verified": True})
    status: int = 200
    asked: list[str] = field(default_factory=list)

    def client(self) -> ProviderClient:
        return ProviderClient(
            httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer)),
            self.clock,
            issuer=ISSUER,
            client_id=CLIENT,
            client_secret=SECRET,
            redirect_address="https://watch.example/login/oidc/back",
        )

    def signed(self, key: Any = None, algorithm: str = "RS256", **claims: Any) -> None:
        """Have it answer an ID token with these claims beside the right ones; None leaves one out."""
        now = int(self.clock.now())
        right = {"iss": ISSUER, "aud": CLIENT, "sub": "1", "nonce": NONCE, "iat": now, "exp": now + 300}
        told = {name: value for name, value in {**right, **claims}.items() if value is not None}
        header = {"alg": algorithm, "kid": "1"}
        self.token = jwt.encode(header, told, key or self.key, algorithms=[algorithm])

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request.url.path)
        return httpx2.Response(self.status, json=self._said(request.url.path))

    def _said(self, path: str) -> Mapping[str, Any]:
        described = {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/auth?tenant=1",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/keys",
            "userinfo_endpoint": f"{ISSUER}/me",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        }
        key = (self.listed or self.key).as_dict(private=False)
        answers: dict[str, Mapping[str, Any]] = {
            "/.well-known/openid-configuration": {**described, **self.metadata},
            "/token": {"id_token": self.token, "access_token": "x"},
            "/keys": {"keys": [key]},
            "/me": self.user,
        }
        return answers[path]


@pytest.fixture
def provider(clock: SteppedClock) -> ForgingProvider:
    return ForgingProvider(clock)


async def test_a_genuine_token_names_a_person(provider: ForgingProvider) -> None:
    provider.signed(amr=["pwd", "mfa"])
    client = provider.client()

    person = await client.person("code", NONCE, "verifier")

    assert (person.issuer, person.subject, person.email) == (ISSUER, "1", "a@b.example")
    assert person.is_email_verified
    assert person.used_second_factor
    assert (await client.address("s", "n", "v")).startswith(f"{ISSUER}/auth?tenant=1&response_type=code&")
    provider.signed(email="c@d.example", email_verified="true", amr="mfa")
    told = await client.person("code", NONCE, "verifier")
    assert (told.email, told.is_email_verified, told.used_second_factor) == ("c@d.example", False, False)
    assert provider.asked.count("/keys") == 1


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"aud": "another client"},
        {"aud": [CLIENT, "another client"]},
        {"aud": [CLIENT], "azp": "another client"},
        {"nonce": "another nonce"},
        {"nonce": None},
        {"sub": None},
        {"exp": 1},
        {"exp": None},
        {"iat": None},
        {"sub": "2"},
    ],
)
async def test_a_token_for_another_purpose_names_nobody(claims: dict[str, Any], provider: ForgingProvider) -> None:
    provider.signed(**claims)
    with pytest.raises(ProviderSignInFailed):
        await provider.client().person("code", NONCE, "verifier")


async def test_only_the_providers_own_keys_sign(provider: ForgingProvider) -> None:
    provider.signed(RSAKey.generate_key(2048))
    forged = [provider.token, "", "a.b.c", "x" * 10_000]
    provider.signed(OctKey.import_key(SECRET), "HS256")
    forged.append(provider.token)
    head, body, _ = provider.token.split(".")
    forged += [f"eyJhbGciOiJub25lIn0.{body}.", f"{head}.{body}."]

    for token in forged:
        provider.token = token
        with pytest.raises(ProviderSignInFailed):
            await provider.client().person("code", NONCE, "verifier")


async def test_keys_are_read_again_when_the_provider_changes_them(
    provider: ForgingProvider, clock: SteppedClock
) -> None:
    client = provider.client()
    provider.signed()
    await client.person("code", NONCE, "verifier")

    provider.key = RSAKey.generate_key(2048, {"kid": "1", "use": "sig"})
    provider.signed()
    await client.person("code", NONCE, "verifier")

    assert provider.asked.count("/keys") == 2
    clock.move(KEPT_SECONDS)
    provider.signed()
    await client.person("code", NONCE, "verifier")
    assert provider.asked.count("/.well-known/openid-configuration") == 2


async def test_a_provider_that_fails_or_is_another_one_signs_nobody_in(provider: ForgingProvider) -> None:
    provider.signed()
    for metadata in (
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://login.example/token"},
        {"jwks_uri": None},
    ):
        provider.metadata = metadata
        with pytest.raises(ProviderSignInFailed):
            await provider.client().address("s", "n", "v")
    provider.metadata, provider.status = {}, 500
    with pytest.raises(ProviderSignInFailed):
        await provider.client().address("s", "n", "v")
    provider.status, provider.user = 200, {"sub": "another"}
    with pytest.raises(ProviderSignInFailed):
        await provider.client().person("code", NONCE, "verifier")
