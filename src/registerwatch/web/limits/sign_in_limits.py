"""Slows down guesses of one user's password from many addresses."""

from starlette.requests import Request

from registerwatch.accounts.sessions.credentials import digest_of
from registerwatch.accounts.validation import email_address
from registerwatch.errors import InvalidInput
from registerwatch.web.injection import client_of, limits_of, service_of
from registerwatch.web.limits.rate_limits import Limit


async def check_user(request: Request, email: str) -> None:
    """Count an attempt to sign in as a user from a client from which they never did. Raises `RateLimited`.

    Unknown e-mail addresses are counted in the same way, so that a refusal does not reveal who has an account. Text
    that is no address is not counted.
    """
    limits, client = limits_of(request), client_of(request)
    try:
        address = email_address(email)
    except InvalidInput:
        return
    if not limits.enabled or await service_of(request).accounts.sessions.is_known_client(address, client):
        return
    for limit in (Limit.USER_SIGN_INS, Limit.USER_SIGN_INS_A_DAY):
        await limits.check_party(request, limit, digest_of(address))
