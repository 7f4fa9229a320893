"""Identifies a person at an OpenID provider: discovery, the code flow with PKCE, the ID token (OpenID Connect Core).

The provider is the one in the settings. Nothing of it is stored but what a caller stores.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

import httpx2
import structlog
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]  # it has no types
from authlib.oidc.discovery import get_well_known_url  # type: ignore[import-untyped]  # nor has this
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from registerwatch.accounts.provider.provider_repository import ProviderPerson
from registerwatch.errors import ProviderSignInFailed
from registerwatch.platform.clock import Clock

SCOPES = "openid email"
ALGORITHMS = ("RS256", "PS256", "ES256", "ES384", "RS384", "RS512", "EdDSA")
"""Only those whose keys the provider alone has: every holder of a shared secret could sign."""
KEPT_SECONDS = 3600
TIMEOUT_SECONDS = 10.0
LEEWAY_SECONDS = 60

UNREACHABLE = "Signing in that way does not work at the moment. Try again later, or sign in with your password."
REFUSED = "The other side did not say who you are. Try again, or sign in with your password."

log = structlog.get_logger(__name__)


class ProviderClient:
    """One provider. Its metadata is read by the first use, and again after an hour."""

    def __init__(
        self,
        http: httpx2.AsyncClient,
        clock: Clock,
        *,
        issuer: str,
        client_id: str,
        client_secret: str,
        redirect_address: str,
    ) -> None:
        self._http = http
        self._clock = clock
        self.issuer = issuer
        self._client_id = client_id
        self._client_secret = client_secret
        self._redirect_address = redirect_address
        self._metadata: Mapping[str, Any] = {}
        self._metadata_read_at = 0.0
        self._keys: KeySet | None = None

    async def address(self, state: str, nonce: str, verifier: str) -> str:
        """The browser's next address. Raises `ProviderSignInFailed`."""
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": self._redirect_address,
            "scope": SCOPES,
            "state": state,
            "nonce": nonce,
            "code_challenge": create_s256_code_challenge(verifier),
            "code_challenge_method": "S256",
        }
        endpoint = str((await self._described())["authorization_endpoint"])
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    async def person(self, code: str, nonce: str, verifier: str) -> ProviderPerson:
        """The person for a code. Raises `ProviderSignInFailed`."""
        described = await self._described()
        tokens = await self._tokens(str(described["token_endpoint"]), code, verifier)
        claims = await self._claims(str(tokens.get("id_token", "")), nonce)
        profile: Mapping[str, Any] = claims
        if "email" not in claims and "userinfo_endpoint" in described:
            profile = await self._user_info(str(described["userinfo_endpoint"]), str(tokens.get("access_token", "")))
            if profile.get("sub") != claims["sub"]:
                raise _refused("the user info is of somebody else")
        methods = claims.get("amr")
        return ProviderPerson(
            self.issuer,
            str(claims["sub"]),
            str(profile.get("email") or ""),
            profile.get("email_verified") is True,
            isinstance(methods, list) and "mfa" in methods,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _described(self) -> Mapping[str, Any]:
        if self._metadata and self._clock.now() - self._metadata_read_at < KEPT_SECONDS:
            return self._metadata
        described = await self._json("GET", get_well_known_url(self.issuer, external=True))
        needed = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        if described.get("issuer") != self.issuer or not all(_is_safe(str(described.get(each))) for each in needed):
            raise _refused("its description names another issuer, or endpoints without https")
        self._metadata, self._metadata_read_at, self._keys = described, self._clock.now(), None
        return described

    async def _tokens(self, address: str, code: str, verifier: str) -> Mapping[str, Any]:
        body = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_address,
            "code_verifier": verifier,
        }
        methods = self._metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if not self._client_secret:
            return await self._json("POST", address, data={**body, "client_id": self._client_id})
        if "client_secret_basic" in methods:
            credentials = (quote_plus(self._client_id), quote_plus(self._client_secret))  # RFC 6749, 2.3.1
            return await self._json("POST", address, data=body, auth=credentials)
        secrets = {"client_id": self._client_id, "client_secret": self._client_secret}
        return await self._json("POST", address, data={**body, **secrets})

    async def _user_info(self, address: str, access_token: str) -> Mapping[str, Any]:
        return await self._json("GET", address, headers={"Authorization": f"Bearer {access_token}"})

    async def _claims(self, token: str, nonce: str) -> Mapping[str, Any]:
        """The claims of a genuine ID token. If its key is not known, the keys are read anew once."""
        supported = self._metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
        algorithms = [each for each in ALGORITHMS if each in supported]
        known, self._keys = self._keys, self._keys or await self._read_keys()
        try:
            try:
                claims = jwt.decode(token, self._keys, algorithms=algorithms).claims
            except (JoseError, ValueError):
                if known is None:
                    raise
                self._keys = await self._read_keys()
                claims = jwt.decode(token, self._keys, algorithms=algorithms).claims
            self._require_claims(claims, nonce)
        except (JoseError, ValueError, TypeError) as error:
            raise _refused(f"its ID token is not valid: {error}") from None
        return claims

    def _require_claims(self, claims: dict[str, Any], nonce: str) -> None:
        jwt.JWTClaimsRegistry(
            now=int(self._clock.now()),
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self.issuer},
            aud={"essential": True, "value": self._client_id},
            nonce={"essential": True, "value": nonce},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
        ).validate(claims)
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", None if several else self._client_id) != self._client_id:
            raise ValueError("it is for another client")

    async def _read_keys(self) -> KeySet:
        keys = await self._json("GET", str(self._metadata["jwks_uri"]))
        try:
            return KeySet.import_key_set({"keys": [each for each in keys.get("keys", []) if each.get("use") != "enc"]})
        except (JoseError, ValueError, TypeError, AttributeError) as error:
            raise _refused(f"its keys cannot be read: {error}") from None

    async def _json(self, method: str, address: str, **options: Any) -> Mapping[str, Any]:
        try:
            answer = await self._http.request(method, address, timeout=TIMEOUT_SECONDS, **options)
            content = answer.json() if answer.status_code == 200 else None
        except httpx2.HTTPError as error:
            log.warning("the OpenID provider does not answer", address=address, reason=repr(error))
            raise ProviderSignInFailed(UNREACHABLE) from None
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise _refused(f"{address} answers {answer.status_code}: {answer.text[:200]}")
        return content


def _refused(reason: str) -> ProviderSignInFailed:
    log.warning("a sign-in by the OpenID provider failed", reason=reason)
    return ProviderSignInFailed(REFUSED)


def _is_safe(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1"))
