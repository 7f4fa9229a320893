"""Codes of authenticator apps (RFC 6238): secrets, the address that an app reads, and which codes are right."""

import hmac

import pyotp

STEP_SECONDS = 30
DRIFT_STEPS = 1
"""Steps by which the clock of a phone may be off."""
ISSUER = "Registerwatch"


def new_secret() -> str:
    """A new secret of 160 random bits, in base32."""
    return pyotp.random_base32()


def enrolment_uri(secret: str, email: str) -> str:
    """The address in an authenticator app's QR code: `otpauth://totp/…`."""
    return pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=ISSUER)


def step_of(secret: str, code: str, now: float, *, after: int) -> int | None:
    """The time step of a code, later than the step `after`; None where the code is not right."""
    totp, present = pyotp.TOTP(secret, interval=STEP_SECONDS), int(now) // STEP_SECONDS
    steps = range(present - DRIFT_STEPS, present + DRIFT_STEPS + 1)
    typed = code.encode("utf-8", "surrogatepass")  # of texts, only ASCII can be compared
    right = [step for step in steps if hmac.compare_digest(totp.at(step * STEP_SECONDS).encode(), typed)]
    return next((step for step in right if step > after), None)
