"""Limits of what one account may do, as dependencies. Who asks is known before, so strangers use up nothing of it.

What takes access away (keys, users, sessions) has none: nothing that somebody did may keep an owner from stopping them.
"""

from collections.abc import Awaitable, Callable

from starlette.requests import Request

from registerwatch.accounts.models import Caller
from registerwatch.rest.routing.auth import Manager, OwnerOrKey
from registerwatch.web.injection import limits_of
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.parties import party_of


def counted_by_account(limit: Limit) -> Callable[[Request, Caller], Awaitable[None]]:
    """A dependency that counts requests of an account, `dependencies=[Depends(counted_by_account(Limit.X))]`.

    A member counts for themselves: what they may do takes nothing from the owners.
    """

    async def count(request: Request, caller: Manager) -> None:
        await limits_of(request).check_party(request, limit, party_of(caller))

    return count


def counted_by_owners(limit: Limit) -> Callable[[Request, Caller], Awaitable[None]]:
    """The same for routes that only owners and API keys may use: others are refused uncounted."""

    async def count(request: Request, caller: OwnerOrKey) -> None:
        await limits_of(request).check_party(request, limit, party_of(caller))

    return count
