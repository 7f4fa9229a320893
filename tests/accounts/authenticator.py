"""An authenticator and its browser, in software: they make passkeys and sign with them as WebAuthn says."""

import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url, encode_cbor

USER_PRESENT, USER_VERIFIED, HAS_CREDENTIAL = 0x01, 0x04, 0x40
ORIGIN = "http://localhost:8000"


@dataclass
class Authenticator:
    """One passkey at most, kept with the user that it is of."""

    origin: str = ORIGIN
    flags: int = USER_PRESENT | USER_VERIFIED
    counts: bool = True
    """Whether it counts signatures; passkeys that are synchronised between devices do not."""
    sign_count: int = 0
    credential_id: bytes = field(default_factory=lambda: os.urandom(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    user_handle: bytes = b""
    relying_party: str = ""

    def create(self, options: str) -> str:
        """What `navigator.credentials.create` gives for options in JSON."""
        asked = json.loads(options)
        self.user_handle, self.relying_party = base64url_to_bytes(asked["user"]["id"]), asked["rp"]["id"]
        credential = (
            bytes(16)
            + len(self.credential_id).to_bytes(2, "big")
            + self.credential_id
            + encode_cbor(self._public_key())
        )
        made = {"fmt": "none", "attStmt": {}, "authData": self._data(HAS_CREDENTIAL) + credential}
        client_data = self._client_data("webauthn.create", asked["challenge"])
        return self._answer(clientDataJSON=client_data, attestationObject=encode_cbor(made))

    def get(self, options: str) -> str:
        """What `navigator.credentials.get` gives for options in JSON."""
        asked = json.loads(options)
        self.sign_count += self.counts
        client_data, data = self._client_data("webauthn.get", asked["challenge"]), self._data(0)
        signature = self.key.sign(data + hashlib.sha256(client_data).digest(), ec.ECDSA(SHA256()))
        return self._answer(
            clientDataJSON=client_data, authenticatorData=data, signature=signature, userHandle=self.user_handle
        )

    def _answer(self, **response: bytes) -> str:
        name = bytes_to_base64url(self.credential_id)
        encoded = {each: bytes_to_base64url(value) for each, value in response.items()}
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": encoded})

    def _client_data(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _data(self, more_flags: int) -> bytes:
        flags, count = self.flags | more_flags, self.sign_count.to_bytes(4, "big")
        return hashlib.sha256(self.relying_party.encode()).digest() + bytes([flags]) + count

    def _public_key(self) -> dict[int, Any]:
        """COSE: an elliptic curve (2), ES256 (-7), P-256 (1), and the point."""
        point = self.key.public_key().public_numbers()
        return {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")}
