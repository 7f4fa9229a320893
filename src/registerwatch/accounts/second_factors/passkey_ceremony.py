"""Makes the requests to a browser and an authenticator, and verifies their answers (WebAuthn, by `webauthn`).

Nothing is stored here. A passkey always verifies its user (by a PIN, a finger, a face): so it counts as two factors.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlsplit

from cryptography.exceptions import UnsupportedAlgorithm
from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
from webauthn.helpers import (
    base64url_to_bytes,
    bytes_to_base64url,
    parse_authentication_credential_json,
    parse_client_data_json,
    parse_registration_credential_json,
)
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)
from webauthn.registration.verify_registration_response import VerifiedRegistration

from registerwatch.accounts.second_factors.passkey_repository import NewCredential
from registerwatch.errors import WrongCode

SERVICE = "Registerwatch"
TIMEOUT_MS = 300_000
BAD_ANSWER = "The browser's answer cannot be used. Try again, or use another way."
MALFORMED = (WebAuthnException, ValueError, TypeError, KeyError, AttributeError, RecursionError, UnsupportedAlgorithm)
"""Errors of the library for answers that no browser gives."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Assertion:
    """An answer to a sign-in, before it is verified: by which passkey, to which challenge."""

    text: str = field(repr=False)
    credential_id: str
    challenge: str
    user_handle: bytes | None
    """The authenticator's name of the user; None for none."""


class PasskeyCeremony:
    """Makes options and verifies answers for the public address of the service."""

    def __init__(self, public_url: str) -> None:
        parts = urlsplit(public_url)
        self._host = parts.hostname or ""
        self._origin = f"{parts.scheme}://{parts.netloc}"

    def registration_options(self, user_id: int, email: str, known: Sequence[str]) -> tuple[str, str]:
        """The JSON for `navigator.credentials.create`, and its challenge."""
        options = generate_registration_options(
            rp_id=self._host,
            rp_name=SERVICE,
            user_id=user_handle(user_id),
            user_name=email,
            timeout=TIMEOUT_MS,
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.REQUIRED,
                user_verification=UserVerificationRequirement.REQUIRED,
            ),
            exclude_credentials=_descriptors(known),
        )
        return options_to_json(options), bytes_to_base64url(options.challenge)

    def sign_in_options(self, known: Sequence[str] = ()) -> tuple[str, str]:
        """The JSON for `navigator.credentials.get`, and its challenge. Without known passkeys the browser offers all
        that it has for this service.
        """
        options = generate_authentication_options(
            rp_id=self._host,
            timeout=TIMEOUT_MS,
            allow_credentials=_descriptors(known),
            user_verification=UserVerificationRequirement.REQUIRED,
        )
        return options_to_json(options), bytes_to_base64url(options.challenge)

    def registered(self, answer: str) -> tuple[NewCredential, str]:
        """The passkey of a right answer, and the challenge that it answers. Raises `WrongCode`."""

        def verify() -> tuple[VerifiedRegistration, bytes]:
            credential = parse_registration_credential_json(answer)
            challenge = parse_client_data_json(credential.response.client_data_json).challenge
            verified = verify_registration_response(
                credential=credential,
                expected_challenge=challenge,
                expected_rp_id=self._host,
                expected_origin=self._origin,
                require_user_verification=True,
            )
            return verified, challenge

        made, challenge = _or_refused(verify)
        new = NewCredential(
            bytes_to_base64url(made.credential_id), bytes_to_base64url(made.credential_public_key), made.sign_count
        )
        return new, bytes_to_base64url(challenge)

    def assertion(self, answer: str) -> Assertion:
        """The passkey and the challenge of an answer. Raises `WrongCode`."""

        def read() -> Assertion:
            credential = parse_authentication_credential_json(answer)
            challenge = parse_client_data_json(credential.response.client_data_json).challenge
            handle = credential.response.user_handle
            return Assertion(answer, bytes_to_base64url(credential.raw_id), bytes_to_base64url(challenge), handle)

        return _or_refused(read)

    def new_sign_count(self, assertion: Assertion, public_key: str, user_id: int) -> int:
        """The count of signatures, where the answer is signed by the passkey. Raises `WrongCode`.

        The caller judges whether the count went back.
        """

        def verify() -> VerifiedAuthentication:
            return verify_authentication_response(
                credential=assertion.text,
                expected_challenge=base64url_to_bytes(assertion.challenge),
                expected_rp_id=self._host,
                expected_origin=self._origin,
                credential_public_key=base64url_to_bytes(public_key),
                credential_current_sign_count=0,
                require_user_verification=True,
            )

        if assertion.user_handle is not None and assertion.user_handle != user_handle(user_id):
            raise WrongCode(BAD_ANSWER)
        return _or_refused(verify).new_sign_count


def user_handle(user_id: int) -> bytes:
    """The authenticator's id of a user; it reveals nothing about them."""
    return hashlib.sha256(f"passkeys of user {user_id}".encode()).digest()


def _descriptors(credential_ids: Sequence[str]) -> list[PublicKeyCredentialDescriptor]:
    return [PublicKeyCredentialDescriptor(id=base64url_to_bytes(each)) for each in credential_ids]


def _or_refused(read: Callable[[], T]) -> T:
    try:
        return read()
    except MALFORMED:
        raise WrongCode(BAD_ANSWER) from None
